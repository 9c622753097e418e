"""How large inputs are, apart from what needs torch."""

BATCH, LARGE = "batch", "large"
SIZES = (BATCH, LARGE)
