"""Writes ../data/audio/: scores of estimated signals.

    python audio.py

By fast_bss_eval, mir_eval and pystoi, which need NumPy 1 (requirements_audio.txt).
fast_bss_eval's SI-SDR has no epsilon: references in float32, whose epsilon shows,
are formulas in NumPy. `--long` prints scores of signals that the tests make anew.
"""

import argparse
import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from fast_bss_eval.numpy.metrics import sdr_loss
from fast_bss_eval.numpy.scale_invariant import si_sdr_loss
from mir_eval.separation import bss_eval_sources
from pystoi import stoi
from scipy.optimize import linear_sum_assignment

sys.path.append(str(Path(__file__).resolve().parents[1]))

from generators.fixture import Case, Fixture, to_text  # noqa: E402
from generators.sampling import normal, seeded, split  # noqa: E402

DATA = Path(__file__).resolve().parents[1] / "data" / "audio"
SIZES = (3, 1, 0, 2)
ROWS = sum(SIZES)
OWN = "NumPy: by definition"
FAST = "fast_bss_eval 0.1.4"
STOI = "pystoi 0.4.1"

Score = Callable[[np.ndarray, np.ndarray], float]


def ratio(preds: np.ndarray, target: np.ndarray, epsilon: float,
          scaled: bool, zero_mean: bool) -> float:
    """Energies of the reference and of the error of [C, T], in decibels."""
    p, t = preds.astype("float64"), target.astype("float64")
    if zero_mean:
        p = p - p.mean(-1, keepdims=True)
        t = t - t.mean(-1, keepdims=True)
    if scaled:
        t = t * ((p * t).sum() + epsilon) / ((t * t).sum() + epsilon)
    return 10 * np.log10(((t * t).sum() + epsilon)
                         / (((t - p) ** 2).sum() + epsilon))


def drawn(metric: str, label: str, shape: tuple[int, ...],
          dtype: str = "float32") -> tuple[np.ndarray, np.ndarray]:
    """Estimates and references."""
    rng = seeded(metric, label)
    target = normal(rng, shape, dtype)
    error = normal(rng, shape, dtype)
    return np.round(target + 0.3 * error, 3).astype(dtype), target


def case(label: str, pair: tuple[np.ndarray, np.ndarray], score: Score,
         source: str, silent: int = 0, rtol: float = 1e-9,
         sizes: tuple[int, ...] = SIZES, **options) -> Case:
    """The mean of the scores of all rows."""
    values = [score(p, t) for p, t in zip(*pair, strict=True)]
    expected: dict[str, Any] = {"": np.float64(np.mean(values)),
                                "silent": np.int64(silent)}
    return Case(label, {**options, "count_silent": True},
                split(*pair, sizes=sizes), expected, source, rtol=rtol,
                atol=1e-9)


def _silent(pair: tuple[np.ndarray, np.ndarray],
            value: float = 0) -> tuple[np.ndarray, np.ndarray]:
    """A silent reference, a silent estimate, and both."""
    preds, target = (x.copy() for x in pair)
    target[0] = value
    preds[1] = 0
    preds[-1], target[-1] = 0, value
    return preds, target


def ratios(metric: str, shape: tuple[int, ...], default: dict[str, bool],
           fixed: dict[str, bool]) -> Fixture:
    """The metrics of energies; `default` has the options with their defaults."""

    def one(label: str, pair: tuple[np.ndarray, np.ndarray], silent: int = 0,
            **options) -> Case:
        how = {**default, **fixed, **options}
        epsilon = np.finfo(pair[0].dtype).eps
        channels = shape[0] if metric.startswith("Source") else 1

        def score(p: np.ndarray, t: np.ndarray) -> float:
            p, t = (x.reshape(channels, -1) for x in (p, t))
            value = ratio(p, t, epsilon, how["scale_invariant"],
                          how["zero_mean"])
            if epsilon < 1e-9 and channels == 1 and how["scale_invariant"]:
                peer = -si_sdr_loss(p, t, zero_mean=how["zero_mean"])[0]
                assert np.isclose(value, peer, rtol=1e-9), (value, peer)
            return value

        return case(label, pair, score, OWN, silent, **options)

    of = (ROWS, *shape)
    cases = [
        one("default", drawn(metric, "default", of, "float64")),
        one("silent", _silent(drawn(metric, "silent", of)), silent=2),
    ]
    for option, value in default.items():
        offset = tuple(x + np.float32(2)
                       for x in drawn(metric, option, of))
        cases.append(one(option, offset, **{option: not value}))
    if fixed.get("zero_mean") or "zero_mean" in default:
        cases.append(one("constant", _silent(drawn(metric, "constant", of), 0.5),
                         silent=2,
                         **({"zero_mean": True} if "zero_mean" in default
                            else {})))
    return Fixture(metric, OWN, cases)


