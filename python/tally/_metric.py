"""Metrics: one class of Python for each metric of the registry."""

from collections.abc import Mapping

import torch
from torch import Tensor
from torch.compiler import is_dynamo_compiling as is_compiling

from tally._errors import DistError, check_status, sync_error
from tally._inputs import encode
from tally._library import METRICS, classes
from tally._options import bind, signature_of, text_of
from tally._ranks import boxed, follow

#: What every metric and collection can be told besides its own options.
SYNC_OPTIONS = {
    "dist_sync_on_step": False,
    "sync_on_compute": True,
    "compute_with_cache": True,
    "gradient_flow": "local",
    "sync_timeout": None,
}
STATE_OPTIONS = {
    "validate_args": True,
    "nan_policy": "propagate",
    "compute_on_cpu": False,
}
METRIC_OPTIONS = {**SYNC_OPTIONS, **STATE_OPTIONS, "process_group": None}

_OPTIONS_DOC = """
    dist_sync_on_step: ``forward()`` gives the value over the batches of all ranks.
    sync_on_compute: ``compute()`` gives the value over all ranks.
    compute_with_cache: ``compute()`` without an update in between gives its last value.
    gradient_flow: The gradient of a synced ``forward()``: "detached", "local",
        "replicated" or "all_ranks" (docs/gradients.md).
    sync_timeout: Seconds that a sync may wait for other ranks; None: the group's.
    validate_args: Check the values of inputs, not only shapes and dtypes.
    nan_policy: "propagate", "error" or "ignore" (rows with NaN do not count).
    compute_on_cpu: Keep what is accumulated on the CPU.
    process_group: A group of torch.distributed; None: the default one.
"""

# torch.compile leaves these alone: what they call is no code of Python.
_without_compiler = torch._disable_dynamo


