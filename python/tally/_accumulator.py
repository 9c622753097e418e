"""What metrics and collections have in common: accumulating, ranks, states, copies."""

import torch
from torch import Tensor
from torch.compiler import is_dynamo_compiling as is_compiling

from tally._errors import DistError, sync_error
from tally._inputs import encode
from tally._ranks import follow, over_ranks
from tally._stateful import Stateful
from tally._words import REFUSED, reworded
from tally.plots import plot_results

# torch.compile leaves these alone: what they call is no code of Python.
_without_compiler = torch._disable_dynamo


class Accumulator(Stateful, torch.nn.Module):
    """What metrics and collections have in common."""

    def _hold(self, held):
        fields = self.__dict__
        fields["_held"] = held
        fields["_meets"] = held.options["dist_sync_on_step"]
        fields.setdefault("_persistent", False)
        fields.setdefault("_declared", {})

    # ---- accumulating

    def update(self, *inputs, **named):
        """Accumulates one batch. If it raises, nothing has changed."""
        if is_compiling():
            return _compiled_update(self, inputs, named)
        try:
            if not named:
                count = len(inputs)
                if count == 2:
                    a, b = inputs
                    if isinstance(a, Tensor) and isinstance(b, Tensor):
                        return self._held.update2(a, b)
                elif count == 1:
                    if isinstance(inputs[0], Tensor):
                        return self._held.update1(inputs[0])
                elif count == 3:
                    a, b, c = inputs
                    if isinstance(a, Tensor) and isinstance(b, Tensor) and isinstance(c, Tensor):
                        return self._held.update3(a, b, c)
            return self._held.update(*encode(inputs, named, self._declared))
        except REFUSED as error:
            raise reworded(error)

    def forward(self, *inputs, **named):
        """Accumulates one batch and returns its value.

        That of this rank's batch, or with ``dist_sync_on_step`` of all ranks' batches
        together; with a graph where the metric is differentiable.
        """
        if is_compiling():
            return _compiled_forward(self, inputs, named)
        if self._meets:
            follow()
        try:
            if not named:
                count = len(inputs)
                if count == 2:
                    a, b = inputs
                    if isinstance(a, Tensor) and isinstance(b, Tensor):
                        return self._held.forward2(a, b)
                elif count == 1:
                    if isinstance(inputs[0], Tensor):
                        return self._held.forward1(inputs[0])
                elif count == 3:
                    a, b, c = inputs
                    if isinstance(a, Tensor) and isinstance(b, Tensor) and isinstance(c, Tensor):
                        return self._held.forward3(a, b, c)
            return self._held.forward(*encode(inputs, named, self._declared))
        except DistError as error:
            raise sync_error(error) from None
        except REFUSED as error:
            raise reworded(error)

    def __call__(self, *inputs, **named):
        """forward(), without hooks."""
        return self.forward(*inputs, **named)

    def compute(self):
        """The value of everything accumulated, over all ranks."""
        if is_compiling():
            return _compiled_compute(self)
        return over_ranks(self._held.compute)

    def number(self, name=None):
        """``compute()`` as a float: the result of that name, or the only one.

            accuracy = metric.number()
            f1 = collection.number("f1")
        """
        value = self.compute()
        if isinstance(value, dict):
            if name is None and "value" in value:
                name = "value"
            if name is None and len(value) == 1:
                (name,) = value
            if name not in value:
                raise KeyError(f"expected the name of a result, one of {', '.join(value)}")
            value = value[name]
        elif name is not None:
            raise KeyError(f"expected no name of the only result, got '{name}'")
        if value.numel() != 1:
            raise ValueError(f"expected a number, got a tensor of sizes {list(value.shape)}")
        return float(value)

    def plot(self, value=None, *, labels=(), title="", width=480):
        """A drawing of ``compute()``, or of `value`, for notebooks and pages.

        ``value`` is what ``compute()`` or ``forward()`` gave, or a list of such, which is
        drawn over steps. Curves, confusion matrices, values of classes and numbers have
        drawings of their own; ``labels`` are names of classes (tally.plots).
        """
        value = self.compute() if value is None else value
        return plot_results(
            type(self).__name__, value, labels=labels, title=title, width=width
        )

    # ---- states

    @property
    def device(self):
        """The device of the state."""
        return self._held.device

    def set_dtype(self, dtype):
        """Sets the dtype of floating-point results; states keep their precision."""
        self._held.set_dtype(dtype)
        return self

    def persistent(self, mode=True):
        """Whether the state is in ``state_dict()``, as a tensor of bytes.

        Off at first: a checkpoint that one rank writes and all of them load would
        count what it holds once for each.
        """
        self.__dict__["_persistent"] = mode
        return self

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        if self._persistent:
            destination[prefix + "state"] = self._held.serialize()

    def _load_from_state_dict(
        self, state_dict, prefix, metadata, strict, missing, unexpected, errors
    ):
        key = prefix + "state"
        if key in state_dict:
            try:
                self._set_state(state_dict[key])
            except (ValueError, TypeError) as error:
                errors.append(f"{key}: {error}")
        elif self._persistent and strict:
            missing.append(key)

    def _apply(self, fn, recurse=True):
        self._held.to(fn(torch.empty(0, device=self.device)).device)
        return self

    @property
    def _options(self):
        return self._held.options

    @property
    def _object(self):
        return self._held.object

    def _lend(self):
        """What it holds, for another object that reads the inputs."""
        return self._object

    # ---- copies

    def clone(self):
        """A copy with the same options and state."""
        copy = _restore(type(self), self._own_fields(), self.training)
        copy._hold(self._held.clone())
        return copy

    def __deepcopy__(self, memo):
        copy = self.clone()
        memo[id(self)] = copy
        return copy

    def __copy__(self):
        return self.clone()

    def __reduce__(self):
        return _restore, (type(self), self._own_fields(), self.training)

    def _own_fields(self):
        """All but what every module has, and what a member of a collection refuses."""
        return {name: value for name, value in self.__dict__.items() if name not in _NOT_OWN}

    def __repr__(self):
        return self._held.repr()


_NOT_OWN = frozenset({*torch.nn.Module().__dict__, "update", "forward", "reset"})


class OneMetric(Accumulator):
    """A metric, other than a collection: what intervals and comparisons are made of."""


def check_metric(owner, metric):
    """Raises for what is no metric as an option of another class."""
    if not isinstance(metric, OneMetric):
        raise TypeError(f"{owner}: option 'metric': expected a tally.Metric, got {metric!r:.80}")


@_without_compiler
def _compiled_update(metric, inputs, named):
    return metric.update(*inputs, **named)


@_without_compiler
def _compiled_forward(metric, inputs, named):
    return metric.forward(*inputs, **named)


@_without_compiler
def _compiled_compute(metric):
    return metric.compute()


def _restore(cls, fields, training):
    metric = cls.__new__(cls)
    torch.nn.Module.__init__(metric)
    metric.__dict__.update(fields)
    metric.training = training
    return metric
