"""Writes ../data/text/ of TranslationEditRate and ExtendedEditDistance.

    python translations.py

The values are those of sacrebleu, and of TorchMetrics' functions of a sentence,
which are in float64, with their mean in place of that of float32 numbers.
"""

from typing import Any

import numpy as np
from corpus import AWKWARD, batches, case, pairs, write
from sacrebleu.metrics import TER
from torchmetrics.functional.text.eed import (_eed_function, _preprocess_en,
                                              _preprocess_ja)

SACREBLEU = "sacrebleu 2.6.0"
TORCHMETRICS = "TorchMetrics 1.9.0"

WESTERN = [
    ("It's U.S. 1,000-5", "it 's U.S. 1,000 - 5"),
    ("end\n-of line", "endof line"), ("&lt;b&gt; &amp;lt; &quot;", "< b > \""),
    ("a,,5 a,,,5 .5 5.", "a , ,5"), ("(hi) [so] {x} ~`@", "( hi ) so"),
    ("the dogs' 's bone's", "the dogs ' 's bone"), ("", "a"), ("a", ""),
    ("", ""), ("...", "?!"), ("\u0391\u03a3.\u0391 İ", "\u03b1\u03c2 i"),
]
ASIAN = [
    ("你好，世界。", "世界 你好"), ("日本語テスト", "日本語 の テスト"),
    ("「引用」・テスト", "引用 テスト"), ("㈠㌀㐀﹅ｱ｡", "㈠ ㌀ 㐀"),
    ("Ａ．Ｂ，Ｃ？", "Ａ Ｂ Ｃ"), ("ab你cd", "ab 你 cd"), ("かな カナ", "かな"),
]


def several(seed: str, count: int, most: int) -> list[tuple[str, list[str]]]:
    """Texts with one to three references, of other lengths."""
    drawn = [pairs(f"{seed} {i}", count, most) for i in range(3)]
    return [(drawn[0][i][0],
             [rows[i][1] for rows in drawn[:1 + i % 3]])
            for i in range(count)]


def one_each(rows: list[tuple[str, str]]) -> list[tuple[str, list[str]]]:
    return [(pred, [target]) for pred, target in rows]


def ter_options(**options: bool) -> dict[str, bool]:
    names = {"normalize": "normalized", "no_punctuation": "no_punct",
             "asian_support": "asian_support"}
    made = {names[key]: value for key, value in options.items()
            if key in names}
    made["case_sensitive"] = not options.get("lowercase", True)
    return made


def ter_case(name: str, rows: list[tuple[str, list[str]]],
             sentence_level: bool = False, **options: bool) -> dict[str, Any]:
    ter = TER(**ter_options(**options))
    preds, target = [list(column) for column in zip(*rows)]
    if sentence_level:
        value: Any = np.array([ter.sentence_score(p, t).score / 100
                               for p, t in rows])
        options["sentence_level"] = True
    else:
        # Lists by place of the reference; None where there are fewer.
        most = max(map(len, target))
        streams = [[own[i] if i < len(own) else None for own in target]
                   for i in range(most)]
        value = ter.corpus_score(preds, streams).score / 100
    return case(name, options, batches(preds, target), value, rtol=1e-11)


def translation_edit_rate() -> None:
    awkward = one_each(AWKWARD + WESTERN + ASIAN)
    cases = [
        ter_case("several", several("ter", 14, 14)),
        ter_case("awkward", awkward),
        ter_case("case", awkward, lowercase=False),
        ter_case("sentences", several("ter", 9, 10), sentence_level=True),
        # Above the beam of the edit distance, with more than 1000 shifts tried.
        ter_case("long", one_each(pairs("long", 2, 70))),
        ter_case("tried", one_each(pairs("tried", 2, 60, ("a", "b", "c")))),
        # Lengths so far apart that the beam is wider.
        ter_case("apart", [("a b", ["c a " * 40]), ("a b c " * 30, ["c"])]),
        ter_case("no_references", one_each([("a b", ""), ("", "")])),
        ter_case("nothing", one_each([("", "")])),
    ]
    for normalize in (False, True):
        for no_punctuation in (False, True):
            if normalize or no_punctuation:
                for asian in (False, True):
                    cases.append(ter_case(
                        f"rules_{normalize:d}{no_punctuation:d}{asian:d}",
                        one_each(WESTERN + ASIAN), normalize=normalize,
                        no_punctuation=no_punctuation, asian_support=asian))
    write("TranslationEditRate", SACREBLEU, cases)


def eed_case(name: str, rows: list[tuple[str, list[str]]],
             reduction: str = "mean", language: str = "en",
             **costs: float) -> dict[str, Any]:
    prepare = _preprocess_en if language == "en" else _preprocess_ja
    scores = np.array([
        min(float(_eed_function(prepare(pred), prepare(own), **costs))
            for own in target) for pred, target in rows])
    reduced = {"mean": scores.mean(), "sum": scores.sum(), "none": scores}
    preds, target = [list(column) for column in zip(*rows)]
    return case(name, {"reduction": reduction, "language": language, **costs},
                batches(preds, target), reduced[reduction])


def extended_edit_distance() -> None:
    rules = [("3,000.50 e.g. i.e. U.S. x", "3 , 000 . 50 e . g . i . e . U . S"),
             ("1 . 2 . 3 , 4!", "1.2 .3,4 !"), ("Mr Smith Mrs. Gen", "Mr. Smith"),
             ("Prof x HDr. y Rev", "Prof. x"), ("٠ . ١", "٠.١"),
             ("the the the", "the"), ("a", "a"), ("", "")]
    write("ExtendedEditDistance", TORCHMETRICS, [
        eed_case("several", several("eed", 14, 7)),
        eed_case("awkward", one_each(AWKWARD)),
        eed_case("rules", one_each(rules)),
        eed_case("japanese", [("猫が座る。 ", ["猫は座った。"]), ("テスト", ["テスト"]),
                              ("", [""]), ("これは ペン です", ["これは本です"])],
                 language="ja"),
        eed_case("none", several("eed", 5, 6), "none"),
        eed_case("costs", several("costs", 7, 6), "sum", alpha=0.5, rho=0.1,
                 deletion=0.7, insertion=0.4),
    ])


if __name__ == "__main__":
    translation_edit_rate()
    extended_edit_distance()
