"""Losses over the rows of all ranks, as nn.Modules.

Each returns the loss of the global batch on every rank. Average the parameters' gradients
over the ranks, by ``tally.average_gradients`` or DistributedDataParallel: they are those
of one process with all rows.
"""

import collections

import torch
from torch import Tensor

from tally import _words
from tally._accumulator import check_metric
from tally._library import LOSSES, classes, functions
from tally._options import bind, signature_of, text_of, value_of
from tally._ranks import boxed, over_ranks

_EXTRA = {"process_group": None, "timeout": None}


def _output_class(name, fields):
    output = collections.namedtuple(name, fields, module=__name__)
    globals()[name] = output
    return output


ClipLogits = _output_class("ClipLogits", ["per_image", "per_text"])


def _bind_inputs(entry, inputs, named):
    """Tensors in the order of the loss, None where left out."""
    if not named and len(inputs) == len(entry["inputs"]):
        for value in inputs:
            if not isinstance(value, Tensor):
                break
        else:
            return list(inputs)
    names = [name.rstrip("?") for name in entry["inputs"]]
    if len(inputs) > len(names):
        raise TypeError(
            f"{entry['name']} expected at most {len(names)} inputs, got {len(inputs)}"
        )
    given = dict(zip(names, inputs))
    for name, value in named.items():
        if name not in names or name in given:
            problem = "is given twice" if name in given else f"is none of {', '.join(names)}"
            raise TypeError(f"{entry['name']}: input '{name}' {problem}")
        given[name] = value
    for name in entry["inputs"]:
        if not name.endswith("?") and given.get(name) is None:
            raise TypeError(f"{entry['name']}: input '{name}' is missing")
    values = [given.get(name) for name in names]
    for name, value in zip(names, values):
        if isinstance(value, float):
            given[name] = torch.tensor(value, dtype=torch.float64)
        elif value is not None and not isinstance(value, Tensor):
            raise TypeError(
                f"{entry['name']}: expected {name} to be a tensor, "
                f"got a {type(value).__name__}"
            )
    return [given.get(name) for name in names]


def _named(entry, value):
    return globals()[entry["name"] + "Output"](*value) if entry["results"] else value


class Loss(torch.nn.Module):
    """A loss of this library."""

    _entry = None

    def __init__(self, *args, **kwargs):
        super().__init__()
        given = bind(type(self).__name__, self.__signature__, args, kwargs)
        self._cook(given)

    def _cook(self, given):
        fields = self.__dict__
        fields["_given"] = given
        texts = {k: _text(v) for k, v in given.items() if k not in (*_EXTRA, "weight_fn")}
        group = boxed(given.get("process_group"))
        name = self._entry["name"]
        try:
            fields["_held"] = classes.Loss(name, texts, group, given.get("timeout"))
        except _words.REFUSED as error:
            raise _words.reworded_option(error, name, given)
        # Looked up once: as an attribute, it is made anew each time.
        fields["_held_forward"] = self._held.forward
        for name, tensor in self._held.parameters().items():
            tensor._is_param = True
            owner, leaf = self._owner(name)
            owner.register_parameter(leaf, tensor)
        self._take_buffers()
        # Those of others are none, and stay so.
        fields["_has_buffers"] = bool(self._buffers) or self._entry["name"] == "NTXentLoss"
        fields["_held_trains"] = None

    def _owner(self, name):
        *path, leaf = name.split(".")
        owner = self
        for part in path:
            if not hasattr(owner, part):
                owner.add_module(part, torch.nn.Module())
            owner = getattr(owner, part)
        return owner, leaf

    def _take_buffers(self):
        for name, tensor in self._held.buffers().items():
            if name in self._buffers:
                self._buffers[name] = tensor
            else:
                self.register_buffer(name, tensor)

    def _call(self, call, inputs, named):
        held = self._held
        if self._held_trains is not self.training:
            held.train(self.training)
            self._held_trains = self.training
        if not self._has_buffers:
            return over_ranks(call, _bind_inputs(self._entry, inputs, named))
        if self._buffers:
            held.set_buffers(dict(self._buffers))
        try:
            return over_ranks(call, _bind_inputs(self._entry, inputs, named))
        finally:
            self._take_buffers()

    def forward(self, *inputs, **named):
        """The loss of the global batch. Collective: every rank calls it."""
        return _named(self._entry, self._call(self._held_forward, inputs, named))

    def _load_from_state_dict(self, state_dict, prefix, *args):
        # A memory bank has its size from the first batch, or from a checkpoint.
        for name in ("memory_bank", "memory_bank_next"):
            if prefix + name in state_dict and type(self).__name__ == "NTXentLoss":
                self._buffers[name] = state_dict[prefix + name].clone()
        super()._load_from_state_dict(state_dict, prefix, *args)

    def __deepcopy__(self, memo):
        copy = _restore(type(self), self._given, self.state_dict(), self.training)
        for parameter, own in zip(copy.parameters(), self.parameters()):
            parameter.requires_grad_(own.requires_grad)
        memo[id(self)] = copy
        return copy

    def __reduce__(self):
        if self._given.get("process_group") is not None:
            raise TypeError(
                f"cannot pickle a {type(self).__name__} with a process_group of its own"
            )
        return _restore, (type(self), dict(self._given), dict(self.state_dict()), self.training)

    def extra_repr(self):
        return ", ".join(f"{name}={value!r}" for name, value in self._given.items())


