"""What sweep.py compares, by subject."""
