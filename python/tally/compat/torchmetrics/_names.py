"""Names of modules here, by TorchMetrics' own."""

HERE = "tally.compat.torchmetrics"


def here(real):
    """The module of what stands in the place of a class or function."""
    return real.__module__.replace("torchmetrics", HERE, 1)


# Drop-in classes by TorchMetrics' own.
DROP_INS = {}
