"""CPU time of both sides, in turns."""

from __future__ import annotations

import copy
import dataclasses
import functools
import gc
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

from subjects.case import Case, Function, Inputs, Make, difference
from subjects.sizes import BATCH

PASSES, FEWEST = 9, 3
# What a pass takes at least, where calls can be repeated, and all of a row at most.
LEAST_SECONDS, MOST_SECONDS = 0.0005, 0.3
# Of computed values: each object computes once, as it keeps what it has computed.
OBJECTS = 16
# Of a peer that takes so long and this many times Tally's time, one call is enough, and a
# few passes of others; below the second number all passes are made.
LONG_SECONDS, CLEAR, CLOSE = 0.1, 20, 2

Clock = Callable[[], float]


@dataclasses.dataclass
class Work:
    """What is timed."""

    call: Callable[[], Any]
    prepare: Callable[[], Any] = lambda: None
    parts: int = 1  # of a call
    repeats: bool = True


@dataclasses.dataclass
class Row:
    """Seconds of one call."""

    case: Case
    size: str
    call: str
    own: float
    peer: float
    floor: float
    floor_name: str
    passes: int
    # Whether the peer's update only keeps what it is given.
    defers: bool = False

    @property
    def ratio(self) -> float:
        return self.peer / self.own


@dataclasses.dataclass
class Gain:
    """Seconds of one call of Tally's, and of reading its inputs, by threads."""

    call: str
    own: tuple[float, float]
    reading: tuple[float, float]


def _seconds(work: Work, clock: Clock, calls: int) -> float:
    work.prepare()
    begin = clock()
    for _ in range(calls):
        work.call()
    return (clock() - begin) / calls / work.parts


def alternate(works: list[Work], clock: Clock = time.process_time,
              passes: int = PASSES) -> tuple[list[float], int]:
    """The median of each, and of how many passes."""
    first, calls, whole = [], [], 0.0
    for work in works:
        begin = clock()
        one = _seconds(work, clock, 1)
        if one < LONG_SECONDS:  # else it has long been warm
            begin = clock()
            one = _seconds(work, clock, 1)
        prepared = clock() - begin - one * work.parts
        first.append(one)
        wanted = LEAST_SECONDS / max(one * work.parts, 1e-7) if work.repeats else 1
        calls.append(int(min(max(wanted, 1), 400)))
        whole += one * work.parts * calls[-1] + prepared
    if whole > LONG_SECONDS and first[1] > CLEAR * first[0]:
        return first, 1
    if first[1] > CLEAR * first[0]:
        passes = FEWEST
    elif first[1] > CLOSE * first[0]:
        passes = int(min(max(MOST_SECONDS / whole, FEWEST), passes))
    times: list[list[float]] = [[] for _ in works]
    gc.collect()
    gc.disable()
    try:
        for _ in range(passes):
            for i, work in enumerate(works):
                times[i].append(_seconds(work, clock, calls[i]))
    finally:
        gc.enable()
    return [statistics.median(each) for each in times], passes


def _updates(make: Make, inputs: Inputs) -> Work:
    metric = make()
    return Work(lambda: metric.update(*inputs), metric.reset)


def _forwards(make: Make, inputs: Inputs) -> Work:
    metric = make()
    return Work(lambda: metric(*inputs), metric.reset)


def _computes(make: Make, inputs: Inputs, keeps: bool) -> Work:
    """Of copies, which share what was updated once unless they keep rows."""
    metrics = [make() for _ in range(1 if keeps else OBJECTS)]

    def prepare() -> None:
        for metric in metrics:
            metric.reset()
        metrics[0].update(*inputs)
        for i in range(1, len(metrics)):
            metrics[i] = copy.deepcopy(metrics[0])

    def call() -> None:
        for metric in metrics:
            metric.compute()

    return Work(call, prepare, len(metrics), repeats=False)


def _evaluations(make: Make, inputs: Inputs) -> Work:
    metric = make()

    def call() -> None:
        metric.reset()
        metric.update(*inputs)
        metric.compute()

    return Work(call, metric.reset)


def _total(value: Any) -> torch.Tensor:
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, (tuple, list)):
        return sum(_total(each) for each in value)
    return value.sum()


def _with_gradients(inputs: Inputs, places: tuple[int, ...]) -> Inputs:
    return tuple(
        x.detach().clone().requires_grad_() if i in places else x
        for i, x in enumerate(inputs)
    )


def _backwards(make: Make, inputs: Inputs, places: tuple[int, ...]) -> Work:
    metric, inputs = make(), _with_gradients(inputs, places)

    def call() -> None:
        for place in places:
            inputs[place].grad = None
        _total(metric(*inputs)).backward()

    return Work(call, metric.reset)


def read(inputs: Any) -> None:
    """Each number once."""
    for each in inputs:
        if isinstance(each, torch.Tensor):
            each.sum()
        elif isinstance(each, dict):
            read(each.values())
        elif isinstance(each, (list, tuple)):
            read(each)
        elif isinstance(each, str):
            each.count("\n")


