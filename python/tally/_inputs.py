"""What update() takes, as the library takes it."""

import sys
from collections.abc import Mapping

import torch
from torch import Tensor

from tally._columns import Coded, column_of
from tally._images import add_objects, check_images, is_images

_TENSOR, _NONE, _TEXTS, _TEXT_LISTS, _TASKS, _IMAGES, _JOINED_IMAGES = range(7)


def listed(value):
    """A tensor of a column or array of numbers, a list of one of texts; others as they are."""
    column = column_of(value)
    if column is not None:
        return column.plain() if isinstance(column, Coded) else column
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.ndarray):
        return value.tolist()
    if numpy is not None and hasattr(value, "__array__") and not hasattr(value, "__dlpack__"):
        return listed(numpy.asarray(value))
    return value


def _first_of_each(value, place=""):
    """Of the texts in nested lists and of all else, the first, and where it is."""
    if isinstance(value, str):
        return (place, value), None
    if not isinstance(value, (list, tuple)):
        return None, (place, value)
    text = other = None
    for i, item in enumerate(value):
        found = _first_of_each(item, f"{place}[{i}]")
        text, other = text or found[0], other or found[1]
        if text and other:
            break
    return text, other


def _refuse_texts(value):
    """Raises TypeError if there are texts where numbers, or other texts, are expected."""
    text, other = _first_of_each(value)
    if text and other:
        raise TypeError(
            f"expected texts or numbers, not both: got {text[1]!r:.40} at {text[0]} and "
            f"{other[1]!r:.40} ({type(other[1]).__name__}) at {other[0]}"
        )
    if text:
        raise TypeError(f"expected numbers, got the text {text[1]!r:.40} at {text[0]}")


def _tensor_of_list(value):
    if any(isinstance(item, Tensor) for item in value):
        raise TypeError(
            "expected a tensor, got a list of tensors: torch.stack or torch.cat it"
        )
    try:
        tensor = torch.tensor(value)
    except (TypeError, ValueError, RuntimeError):
        _refuse_texts(value)
        raise
    return torch.tensor(value, dtype=torch.float64) if tensor.is_floating_point() else tensor


def tensor_of(value):
    """A tensor of a tensor, a column (see column_of), an array with DLPack, or numbers.

    Numbers of Python become float64 and int64: they lose nothing.
    """
    if isinstance(value, Tensor):
        return value
    value = listed(value)
    if isinstance(value, Tensor):
        return value
    if hasattr(value, "__dlpack__"):
        return torch.from_dlpack(value)
    if isinstance(value, (bool, int)):
        return torch.tensor(value)
    if isinstance(value, float):
        return torch.tensor(value, dtype=torch.float64)
    if isinstance(value, (list, tuple)):
        return _tensor_of_list(value)
    raise TypeError(
        "expected a tensor, an array, numbers or texts, got "
        f"{type(value).__module__}.{type(value).__qualname__}"
    )


def is_texts(value):
    """Whether it is a list of texts, which may be empty."""
    return isinstance(value, (list, tuple)) and all(isinstance(v, str) for v in value)


class _Encoder:
    def __init__(self):
        self.kinds, self.tensors, self.texts = [], [], []

    def _add_texts(self, texts):
        self.kinds.append(len(texts))
        self.texts.extend(texts)

    def _add_images(self, images):
        if isinstance(images, Mapping) and "counts" in images:
            self.kinds.append(_JOINED_IMAGES)
            add_objects(self, images, tensor_of)
            self.tensors.append(tensor_of(images["counts"]))
            return
        self.kinds += [_IMAGES, len(check_images(images))]
        for i, image in enumerate(images):
            try:
                add_objects(self, image, tensor_of)
            except (TypeError, ValueError) as error:
                raise type(error)(f"image {i}: {error}") from None

    def add(self, value, kind, name=None):
        """One input; `kind` is what the metric declares, if it does."""
        if isinstance(value, Tensor) and kind != "ragged":
            self.kinds.append(_TENSOR)
            self.tensors.append(value)
            return
        try:
            value = listed(value)
        except ValueError as error:
            raise ValueError(f"input '{name}': {error}" if name else str(error)) from None
        if value is None:
            self.kinds.append(_NONE)
        elif kind == "ragged" or (kind is None and is_images(value)):
            self._add_images(value)
        elif isinstance(value, str):
            self.kinds.append(_TEXTS)
            self._add_texts([value])
        elif isinstance(value, Mapping):
            self.kinds.append(_TASKS)
            self._add_texts([str(name) for name in value])
            self.tensors.extend(tensor_of(each) for each in value.values())
        elif is_texts(value) and (value or kind == "text"):
            self.kinds.append(_TEXTS)
            self._add_texts(value)
        elif (
            isinstance(value, (list, tuple))
            and all(is_texts(v) for v in value)
            and (any(value) or kind in ("text_lists", "tokens"))
        ):
            self.kinds += [_TEXT_LISTS, len(value)]
            for texts in value:
                self._add_texts(texts)
        else:
            self.kinds.append(_TENSOR)
            tensor = tensor_of(value)
            # An empty list has no type.
            is_empty = isinstance(value, (list, tuple)) and not tensor.numel()
            self.tensors.append(tensor.long() if is_empty and kind == "integer" else tensor)


def encode(inputs, named, declared):
    """Arguments of the library's update() and forward().

    `declared` has the kind of each input by its name, in the metric's order.
    """
    encoder = _Encoder()
    names = list(declared)
    if inputs and named:
        if len(inputs) > len(names):
            raise TypeError(
                f"expected inputs by name, or at most {len(names)} by position beside them, "
                f"got {len(inputs)}"
            )
        for name, value in zip(names, inputs):
            if name in named:
                raise TypeError(f"input '{name}' is given twice")
            named[name] = value
        inputs = ()
    if named:
        for name, value in named.items():
            encoder.add(value, declared.get(name), name)
        return list(named), encoder.kinds, encoder.tensors, encoder.texts
    inputs = list(inputs)
    while inputs and inputs[-1] is None:
        inputs.pop()
    for i, value in enumerate(inputs):
        name = names[i] if i < len(names) else None
        encoder.add(value, declared.get(name), name)
    return [], encoder.kinds, encoder.tensors, encoder.texts
