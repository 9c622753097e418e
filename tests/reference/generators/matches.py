"""Exact matches of samples, and rates of groups."""

import numpy as np
from sklearn import metrics

from .fixture import Case, Fixture, Options
from .sampling import ROWS, join, rows_of, scores, seeded, split, targets

SOURCE = "scikit-learn 1.9.1, NumPy 2.4.6"
CLASSES = 4
LABELS = 3
GROUPS = 3


def fixtures() -> list[Fixture]:
    """The fixtures of this module."""
    return [_multiclass(), _multilabel(), *_groups()]


def _weights(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return (rng.integers(0, 9, shape) / 4).astype("float32")


def _multiclass() -> Fixture:
    metric = "MulticlassExactMatch"
    cases = []

    def add(name, shape, kind="labels", ignored=None, weighted=False,
            **options):
        rng = seeded(metric, name)
        target = targets(rng, shape, list(range(CLASSES)))
        preds = np.where(rng.random(shape) < 0.8, target,
                         rng.integers(0, CLASSES, shape))
        if kind == "scores":
            preds = scores(rng, target, CLASSES)
        if ignored is not None:
            target = np.where(rng.random(shape) < 0.3, ignored, target)
            options["ignore_index"] = ignored
        arrays = [preds, target]
        if weighted:
            arrays.append(_weights(rng, shape[:1]))
        batches = split(*arrays)
        preds, target, *weight = join(batches)
        labels = preds.argmax(1) if kind == "scores" else preds
        keep = target != (-9 if ignored is None else ignored)
        flat = [x.reshape(ROWS, -1) for x in (labels == target, keep)]
        right = (flat[0] | ~flat[1]).all(1)
        counts = flat[1].any(1)
        if options.get("multidim_average") == "samplewise":
            value = np.where(counts, right, np.nan)
        else:
            value = np.average(right[counts],
                               weights=weight[0][counts] if weight else None)
        cases.append(Case(name, {"num_classes": CLASSES, **options}, batches,
                          value, "all positions that count are right"))

    add("labels", (ROWS,))
    add("multidim", (ROWS, 3))
    add("scores", (ROWS, 2), kind="scores")
    add("ignored", (ROWS, 2), ignored=-1)
    add("ignored_inside", (ROWS,), ignored=2)
    add("weights", (ROWS, 2), weighted=True)
    add("samplewise", (ROWS, 2), ignored=-1, multidim_average="samplewise")
    return Fixture(metric, SOURCE, cases)


def _multilabel() -> Fixture:
    metric = "MultilabelExactMatch"
    cases = []

    def add(name, positions=(), ignored=None, weighted=False, logits=False,
            **options):
        rng = seeded(metric, name)
        shape = (ROWS, LABELS, *positions)
        target = rng.integers(0, 2, shape)
        preds = np.clip(rng.integers(1, 80, shape) + 40 * target - 15, 1,
                        99).astype("float32") / np.float32(100)
        preds = np.where(preds == 0.5, np.float32(0.25), preds)
        labels = preds > 0.5
        if logits:
            preds = np.round(preds - 0.5, 2)
            options["input"] = "logits"
        if ignored is not None:
            target = np.where(rng.random(shape) < 0.3, ignored, target)
            options["ignore_index"] = ignored
        arrays = [preds, target]
        if weighted:
            arrays.append(_weights(rng, (ROWS, *positions)))
        keep = target != (-9 if ignored is None else ignored)
        right = rows_of((labels == target) | ~keep).all(1)
        counts = rows_of(keep).any(1)
        weight = arrays[2].reshape(-1)[counts] if weighted else None
        if options.get("multidim_average") == "samplewise":
            right = np.where(counts, right, np.nan).reshape(ROWS, -1)
            value = np.nanmean(right, axis=1)
        else:
            value = np.average(right[counts], weights=weight)
        if ignored is None and not positions:
            other = metrics.accuracy_score(target, labels,
                                           sample_weight=weight)
            assert np.isclose(value, other), (value, other)
        cases.append(Case(name, {"num_labels": LABELS, **options},
                          split(*arrays), value,
                          "sklearn.metrics.accuracy_score, or its formula"))

    add("probabilities")
    add("logits", logits=True)
    add("weights", weighted=True)
    add("ignored", ignored=-1)
    add("multidim", (2,), weighted=True)
    add("samplewise", (2,), ignored=-1, multidim_average="samplewise")
    return Fixture(metric, SOURCE, cases)


def _groups() -> list[Fixture]:
    rates, fairness = [], []
    for name, groups, more in (
            ("all", range(GROUPS), {}),
            ("missing", (0, 2), {}),
            ("ignored", range(GROUPS), {"ignore_index": -1}),
            ("logits", range(GROUPS), {"input": "logits"})):
        rng = seeded("groups", name)
        target = rng.integers(0, 2, ROWS)
        preds = (rng.integers(1, 70, ROWS) + 25 * target) / 100
        preds = np.where(preds == 0.5, 0.25, preds).astype("float32")
        labels = preds > 0.5
        if "input" in more:
            preds = np.round(preds - np.float32(0.5), 2)
        if "ignore_index" in more:
            target = np.where(rng.random(ROWS) < 0.2, -1, target)
        group = rng.choice(list(groups), ROWS)
        # The first batch lacks a group, the second has one only.
        group[:7] = group[7]
        batches = split(preds, target, group)
        options: Options = {"num_groups": GROUPS, **more}
        matrix = np.array([_matrix(labels, target, group == g)
                           for g in range(GROUPS)])
        with np.errstate(invalid="ignore", divide="ignore"):
            shares = matrix / matrix.sum(1, keepdims=True)
            found = matrix[:, 0] / (matrix[:, 0] + matrix[:, 3])
        rates.append(Case(name, options, batches, shares,
                          "tp, fp, tn, fn by sklearn.metrics.confusion_matrix"))
        parts = {**_extremes("demographic_parity", shares[:, 0] + shares[:, 1]),
                 **_extremes("equal_opportunity", found)}
        for task in ("demographic_parity", "equal_opportunity", "all"):
            chosen = {k: v for k, v in parts.items()
                      if task == "all" or k.startswith(task)}
            fairness.append(Case(f"{name}_{task}", {**options, "task": task},
                                 batches, chosen, "lowest over highest rate"))
    return [Fixture("BinaryGroupStatRates", SOURCE, rates),
            Fixture("BinaryFairness", SOURCE, fairness)]


def _matrix(labels: np.ndarray, target: np.ndarray,
            chosen: np.ndarray) -> np.ndarray:
    """tp, fp, tn, fn."""
    chosen = chosen & (target >= 0)
    tn, fp, fn, tp = metrics.confusion_matrix(
        target[chosen], labels[chosen].astype(int), labels=[0, 1]).ravel() \
        if chosen.any() else (0, 0, 0, 0)
    return np.array([tp, fp, tn, fn], dtype="float64")


def _extremes(name: str, values: np.ndarray) -> dict:
    low, high = np.nanargmin(values), np.nanargmax(values)
    return {name: values[low] / values[high],
            f"{name}_groups": np.array([low, high])}