def _restore(cls, given, state, training):
    loss = cls(**given)
    loss.load_state_dict(state)
    return loss.train(training)


def _text(value):
    # Of losses, options come apart from each other: nothing needs quotes.
    return value if isinstance(value, str) else text_of(value)


class _Codebook(Loss):
    def indices_to_codes(self, indices, project_out=True):
        """The codes of these indices, as returned by ``forward()``."""
        if self._buffers:
            self._held.set_buffers(dict(self._buffers))
        return self._held.indices_to_codes(indices, project_out)


class _WithLogits(Loss):
    def logits(self, *inputs, **named):
        """The logits, in float32 or wider. Collective: every rank calls it."""
        return ClipLogits(*self._call(self._held.logits, inputs, named))


class _Weighted(Loss):
    def forward(self, a, b):
        """The loss of the global batch. Collective: every rank calls it."""
        weight_fn = self._given.get("weight_fn")
        if weight_fn is None:
            return super().forward(a, b)
        unit_a, unit_b = _unit_rows(a), _unit_rows(b)
        weights = weight_fn(unit_a, unit_b), weight_fn(unit_b, unit_a)
        return super().forward(a, b, *weights)


def _unit_rows(rows):
    rows = rows if rows.dtype == torch.float64 else rows.float()
    return rows / rows.norm(2, 1, keepdim=True).clamp_min(1e-12)


_BASES = {
    "DCLLoss": _Weighted,
    "ClipLoss": _WithLogits,
    "LFQ": _Codebook,
    "VectorQuantize": _Codebook,
}


def _describe(entry):
    lines = [entry["what"], "", "Inputs of ``forward()``: " + ", ".join(
        name.replace("?", " (optional)") for name in entry["inputs"]) + "."]
    if entry["results"]:
        lines.append("Result: " + ", ".join(entry["results"]) + ", a named tuple.")
    lines += ["", "Args:"]
    for option in entry["options"]:
        default = "required" if option["is_required"] else f"default {option['default']}"
        lines.append(
            f"    {option['name']}: {option['words']} {option['expected'].capitalize()}; "
            f"{default}."
        )
    if entry["name"] == "DCLLoss":
        lines.append("    weight_fn: Takes rows of both views, of length 1; returns their weights.")
    lines.append("    process_group: A group of torch.distributed; None: the default one.")
    lines.append("    timeout: Seconds that a step may wait for other ranks.")
    return "\n".join(lines) + "\n"


