"""Writes ../data/text/ of EntityPrecision, EntityRecall and EntityF1Score.

    python tags.py

The values are those of seqeval.
"""

import random
import warnings
from typing import Any

from corpus import batches, case
from seqeval import scheme as schemes
from seqeval.metrics import f1_score, precision_score, recall_score
from seqeval.metrics.sequence_labeling import \
    precision_recall_fscore_support as lenient
from seqeval.metrics.v1 import precision_recall_fscore_support as strict
from thorough import write_both

SEQEVAL = "seqeval 1.2.2"
METRICS = {"EntityPrecision": (precision_score, 0),
           "EntityRecall": (recall_score, 1), "EntityF1Score": (f1_score, 2)}
PREFIXES = {"IOB1": "IOB", "IOB2": "IOB", "IOE1": "IOE", "IOE2": "IOE",
            "IOBES": "IOBES", "BILOU": "BILOU"}
TYPES = ("PER", "LOC", "ORG", "人", "B-X")
Sentence = list[str]


def tag(draw: random.Random, prefixes: str, suffix: bool) -> str:
    prefix = draw.choice(prefixes + "O")
    if prefix == "O":
        return "O"
    kind = draw.choice(TYPES[:2] if draw.random() < 0.8 else TYPES)
    return f"{kind}-{prefix}" if suffix else f"{prefix}-{kind}"


def sentences(seed: str, prefixes: str, suffix: bool = False,
              count: int = 24) -> tuple[list[Sentence], list[Sentence]]:
    draw = random.Random(seed)
    target = [[tag(draw, prefixes, suffix)
               for _ in range(draw.randrange(0 if i else 1, 12))]
              for i in range(count)]
    preds = [[tag(draw, prefixes, suffix) if draw.random() < 0.15 else one
              for one in sentence] for sentence in target]
    return preds, target


# Tags that are not as they should be.
AWKWARD = (
    [["U-PER", "O"], ["B-PER", "I-PER"], ["I-PER", "I-PER"], ["B", "I"],
     ["B-PER", "I-LOC"], ["B-PER", "E-PER", "E-PER"], ["S", "O", "."],
     ["B-A-B", "I-B"], ["X-A", "I-A"], ["O", "B-PER", "B-PER"]],
    [["U-PER", "O"], ["B-PER", "B-PER"], ["B-PER", "I-PER"], ["B", "I"],
     ["B-PER", "B-LOC"], ["B-PER", "I-PER", "B-PER"], ["S", "O", "O"],
     ["B-A-B", "I-A-B"], ["X-A", "I-A"], ["O", "B-PER", "I-PER"]])
EMPTY = ([["O", "O"], ["O"]], [["O", "O"], ["O"]])
GOLD_ONLY = ([["O", "O"]], [["B-PER", "I-PER"]])
PREDICTED_ONLY = ([["B-PER", "I-PER"]], [["O", "O"]])


def value(metric: str, preds: list[Sentence], target: list[Sentence],
          average: str, options: dict[str, Any]) -> Any:
    scorer, part = METRICS[metric]
    theirs = dict(options)
    is_strict = theirs.pop("mode", None) == "strict"
    if "scheme" in theirs:
        theirs["scheme"] = getattr(schemes, theirs["scheme"])
    if average != "none":
        if is_strict:
            theirs["mode"] = "strict"
        return float(scorer(target, preds, average=average, **theirs))
    support = strict if is_strict else lenient
    values = support(target, preds, average=None, **theirs)[part]
    return dict(zip(names(preds, target, options), map(float, values),
                    strict=True))


def names(preds: list[Sentence], target: list[Sentence],
          options: dict[str, Any]) -> list[str]:
    """Of the types, as seqeval sorts them."""
    if options.get("mode") == "strict":
        scheme = getattr(schemes, options["scheme"])
        suffix = options.get("suffix", False)
        return sorted({entity for side in (preds, target) for entity in
                       schemes.Entities(side, scheme, suffix).unique_tags})
    from seqeval.metrics.sequence_labeling import get_entities
    return sorted({kind for side in (preds, target) for kind, _, _ in
                   get_entities(side, options.get("suffix", False))})


def fixtures() -> None:
    inputs: list[tuple[str, Any, dict[str, Any]]] = [
        ("default", sentences("default", "BIES"), {}),
        ("suffix", sentences("suffix", "BIES", True), {"suffix": True}),
        ("awkward", AWKWARD, {}),
    ]
    for scheme, prefixes in PREFIXES.items():
        inputs.append((scheme, sentences(scheme, prefixes),
                       {"mode": "strict", "scheme": scheme}))
    inputs.append(("strict_suffix", sentences("strict", "IOB", True),
                   {"mode": "strict", "scheme": "IOB2", "suffix": True}))
    small = [("empty", EMPTY), ("gold_only", GOLD_ONLY),
             ("predicted_only", PREDICTED_ONLY)]
    for metric in METRICS:
        cases = []
        for name, (preds, target), options in inputs:
            for average in ("micro", "macro", "weighted", "none") \
                    if name in ("default", "IOB2", "awkward") else ("micro",):
                cases.append(case(
                    f"{name}_{average}", {"average": average, **options},
                    batches(preds, target),
                    value(metric, preds, target, average, options)))
        for name, (preds, target) in small:
            for average in ("micro", "macro", "weighted"):
                for zero in (0, 1):
                    options = {"zero_division": zero}
                    cases.append(case(
                        f"{name}_{average}_{zero}",
                        {"average": average, **options},
                        batches(preds, target),
                        value(metric, preds, target, average, options)))
        write_both(metric, SEQEVAL, cases, {"default_none"})


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    fixtures()
