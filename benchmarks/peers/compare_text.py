"""Compares metrics of texts with the tools that papers cite.

    compare_text.py PATH/TO/text_benchmark [--threads N]

Draws 10 000 pairs of 20 words (500 for TER), writes them into files, and times
the program and its peers in turn, in one process each. Prints milliseconds,
of CPU time on one thread and of peers, and ratios. Values have to agree.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import jiwer
from sacrebleu.metrics import TER

PAIRS, TER_PAIRS, WORDS = 10_000, 500, 20
ROUNDS = 3


def corpus(count: int) -> tuple[list[str], list[str]]:
    """Hypotheses and references; about a fifth of the words differ."""
    draw = random.Random(22)
    vocabulary = ["".join(draw.choice("abcdefghijklmnopqrstuvwxyz")
                          for _ in range(draw.randrange(2, 10)))
                  for _ in range(5000)]
    hypotheses, references = [], []
    for _ in range(count):
        reference = [draw.choice(vocabulary) for _ in range(WORDS)]
        hypothesis = []
        for word in reference:
            kind = draw.random()
            if kind < 0.07:
                continue
            hypothesis.append(draw.choice(vocabulary) if kind < 0.15 else word)
            if kind > 0.93:
                hypothesis.append(draw.choice(vocabulary))
        if draw.random() < 0.3 and len(hypothesis) > 6:
            part = hypothesis[2:5]
            hypothesis[2:5] = []
            hypothesis.extend(part)
        hypotheses.append(" ".join(hypothesis))
        references.append(" ".join(reference))
    return hypotheses, references


def timed(work: Callable[[], float]) -> tuple[float, float]:
    """The least of a few CPU times in milliseconds, and the value."""
    times, value = [], 0.0
    for _ in range(ROUNDS):
        start = time.process_time()
        value = work()
        times.append((time.process_time() - start) * 1000)
    return min(times), value


def ter(hypotheses: list[str], references: list[str]) -> float:
    """A new object has no caches of an earlier round."""
    metric = TER()
    metric.tokenizer.__class__.__call__.cache_clear()
    return metric.corpus_score(hypotheses, [references]).score / 100


def run(program: str, threads: int, hypotheses: list[str],
        references: list[str]) -> dict[str, tuple[float, float]]:
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("hyp", "ref")]
        for path, lines in zip(paths, (hypotheses, references)):
            path.write_text("".join(line + "\n" for line in lines),
                            encoding="utf-8")
        output = subprocess.run(
            [program, *map(str, paths)], check=True, capture_output=True,
            text=True, env={**os.environ, "OMP_NUM_THREADS": str(threads)})
    lines = (line.split() for line in output.stdout.splitlines())
    return {name: (float(took), float(value)) for name, took, value in lines}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    pairs = corpus(PAIRS)
    some = tuple(column[:TER_PAIRS] for column in pairs)
    ours = run(arguments.program, arguments.threads, *pairs)
    fewer = run(arguments.program, arguments.threads, *some)
    peers = {
        "WordErrorRate": lambda: jiwer.wer(pairs[1], pairs[0]),
        "MatchErrorRate": lambda: jiwer.mer(pairs[1], pairs[0]),
        "CharErrorRate": lambda: jiwer.cer(pairs[1], pairs[0]),
        "TranslationEditRate": lambda: ter(*some),
    }
    print(f"reading {ours['read'][0]:.2f} ms")
    for name, work in peers.items():
        took, value = (fewer if name == "TranslationEditRate" else ours)[name]
        theirs, expected = timed(work)
        assert abs(value - expected) < 1e-9, (name, value, expected)
        print(f"{name} {took:.2f} ms, peer {theirs:.0f} ms, "
              f"{theirs / took:.0f}x")


if __name__ == "__main__":
    main()
