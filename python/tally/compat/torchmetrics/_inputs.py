"""Inputs of drop-in metrics: as TorchMetrics takes them, or refused in its words."""

import warnings

import torch
from torch import Tensor
from torchmetrics.utilities.prints import rank_zero_warn

import tally
from tally._inputs import tensor_of
from tally._words import REFUSED
from tally.compat.torchmetrics import _corrections, _results, _table

# What _reading is as long as no batch has been taken as probabilities.
NOT_YET = (None, "logits")


def _without_empty_lists(inputs):
    """Texts in the places of lists that TorchMetrics takes for texts of no words."""
    preds, target = inputs
    if isinstance(preds, str) or isinstance(target, str) or any(len(each) == 0 for each in target):
        return None
    return [
        [each or "" for each in preds],
        [each if isinstance(each, str) else [one or "" for one in each] for each in target],
    ]


class TakesInputs:
    """What is done with inputs before Tally takes them, or after it has refused them."""

    _signature = None
    _prepare = None

    # Whether scores beyond [0, 1] are taken for logits, and how batches since the last
    # reset() have been read: None, "probabilities", "logits" or "both".
    _guesses = False
    _reading = None

    def _carefully(self, call, args, kwargs):
        given = inputs = self._in_order(args, kwargs)
        if self._prepare is not None:
            inputs = type(self)._prepare(self, inputs)
        try:
            value = call(*inputs)
            self._note_scores(given[0], inputs[0])
            return value
        except REFUSED as error:
            repaired = self._repaired(inputs)
            if repaired is not None:
                try:
                    value = getattr(self._tally, call.__name__)(*repaired)
                    self._note_scores(given[0], repaired[0])
                    return value
                except REFUSED:
                    pass
            self._raise_as_torchmetrics(args, kwargs)
            raise _results.as_torchmetrics(self._real.__name__, error) from None

    def _note_scores(self, given, taken=None):
        """Warns once if some batches' scores were taken as they are, and others not."""
        if not self._guesses or not isinstance(given, Tensor) or not given.is_floating_point():
            return
        self._note_reading("probabilities" if taken is None or taken is given else "logits")

    def _note_reading(self, reading):
        before = self.__dict__.get("_reading")
        if reading is None or before in (reading, "both"):
            return
        self.__dict__["_reading"] = reading if before is None else "both"
        if before is not None and _corrections.warns():
            warnings.warn(
                f"{self._real.__name__}: batches with a score outside [0, 1] were put through a "
                "sigmoid or softmax, others were taken as probabilities, as TorchMetrics does: "
                "the value depends on how rows are batched. Give probabilities, or logits, "
                "throughout: tally's own metrics take logits with input='logits'",
                _corrections.TallyCorrectionWarning,
                stacklevel=_corrections.level_of_program(),
            )

    def _in_order(self, args, kwargs):
        args = self._signature.bind(*args, **kwargs).args
        kinds = [each["kind"] for each in tally._METRICS[self._real.__name__]["inputs"]]
        return [
            each if each is None or kind.startswith(("text", "tokens", "ragged")) else tensor_of(each)
            for each, kind in zip(args, kinds)
        ]

    def _repaired(self, inputs):
        """Inputs in a form that Tally takes, if TorchMetrics does; else None."""
        name = self._real.__name__
        if name in _table.AGGREGATORS:
            return self._without_nan(inputs)
        if name in _table.OUTPUTS_BY_SHAPE and inputs[0].ndim == 2 and not self._update_count > 1:
            self._tally_options = {**self._tally_options, "num_outputs": inputs[0].shape[1]}
            self._make()
            return inputs
        if name in _table.LISTS_OF_ONE and isinstance(inputs[0], str):
            return [inputs[0], [inputs[1]]]
        if name in _table.LISTS_FOR_NOTHING:
            return _without_empty_lists(inputs)
        if name in _table.FLATTENING and self.num_outputs == 1:
            return [each.flatten() for each in inputs]
        if name in _table.SHORTENED and all(each.ndim for each in inputs):
            frames = min(map(len, inputs))
            return [each[:frames] for each in inputs]
        if ".classification" in self._real.__module__:
            return _table.as_probabilities(name, inputs)
        return None

    def _without_nan(self, inputs):
        """As TorchMetrics' nan_strategy has rows with NaN: removed with a warning, or a number."""
        strategy = _table.nan_strategy_of(self)
        value, *weights = (each for each in inputs if each is not None)
        columns = [value, *(each.expand_as(value) for each in weights)]
        is_nan = torch.stack([each.isnan() for each in columns]).any(0)
        if strategy in ("error", "disable") or not bool(is_nan.any()):
            return None
        if strategy == "warn":
            rank_zero_warn("Encountered `nan` values in tensor. Will be removed.", UserWarning)
        if strategy in ("warn", "ignore"):
            return [each[~is_nan] for each in columns]
        numbers = (strategy, 1.0)  # a weight is one
        return [each.masked_fill(is_nan, number) for each, number in zip(columns, numbers)]

    def _raise_as_torchmetrics(self, args, kwargs):
        """Raises what TorchMetrics would for these inputs, if anything."""
        if self._construct is not None:
            return
        init_args, init_kwargs = self._given
        scratch = self._real(*init_args, **init_kwargs)
        scratch.update(*args, **kwargs)
