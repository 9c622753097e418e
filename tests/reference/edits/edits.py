"""Writes ../data/text/ of error rates and edit distances.

    python edits.py

The values are those of jiwer and rapidfuzz; rows of integers those of words
that stand for them.
"""

import random

import jiwer
import numpy as np
from corpus import (AWKWARD, batches, case, edited, pairs, sentence,
                    tensor_batches, text_cases, write)
from rapidfuzz.distance import Levenshtein

JIWER = "jiwer 4.0.0"
RAPIDFUZZ = "rapidfuzz 3.14.6"
MEASURES = {"WordErrorRate": "wer", "MatchErrorRate": "mer",
            "WordInfoLost": "wil", "WordInfoPreserved": "wip"}
TOKEN_MEASURES = {"error_rate": "wer", "match_error_rate": "mer",
                  "information_lost": "wil", "information_preserved": "wip"}
PADDING = -100

TWO_WORDS = pairs("two words", 40, 9, ("a", "b"))
NAMED = {
    "sentences": pairs("sentences", 24, 12),
    "awkward": AWKWARD,
    # Several alignments are as good as each other in most of them.
    "ambiguous": TWO_WORDS,
    # Above 64 words.
    "long": pairs("long", 3, 200),
    "no_references": [("a b", ""), ("", ""), ("c", " \t")],
    "no_hypotheses": [("", "a b"), (" \n", "c")],
    "nothing": [("", ""), (" ", "")],
}


def words_value(measure: str):
    return lambda preds, target: float(
        getattr(jiwer.process_words(target, preds), measure))


def whitespace_value(measure: str):
    def value(preds: list[str], target: list[str]) -> float:
        split = [[" ".join(text.split()) for text in texts]
                 for texts in (target, preds)]
        return float(getattr(jiwer.process_words(*split), measure))
    return value


def word_metrics() -> None:
    for metric, measure in MEASURES.items():
        cases = text_cases(metric, JIWER, words_value(measure), NAMED)
        cases += text_cases(metric, JIWER, whitespace_value(measure),
                            {"whitespace": AWKWARD}, {"split": "whitespace"})
        write(metric, JIWER, cases)


def char_metrics() -> None:
    def value(preds: list[str], target: list[str]) -> float:
        return float(jiwer.process_characters(target, preds).cer)

    named = {name: NAMED[name] for name in
             ("sentences", "awkward", "no_references", "nothing")}
    named["long"] = pairs("long characters", 2, 40)
    write("CharErrorRate", JIWER, text_cases("CharErrorRate", JIWER, value,
                                             named))


def padded(rows: list[list[int]]) -> np.ndarray:
    table = np.full((len(rows), max(map(len, rows), default=0)), PADDING)
    for row, tokens in zip(table, rows):
        row[:len(tokens)] = tokens
    return table


def token_rows() -> tuple[list[list[int]], list[list[int]]]:
    draw = random.Random("tokens")
    vocabulary = [int(x) for x in range(-3, 40)]
    target = [sentence(draw, vocabulary, 30) for _ in range(24)]
    return [edited(draw, row, vocabulary) for row in target], target


def token_metrics() -> None:
    preds, target = token_rows()
    inputs = tensor_batches(padded(preds), padded(target))
    spelled = [[" ".join(map(str, row)) for row in rows]
               for rows in (target, preds)]
    output = jiwer.process_words(*spelled)
    write("TokenErrorRate", JIWER, [
        case(name, {"ignore_index": PADDING, "measure": name}, inputs,
             float(getattr(output, measure)))
        for name, measure in TOKEN_MEASURES.items()
    ])
    write("TokenEditDistance", RAPIDFUZZ, [
        case(f"cost_{cost}_{reduction}",
             {"ignore_index": PADDING, "substitution_cost": cost,
              "reduction": reduction}, inputs,
             reduced([distance(p, t, cost) for p, t in zip(preds, target)],
                     reduction))
        for cost, reduction in ((1, "mean"), (2, "sum"), (1, "none"))
    ])


def distance(a, b, cost: int) -> int:
    return Levenshtein.distance(a, b, weights=(1, 1, cost))


def reduced(distances: list[int], reduction: str):
    if reduction == "mean":
        return float(np.mean(distances))
    return np.array(distances if reduction == "none" else sum(distances))


def edit_distance() -> None:
    shared = "".join(chr(0x4E00 + i) for i in range(100))
    named = {
        "sentences": (pairs("characters", 14, 4), [
            (1, "mean"), (0, "sum"), (2, "sum"), (1, "none"), (3, "none")]),
        "awkward": (AWKWARD, [(1, "mean")]),
        "long": (pairs("long characters", 2, 40), [(1, "sum"), (2, "sum")]),
        # TorchMetrics gives 127, as it keeps near the diagonal.
        "shifted": ([("x" * 40 + shared, shared + "y" * 40)], [(1, "mean")]),
    }
    cases = []
    for name, (rows, options) in named.items():
        preds, target = ([row[i] for row in rows] for i in (0, 1))
        for cost, reduction in options:
            cases.append(case(
                f"{name}_{cost}_{reduction}",
                {"substitution_cost": cost, "reduction": reduction},
                batches(preds, target),
                reduced([distance(p, t, cost) for p, t in rows], reduction)))
    write("EditDistance", RAPIDFUZZ, cases)


if __name__ == "__main__":
    word_metrics()
    char_metrics()
    token_metrics()
    edit_distance()
