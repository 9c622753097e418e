#!/usr/bin/env python3
"""Compares metrics of translations, summaries and tags with their peers.

See ../README.md. Both sides read the same sentences, on one thread.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAM = HERE.parents[1] / "bazel-bin/benchmarks/overlap_benchmark"
REQUIREMENTS = ["sacrebleu==2.6.0", "rouge-score==0.1.2", "nltk==3.10.4",
                "seqeval==1.2.2", "regex==2026.11.15"]

Peer = tuple[str, Callable[[], float]]


def peers(folder: Path) -> dict[str, Peer]:
    """By the names of Tally's benchmarks."""
    from rouge_score.rouge_scorer import RougeScorer
    from sacrebleu.metrics import BLEU, CHRF
    from seqeval.metrics import f1_score
    from seqeval.scheme import IOB2

    def lines(name: str) -> list[str]:
        return (folder / name).read_text(encoding="utf-8").splitlines()

    preds, target = lines("preds.txt"), lines("target.txt")
    tags = [[line.split() for line in lines(name)]
            for name in ("target_tags.txt", "pred_tags.txt")]

    def bleu(tokenize: str) -> Peer:
        return ("sacrebleu", lambda: BLEU(tokenize=tokenize).corpus_score(
            preds, [target]).score / 100)

    def chrf(words: int) -> Peer:
        return ("sacrebleu", lambda: CHRF(word_order=words).corpus_score(
            preds, [target]).score / 100)

    def rouge(stemmer: bool) -> Peer:
        def work() -> float:
            scorer = RougeScorer(["rouge1", "rouge2", "rougeL", "rougeLsum"],
                                 use_stemmer=stemmer)
            return sum(scorer.score(t, p)["rouge2"].fmeasure
                       for p, t in zip(preds, target)) / len(preds)
        return "rouge-score", work

    return {
        **{f"SacreBLEUScore/{name}": bleu(name)
           for name in ("13a", "intl", "zh", "char", "none")},
        "CHRFScore/chrF": chrf(0),
        "CHRFScore/chrF++": chrf(2),
        "ROUGEScore/plain": rouge(False),
        "ROUGEScore/stemmed": rouge(True),
        "EntityF1Score/default": ("seqeval", lambda: f1_score(*tags)),
        "EntityF1Score/strict": ("seqeval", lambda: f1_score(
            *tags, mode="strict", scheme=IOB2)),
    }


def forget_lines() -> None:
    """sacrebleu's tokenizers keep the lines that they have seen."""
    from sacrebleu.tokenizers import (tokenizer_13a, tokenizer_char,
                                      tokenizer_intl, tokenizer_none,
                                      tokenizer_re, tokenizer_zh)
    for module in (tokenizer_13a, tokenizer_char, tokenizer_intl,
                   tokenizer_none, tokenizer_re, tokenizer_zh):
        for kind in vars(module).values():
            call = getattr(kind, "__call__", None)
            if hasattr(call, "cache_clear"):
                call.cache_clear()


def own_times(filter_: str) -> dict[str, float]:
    """CPU seconds of Tally's benchmarks."""
    result = subprocess.run(
        [str(PROGRAM), "--benchmark_format=json",
         "--benchmark_filter=" + filter_],
        check=True, capture_output=True, text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"})
    return {row["name"].removesuffix("/process_time"): row["cpu_time"] / 1e3
            for row in json.loads(result.stdout)["benchmarks"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--filter", default="", help="part of the names")
    parser.add_argument("--passes", type=int, default=3)
    options = parser.parse_args()
    try:
        import rouge_score  # noqa: F401
        import sacrebleu  # noqa: F401
        import seqeval  # noqa: F401
    except ImportError:
        sys.exit("needs: pip install " + " ".join(REQUIREMENTS))
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([str(PROGRAM), f"--write={folder}"], check=True)
        wanted = {name: peer for name, peer in peers(Path(folder)).items()
                  if options.filter in name}
        own: dict[str, list[float]] = {name: [] for name in wanted}
        theirs: dict[str, list[float]] = {name: [] for name in wanted}
        for _ in range(options.passes):
            for name, seconds in own_times(options.filter).items():
                if name in own:
                    own[name].append(seconds)
            for name, (_, work) in wanted.items():
                forget_lines()
                begin = time.process_time()
                work()
                theirs[name].append(time.process_time() - begin)
    print("| benchmark | peer | Tally, ms | peer / Tally |")
    print("|---|---|---|---|")
    for name, (library, _) in wanted.items():
        mine = statistics.median(own[name])
        ratio = statistics.median(theirs[name]) / mine
        print(f"| {name} | {library} | {1e3 * mine:.3g} | {ratio:.3g} |")


if __name__ == "__main__":
    main()
