"""Queries with documents, in every order that ties leave open.

Measures are functions of one order of a query's documents. With ties "expected"
a query's value is their mean over all orders, one by one: no formula of it.
"""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .fixture import Batch
from .sampling import join, seeded, split

SIZES = (17, 1, 0, 31, 11)
# Indexes of queries, in no order, and how many documents each has.
QUERIES = {3: 12, -7: 9, 10**12: 9, 0: 8, 5: 8, 6: 8, 8: 6}
WITHOUT_RELEVANT, ALL_RELEVANT = 6, 8
UNJUDGED = -1


@dataclass(frozen=True)
class Ranking:
    """One order of a query: the grades by rank (None: not judged), and those
    of all judged documents, retrieved or not."""

    listed: tuple[float | None, ...]
    judged: tuple[float, ...]

    @property
    def relevant(self) -> int:
        """How many judged documents are relevant."""
        return sum(grade > 0 for grade in self.judged)

    @property
    def others(self) -> int:
        """How many are judged not to be."""
        return sum(grade == 0 for grade in self.judged)

    def hits(self, k: int | None) -> list[bool]:
        """Whether each of the best k is relevant."""
        return [grade is not None and grade > 0 for grade in self.listed[:k]]


Measure = Callable[[Ranking], Any]


def documents(name: str) -> list[Batch]:
    """The batches of a variant: scores, grades, queries and maybe ids."""
    rng = seeded("retrieval", name)
    index = np.repeat(list(QUERIES), list(QUERIES.values()))
    size = len(index)
    target = rng.choice([0, 0, 1, 1, 2, 3], size)
    target[index == WITHOUT_RELEVANT] = 0
    target[index == ALL_RELEVANT] = rng.integers(1, 4, ALL_RELEVANT - 2)
    if name in ("binary", "ids"):
        target = np.minimum(target, 1)
    if "tie" in name or name == "ids":
        score = rng.integers(0, 4, size) / 4
    else:
        score = np.concatenate([rng.permutation(n) - 3 for n in
                                QUERIES.values()]) / 16
    if "unjudged" in name:
        target[rng.random(size) < 0.25] = UNJUDGED
    if "not_retrieved" in name:
        score[rng.random(size) < 0.25] = -np.inf
    if "signed_zeros" in name:
        score[score == 0] *= rng.choice([-1, 1], np.sum(score == 0))
    score = score.astype("float32")
    if name == "float64":
        # Ties in float32, and none in float64.
        score = 1 + 1e-9 * score.astype("float64")
        target = target + rng.random(size).round(2)
        target[index == WITHOUT_RELEVANT] = 0
    order = rng.permutation(size)
    arrays = [score[order], target[order], index[order]]
    if name == "ids":
        arrays.append(rng.permutation(1000)[:size] - 100)
    return split(*arrays, sizes=SIZES)


def queries(batches: list[Batch], ignored: int | None, condensed: bool) \
        -> Iterator[tuple[int, list[tuple[float, int, float | None]]]]:
    """Each query by ascending index: score, id and grade of its documents."""
    score, target, index, *ids = join(batches)
    identity = ids[0] if ids else np.zeros(len(score), "int64")
    keep = np.ones(len(score), bool)
    if ignored is not None:
        keep &= target != ignored
    if condensed:
        keep &= target != UNJUDGED
    for query in sorted(set(index[keep].tolist())):
        mine = keep & (index == query)
        yield query, [
            (float(s), int(i), None if t == UNJUDGED else float(t))
            for s, i, t in zip(score[mine], identity[mine], target[mine],
                               strict=True)]


def _grade_key(grade: float | None) -> float:
    return -1.0 if grade is None else grade


def rankings(docs: list[tuple[float, int, float | None]], ties: str) \
        -> Iterator[Ranking]:
    """All orders of a query that `ties` leaves open, each as likely."""
    judged = tuple(g for _, _, g in docs if g is not None)
    groups = []
    listed = sorted((d for d in docs if d[0] != -np.inf),
                    key=lambda d: (-d[0], -d[1]))
    for _, tied in itertools.groupby(listed, key=lambda d: d[0]):
        grades = [grade for _, _, grade in tied]
        if ties == "ids":
            groups.append([tuple(grades)])
        elif ties == "expected":
            groups.append(sorted(set(itertools.permutations(grades)),
                                 key=lambda g: list(map(_grade_key, g))))
        else:
            groups.append([tuple(sorted(grades, key=_grade_key,
                                        reverse=ties == "optimistic"))])
    for parts in itertools.product(*groups):
        yield Ranking(tuple(itertools.chain(*parts)), judged)


def query_value(docs: list[tuple[float, int, float | None]], ties: str,
                measure: Measure, action: str) -> Any:
    """The mean over orders; None if all leave the query out."""
    values = []
    for ranking in rankings(docs, ties):
        value = measure(ranking)
        if value is None and action != "skip":
            value = 0.0 if action == "neg" else 1.0
        if value is not None:
            values.append(value)
    return np.mean(values, axis=0) if values else None


def aggregate(values: list[Any], aggregation: str) -> Any:
    """Of values of queries, or of their curves at each depth."""
    if aggregation == "none":
        shape = next((np.shape(v) for v in values if v is not None), ())
        return np.array([np.full(shape, np.nan) if v is None else v
                         for v in values])
    kept = np.array([v for v in values if v is not None])
    if aggregation == "median":
        return np.sort(kept, axis=0)[(len(kept) - 1) // 2]
    return {"mean": np.mean, "min": np.min, "max": np.max}[aggregation](
        kept, axis=0)
