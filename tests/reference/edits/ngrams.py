"""Writes ../data/text/ of BLEU and chrF, and the tokens of sentences.

    python ngrams.py

The values are those of sacrebleu, divided by 100.
"""

import json
from typing import Any

import nltk.translate.bleu_score as nltk_bleu
from corpus import AWKWARD, DATA, batches, case, pairs
from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.metrics.bleu import _get_tokenizer
from thorough import write_both

SACREBLEU = "sacrebleu 2.6.0"
TOKENIZERS = ("13a", "intl", "zh", "char", "none")
Rows = list[tuple[str, list[str]]]

# What tokenizers make different things of.
TEXTS = [
    "", " ", "...", "1,000.5-3 a-b", "U.S. in 1999.", ".5 5. .", "1-2 -3",
    "a,,5", "a,,,5", "a!!5", "&lt;b&gt; &apos;", "&amp;lt; &quot;", "don't",
    "end-\nof", "a<skipped>b", "a\r\nb", "a\u00a0b", "a\x1fb", "a\u200bb",
    "\ufeffhi", "你好，世界。", "\U00020000\U0002A6D6x", "“q”—1…2",
    "日本語テスト", "\U0001F469\u200d\U0001F467", "\U0001F44D\U0001F3FD",
    "\U0001F1E9\U0001F1EA", "مرحبا،", "\u0665\u066b\u0665", "שלום!", "²½,5",
    "１，２", "e\u0301", "€5", "a_b #t", "1.\n", " a  b \t", "ΑΣ.Α", "ΑΣ", "İI",
    "\u2028x\u0085y", "\u2600\u2a6d\u2a6e\u2ddf", "〆〇ー\u31e3\u31f0\u33ff",
]

# One word more or less, an empty side, and no words at all.
SHORT = [("the cat", ["the cat"]), ("a b c d", ["a x c y"]), ("", ["a b"]),
         ("a b", [""]), ("", [""]), (". . .", ["..."])]


def rows_of(texts: list[tuple[str, str]]) -> Rows:
    return [(hypothesis, [reference]) for hypothesis, reference in texts]


def several(varying: bool) -> Rows:
    """Two references each, or one to three, of about the length."""
    first, second, third = (pairs("references", 24, 12),
                            pairs("more references", 24, 12),
                            pairs("other references", 24, 12))
    return [(a[0], [a[1], a[0] + " " + b[1][:9], c[0]]
             [:1 + i % 3 if varying else 2])
            for i, (a, b, c) in enumerate(zip(first, second, third,
                                              strict=True))]


def columns(rows: Rows) -> tuple[list[str], list[list[str | None]]]:
    """Hypotheses and references as sacrebleu takes them."""
    most = max(len(references) for _, references in rows)
    return [hypothesis for hypothesis, _ in rows], [
        [references[i] if i < len(references) else None
         for _, references in rows] for i in range(most)]


NAMED = {
    "sentences": rows_of(pairs("translations", 24, 12)),
    "awkward": rows_of(AWKWARD + [(text, text.replace("a", "b") + " 1")
                                  for text in TEXTS]),
    "references": several(varying=False),
    "varying": several(varying=True),
    "short": SHORT,
    "identical": [(text, [text]) for text in TEXTS],
    "disjoint": [("a b c d e", ["v w x y z"])],
    "one_word": [("the", ["the"])],
}


def cases_of(scorer: type, renamed: dict[str, str], name: str, rows: Rows,
             options: dict[str, Any]) -> dict[str, Any]:
    theirs = {renamed.get(key, key): value for key, value in options.items()}
    score = scorer(**theirs).corpus_score(*columns(rows)).score / 100
    hypotheses, references = zip(*rows, strict=True)
    words = "_".join(f"{key}_{value}" for key, value in options.items())
    return case(name + ("_" + words if words else ""), options,
                batches(hypotheses, references), score, rtol=1e-9,
                atol=1e-12)


def sacre_bleu() -> None:
    variants: list[tuple[str, dict[str, Any]]] = [
        *[("awkward", {"tokenize": name}) for name in TOKENIZERS],
        *[("awkward", {"tokenize": name, "lowercase": True})
          for name in ("13a", "intl", "zh")],
        *[(name, {}) for name in NAMED],
        *[("sentences", {"n_gram": n}) for n in (1, 2, 6)],
    ]
    for method in ("exp", "floor", "add-k", "none"):
        for name in ("short", "one_word", "disjoint"):
            variants.append((name, {"smooth_method": method}))
            variants.append((name, {"smooth_method": method,
                                    "effective_order": True}))
    variants += [("short", {"smooth_method": "floor", "smooth_value": 0.01}),
                 ("short", {"smooth_method": "add-k", "smooth_value": 0.5})]
    seen = set()
    cases = []
    for name, options in variants:
        one = cases_of(BLEU, {"n_gram": "max_ngram_order"}, name, NAMED[name],
                       options)
        if one["name"] not in seen:
            seen.add(one["name"])
            cases.append(one)
    write_both("SacreBLEUScore", SACREBLEU, cases,
               {"varying", "awkward_tokenize_zh_lowercase_True"})


