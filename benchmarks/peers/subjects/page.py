"""The page that sweep.py makes of its lines."""

from __future__ import annotations

import collections
from typing import Any

from subjects.differences import ALONE, DIFFERENT, SEQUENTIAL
from subjects.sizes import BATCH, LARGE

# Peer / Tally from which a row is behind, what is aimed at, and how far above the floor is
# near enough.
BEHIND, GOALS, NEAR = 0.97, {BATCH: 10, LARGE: 3}, 1.3
# Calls that take this many seconds with one thread should gain from a second one; no call
# should take more than this many times one thread's time with two.
LONG, SLOWER = 0.001, 1.03
# What a call gains at least, of what reading gains, unless there is a reason.
SHARE = 0.8
CALLS = ("update", "forward", "compute", "evaluation", "backward")

Line = dict[str, Any]

HEAD = """# Every metric and its peer

Made by `python3 benchmarks/peers/sweep.py --write`; [benchmarks/README.md](../benchmarks/README.md#every-metric-and-loss) says how. Each number is the CPU time of the peer divided by that of Tally, both called from Python on one thread in one process, in alternating passes. Above 1, Tally is faster. Behind a ratio below {small} (batch of 32) or {large} (large inputs) is Tally's time divided by a floor: `call`, one of Tally's cheapest metrics called the same way; `reading`, one sum over the inputs; `products`, the matrix products alone; `graph`, a product and its sum with a gradient over the same inputs.

`evaluation` is `update()` and `compute()` together, for peers of which `update()` only keeps what it is given; `backward` is `forward()` with a gradient in the first input. The peer validates no values where it has the option; Tally always does.
"""


def _ratio(line: Line) -> float:
    return line["peer"] / line["own"]


def _of_floor(line: Line) -> float:
    return line["own"] / line["floor"]


def _number(value: float) -> str:
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _cell(line: Line | None) -> str:
    if line is None:
        return ""
    text = _number(_ratio(line))
    if _ratio(line) >= GOALS[line["size"]]:
        return text
    return f"{text} ({_number(_of_floor(line))} {line['floor_name']})"


def _judged(lines: list[Line]) -> list[Line]:
    """Updates that only keep a batch are part of an evaluation."""
    return [line for line in lines if line["kind"] == "row" and not line["defers"]]


def _table(lines: list[Line], size: str) -> list[str]:
    by_label: dict[str, dict[str, Line]] = collections.defaultdict(dict)
    for line in _judged(lines):
        if line["size"] == size:
            by_label[line["label"]][line["call"]] = line
    worst = {label: min(map(_ratio, calls.values())) for label, calls in by_label.items()}
    text = ["| | peer | " + " | ".join(CALLS) + " |", "|---" * (len(CALLS) + 2) + "|"]
    for label in sorted(by_label, key=worst.__getitem__):
        calls = by_label[label]
        library = next(iter(calls.values()))["library"]
        cells = " | ".join(_cell(calls.get(call)) for call in CALLS)
        text.append(f"| {label} | {library} | {cells} |")
    return text


def _summary(lines: list[Line]) -> list[str]:
    text = ["| | calls | median | behind | goal reached | near the floor | others |",
            "|---|---|---|---|---|---|---|"]
    for size, name in ((BATCH, "batch of 32"), (LARGE, "large inputs")):
        rows = [line for line in _judged(lines) if line["size"] == size]
        if not rows:
            continue
        ratios = sorted(map(_ratio, rows))
        reached = [line for line in rows if _ratio(line) >= GOALS[size]]
        near = [line for line in rows
                if BEHIND <= _ratio(line) < GOALS[size] and _of_floor(line) <= NEAR]
        behind = sum(ratio < BEHIND for ratio in ratios)
        text.append(
            f"| {name} | {len(rows)} | {_number(ratios[len(ratios) // 2])} | {behind} "
            f"| {len(reached)} | {len(near)} "
            f"| {len(rows) - len(reached) - len(near) - behind} |")
    return text


def _kept(lines: list[Line]) -> list[str]:
    rows = [line for line in lines if line["kind"] == "row" and line["defers"]]
    text = ["| | peer | size | Tally, us | peer, us |", "|---|---|---|---|---|"]
    for line in sorted(rows, key=_ratio):
        if _ratio(line) < 1:
            text.append(f"| {line['label']} | {line['library']} | {line['size']} "
                        f"| {1e6 * line['own']:.1f} | {1e6 * line['peer']:.1f} |")
    return text


