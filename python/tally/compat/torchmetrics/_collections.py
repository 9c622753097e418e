"""TorchMetrics' collections, with drop-in metrics in them."""

import torchmetrics

from tally.compat.torchmetrics._drop_in import DropIn


def _is_mine(metric):
    """Whether it is a drop-in, or wraps one."""
    return any(isinstance(each, DropIn) for each in metric.modules())


class _Kind(type(torchmetrics.MetricCollection)):
    """Collections of TorchMetrics are some, too: those made before install()."""

    def __instancecheck__(cls, instance):
        return super().__instancecheck__(instance) or (
            cls is MetricCollection and isinstance(instance, cls._real)
        )


class MetricCollection(torchmetrics.MetricCollection, metaclass=_Kind):
    """As TorchMetrics'. Drop-in metrics share no states, also where groups are given."""

    _real = torchmetrics.MetricCollection

    def _init_compute_groups(self):
        super()._init_compute_groups()
        if not isinstance(self._enable_compute_groups, list):
            return
        alone, groups = [], []
        for names in self._groups.values():
            mine = [name for name in names if _is_mine(self._modules[name])]
            alone += [[name] for name in mine]
            groups.append([name for name in names if name not in mine])
        self._groups = dict(enumerate(filter(None, [*groups, *alone])))


MetricCollection.__module__ = "tally.compat.torchmetrics.collections"
MetricCollection.__doc__ = torchmetrics.MetricCollection.__doc__