class Accumulator(torch.nn.Module):
    """What metrics and collections have in common."""

    def _hold(self, held, options):
        """Takes over an object of the library."""
        fields = self.__dict__
        fields["_held"] = held
        fields["_options"] = options
        fields["_meets"] = options["dist_sync_on_step"]
        # Kept, as looking them up costs more than calling them.
        for name in ("update1", "update2", "update3", "forward1", "forward2"):
            fields["_" + name] = getattr(held, name)
        fields["_compute"] = held.compute
        fields.setdefault("_persistent", False)
        fields.setdefault("_device", torch.device("cpu"))
        fields.setdefault("_dtype", None)
        fields.setdefault("_declared", {})

    def _set_options(self):
        held, options = self._held, self._options
        held.set_options(
            *(options[name] for name in (*SYNC_OPTIONS, *STATE_OPTIONS)),
            boxed(options["process_group"]),
        )

    # ---- accumulating

    def update(self, *inputs, **named):
        """Accumulates one batch; if it raises, nothing has changed."""
        if is_compiling():
            return _compiled_update(self, inputs, named)
        if not named:
            count = len(inputs)
            if count == 2:
                a, b = inputs
                if isinstance(a, Tensor) and isinstance(b, Tensor):
                    return self._update2(a, b)
            elif count == 1:
                if isinstance(inputs[0], Tensor):
                    return self._update1(inputs[0])
            elif count == 3:
                a, b, c = inputs
                if isinstance(a, Tensor) and isinstance(b, Tensor) and isinstance(c, Tensor):
                    return self._update3(a, b, c)
        return self._held.update(*encode(inputs, named, self._declared))

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
                if len(inputs) == 2:
                    a, b = inputs
                    if isinstance(a, Tensor) and isinstance(b, Tensor):
                        return self._forward2(a, b)
                elif len(inputs) == 1 and isinstance(inputs[0], Tensor):
                    return self._forward1(inputs[0])
            return self._held.forward(*encode(inputs, named, self._declared))
        except DistError as error:
            raise sync_error(error) from None

    def __call__(self, *inputs, **named):
        """forward(), without hooks."""
        return self.forward(*inputs, **named)

    def compute(self):
        """The value of everything accumulated, over all ranks."""
        if is_compiling():
            return _compiled_compute(self)
        follow()
        try:
            return self._compute()
        except DistError as error:
            raise sync_error(error) from None

    def reset(self):
        """Back to before the first update."""
        self._held.reset()

    # ---- ranks

    def sync(self):
        """Replaces the local state by that of all ranks, until ``unsync()``."""
        follow()
        try:
            self._held.sync()
        except DistError as error:
            raise sync_error(error) from None

    def unsync(self):
        """Back to the local state."""
        self._held.unsync()

    @property
    def is_synced(self):
        """Whether ``sync()`` was called, and ``unsync()`` not."""
        return self._held.is_synced()

    def sync_context(self):
        """``with metric.sync_context():`` syncs for as long as the block runs."""
        return _SyncContext(self)

    def merge_state(self, other):
        """Adds what `other`, the same with the same options, accumulated."""
        for each in other if isinstance(other, (list, tuple)) else [other]:
            if type(each) is not type(self):
                raise TypeError(
                    f"merge_state expected a {type(self).__name__}, "
                    f"got a {type(each).__name__}"
                )
            self._held.merge_state(each._held)

    # ---- states

    @property
    def update_count(self):
        """Batches accumulated; while synced, by all ranks."""
        return self._held.update_count()

    @property
    def metric_state(self):
        """A copy of the state: a dict of tensors."""
        return self._held.state()

    @property
    def device(self):
        """Where the state is."""
        return self._device

    def set_dtype(self, dtype):
        """The dtype of floating-point results; states keep their precision."""
        index = _SCALAR_TYPES.get(dtype)
        if index is None:
            raise ValueError(f"set_dtype expected a floating-point dtype, got {dtype}")
        self._held.set_dtype(index)
        self.__dict__["_dtype"] = dtype
        return self

    def save(self, path, ranks="own"):
        """Writes the state to a file.

        ``ranks``: "own", this rank's; "one_file" or "file_per_rank", those of all
        ranks, which all call it (docs/checkpoints.md).
        """
        self._transfer(self._held.save, path, ranks)

    def load(self, path, ranks="own"):
        """Reads it back; if it raises, nothing has changed."""
        self._transfer(self._held.load, path, ranks)

    def _transfer(self, call, path, ranks):
        follow()
        try:
            status = call(str(path), ranks)
        except DistError as error:
            raise sync_error(error) from None
        check_status(status)

    def serialize(self):
        """The state with version and checksum, as bytes."""
        return bytes(self._held.serialize().numpy())

    def deserialize(self, state):
        """Reads it back; if it raises, nothing has changed."""
        self._set_state(torch.frombuffer(bytearray(state), dtype=torch.uint8))

    def _set_state(self, tensor):
        check_status(self._held.deserialize(tensor))

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
        device = fn(torch.empty(0, device=self._device)).device
        if device != self._device:
            self._held.to(device)
            self.__dict__["_device"] = device
        return self

    # ---- copies

    def clone(self):
        """One of its own with the same options and state."""
        copy = type(self).__new__(type(self))
        torch.nn.Module.__init__(copy)
        for name, value in self.__dict__.items():
            if name not in copy.__dict__ and name != "_held":
                copy.__dict__[name] = value
        copy.training = self.training
        copy._hold(self._held.clone(), dict(self._options))
        return copy

    def __deepcopy__(self, memo):
        copy = self.clone()
        memo[id(self)] = copy
        return copy

    def __copy__(self):
        return self.clone()

    def __reduce__(self):
        if self._options["process_group"] is not None:
            raise TypeError(
                f"cannot pickle a {type(self).__name__} with a process_group of its own"
            )
        saved = {
            "options": self._options,
            "state": self._held.serialize(),
            "device": self._device,
            "dtype": self._dtype,
            "persistent": self._persistent,
            "training": self.training,
        }
        return _restore, (type(self), self._recipe(), saved)

    def _recipe(self):
        """What makes one without options of sync and without state."""
        raise NotImplementedError

    def _cook(self, recipe, options):
        raise NotImplementedError

    def __repr__(self):
        return self._held.repr()


_SCALAR_TYPES = {
    torch.float16: 5,
    torch.float32: 6,
    torch.float64: 7,
    torch.bfloat16: 15,
}