def _ranks(lines: list[Line]) -> list[str]:
    text = ["| | peer / Tally, CPU time | Tally, MB | peer, MB |", "|---|---|---|---|"]
    for line in lines:
        if line["kind"] == "ranks":
            text.append(f"| {line['name']} | {_number(line['peer_ms'] / line['own_ms'])} "
                        f"| {line['own_mb']:.0f} | {line['peer_mb']:.0f} |")
    return text


def _gains(lines: list[Line]) -> list[str]:
    """Long calls, those that gain least beside reading first."""
    found = []
    for line in lines:
        if line["kind"] != "gain" or line["own"][0] < LONG:
            continue
        # Two caches may give more than two cores do.
        gain, reading = (min(line[name][0] / line[name][1], 2) for name in ("own", "reading"))
        share = gain / reading
        why = SEQUENTIAL.get(line["label"], "?") if share < SHARE else ""
        found.append((share, f"| {line['label']} | {line['call']} | {line['size']} "
                      f"| {1e3 * line['own'][0]:.1f} | {gain:.2f} | {reading:.2f} | {why} |"))
    return ["| | call | inputs | ms, one thread | gain | reading's | why |",
            "|---|---|---|---|---|---|---|", *(text for _, text in sorted(found))]


def _slower(lines: list[Line]) -> list[str]:
    rows = [line for line in lines if line["kind"] == "gain"]
    slower = [f"{line['label']}, {line['call']} ({line['size']}): "
              f"{line['own'][1] / line['own'][0]:.2f}" for line in rows
              if line["own"][1] > SLOWER * line["own"][0]]
    return [f"Of {len(rows)} calls, long and short, {len(slower)} take more than {SLOWER} of "
            "one thread's time with two" + (":" if slower else ".") + "\n",
            *(f"* {text}" for text in sorted(slower))]


def problems_of(lines: list[Line], whole: bool) -> list[str]:
    """Values that differ without a reason, and classes that are nowhere."""
    problems = []
    for line in lines:
        if line["kind"] == "value" and line["found"] and line["label"] not in DIFFERENT:
            problems.append(
                f"{line['label']} ({line['size']}): values differ, {line['found']}")
        if line["kind"] == "error":
            problems.append(f"{line['label']} ({line['size']}): {line['error']}")
    if whole:
        compared = {line["name"] for line in lines if line["kind"] == "row"}
        (names,) = (line["names"] for line in lines if line["kind"] == "names")
        for name in sorted(set(names) - compared - set(ALONE)):
            problems.append(f"{name}: is neither compared nor among those without a peer")
        for name in sorted(set(ALONE) & compared | set(ALONE) - set(names)):
            problems.append(f"{name}: is compared or unknown, but said to have no peer")
    return problems


def page(lines: list[Line], whole: bool, machine: str = "") -> tuple[str, list[str]]:
    """The page, and what is wrong."""
    differing = {line["label"] for line in lines if line["kind"] == "value" and line["found"]}
    reasons = {label: why for label, why in DIFFERENT.items() if label in differing}
    text = [
        HEAD.format(small=GOALS[BATCH], large=GOALS[LARGE]),
        *([machine + "\n"] if machine else []),
        *_summary(lines),
        "\n## A batch of 32\n", *_table(lines, BATCH),
        "\n## Large inputs\n", *_table(lines, LARGE),
    ]
    if any(line["kind"] == "ranks" for line in lines):
        text += ["\n## Losses over 2 ranks\n",
                 "One forward and backward pass, 2048 rows on each rank; memory is the peak "
                 "above what was there before.\n", *_ranks(lines)]
    if any(line["kind"] == "gain" for line in lines):
        text += ["\n## Two threads\n",
                 "Wall time of calls that take a millisecond or more with one thread: how "
                 "many times faster they are with two, and reading the same inputs, and why "
                 f"they gain less than {SHARE} of that.\n",
                 *_gains(lines), "", *_slower(lines)]
    text += [
        "\n## Updates that only keep the batch\n",
        "The peer appends its argument to a list, without a copy: the rows count when "
        "`compute()` is called, as they are then. Tally's update counts, or copies.\n",
        *_kept(lines),
        "\n## Values that differ\n", "| | why |", "|---|---|",
        *(f"| {label} | {why} |" for label, why in sorted(reasons.items())),
    ]
    if whole:
        text += ["\n## Without a row\n", "| | why |", "|---|---|",
                 *(f"| {name} | {why} |" for name, why in sorted(ALONE.items()))]
    return "\n".join(text) + "\n", problems_of(lines, whole)
