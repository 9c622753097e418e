"""Seeded inputs, rounded so that the files stay small.

Each helper takes a generator seeded by the case's own name, so that adding a
case leaves the others as they are.
"""

import zlib

import numpy as np

from .fixture import Batch

# Uneven on purpose: a batch of one row, an empty one, and no even split.
SIZES = (7, 1, 0, 12, 4)
ROWS = sum(SIZES)


def seeded(*names: str) -> np.random.Generator:
    """A generator whose stream is fixed by the names."""
    return np.random.default_rng(zlib.crc32("/".join(names).encode()))


def split(*arrays: np.ndarray, sizes: tuple[int, ...] = SIZES) -> list[Batch]:
    """Cuts arrays along dimension 0 into batches of the given sizes."""
    assert all(len(a) == sum(sizes) for a in arrays)
    ends = np.cumsum(sizes)
    return [tuple(a[end - size:end] for a in arrays)
            for size, end in zip(sizes, ends, strict=True)]


def join(batches: list[Batch]) -> Batch:
    """The inverse of split: each input over all batches."""
    return tuple(np.concatenate(columns) for columns in zip(*batches,
                                                        strict=True))


def normal(rng: np.random.Generator, shape: tuple[int, ...],
           dtype: str = "float32", offset: float = 0.0) -> np.ndarray:
    """Standard normal values with three decimals, plus an offset."""
    return (np.round(rng.standard_normal(shape), 3) + offset).astype(dtype)


def targets(rng: np.random.Generator, shape: tuple[int, ...],
            classes: list[int]) -> np.ndarray:
    """Labels from classes; each of them occurs if there is room for it."""
    size = int(np.prod(shape))
    labels = np.resize(np.array(classes), size)
    labels[len(classes):] = rng.choice(classes, max(size - len(classes), 0))
    return rng.permutation(labels).reshape(shape).astype("int64")


def scores(rng: np.random.Generator, labels: np.ndarray, num_classes: int,
           dtype: str = "float32", spread: float = 1.0) -> np.ndarray:
    """Scores [N, C, ...] that favour the labels; no ties within a row."""
    flat = labels.reshape(-1)
    rows = np.array([_score_row(rng, t, num_classes) for t in flat]) * spread
    rows = rows.reshape(*labels.shape, num_classes)
    return np.moveaxis(rows, -1, 1).astype(dtype)


def _score_row(rng: np.random.Generator, label: int,
               num_classes: int) -> np.ndarray:
    """Distinct scores with two decimals for one sample."""
    while True:
        row = rng.standard_normal(num_classes)
        if 0 <= label < num_classes:
            row[label] += 1.0
        row = np.round(row, 2)
        if len(np.unique(row)) == num_classes:
            return row


def probabilities(rng: np.random.Generator, labels: np.ndarray,
                  num_classes: int, dtype: str = "float32",
                  steps: int = 10000) -> np.ndarray:
    """Probabilities [N, C, ...] in multiples of 1/steps, all above zero."""
    flat = labels.reshape(-1)
    alpha = np.ones((flat.size, num_classes))
    inside = (flat >= 0) & (flat < num_classes)
    alpha[np.flatnonzero(inside), flat[inside]] += 1.5
    weights = rng.standard_gamma(alpha)
    weights /= weights.sum(1, keepdims=True)
    counts = 1 + np.floor(weights * (steps - num_classes)).astype("int64")
    counts[:, 0] += steps - counts.sum(1)
    rows = (counts / steps).reshape(*labels.shape, num_classes)
    return np.moveaxis(rows, -1, 1).astype(dtype)


def rows_of(array: np.ndarray) -> np.ndarray:
    """[N, C, ...] as [N * ..., C]."""
    return np.moveaxis(array, 1, -1).reshape(-1, array.shape[1])