def filtered(label: str, shape: tuple[int, ...], taps: int,
             noise: float) -> tuple[np.ndarray, np.ndarray]:
    """Estimates that are filtered references, and noise."""
    rng = seeded("SignalDistortionRatio", label)
    target = normal(rng, shape)
    taps_of = normal(rng, (len(target), taps))
    preds = np.array([np.convolve(t, h)[:t.size]
                      for t, h in zip(target, taps_of, strict=True)])
    preds = preds + noise * normal(rng, shape)
    return np.round(preds, 3).astype("float32"), target


def sdr(**options) -> Score:
    """fast_bss_eval's, in float64."""

    def score(p: np.ndarray, t: np.ndarray) -> float:
        p, t = p.astype("float64"), t.astype("float64")
        return -sdr_loss(p[None], t[None], **options)[0]

    return score


def distortion() -> Fixture:
    """SignalDistortionRatio."""

    def one(label: str, pair: tuple[np.ndarray, np.ndarray], silent: int = 0,
            sizes: tuple[int, ...] = SIZES, **options) -> Case:
        return case(label, pair, sdr(**options), FAST, silent, sizes=sizes,
                    **options)

    long = filtered("default", (2, 1400), 40, 0.5)
    for p, t in zip(*long, strict=True):
        peer = bss_eval_sources(t[None].astype("float64"),
                                p[None].astype("float64"))[0][0]
        assert np.isclose(sdr()(p, t), peer, rtol=1e-7), peer
    short = (ROWS, 48)
    return Fixture("SignalDistortionRatio", FAST, [
        one("default", long, sizes=(1, 0, 1)),
        one("filter_length", filtered("filter_length", short, 4, 0.5),
            filter_length=6),
        one("zero_mean", filtered("zero_mean", short, 4, 0.5),
            filter_length=6, zero_mean=True),
        one("load_diag", filtered("load_diag", short, 4, 0.05),
            filter_length=6, load_diag=0.01),
        one("clamp_db", filtered("clamp_db", short, 4, 0.5),
            filter_length=6, clamp_db=5.0),
        one("one_tap", filtered("one_tap", short, 1, 0.5), filter_length=1),
    ])


METRICS = {
    "ScaleInvariantSignalNoiseRatio": lambda p, t: ratio(
        p[None], t[None], np.finfo(p.dtype).eps, True, True),
    "SignalDistortionRatio(filter_length=4)": sdr(filter_length=4),
    "SourceAggregatedSignalDistortionRatio": lambda p, t: ratio(
        p, t, np.finfo(p.dtype).eps, True, False),
}


def best_order(p: np.ndarray, t: np.ndarray, score: Score, joint: bool,
               lowest: bool) -> float:
    """The best of all permutations."""
    orders = list(itertools.permutations(range(len(t))))
    if joint:
        values = [score(p[list(order)], t) for order in orders]
        return min(values) if lowest else max(values)
    pairs = np.array([[score(a, b) for a in p] for b in t])
    values = [np.mean([pairs[i, j] for i, j in enumerate(order)])
              for order in orders]
    best = min(values) if lowest else max(values)
    rows, columns = linear_sum_assignment(pairs, maximize=not lowest)
    assert np.isclose(best, pairs[rows, columns].mean())
    return best


