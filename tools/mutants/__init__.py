"""Mutants: small faults that are put into the package, and the tests that find them."""
