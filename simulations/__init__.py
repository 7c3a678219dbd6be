"""Simulations of what the inference promises: coverage, certificates, rules and monitors."""

# The experiments, in the order of the page.
NAMES = (
    "guarantees",
    "coverage",
    "intervals",
    "certificates",
    "rates",
    "stacking",
    "decisions",
    "monitoring",
    "audits",
)
