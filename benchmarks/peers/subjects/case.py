"""One comparison: a metric of Tally's, its peer, and inputs for both."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import io
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch

from subjects.sizes import SIZES

Inputs = tuple[Any, ...]
Make = Callable[[], Any]


@dataclasses.dataclass
class Case:
    """See sweep.py for what is measured of it."""

    name: str  # of Tally's class
    library: str
    own: Make
    peer: Make
    inputs: Callable[[str], Inputs]  # by size
    peer_inputs: Callable[[Inputs], Inputs] = lambda inputs: inputs
    # Places of the inputs that get a gradient; none where neither has gradients.
    gradients: tuple[int, ...] = ()
    # Tally's value as the peer has it.
    value: Callable[[Any, Any], Any] = lambda peer, value: value
    # The least work that has to be done on the large input; reading it, if not given.
    floor: Callable[[Inputs], Any] | None = None
    floor_name: str = "reading"
    note: str = ""
    sizes: tuple[str, ...] = SIZES
    rtol: float = 1e-3

    @property
    def label(self) -> str:
        return self.name + (f" ({self.note})" if self.note else "")


@functools.cache
def mirrored() -> dict[str, tuple[type, type]]:
    """By name: TorchMetrics' class and the one in its place."""
    from tally.compat.torchmetrics import _mirror
    return {real.__name__: (real, mine) for real, mine in _mirror.CLASSES.items()}


@functools.cache
def torchmetrics_classes() -> dict[str, type]:
    """All of them, wrappers too."""
    import torchmetrics
    mirrored()
    return {
        name: value
        for module_name, module in list(sys.modules.items())
        if module_name.startswith("torchmetrics.") and module_name.count(".") == 1
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, torchmetrics.Metric)
    }


def _as_torchmetrics(name: str) -> Callable[[Any, Any], Any]:
    from tally.compat.torchmetrics import _results
    return _results.RESULTS.get(name, _results.parts)


def torchmetrics_case(
    name: str, inputs: Callable[[str], Inputs], options: dict[str, Any] | None = None,
    *, fast: bool = False, **fields: Any,
) -> Case:
    """With the options that the drop-in class gives Tally's; fast: the peer checks nothing."""
    import tally

    real, mine = mirrored()[name]
    options = options or {}
    told = {**options, "validate_args": False} if fast else options
    # What the drop-in class would be: its options as Tally's. For some it is TorchMetrics'.
    made = mine(**options)
    held = made._tally if hasattr(made, "_tally") else getattr(tally, name)(**options)
    return Case(
        name=name, library="TorchMetrics", own=held.clone,
        peer=lambda: real(**told), inputs=inputs,
        value=fields.pop("value", None) or _as_torchmetrics(name), **fields,
    )


class Function:
    """A function of whole data as a metric: what it is given is kept."""

    def __init__(self, function: Callable[..., Any]):
        self._function = function
        self._batches: list[Inputs] = []

    def reset(self) -> None:
        self._batches.clear()

    def update(self, *inputs: Any) -> None:
        self._batches.append(inputs)

    def compute(self) -> Any:
        batches = self._batches
        if len(batches) == 1:
            return self._function(*batches[0])
        return self._function(*map(_joined, zip(*batches)))

    def __call__(self, *inputs: Any) -> Any:
        return self._function(*inputs)


def _joined(parts: tuple[Any, ...]) -> Any:
    if isinstance(parts[0], torch.Tensor):
        return torch.cat(parts)
    return [each for part in parts for each in part]


def function_case(
    name: str, library: str, function: Callable[..., Any],
    inputs: Callable[[str], Inputs], options: dict[str, Any] | None = None, **fields: Any,
) -> Case:
    """The peer is a function of all data; arrays are NumPy's."""
    import tally
    options = options or {}
    return Case(
        name=name, library=library, own=lambda: getattr(tally, name)(**options),
        peer=lambda: Function(function), inputs=inputs,
        peer_inputs=fields.pop("peer_inputs", arrays), **fields,
    )


def arrays(inputs: Inputs) -> Inputs:
    """Tensors as NumPy's, which share their memory."""
    return tuple(x.numpy() if isinstance(x, torch.Tensor) else x for x in inputs)


def flat(value: Any) -> list[torch.Tensor]:
    """The numbers of a result, part by part."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [tensor for each in value for tensor in flat(each)]
    return [torch.as_tensor(value).detach().double().flatten()]


def difference(own: Any, peer: Any, rtol: float) -> str:
    """How values differ, or nothing."""
    mine, theirs = flat(own), flat(peer)
    if sum(map(len, mine)) != sum(map(len, theirs)):
        return f"{sum(map(len, mine))} numbers, not {sum(map(len, theirs))}"
    a, b = torch.cat(mine), torch.cat(theirs)
    if a.isnan().ne(b.isnan()).any():
        return f"{a.isnan().sum()} NaN, not {b.isnan().sum()}"
    a, b = a.nan_to_num(0), b.nan_to_num(0)
    wrong = ~torch.isclose(a, b, rtol=rtol, atol=1e-5)
    if not wrong.any():
        return ""
    place = int(torch.nonzero(wrong)[0])
    return f"{int(wrong.sum())} of {len(a)}: {a[place]:.9g}, not {b[place]:.9g}"


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Without what peers print."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        yield