def _loss_class(entry):
    if entry["results"]:
        _output_class(entry["name"] + "Output", entry["results"])
    return type(
        entry["name"],
        (_BASES.get(entry["name"], Loss),),
        {
            "__module__": __name__,
            "__doc__": _describe(entry),
            "__signature__": signature_of(
                entry["options"],
                {"weight_fn": None, **_EXTRA} if entry["name"] == "DCLLoss" else _EXTRA,
            ),
            "_entry": entry,
        },
    )


class MetricLoss(torch.nn.Module):
    """A differentiable metric as a loss: ``MetricLoss(tally.MeanSquaredError())``.

    ``forward()`` returns the metric's value over the batches of all ranks together, with
    its exact gradient when parameters' gradients are averaged over the ranks
    (``gradient_flow="replicated"``; "local": when they are summed). ``metric`` holds
    what the steps have accumulated, unless ``accumulate`` is off.
    """

    def __init__(
        self, metric, *, gradient_flow="replicated", process_group=None, timeout=None,
        accumulate=True,
    ):
        super().__init__()
        check_metric("MetricLoss", metric)
        self._keep(metric.clone(), (gradient_flow, process_group, timeout, accumulate))

    def _keep(self, metric, options):
        fields = self.__dict__
        fields["_given"] = options
        gradient_flow, process_group, timeout, accumulate = options
        fields["_held"] = _words.call(
            classes.MetricLoss, metric._lend(), gradient_flow, boxed(process_group), timeout, accumulate
        )
        held = metric._held.with_object(self._held.metric())
        held.options["dist_sync_on_step"] = True
        metric._hold(held)
        fields["metric"] = metric

    def forward(self, *inputs, **named):
        """The value over all ranks' batches; a call of all ranks.

        Takes the metric's inputs, by position or by name.
        """
        tensors = self._inputs(inputs, named)
        return over_ranks(self._held.forward, *tensors)

    def _inputs(self, inputs, named):
        """Three tensors in the metric's order, None for those left out."""
        names = list(self.metric._declared)
        given = dict(zip(names, inputs))
        if len(inputs) > len(names):
            raise TypeError(f"MetricLoss expected at most {len(names)} inputs, got {len(inputs)}")
        for name, value in named.items():
            if name not in names or name in given:
                problem = "is given twice" if name in given else f"is none of {', '.join(names)}"
                raise TypeError(f"MetricLoss: input '{name}' {problem}")
            given[name] = value
        values = [given.get(name) for name in names]
        if any(value is not None for value in values[3:]):
            raise TypeError(f"MetricLoss expected up to three inputs, got {', '.join(given)}")
        if not values or values[0] is None:
            raise TypeError(f"MetricLoss: input '{names[0]}' is missing")
        return (values + [None, None])[:3]

    def __deepcopy__(self, memo):
        return _restore_metric_loss(self.metric, self._given, self.training)

    def __reduce__(self):
        if self._given[1] is not None:
            raise TypeError("cannot pickle a MetricLoss with a process_group of its own")
        return _restore_metric_loss, (self.metric, self._given, self.training)

    def extra_repr(self):
        return repr(self.metric)


def _restore_metric_loss(metric, options, training):
    fresh = metric.clone()
    fresh.reset()
    loss = MetricLoss.__new__(MetricLoss)
    torch.nn.Module.__init__(loss)
    loss._keep(fresh, options)
    loss.metric._set_state(metric._held.serialize())
    return loss.train(training)


for _entry in LOSSES.values():
    globals()[_entry["name"]] = _loss_class(_entry)


def make_loss(text, process_group=None, timeout=None):
    """The loss that a text describes: ``make_loss("DiceLoss(mode=binary)")``.

    ``tally describe`` lists options and what they may be. ValueError for an unknown
    name, with the closest one.
    """
    name, texts = functions.loss_of_text(text)
    expected = {option["name"]: option["expected"] for option in LOSSES[name]["options"]}
    options = {k: value_of(v, expected.get(k, "text")) for k, v in texts.items()}
    return globals()[name](**options, process_group=process_group, timeout=timeout)


__all__ = ["ClipLogits", "Loss", "MetricLoss", "make_loss", *LOSSES] + [
    name + "Output" for name, entry in LOSSES.items() if entry["results"]
]
