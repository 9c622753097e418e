"""Compares drop-in classes with TorchMetrics' own on random options and inputs.

    drop_in_difference.py [--cases N] [--seed N] [CLASSES...]

Each case takes a class, options and a situation by chance, from the seed and its number
alone, and compares forward() of the first batch, compute() after the second and what is
raised. Prints cases by class and exits with 1 if some differ without a
TallyCorrectionWarning that says so.
"""

import argparse
import collections
import copy
import random
import sys
import warnings

import drop_in_cases
import torch

from tally.compat.torchmetrics import _corrections, _mirror


def classes(names):
    """Classes of both libraries by name, in an order that stays."""
    found = {
        real.__name__: (real, mine) for real, mine in _mirror.CLASSES.items()
        if drop_in_cases.is_compared(real)
    }
    unknown = sorted(set(names) - set(found))
    if unknown:
        raise SystemExit(f"expected some of {', '.join(sorted(found))}, got {', '.join(unknown)}")
    return {name: found[name] for name in sorted(names or found)}


# Of preds of one category TorchMetrics has a whole 0; here it is of floating point.
_ANY_DTYPE = {"TheilsU"}


def same(mine, theirs, any_dtype=False):
    """Whether values, dtypes, shapes and keys are."""
    if isinstance(theirs, dict):
        return (
            isinstance(mine, dict) and mine.keys() == theirs.keys()
            and all(same(mine[key], theirs[key], any_dtype) for key in theirs)
        )
    if isinstance(theirs, (list, tuple)):
        return (
            isinstance(mine, (list, tuple)) and len(mine) == len(theirs)
            and all(same(*each, any_dtype) for each in zip(mine, theirs))
        )
    if isinstance(theirs, torch.Tensor) and isinstance(mine, torch.Tensor):
        return (
            mine.shape == theirs.shape and (any_dtype or mine.dtype == theirs.dtype)
            and torch.allclose(
                mine.double(), theirs.double(), rtol=1e-4, atol=1e-5, equal_nan=True
            )
        )
    return type(mine) is type(theirs)


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
        options = drop_in_cases.options_of(real, rng)
        situation, inputs = drop_in_cases.inputs_of(real, options, rng)
        theirs, _ = outcome(real, options, copy.deepcopy(inputs))
        ours, is_corrected = outcome(mine, options, inputs)
        rows[name]["cases"] += 1
        if same(ours, theirs, name in _ANY_DTYPE):
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
