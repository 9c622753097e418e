"""Compares drop-in classes with TorchMetrics' own on random options and inputs.

    drop_in_difference.py [--cases N] [--seed N] [CLASSES...]

Each case takes a class, options and a situation by chance, from the seed and its number
alone, and compares forward() of the first batch, compute() after the second and what is
raised. Prints cases by class and exits with 1 if some differ without a
TallyCorrectionWarning that says so.
"""

import argparse
import collections
import inspect
import random
import sys
import warnings

import torch

from tally.compat.torchmetrics import _corrections, _mirror

_DOMAINS = ("classification", "regression", "retrieval", "clustering")
_SITUATIONS = ("plain", "plain", "absent", "one kind", "ties", "logits", "negative")

# Those with groups, other inputs, or another domain.
_LEFT_OUT = ("BinaryFairness", "BinaryGroupStatRates")


def classes(names):
    """Classes of both libraries by name, in an order that stays."""
    found = {
        real.__name__: (real, mine) for real, mine in _mirror.CLASSES.items()
        if real.__module__.split(".")[1] in _DOMAINS and real.__name__ not in _LEFT_OUT
    }
    unknown = sorted(set(names) - set(found))
    if unknown:
        raise SystemExit(f"expected classes of {', '.join(_DOMAINS)}, got {', '.join(unknown)}")
    return {name: found[name] for name in sorted(names or found)}


def same(mine, theirs):
    """Whether values, dtypes, shapes and keys are."""
    if isinstance(theirs, dict):
        return (
            isinstance(mine, dict) and mine.keys() == theirs.keys()
            and all(same(mine[key], theirs[key]) for key in theirs)
        )
    if isinstance(theirs, (list, tuple)):
        return (
            isinstance(mine, (list, tuple)) and len(mine) == len(theirs)
            and all(map(same, mine, theirs))
        )
    if isinstance(theirs, torch.Tensor) and isinstance(mine, torch.Tensor):
        return (
            mine.shape == theirs.shape and mine.dtype == theirs.dtype
            and torch.allclose(
                mine.double(), theirs.double(), rtol=1e-4, atol=1e-5, equal_nan=True
            )
        )
    return type(mine) is type(theirs)


def options_of(real, rng):
    """Options that most classes have, and those without a default."""
    parameters = inspect.signature(real.__init__).parameters
    choices = {
        "average": ["macro", "micro", "weighted", "none"],
        "thresholds": [None, None, 5, [0.1, 0.5, 0.9]],
        "ignore_index": [None, None, -1, 0],
        "multidim_average": ["global", "global", "samplewise"],
        "beta": [0.5, 2.0],
        "top_k": [1, 2] if real.__name__.startswith("Multiclass") else [None, 1, 2],
        "empty_target_action": ["neg", "skip", "pos"],
        "num_groups": [2],
        **{name: [0.2, 0.5, 0.9] for name in parameters if name.startswith("min_")},
    }
    options = {}
    for name in parameters:
        if name in ("num_classes", "num_labels") and ".classification" in real.__module__:
            options[name] = rng.choice([3, 4])
        elif name in choices and (
            rng.random() < 0.7 or parameters[name].default is inspect.Parameter.empty
        ):
            options[name] = rng.choice(choices[name])
    return options


def inputs_of(real, options, rng):
    """Predictions, targets and, for queries, indexes, in the situation that is chosen."""
    name, domain = real.__name__, real.__module__.split(".")[1]
    size, situation = rng.choice([1, 3, 8, 30]), rng.choice(_SITUATIONS)
    inner = (5,) if options.get("multidim_average") == "samplewise" else ()
    count = options.get("num_classes") or options.get("num_labels") or 3
    if domain == "regression":
        preds, target = torch.rand(size), torch.rand(size)
        if situation == "one kind":
            target = torch.ones(size)
        if situation == "ties":
            preds = (preds * 4).round() / 4
        return situation, [preds, target]
    if domain == "clustering":
        labels = 1 if situation == "one kind" else 3
        first = torch.randint(labels, (size,))
        is_data = "data" in inspect.signature(real.update).parameters
        return situation, [torch.rand(size, 2) if is_data else first, torch.randint(labels, (size,))]
    if name.startswith("Multiclass"):
        preds = torch.randn(size, count, *inner).softmax(1)
        target = torch.randint(count, (size, *inner))
    else:
        shape = (size, count, *inner) if name.startswith("Multilabel") else (size, *inner)
        preds, target = torch.rand(shape), torch.randint(2, shape)
    if situation == "absent":
        target = target.clamp(max=max(0, int(target.max()) - 1))
    if situation == "one kind":
        target = torch.full_like(target, rng.choice([0, 1]))
    if situation == "ties":
        preds = (preds * 4).round() / 4
    if situation == "logits":
        preds = preds * 6 - 3
    if situation == "negative":
        preds = preds - 1 if domain == "retrieval" else preds
    if options.get("ignore_index") == -1:
        target[torch.rand(target.shape) < rng.choice([0.2, 1.0])] = -1
    inputs = [preds, target]
    if domain == "retrieval":
        inputs.append(torch.randint(2, (size,)))
    return situation, inputs


def outcome(cls, options, inputs):
    """Values or what is raised, and whether a warning tells of a correction."""
    _corrections._warned.clear()
    half = (len(inputs[0]) + 1) // 2
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            metric = cls(**options)
            value = [metric(*(each[:half] for each in inputs))]
            if half < len(inputs[0]):
                metric.update(*(each[half:] for each in inputs))
            value.append(metric.compute())
        except Exception as error:  # whatever is raised is compared
            value = error
    return value, any(
        issubclass(each.category, _corrections.TallyCorrectionWarning) for each in told
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("classes", nargs="*")
    arguments = parser.parse_args()
    found = classes(arguments.classes)
    rows = collections.defaultdict(collections.Counter)
    for i in range(arguments.cases):
        seed = arguments.seed * 1_000_003 + i
        rng = random.Random(seed)
        torch.manual_seed(seed)
        name = rng.choice(list(found))
        real, mine = found[name]
        options = options_of(real, rng)
        situation, inputs = inputs_of(real, options, rng)
        theirs, _ = outcome(real, options, [each.clone() for each in inputs])
        ours, is_corrected = outcome(mine, options, inputs)
        rows[name]["cases"] += 1
        if same(ours, theirs):
            continue
        kind = "corrected" if is_corrected else "differ"
        if kind == "differ" and isinstance(theirs, Exception) != isinstance(ours, Exception):
            kind = "accepted" if isinstance(theirs, Exception) else "refused"
        rows[name][kind] += 1
        if kind in ("differ", "refused") and rows[name][kind] == 1:
            print(f"{name}({options}), {situation}, {len(inputs[0])} samples, case {i}:\n"
                  f"  TorchMetrics {theirs!r:.300}\n  here {ours!r:.300}")
    columns = ("cases", "corrected", "accepted", "refused", "differ")
    print(f"\n{'class':40}" + "".join(f"{column:>11}" for column in columns))
    totals = sum(rows.values(), collections.Counter())
    for name, row in [*sorted(rows.items()), ("all", totals)]:
        if name == "all" or row["cases"] < sum(row.values()):
            print(f"{name:40}" + "".join(f"{row[column]:>11}" for column in columns))
    return 1 if totals["differ"] + totals["refused"] else 0


if __name__ == "__main__":
    sys.exit(main())