def permutations() -> Fixture:
    """PermutationInvariantTraining."""
    metric = "PermutationInvariantTraining"

    def one(label: str, scorer: str, speakers: int, time: int = 9,
            **options) -> Case:
        rng = seeded(metric, label)
        preds, target = drawn(metric, label, (ROWS, speakers, time))
        preds = np.array([p[rng.permutation(speakers)] for p in preds])
        joint = options.get("mode") == "permutation-wise"
        lowest = options.get("eval_func") == "min"
        return case(label, (preds, target),
                    lambda p, t: best_order(p, t, METRICS[scorer], joint,
                                            lowest),
                    OWN, metric=scorer, **options)

    si_snr, filter_sdr, sa_sdr = METRICS
    return Fixture(metric, OWN, [
        one("four", si_snr, 4),
        one("lowest", si_snr, 3, eval_func="min"),
        one("filtered", filter_sdr, 2),
        one("joint", sa_sdr, 3, mode="permutation-wise"),
    ])


def intelligibility() -> Fixture:
    """ShortTimeObjectiveIntelligibility: at a low rate, which needs few values."""
    metric = "ShortTimeObjectiveIntelligibility"
    rate, time = 1000, 500
    rng = seeded(metric, "default")
    speech = np.round(rng.standard_normal((2, time)), 2)
    speech[:, time // 5: time // 4] *= 0.001
    preds = np.round(speech + rng.standard_normal((2, time)), 2)
    pair = preds.astype("float32"), speech.astype("float32")
    return Fixture(metric, STOI, [case(
        "default", pair,
        lambda p, t: stoi(t.astype("float64"), p.astype("float64"), rate),
        STOI, sizes=(1, 0, 1), fs=rate)])


def noise(count: int, seed: int) -> np.ndarray:
    """Numbers in [-1, 1) that every language makes alike."""
    state, values = seed, []
    for _ in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2 ** 64
        values.append((state >> 33) / 2.0 ** 30 - 1)
    return np.array(values)


def made(count: int) -> tuple[np.ndarray, np.ndarray]:
    """An estimate and a reference with silence, loud and low parts."""
    own = noise(count, 1)
    target = 0.5 * (own + np.concatenate([[0.0], own[:-1]]))
    level = np.array([1.0, 0.25, 0.0, 0.5])[np.arange(count) // 1000 % 4]
    target = target * level
    return target + 0.125 * noise(count, 2), target


def print_long() -> None:
    """Scores of made() signals."""
    for rate, count in ((8000, 12000), (10000, 12000), (16000, 16000),
                        (44100, 44100), (48000, 48000)):
        preds, target = made(count)
        print(f"STOI {rate} {count}: {stoi(target, preds, rate):.12g} "
              f"extended {stoi(target, preds, rate, extended=True):.12g}")
    preds, target = made(32000)
    print(f"SDR: {sdr()(preds, target):.12g}, mir_eval "
          f"{bss_eval_sources(target[None], preds[None])[0][0]:.12g}, load_diag "
          f"{sdr(load_diag=1e-4)(preds, target):.12g}, zero_mean "
          f"{sdr(zero_mean=True)(preds, target):.12g}")
    delayed = np.concatenate([np.zeros(100), target[:-100]])
    print(f"SDR delayed by 100: {sdr()(delayed, target):.6g}")
    for shift in (600, -10):
        moved = np.roll(target, shift)
        print(f"SDR rolled by {shift}: {sdr()(moved, target):.12g}")


def main() -> None:
    """Writes the files, or prints scores of long signals."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--long", action="store_true")
    if parser.parse_args().long:
        print_long()
        return
    zero_mean = {"zero_mean": False}
    DATA.mkdir(exist_ok=True)
    for fixture in (
            ratios("SignalNoiseRatio", (9,), zero_mean,
                   {"scale_invariant": False}),
            ratios("ScaleInvariantSignalNoiseRatio", (9,), {},
                   {"scale_invariant": True, "zero_mean": True}),
            ratios("ScaleInvariantSignalDistortionRatio", (9,), zero_mean,
                   {"scale_invariant": True}),
            ratios("ComplexScaleInvariantSignalNoiseRatio", (2, 3, 2),
                   zero_mean, {"scale_invariant": True}),
            ratios("SourceAggregatedSignalDistortionRatio", (2, 6),
                   {"scale_invariant": True, "zero_mean": False}, {}),
            distortion(), permutations(), intelligibility()):
        path = DATA / f"{fixture.metric}.json"
        path.write_text(to_text(fixture), encoding="utf-8")


if __name__ == "__main__":
    main()
