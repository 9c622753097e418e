"""Writes ../data/text/ROUGEScore.json and the stems of words.

    python summaries.py

The values are means over those of rouge-score.
"""

import json
import random
from typing import Any

import numpy as np
import regex
from corpus import AWKWARD, DATA, batches, case, pairs
from nltk.stem.porter import PorterStemmer
from rouge_score.rouge_scorer import RougeScorer
from thorough import write_both

ROUGE = "rouge-score 0.1.2"
PARTS = ("fmeasure", "precision", "recall")
KEYS = ("rouge1", "rouge2", "rougeL", "rougeLsum")
WORDS = ("the flies running runner ponies enjoyed news dying Café \u212Alvin "
         "\u0130stanbul 1,000 U.S.A. Don't 你好 relational possibly , . \n "
         "\n happily controlling national").split(" ")
Rows = list[tuple[str, list[str]]]

# The ties of the union of longest common subsequences count.
TIES = [("a c\nb c", ["c a b"]), ("b c\na c", ["c a b"]),
        ("a b\nc d\ne", ["a c e\nb d"]), ("w1 w2 w6\nw1 w3 w8 w9 w5",
                                         ["w1 w2 w3 w4 w5"])]
EDGES = [("", [""]), ("a", [""]), ("", ["a"]), ("...", ["..."]),
         ("a b", ["a b"]), ("a\r\nb", ["a\nb"]), ("\n\na\n\n", ["a"]),
         ("Don't U.S.A. 1,000", ["don t u s a 1 000"]), ("你好", ["你好"])]


def rows_of(texts: list[tuple[str, str]]) -> Rows:
    return [(prediction, [reference]) for prediction, reference in texts]


def several() -> Rows:
    made = [pairs(seed, 24, 14, WORDS) for seed in ("one", "two", "three")]
    return [(a[0], [a[1], b[1], c[0]][:1 + i % 3])
            for i, (a, b, c) in enumerate(zip(*made, strict=True))]


# A word and a vowel sign, a mark alone, numbers of other scripts, joined text.
LANGUAGES = [
    ("पूर्व प्रधानमन्त्री शिंजो आबेको हत्याले जापान स्तब्ध छ।",
     ["पूर्व प्रधानमन्त्री शिंजो आबेको हत्या भयो ।"]),
    ("今天天气很好，我们去公园散步。", ["今天天气不错，我们去公园散步吧。"]),
    ("Élan vital, naïve CAFÉ", ["élan naïve\ncafé vital"]),
    ("القط جلس على السجادة", ["القط على السجادة"]),
    ("ΟΔΟΣ Οδός x_y 3.14", ["οδος οδός x y 3 14"]),
    ("สวัสดีครับ", ["สวัสดี ครับ"]),
    ("İstanbul \u212Aelvin ١٢٣", ["i\u0307stanbul kelvin ١٢٣"]),
]


class Tokenizer:
    """A tokenizer of rouge-score."""

    def __init__(self, tokenize: Any) -> None:
        self.tokenize = tokenize


TOKENIZERS = {
    "whitespace": Tokenizer(str.split),
    "unicode": Tokenizer(
        lambda text: regex.findall(r"[\p{L}\p{M}\p{N}]+", text.lower())),
    "characters": Tokenizer(
        lambda text: [c for c in text.lower() if not c.isspace()]),
}

NAMED = {
    "languages": rows_of([(a, b[0]) for a, b in LANGUAGES]),
    "summaries": rows_of(pairs("summaries", 24, 20, WORDS)),
    "awkward": rows_of(AWKWARD),
    "references": several(),
    "ties": TIES,
    "edges": EDGES,
    # Above 64 words.
    "long": rows_of(pairs("long summaries", 2, 150, WORDS)),
}


