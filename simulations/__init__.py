"""Simulations of what the inference promises: coverage, certificates, rules and monitors."""