def bleu() -> None:
    """Of tokens between white space; with weights NLTK's."""
    cases = []
    for name in ("sentences", "references", "varying", "short", "one_word"):
        for smooth in (False, True):
            hypotheses, references = zip(*NAMED[name], strict=True)
            score = BLEU(tokenize="none", smooth_method="add-k" if smooth
                         else "none").corpus_score(*columns(NAMED[name]))
            cases.append(case(f"{name}_{smooth}", {"smooth": smooth},
                              batches(hypotheses, references),
                              score.score / 100, rtol=1e-9, atol=1e-12))
    # NLTK counts an n-gram of each sentence that is too short for one.
    rows = [row for row in NAMED["sentences"] if len(row[0].split()) > 2]
    hypotheses, references = zip(*rows, strict=True)
    for weights in ([0.5, 0.5], [0.2, 0.3, 0.5]):
        value = nltk_bleu.corpus_bleu(
            [[text.split() for text in texts] for texts in references],
            [text.split() for text in hypotheses], weights)
        cases.append(case(
            f"weights_{len(weights)}", {"n_gram": len(weights),
                                        "weights": weights},
            batches(hypotheses, references), value, rtol=1e-9))
    write_both("BLEUScore", f"{SACREBLEU}; weights: NLTK 3.10.4", cases,
               {"varying_True"})


def chrf() -> None:
    renamed = {"n_char_order": "char_order", "n_word_order": "word_order"}
    cases = []
    for name in NAMED:
        for options in ({"n_word_order": 0}, {"n_word_order": 2}):
            cases.append(cases_of(CHRF, renamed, name, NAMED[name], options))
    for options in (
            {"eps_smoothing": True}, {"lowercase": True}, {"whitespace": True},
            {"beta": 1}, {"beta": 3}, {"n_char_order": 3}, {"n_word_order": 1},
            {"n_char_order": 2, "eps_smoothing": True, "whitespace": True}):
        for name in ("varying", "short"):
            cases.append(cases_of(CHRF, renamed, name, NAMED[name],
                                  {"n_word_order": 2, **options}))
    write_both("CHRFScore", SACREBLEU, cases, {"varying_n_word_order_2"})


def alone_in_zh() -> list[list[int]]:
    """The ranges of code points that zh takes for tokens of their own.

    Not those that its source means: of "\\u20000" it reads four digits.
    """
    tokenizer = _get_tokenizer("zh")()
    ranges: list[list[int]] = []
    for code in (*range(0xD800), *range(0xE000, 0x10000)):
        if tokenizer(f"a{chr(code)}b").split() != ["a", chr(code), "b"]:
            continue
        if not ranges or ranges[-1][1] != code - 1:
            ranges.append([code, code])
        ranges[-1][1] = code
    return ranges


def tokens() -> None:
    """What each tokenizer makes of TEXTS."""
    made = []
    for text in TEXTS:
        for lowercase in (False, True):
            given = (text.lower() if lowercase else text).rstrip()
            made.append({"text": text, "lowercase": lowercase, "tokens": {
                name: _get_tokenizer(name)()(given).split()
                for name in TOKENIZERS}})
    (DATA / "bleu_tokens.json").write_text(
        json.dumps({"source": SACREBLEU, "cases": made,
                    "alone_in_zh": alone_in_zh()}, indent=0) + "\n",
        encoding="utf-8")


def long_text() -> None:
    """Of 10 000 words, which the test makes, too."""
    reference = [f"w{i * i % 9973 % 50}" for i in range(10000)]
    hypothesis = [f"w{i * i % 9973 % 50 + i // 7 % 2}" for i in range(10000)]
    texts = " ".join(hypothesis), [[" ".join(reference)]]
    values = {"bleu": BLEU().corpus_score([texts[0]], texts[1]).score / 100,
              "chrf": CHRF().corpus_score([texts[0]], texts[1]).score / 100}
    (DATA / "long_translation.json").write_text(
        json.dumps({"source": SACREBLEU, **values}) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sacre_bleu()
    bleu()
    chrf()
    tokens()
    long_text()
