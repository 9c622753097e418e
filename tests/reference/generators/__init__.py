"""Generators of reference values, one module per family of metrics."""