@_without_compiler
def _compiled_update(metric, inputs, named):
    return metric.update(*inputs, **named)


@_without_compiler
def _compiled_forward(metric, inputs, named):
    return metric.forward(*inputs, **named)


@_without_compiler
def _compiled_compute(metric):
    return metric.compute()


def _restore(cls, recipe, saved):
    metric = cls.__new__(cls)
    torch.nn.Module.__init__(metric)
    metric._cook(recipe, saved["options"])
    metric._set_state(saved["state"])
    if saved["dtype"] is not None:
        metric.set_dtype(saved["dtype"])
    metric.training = saved["training"]
    metric.persistent(saved["persistent"])
    return metric.to(saved["device"])


class _SyncContext:
    def __init__(self, metric):
        self._metric = metric

    def __enter__(self):
        self._metric.sync()
        return self._metric

    def __exit__(self, *error):
        if self._metric.is_synced:
            self._metric.unsync()


class Metric(Accumulator):
    """Accumulates what it needs to know of batches, and computes a value from it.

    ``tally.Metric("MulticlassAccuracy(num_classes=10)")`` makes any metric from text,
    and each has a class of its own: ``tally.MulticlassAccuracy(num_classes=10)``.
    Inputs are tensors, arrays of NumPy or what has DLPack, numbers, or texts; by
    position or by name.

    With several ranks ``compute()``, ``sync()``, and ``forward()`` with
    ``dist_sync_on_step`` are calls of all ranks. One thread at a time may use an object.
    """

    _entry = None

    def __init__(self, *args, **kwargs):
        super().__init__()
        entry = self._entry
        name = type(self).__name__
        signature = _TEXT_SIGNATURE if entry is None else self.__signature__
        given = bind(name, signature, args, kwargs)
        options = {k: given.pop(k, default) for k, default in METRIC_OPTIONS.items()}
        if entry is None:
            text = given["text"]
        else:
            self._take_over(given, options, kwargs)
            texts = ", ".join(f"{name}={text_of(v)}" for name, v in given.items())
            text = f"{entry['name']}({texts})"
        self._cook(text, options)

    def _take_over(self, given, options, kwargs):
        """What metrics inside do with their inputs is the wrapper's business, too."""
        for value in given.values():
            inside = value.values() if isinstance(value, Mapping) else (value,)
            for metric in inside:
                if isinstance(metric, Metric):
                    for name in STATE_OPTIONS:
                        if name not in kwargs:
                            options[name] = metric._options[name]

    def _recipe(self):
        return self._text

    def _cook(self, recipe, options):
        self.__dict__["_text"] = recipe
        if isinstance(recipe, str):
            held = classes.Metric(recipe, *(options[name] for name in STATE_OPTIONS))
        else:
            held = _compose(recipe)
        entry = self._entry
        if entry is None and isinstance(recipe, str):
            entry = METRICS.get(recipe.partition("(")[0].strip())
        kinds = {i["name"]: i["kind"] for i in entry["inputs"]} if entry else {}
        self.__dict__["_declared"] = {
            name: kinds.get(name) for name in held.input_names()
        }
        self._hold(held, options)
        if any(options[name] != METRIC_OPTIONS[name] for name in METRIC_OPTIONS):
            self._set_options()

    def registry_text(self):
        """The metric as text, for ``tally.Metric`` and the program ``tally``."""
        if not isinstance(self._text, str):
            raise ValueError(f"{self!r} cannot be written as text")
        return self._text

    @property
    def is_differentiable(self):
        """Whether ``forward()`` gives a value with a graph."""
        return self._held.is_differentiable()

    @property
    def higher_is_better(self):
        """True, False, or None where neither is."""
        answer = self._held.higher_is_better()
        return None if answer is None else bool(answer)

    # ---- arithmetic

    def __add__(self, other):
        return _operation("+", self, other)

    def __radd__(self, other):
        return _operation("+", other, self)

    def __sub__(self, other):
        return _operation("-", self, other)

    def __rsub__(self, other):
        return _operation("-", other, self)

    def __mul__(self, other):
        return _operation("*", self, other)

    def __rmul__(self, other):
        return _operation("*", other, self)

    def __truediv__(self, other):
        return _operation("/", self, other)

    def __rtruediv__(self, other):
        return _operation("/", other, self)

    def __pow__(self, other):
        return _operation("pow", self, other)

    def __rpow__(self, other):
        return _operation("pow", other, self)

    def __neg__(self):
        return _operation("-", 0.0, self)

    def __abs__(self):
        return _operation("abs", self)