def values(rows: Rows, keys: tuple[str, ...], stemmer: bool, accumulate: str,
           tokenizer: str = "rouge_score") -> dict[str, float]:
    scorer = RougeScorer(list(keys), use_stemmer=stemmer,
                         tokenizer=TOKENIZERS.get(tokenizer))
    sums: dict[str, list[float]] = {}
    for prediction, references in rows:
        if accumulate == "best":
            score = scorer.score_multi(references, prediction)
            for key in keys:
                for part in PARTS:
                    sums.setdefault(f"{key}_{part}", []).append(
                        getattr(score[key], part))
            continue
        scores = [scorer.score(text, prediction) for text in references]
        for key in keys:
            for part in PARTS:
                sums.setdefault(f"{key}_{part}", []).append(np.mean(
                    [getattr(score[key], part) for score in scores]))
    return {name: float(np.mean(parts)) for name, parts in sums.items()}


def rouge() -> None:
    cases = []
    variants: list[tuple[str, tuple[str, ...], bool, str]] = [
        *[(name, KEYS, stemmer, "best") for name in NAMED
          for stemmer in (False, True)],
        ("references", KEYS, True, "avg"),
        ("summaries", ("rouge3", "rougeLsum", "rouge9"), False, "best"),
    ]
    for name, keys, stemmer, accumulate in variants:
        predictions, references = zip(*NAMED[name], strict=True)
        options: dict[str, Any] = {"use_stemmer": stemmer,
                                   "accumulate": accumulate}
        if keys != KEYS:
            options["rouge_keys"] = list(keys)
        cases.append(case(
            f"{name}_{stemmer}_{accumulate}_{len(keys)}", options,
            batches(predictions, references),
            values(NAMED[name], keys, stemmer, accumulate)))
    for tokenizer in TOKENIZERS:
        for name in ("languages", "references"):
            predictions, references = zip(*NAMED[name], strict=True)
            cases.append(case(
                f"{name}_{tokenizer}", {"tokenizer": tokenizer},
                batches(predictions, references),
                values(NAMED[name], KEYS, False, "best", tokenizer)))
    write_both("ROUGEScore", ROUGE, cases,
               {"references_True_avg_4", "languages_unicode"})


def long_text() -> None:
    """Of 10 000 words, which the test makes, too."""
    reference = [f"w{i * i % 9973 % 50}" for i in range(10000)]
    prediction = [f"w{i * i % 9973 % 50 + i // 7 % 2}" for i in range(10000)]
    for texts in (reference, prediction):
        # Lines of 500 words: rouge-score takes a table of all pairs.
        texts[:] = ["\n" if i % 500 == 499 else word
                    for i, word in enumerate(texts)]
    score = RougeScorer(["rouge2", "rougeLsum"]).score(" ".join(reference),
                                                       " ".join(prediction))
    (DATA / "long_summary.json").write_text(json.dumps(
        {"source": ROUGE, **{key: value.fmeasure
                             for key, value in score.items()}}) + "\n",
        encoding="utf-8")


def stems() -> None:
    """Of words that end as the rules of the stemmer say, and of exceptions."""
    draw = random.Random("stems")
    endings = ("ational tional enci anci izer bli alli entli eli ousli ization "
               "ation ator alism iveness fulness ousness aliti iviti biliti "
               "fulli logi icate ative alize iciti ical ful ness al ance ence "
               "er ic able ible ant ement ment ent sion tion ou ism ate iti "
               "ous ive ize e ll ed ing eed ied ies sses s ss y at bl iz l"
               ).split()
    words = {"sky", "skies", "dying", "died", "lying", "tying", "news", "dies",
             "innings", "outings", "cannings", "howe", "proceed", "exceed",
             "succeed", "enjoy", "possibly", "spied", "flies", "ties", "feed",
             "agreed", "controll", "yyyy", "syzygy", "a1b2s", "1990s"}
    while len(words) < 700:
        start = "".join(draw.choice("aeiouybcdfglmnprstvz")
                        for _ in range(draw.randrange(1, 7)))
        words.add(start + "".join(draw.choice(endings)
                                  for _ in range(draw.randrange(1, 3))))
    stemmer = PorterStemmer()
    (DATA / "stems.json").write_text(json.dumps(
        {"source": "NLTK 3.10.4",
         "stems": {word: stemmer.stem(word) for word in sorted(words)}},
        indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    rouge()
    long_text()
    stems()
