"""Writes ../data/text/ of SQuAD and Perplexity.

    python answers.py

SQuAD's scores are the functions of evaluate-v1.1.py, in which an answer without
words scores 0, and of evaluate-v2.0.py, in which two of them score 1, written
down again; perplexities are by definition, in float64.
"""

import collections
import re
import string
from typing import Any

import numpy as np
from corpus import batches, case, pairs, tensor_batches, write

PREDS = [
    ("U.S. a", ["us"]), ("(A)n", [""]), ("the_a", ["thea"]),
    ("the Eiffel tower", ["Eiffel Tower", "the tower"]), ("", []), ("", [""]),
    ("an answer", []), ("", ["an answer"]), ("a\u0301 x", ["\u0301 x"]),
    ("the-cat sat", ["thecat sat sat"]), ("Ｔhe x", ["x"]), ("a½ b", ["½ b"]),
    ("\u0391\u03a3\u03a3 theta", ["\u03b1\u03c3\u03c2 theta", "x"]),
    ("x x y", ["x y y", "x"]), ("你好", ["你好 。"]),
    ("ATHE the THE", ["athe"]),
]


def normalized(text: str) -> list[str]:
    text = "".join(c for c in text.lower() if c not in string.punctuation)
    return re.sub(r"\b(a|an|the)\b", " ", text).split()


def f1(pred: str, target: str, empty: float) -> float:
    ours, theirs = normalized(pred), normalized(target)
    if not ours and not theirs:
        return empty
    same = sum((collections.Counter(ours) &
                collections.Counter(theirs)).values())
    if not same:
        return 0.0
    precision, recall = same / len(ours), same / len(theirs)
    return 2 * precision * recall / (precision + recall)


def squad_case(name: str, rows: list[tuple[str, list[str]]],
               empty: float) -> dict[str, Any]:
    preds, target = [list(column) for column in zip(*rows)]
    answers = [own or [""] for own in target]
    exact = [max(normalized(p) == normalized(t) for t in own)
             for p, own in zip(preds, answers)]
    scores = [max(f1(p, t, empty) for t in own)
              for p, own in zip(preds, answers)]
    return case(name, {"empty_answers_match": bool(empty)},
                batches(preds, target),
                {"exact_match": 100 * np.mean(exact),
                 "f1": 100 * np.mean(scores)})


def squad() -> None:
    drawn = [(pred, [target, target + " the end"][:1 + i % 2])
             for i, (pred, target) in enumerate(pairs("squad", 20, 6))]
    write("SQuAD", "evaluate-v1.1.py and evaluate-v2.0.py", [
        squad_case("awkward", PREDS, 1), squad_case("version_1", PREDS, 0),
        squad_case("drawn", drawn, 1)])


def perplexity_case(name: str, logits: np.ndarray, target: np.ndarray,
                    ignore_index: int | None = None, rtol: float = 1e-11,
                    ) -> dict[str, Any]:
    wide = logits.astype(np.float64)
    largest = wide.max(-1, keepdims=True)
    logs = wide - largest - np.log(
        np.exp(wide - largest).sum(-1, keepdims=True))
    kept = np.ones(target.shape, bool) if ignore_index is None \
        else target != ignore_index
    picked = np.take_along_axis(logs, np.where(kept, target, 0)[..., None],
                                -1)[..., 0]
    options = {} if ignore_index is None else {"ignore_index": ignore_index}
    return case(name, options, tensor_batches(logits, target),
                float(np.exp(-picked[kept].mean())), rtol=rtol)


def perplexity() -> None:
    draw = np.random.default_rng(22)
    logits = np.round(draw.normal(size=(24, 3, 7)) * 3, 3)
    target = draw.integers(7, size=(24, 3))
    ignored = np.where(draw.random((24, 3)) < 0.3, -100, target)
    # softmax underflows.
    far = np.zeros((9, 2, 4))
    far[:, :, 1] = 900
    write("Perplexity", "NumPy", [
        perplexity_case("double", logits, target),
        perplexity_case("float", logits.astype(np.float32), target, rtol=1e-6),
        perplexity_case("ignored", logits, ignored, -100),
        perplexity_case("ignored_class", logits, target, 2),
        perplexity_case("far", far, np.where(np.arange(2) > 0, 0, 1) +
                        np.zeros((9, 2), int)),
    ])


if __name__ == "__main__":
    squad()
    perplexity()