def _nodes(inputs: Inputs, places: tuple[int, ...]) -> Work:
    """The least graph over the same inputs: a product and its sum."""
    inputs = _with_gradients(inputs, places)
    others = [x for i, x in enumerate(inputs) if i not in places]

    def call() -> None:
        total = torch.zeros(())
        for place in places:
            inputs[place].grad = None
            total = total + (inputs[place] * 0.5).sum()
        total.backward()
        read(others)

    return Work(call)


def bare_call(call: str, inputs: Inputs) -> Work:
    """Into Tally's library and back, with next to nothing in between."""
    import tally
    tensors = sum(isinstance(x, torch.Tensor) for x in inputs)
    make = functools.partial(
        tally.MeanMetric if tensors > 1 else tally.SumMetric, nan_strategy="disable")
    ones = tuple(torch.ones(1) for _ in range(2 if tensors > 1 else 1))
    works = {"update": _updates, "forward": _forwards, "evaluation": _evaluations}
    if call in works:
        return works[call](make, ones)
    return _computes(make, ones, keeps=False)


def _numbers(inputs: Any) -> int:
    """Bytes of the inputs."""
    if isinstance(inputs, torch.Tensor):
        return inputs.numel() * inputs.element_size()
    if isinstance(inputs, str):
        return len(inputs)
    if isinstance(inputs, dict):
        inputs = inputs.values()
    return sum(map(_numbers, inputs)) if hasattr(inputs, "__iter__") else 8


def keeps_rows(make: Make, inputs: Inputs) -> bool:
    """Whether a state grows with what it is updated with."""
    metric = make()
    if isinstance(metric, Function):
        return False
    metric.update(*inputs)
    return len(metric._held.serialize()) > _numbers(inputs) / 16


def _floor(case: Case, size: str, call: str, inputs: Inputs,
           keeps: bool) -> tuple[Work, str]:
    if call == "backward":
        return _nodes(inputs, case.gradients), "graph"
    if size == BATCH or (call == "compute" and not keeps):
        return bare_call(call, inputs), "call"
    if case.floor:
        return Work(functools.partial(case.floor, inputs)), case.floor_name
    return Work(functools.partial(read, inputs)), "reading"


def values_differ(case: Case, inputs: Inputs) -> str:
    """How the values of both sides do."""
    own, peer = case.own(), case.peer()
    own.update(*inputs)
    peer.update(*case.peer_inputs(inputs))
    expected = peer.compute()
    return difference(case.value(peer, own.compute()), expected, case.rtol)


def _only_keeps(peer: Any) -> bool:
    """Whether its state is lists of the batches; all work is left to compute()."""
    return any(isinstance(each, list) for each in getattr(peer, "_defaults", {}).values())


def _works(make: Make, inputs: Inputs, keeps: bool, has_state: bool,
           defers: bool) -> dict[str, Work]:
    """What can be asked of one side."""
    works = {"forward": _forwards(make, inputs)}
    if has_state:
        works["update"] = _updates(make, inputs)
        if defers:
            works["evaluation"] = _evaluations(make, inputs)
        else:
            works["compute"] = _computes(make, inputs, keeps)
    return works


def rows_of(case: Case, size: str, inputs: Inputs, passes: int = PASSES) -> list[Row]:
    """All calls that both sides have."""
    theirs = case.peer_inputs(inputs)
    keeps = size != BATCH and keeps_rows(case.own, inputs)
    peer = case.peer()
    defers, has_state = _only_keeps(peer), not isinstance(peer, Function)
    works = _works(case.own, inputs, keeps, has_state, defers)
    others = _works(case.peer, theirs, keeps, has_state, defers)
    if case.gradients:
        works["backward"] = _backwards(case.own, inputs, case.gradients)
        others["backward"] = _backwards(case.peer, inputs, case.gradients)
    rows = []
    for call, own in works.items():
        floor, floor_name = _floor(case, size, call, inputs, keeps)
        (mine, theirs_, least), done = alternate([own, others[call], floor], passes=passes)
        rows.append(Row(case, size, call, mine, theirs_, least, floor_name, done,
                        defers and call == "update"))
    return rows


def _with_threads(work: Work, threads: int) -> Work:
    def prepare() -> None:
        torch.set_num_threads(threads)
        work.prepare()

    return dataclasses.replace(work, prepare=prepare)


def gains_of(case: Case, size: str, inputs: Inputs, passes: int = PASSES) -> list[Gain]:
    """Wall time of Tally's calls with one thread and with two."""
    has_state = not isinstance(case.own(), Function)
    keeps = has_state and size != BATCH and keeps_rows(case.own, inputs)
    works = _works(case.own, inputs, keeps, has_state, defers=False)
    if case.gradients:
        works["backward"] = _backwards(case.own, inputs, case.gradients)
    # Of inputs that are as near as they are for the second number of threads.
    reading = Work(functools.partial(read, inputs), functools.partial(read, inputs))
    gains = []
    for call, own in works.items():
        several = [_with_threads(work, threads)
                   for work in (own, reading) for threads in (1, 2)]
        (one, two, read_one, read_two), _ = alternate(several, time.perf_counter, passes)
        gains.append(Gain(call, (one, two), (read_one, read_two)))
    torch.set_num_threads(1)
    return gains
