"""Texts, tags and tokens."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import torch

from subjects.case import Case, Inputs, function_case, torchmetrics_case
from subjects.sizes import BATCH

WORDS = 20


def _sentences(count: int) -> tuple[list[str], list[str]]:
    """Hypotheses and references; about a fifth of the words differ."""
    draw = random.Random(22)
    letters = "abcdefghijklmnopqrstuvwxyz"
    vocabulary = ["".join(draw.choice(letters) for _ in range(draw.randrange(2, 10)))
                  for _ in range(2000)]
    hypotheses, references = [], []
    for _ in range(count):
        reference = [draw.choice(vocabulary) for _ in range(WORDS)]
        hypothesis = [draw.choice(vocabulary) if draw.random() < 0.2 else word
                      for word in reference if draw.random() > 0.05]
        hypotheses.append(" ".join(hypothesis))
        references.append(" ".join(reference))
    return hypotheses, references


def sentences(size: str) -> Inputs:
    return _sentences(32 if size == BATCH else 1000)


def several(size: str) -> Inputs:
    """With a list of references each."""
    hypotheses, references = sentences(size)
    return hypotheses, [[each] for each in references]


def fewer(size: str) -> Inputs:
    """Of what takes the peer long."""
    return tuple(each[:100] for each in several(size))


def few(size: str) -> Inputs:
    return tuple(each[:50] for each in sentences(size))


def logits(size: str) -> Inputs:
    shape = (4, 8, 100) if size == BATCH else (10, 100, 1000)
    return torch.randn(shape), torch.randint(shape[-1], shape[:2])


def _of_torchmetrics() -> Iterator[Case]:
    for name in ("WordErrorRate", "MatchErrorRate", "WordInfoLost", "WordInfoPreserved"):
        yield torchmetrics_case(name, sentences)
    for name in ("CharErrorRate", "EditDistance"):
        yield torchmetrics_case(name, few)
    for name, inputs in (("BLEUScore", several), ("SacreBLEUScore", several),
                         ("CHRFScore", fewer), ("TranslationEditRate", fewer),
                         ("ExtendedEditDistance", fewer)):
        yield torchmetrics_case(name, inputs)
    yield torchmetrics_case("ROUGEScore", fewer, {"rouge_keys": ("rouge1", "rouge2", "rougeL")})
    yield torchmetrics_case("Perplexity", logits, gradients=(0,))
    yield from _answers()


def _answers() -> Iterator[Case]:
    import tally
    from torchmetrics.text import SQuAD

    def questions(inputs: Inputs) -> Inputs:
        preds, target = inputs
        return ([{"prediction_text": text, "id": str(i)} for i, text in enumerate(preds)],
                [{"answers": {"answer_start": [0], "text": texts}, "id": str(i)}
                 for i, texts in enumerate(target)])

    def percent(peer: Any, value: Any) -> Any:
        return {name: 100 * each for name, each in value.items()}

    yield Case("SQuAD", "TorchMetrics", tally.SQuAD, SQuAD, several,
               peer_inputs=questions, value=percent)


def tags(size: str) -> Inputs:
    draw = random.Random(5)
    count = 32 if size == BATCH else 1000
    kinds = ("O", "O", "B-PER", "I-PER", "B-LOC", "I-LOC")
    target = [[draw.choice(kinds) for _ in range(WORDS)] for _ in range(count)]
    return [[draw.choice(kinds) if draw.random() < 0.1 else tag for tag in row]
            for row in target], target


def token_rows(size: str) -> Inputs:
    shape = (32, 20) if size == BATCH else (1000, 100)
    target = torch.randint(50, shape)
    return torch.where(torch.rand(shape) < 0.2, torch.randint(50, shape), target), target


def _of_others() -> Iterator[Case]:
    from rapidfuzz.distance import Levenshtein
    from seqeval import metrics

    def swapped(function: Any) -> Any:
        return lambda preds, target: function(target, preds)

    yield function_case("EntityF1Score", "seqeval", swapped(metrics.f1_score), tags)
    yield function_case("EntityPrecision", "seqeval", swapped(metrics.precision_score), tags)
    yield function_case("EntityRecall", "seqeval", swapped(metrics.recall_score), tags)

    def edits(preds: Any, target: Any) -> list[int]:
        return [Levenshtein.distance(p, t) for p, t in zip(preds, target)]

    def rate(preds: Any, target: Any) -> float:
        return sum(edits(preds, target)) / sum(map(len, target))

    def mean(preds: Any, target: Any) -> float:
        return sum(edits(preds, target)) / len(preds)

    def lists(inputs: Inputs) -> Inputs:
        return tuple(x.tolist() for x in inputs)

    yield function_case("TokenErrorRate", "RapidFuzz", rate, token_rows, peer_inputs=lists)
    yield function_case("TokenEditDistance", "RapidFuzz", mean, token_rows, peer_inputs=lists)


def cases() -> Iterator[Case]:
    yield from _of_torchmetrics()
    yield from _of_others()
