"""Objects of images, as the library takes them."""

from collections.abc import Mapping

import torch

from tally._library import functions

#: What of an image's objects are tensors, in the order of their bits.
FIELDS = tuple(functions.image_fields())
_INTEGERS = {
    "labels", "iscrowd", "ignore", "masks", "negative_labels", "inexhaustive_labels",
    "image_size",
}


def is_images(value):
    """Whether an input is of images, where no metric says so: inside of wrappers."""
    if isinstance(value, Mapping):
        return "counts" in value and "labels" in value
    return isinstance(value, (list, tuple)) and any(isinstance(each, Mapping) for each in value)


def _is_runs(masks):
    """Whether masks are dicts of runs or polygons, and no pixels."""
    return isinstance(masks, (list, tuple)) and bool(masks) and isinstance(masks[0], Mapping)


def _tensor_of(image, name, to_tensor):
    value = image[name]
    try:
        tensor = to_tensor(value)
    except (TypeError, ValueError) as error:
        raise type(error)(f"'{name}': {error}") from None
    # Nothing has no dtype: torch.tensor([]) is of numbers with fractions.
    if name in _INTEGERS and not tensor.numel() and tensor.is_floating_point():
        return tensor.to(torch.int64)
    return tensor


def add_objects(encoder, image, to_tensor):
    """The objects of one image, or of several joined; other keys are left alone."""
    names = [name for name in FIELDS if image.get(name) is not None]
    runs = image["masks"] if _is_runs(image.get("masks")) else ()
    if runs:
        names.remove("masks")
    encoder.kinds.append(sum(1 << FIELDS.index(name) for name in names))
    encoder.tensors.extend(_tensor_of(image, name, to_tensor) for name in names)
    encoder.kinds.append(len(runs))
    for mask in runs:
        _add_runs(encoder, mask)


def _add_runs(encoder, mask):
    """One mask as in COCO's files: {"size": [height, width], "counts" or "polygons": ...}."""
    if not isinstance(mask, Mapping) or len(mask.get("size") or ()) != 2:
        raise ValueError(
            "expected masks as a tensor, or each as {'size': [height, width], 'counts': ...} "
            f"or with 'polygons', got {mask!r:.80}"
        )
    height, width = map(int, mask["size"])
    if "polygons" in mask:
        polygons = mask["polygons"]
        if not polygons:
            raise ValueError("expected a mask of one polygon at least, got none")
        encoder.kinds += [height, width, len(polygons)]
        encoder.tensors.extend(torch.as_tensor(p, dtype=torch.float64) for p in polygons)
        return
    counts = mask.get("counts")
    if isinstance(counts, bytes):
        counts = counts.decode("ascii")
    if isinstance(counts, str):
        encoder.kinds += [height, width, -1]
        encoder.texts.append(counts)
    elif counts is not None:
        encoder.kinds += [height, width, 0]
        encoder.tensors.append(torch.as_tensor(counts, dtype=torch.int64))
    else:
        raise ValueError("expected 'counts' or 'polygons' of a mask, got neither")


def check_images(images):
    """The dicts of a list, or TypeError."""
    if not isinstance(images, (list, tuple)):
        raise TypeError(
            "expected a list with a dict of boxes, labels, ... for each image, or one dict of "
            f"joined images with counts, got a {type(images).__name__}"
        )
    for i, image in enumerate(images):
        if not isinstance(image, Mapping):
            raise TypeError(
                f"image {i}: expected a dict of boxes, labels, ..., got a {type(image).__name__}"
            )
    return images