_TEXT_SIGNATURE = signature_of(
    [{"name": "text", "is_required": True}], METRIC_OPTIONS
)


class CompositionalMetric(Metric):
    """Arithmetic on metrics, which is a metric: ``2 * p * r / (p + r)``.

    It takes the options of its metrics, not the objects; one that occurs twice is
    updated once.
    """

    def __init__(self, recipe):
        torch.nn.Module.__init__(self)
        self._cook(recipe, dict(METRIC_OPTIONS))


def _recipe_of(operand):
    if isinstance(operand, Metric):
        if isinstance(operand._text, str):
            state_options = tuple(operand._options[name] for name in STATE_OPTIONS)
            return ("metric", operand._text, state_options)
        return operand._text
    return float(operand)


def _check_operand(metric):
    if metric.update_count:
        raise ValueError(
            "expected metrics in arithmetic that have accumulated nothing, got "
            f"{metric!r} with {metric.update_count} updates"
        )
    for name in (*SYNC_OPTIONS, "process_group"):
        if metric._options[name] != METRIC_OPTIONS[name]:
            raise ValueError(f"{name}: tell the result of the arithmetic, not {metric!r}")


def _operation(symbol, *operands):
    for operand in operands:
        if not isinstance(operand, (Metric, int, float)):
            return NotImplemented
        if isinstance(operand, Metric):
            _check_operand(operand)
    return CompositionalMetric((symbol, *map(_recipe_of, operands)))


def _compose(recipe):
    symbol, *operands = recipe
    if symbol == "metric":
        text, state_options = operands
        return classes.Metric(text, *state_options)
    arguments = []
    for operand in operands:
        arguments += [None, operand] if isinstance(operand, float) else [
            _compose(operand), 0.0]
    if len(operands) == 1:
        arguments += [None, 0.0]
    return classes.Metric.compose(symbol, *arguments, len(operands) == 1)


def minimum(a, b):
    """The smaller of two metrics' values, or of a metric's and a number: a metric."""
    return _operation("minimum", a, b)


def maximum(a, b):
    """The larger of two metrics' values, or of a metric's and a number: a metric."""
    return _operation("maximum", a, b)


def sqrt(metric):
    """The square root of a metric's value: a metric."""
    return _operation("sqrt", metric)


def describe(entry):
    """The docstring of a metric's class."""
    lines = [entry["what"], ""]
    if entry["inputs"]:
        lines.append("Inputs of ``update()``:")
        for each in entry["inputs"]:
            optional = " (optional)" if each["is_optional"] else ""
            lines.append(f"    {each['name']}: {each['words']}{optional}")
    else:
        lines.append("Inputs of ``update()``: those of the metric inside.")
    lines += ["", "Args:"]
    for option in entry["options"]:
        default = "required" if option["is_required"] else f"default {option['default']}"
        lines.append(
            f"    {option['name']}: {option['words']} {option['expected'].capitalize()}; "
            f"{default}."
        )
    lines.append(_OPTIONS_DOC.strip("\n"))
    known = {True: "yes", False: "no", None: "neither"}
    lines += ["", f"Range: {entry['range']}."]
    if not entry["is_wrapper"]:
        lines.append(f"Differentiable: {known[bool(entry['is_differentiable'])]}.")
        lines.append(f"Higher is better: {known[entry['higher_is_better']]}.")
    return "\n".join(lines) + "\n"


def metric_class(entry):
    """The class of Python for a metric of the registry."""
    return type(
        entry["name"],
        (Metric,),
        {
            "__module__": "tally",
            "__doc__": describe(entry),
            "__signature__": signature_of(entry["options"], METRIC_OPTIONS),
            "_entry": entry,
        },
    )


CLASSES = {name: metric_class(entry) for name, entry in METRICS.items()}
