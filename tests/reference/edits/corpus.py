"""Pairs of texts, and fixtures of them."""

import json
import random
import sys
from pathlib import Path
from typing import Any, Callable, Sequence

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1]))

from generators.fixture import encode_tensor  # noqa: E402

DATA = Path(__file__).resolve().parents[1] / "data" / "text"
SIZES = (7, 1, 12, 4)

WORDS = ("the a of cat dog sat on mat in house with green naïve café Straße "
         "don't 1,000 U.S. 你好 世界 שלום , . \U0001F44D\U0001F3FD e\u0301t "
         "\u0391\u03a3 ½ well-known (so) “quoted” €5").split(" ")

# What tools make different things of: white space, forms, ends.
AWKWARD = [
    ("a b", "a\tb"), ("a b", "a\t\tb"), ("a b", "a\nb"), ("a b", "a\r\nb"),
    ("a b", "a\u00a0b"), ("a b", "\u3000a b"), ("a b", "a \u2028 b"),
    ("a b", "a\u0085b"), ("a b", "a\x1fb"), ("a b", " a  b "),
    ("a b", "\ta b\n"), ("café", "cafe\u0301"), ("a", "\ufeffa"), ("", "a b"),
    ("a b", ""), ("a\u200bb", "ab"), ("a b", "b c"), ("b c", "a b"),
    ("a b c d", "x a b c"), ("x a b c", "a b c d"),
    ("\U0001F469\u200d\U0001F467 x", "\U0001F469 x"), ("...", "."),
    ("שלום עולם", "עולם שלום"), ("你好，世界。", "你好 世界"),
]


def sentence(draw: random.Random, words: Sequence[str], most: int) -> list[str]:
    return [draw.choice(words) for _ in range(draw.randrange(most + 1))]


def edited(draw: random.Random, tokens: Sequence, words: Sequence) -> list:
    """Tokens with substitutions, deletions, insertions, and a moved part."""
    made: list = []
    for token in tokens:
        kind = draw.random()
        if kind < 0.1:
            continue
        made.append(draw.choice(words) if kind < 0.2 else token)
        if kind > 0.92:
            made.append(draw.choice(words))
    if len(made) > 4 and draw.random() < 0.4:
        first, last = sorted(draw.sample(range(len(made)), 2))
        place = draw.randrange(len(made))
        part = made[first:last]
        made = made[:first] + made[last:]
        made[place:place] = part
    return made


def pairs(seed: str, count: int, most: int,
          words: Sequence[str] = WORDS) -> list[tuple[str, str]]:
    """(hypothesis, reference) of up to `most` words."""
    draw = random.Random(seed)
    made = []
    for _ in range(count):
        reference = sentence(draw, words, most)
        made.append((" ".join(edited(draw, reference, words)),
                     " ".join(reference)))
    return made


def batches(*inputs: Sequence) -> list[dict[str, Any]]:
    """Rows in batches of SIZES, and what is left."""
    made, begin = [], 0
    for size in (*SIZES, len(inputs[0])):
        if begin >= len(inputs[0]):
            break
        made.append({"inputs": [list(rows[begin:begin + size])
                                for rows in inputs]})
        begin += size
    return made


def tensor_batches(*inputs: np.ndarray) -> list[dict[str, Any]]:
    made = batches(*inputs)
    for batch in made:
        batch["inputs"] = [encode_tensor(np.stack(rows))
                           for rows in batch["inputs"]]
    return made


def case(name: str, options: dict[str, Any], inputs: list[dict[str, Any]],
         expected: Any, rtol: float = 1e-12, atol: float = 0) -> dict[str, Any]:
    parts = expected if isinstance(expected, dict) else {"": expected}
    return {"name": name, "options": options, "batches": inputs,
            "expected": {part: encode_tensor(np.asarray(value))
                         for part, value in parts.items()},
            "rtol": rtol, "atol": atol}


def write(metric: str, source: str, cases: list[dict[str, Any]]) -> None:
    DATA.mkdir(exist_ok=True)
    names = [one["name"] for one in cases]
    assert len(set(names)) == len(names), names
    (DATA / f"{metric}.json").write_text(
        layout(metric, source, cases), encoding="utf-8")


def layout(metric: str, source: str, cases: list[dict[str, Any]]) -> str:
    """A line for each batch and for what else a case has."""
    made = []
    for one in cases:
        rest = {key: value for key, value in one.items() if key != "batches"}
        lines = ",\n".join(dumped(batch) for batch in one["batches"])
        made.append(f'{dumped(rest)[:-1]}, "batches": [\n{lines}]}}')
    head = dumped({"metric": metric, "source": source})[:-1]
    return f'{head}, "cases": [\n' + ",\n".join(made) + "]}\n"


def dumped(value: Any) -> str:
    return json.dumps(value, allow_nan=False)


def text_cases(metric: str, source: str,
               value: Callable[[list[str], list[str]], Any],
               named: dict[str, list[tuple[str, str]]],
               options: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    """A case for each list of pairs."""
    made = []
    for name, rows in named.items():
        preds, target = ([row[i] for row in rows] for i in (0, 1))
        made.append(case(name, options or {}, batches(preds, target),
                         value(preds, target)))
    return made
