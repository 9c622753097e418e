"""Writes ../data/features/: distances between real and generated features.

    python features.py

By torch-fidelity, clean-fid, prdc, lpips and bert-score, which need torch
(requirements_features.txt); where they differ, ../README.md says which one it is.
"""

import contextlib
import io
import sys
from pathlib import Path

import lpips
import numpy as np
import torch
from bert_score.utils import greedy_cos_idf
from cleanfid import fid as clean_fid
from prdc import compute_prdc
from torch_fidelity.metric_fid import (fid_features_to_statistics,
                                       fid_statistics_to_metric)
from torch_fidelity.metric_isc import isc_features_to_metric
from torch_fidelity.metric_kid import kernel_mmd
from torch_fidelity.metric_prc import prc_features_to_metric

sys.path.append(str(Path(__file__).resolve().parents[1]))

from generators.fixture import Batch, Case, Fixture, to_text  # noqa: E402
from generators.sampling import normal, seeded, split  # noqa: E402

DATA = Path(__file__).resolve().parents[1] / "data" / "features"
SIZES = (7, 1, 0, 24, 16)
ROWS = sum(SIZES)
FIDELITY = "torch-fidelity 0.4.0"


def drawn(metric: str, label: str, dims: int, dtype: str = "float32",
          offset: float = 0, real: int = ROWS // 2) -> Batch:
    """Features, the generated ones moved and wider, and which are real."""
    rng = seeded(metric, label)
    flags = rng.permutation(np.arange(ROWS) < real)
    features = normal(rng, (ROWS, dims), "float64")
    features[~flags] = features[~flags] * 1.5 + 0.25
    features = np.round(features + offset, 3)
    return features.astype(dtype), flags.astype("int64")


def parts(batch: Batch) -> tuple[np.ndarray, np.ndarray]:
    """Real and generated features as stored, in float64."""
    features, flags = batch[0].astype("float64"), batch[1] != 0
    return features[flags], features[~flags]


def frechet(real: np.ndarray, generated: np.ndarray) -> tuple[float, float]:
    """The distance, which two tools agree on, and the traces' sum."""
    stats = [fid_features_to_statistics(torch.from_numpy(x))
             for x in (real, generated)]
    value = fid_statistics_to_metric(*stats, False)[
        "frechet_inception_distance"]
    scale = sum(np.trace(s["sigma"]) for s in stats)
    other = clean_fid.frechet_distance(
        *(s[key] for s in stats for key in ("mu", "sigma")))
    assert abs(value - other) < 1e-6 * scale, (value, other)
    return value, scale


def _fid() -> Fixture:
    def case(label: str, batch: Batch, clamp: bool = False) -> Case:
        value, scale = frechet(*parts(batch))
        # Zero eigenvalues of singular covariances are their roots' error.
        few = min(len(x) for x in parts(batch))
        singular = batch[0].shape[1] >= few
        return Case(label, {}, split(*batch, sizes=SIZES),
                    np.float64(max(value, 0) if clamp else value), FIDELITY,
                    rtol=0, atol=(1e-6 if singular else 1e-11) * scale)

    name = "FrechetInceptionDistance"
    dead, flags = drawn(name, "dead", 5)
    dead[:, 2] = 0.25
    dead[flags == 0, 4] = -1
    return Fixture(name, FIDELITY, [
        case("float32", drawn(name, "float32", 4)),
        case("float64", drawn(name, "float64", 4, "float64")),
        case("int64", drawn(name, "int64", 3, "int64", 9)),
        case("offset", drawn(name, "offset", 3, "float64", 1000)),
        case("few_samples", drawn(name, "few_samples", 40)),
        case("few_real", drawn(name, "few_real", 12, real=7)),
        case("few_generated", drawn(name, "few_generated", 12, real=40)),
        case("constant_columns", (dead, flags)),
    ])


def _with_ids(batch: Batch, label: str) -> Batch:
    return (*batch, seeded(label, "ids").permutation(1000)[:ROWS])


def _kid() -> Fixture:
    name = "KernelInceptionDistance"

    def case(label: str, batch: Batch, **options) -> Case:
        value = kernel_mmd(
            *parts(batch), kid_kernel="poly",
            kid_kernel_poly_degree=options.get("degree", 3),
            kid_kernel_poly_gamma=options.get("gamma"),
            kid_kernel_poly_coef0=options.get("coef", 1))
        return Case(label, {"subsets": 0, **options},
                    split(*batch, sizes=SIZES),
                    {"mean": np.float64(value), "std": np.float64(0)},
                    FIDELITY, rtol=1e-9)

    return Fixture(name, FIDELITY, [
        case("all", drawn(name, "all", 6)),
        case("with_ids", _with_ids(drawn(name, "with_ids", 6), name)),
        case("float64", drawn(name, "float64", 3, "float64")),
        # Every subset of so many samples is all of them.
        case("subsets", drawn(name, "subsets", 4), subsets=3, subset_size=24),
        case("large_subsets", drawn(name, "large_subsets", 4), subsets=2),
        case("kernel", drawn(name, "kernel", 4), degree=2, gamma=0.5,
             coef=0.25),
        case("linear", drawn(name, "linear", 4), degree=1, coef=0),
    ])


def _inception() -> Fixture:
    name = "InceptionScore"

    def case(label: str, logits: np.ndarray, splits: int) -> Case:
        rows = len(logits)
        ids = seeded(name, label, "ids").permutation(10 * rows)[:rows]
        value = isc_features_to_metric(
            torch.from_numpy(logits[np.argsort(ids)]), splits, shuffle=False)
        sizes = (7, 1, 0, rows - 8)
        return Case(label, {"splits": splits}, split(logits, ids, sizes=sizes),
                    {part: np.float64(value[f"inception_score_{part}"])
                     for part in ("mean", "std")}, FIDELITY, rtol=1e-9,
                    atol=1e-12)

    def logits(label: str, rows: int, dtype: str = "float32",
               scale: float = 3) -> np.ndarray:
        drawn = scale * normal(seeded(name, label), (rows, 5), "float64")
        return np.round(drawn, 3).astype(dtype)

    return Fixture(name, FIDELITY, [
        case("one_split", logits("one_split", 24), 1),
        case("three_splits", logits("three_splits", 24), 3),
        case("eleven_in_ten", logits("eleven_in_ten", 11), 10),
        case("float64", logits("float64", 24, "float64"), 2),
        case("certain", logits("certain", 24, scale=300), 2),
    ])


def _memorization() -> Fixture:
    name = "MemorizationInformedFrechetInceptionDistance"

    def distance(real: np.ndarray, generated: np.ndarray, eps: float) -> float:
        # The competition's code: the nearest real sample of each generated one.
        real, generated = (x[x.sum(1) != 0] for x in (real, generated))
        real, generated = (x / np.linalg.norm(x, axis=1, keepdims=True)
                           for x in (real, generated))
        value = (1 - np.abs(generated @ real.T)).min(1).mean()
        return value if value < eps else 1.0

    def case(label: str, batch: Batch, **options) -> Case:
        value, scale = frechet(*parts(batch))
        eps = options.get("cosine_distance_eps", 0.1)
        near = distance(*parts(batch), eps) + 1e-14
        return Case(label, options, split(*batch, sizes=SIZES),
                    np.float64(value / near), "NumPy and " + FIDELITY,
                    rtol=1e-9, atol=1e-10 * scale / near)

    zeros, flags = drawn(name, "zeros", 4)
    zeros[[3, 4, 11]] = 0
    return Fixture(name, FIDELITY, [
        case("near", drawn(name, "near", 3)),
        case("far", drawn(name, "far", 8)),
        case("far_counts", drawn(name, "far", 8), cosine_distance_eps=0.9),
        case("float64", drawn(name, "float64", 3, "float64")),
        case("zeros", (zeros, flags)),
    ])


def _precision_recall() -> Fixture:
    name = "ImprovedPrecisionRecall"

    def case(label: str, batch: Batch, k: int = 3) -> Case:
        real, generated = (torch.from_numpy(x) for x in parts(batch))
        value = prc_features_to_metric(
            generated, real, prc_neighborhood=k, prc_batch_size=100,
            save_cpu_ram=False, verbose=False)
        return Case(label, {"k": k}, split(*batch, sizes=SIZES),
                    {part: np.round(np.float64(value[part]) * n) / n
                     for part, n in (("precision", len(generated)),
                                     ("recall", len(real)))},
                    FIDELITY, rtol=1e-12)

    same, flags = drawn(name, "same", 4)
    same[:] = 0.3
    return Fixture(name, FIDELITY, [
        case("plain", drawn(name, "plain", 4)),
        case("float64", drawn(name, "float64", 3, "float64")),
        case("with_ids", _with_ids(drawn(name, "with_ids", 4), name)),
        case("wide", drawn(name, "wide", 80)),
        case("nearest", drawn(name, "nearest", 5), 1),
        case("many", drawn(name, "many", 5, real=30), 9),
        case("offset", drawn(name, "offset", 3, "float64", 1000)),
        case("identical", (same, flags)),
    ])


def _density_coverage() -> Fixture:
    name = "DensityCoverage"

    def case(label: str, batch: Batch, k: int = 5) -> Case:
        with contextlib.redirect_stdout(io.StringIO()):
            value = compute_prdc(*parts(batch), nearest_k=k)
        return Case(label, {"k": k}, split(*batch, sizes=SIZES),
                    {part: np.float64(value[part])
                     for part in ("density", "coverage")}, "prdc 0.2",
                    rtol=1e-12)

    return Fixture(name, "prdc 0.2", [
        case("plain", drawn(name, "plain", 4)),
        case("float64", drawn(name, "float64", 3, "float64")),
        case("wide", drawn(name, "wide", 80)),
        case("nearest", drawn(name, "nearest", 5), 1),
        case("many", drawn(name, "many", 5, real=30), 9),
    ])


def _clip_score() -> Fixture:
    name = "CLIPScore"

    def case(label: str, dtype: str = "float32", zeros: tuple[int, ...] = (),
             **options) -> Case:
        rng = seeded(name, label)
        image = normal(rng, (24, 5), "float64")
        text = np.round(image + normal(rng, (24, 5), "float64"), 3)
        image[list(zeros)] = 0
        image, text = image.astype(dtype), text.astype(dtype)
        a, b = image.astype("float64"), text.astype("float64")
        lengths = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
        cosines = (a * b).sum(1) / np.where(lengths == 0, 1, lengths)
        value = options.get("scale", 2.5) * np.maximum(cosines, 0).mean()
        return Case(label, options, split(image, text), np.float64(value),
                    "NumPy: by definition", rtol=1e-12)

    return Fixture(name, "NumPy", [
        case("float32"), case("float64", "float64"),
        case("scale", scale=100.0), case("zeros", zeros=(2, 20)),
    ])


def _lpips() -> Fixture:
    name = "LearnedPerceptualImagePatchSimilarity"

    def case(label: str, dtype: str = "float32", weighted: bool = True,
             zeros: bool = False) -> Case:
        rng = seeded(name, label)
        shapes = ((3, 2, 2), (4, 1, 2))
        weights = np.round(rng.random(7), 2)
        value, rows = np.zeros(8), ([], [])
        weights_of = np.split(weights if weighted else np.ones(7), [3])
        for shape, weight in zip(shapes, weights_of, strict=True):
            pair = [normal(rng, (8, *shape), dtype) for _ in range(2)]
            if zeros:
                pair[0][3, :, 0, 0] = 0
            a, b = (lpips.normalize_tensor(torch.from_numpy(
                x.astype("float64"))) for x in pair)
            layer = ((a - b) ** 2 * torch.from_numpy(weight)[:, None, None])
            value += lpips.spatial_average(
                layer.sum(1, keepdim=True)).flatten().numpy()
            for row, x in zip(rows, pair, strict=True):
                row.append(x.reshape(8, -1))
        options = {"channels": [3, 4], "pixels": [4, 2]}
        if weighted:
            options["weights"] = weights.tolist()
        batches = split(*(np.concatenate(row, 1) for row in rows),
                        sizes=(3, 1, 0, 4))
        return Case(label, options, batches, np.float64(value.mean()),
                    "lpips 0.1.4", rtol=1e-9)

    return Fixture(name, "lpips 0.1.4", [
        case("weighted"), case("float64", "float64"),
        case("equal_weights", weighted=False), case("zeros", zeros=True),
    ])


def _bert_score() -> Fixture:
    name = "BERTScore"
    lengths = np.array([[5, 4], [3, 4], [5, 1], [1, 3], [4, 4], [5, 3],
                        [3, 3], [4, 1]])

    def tensor(x: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(x.astype("float64"))[None]

    def case(label: str, dtype: str = "float32", masks: bool = True,
             weights: bool = True, **options) -> Case:
        rng = seeded(name, label)
        preds = normal(rng, (8, 5, 3), dtype)
        target = normal(rng, (8, 4, 3), dtype)
        mask = [np.arange(size) < lengths[:, k, None]
                for k, size in enumerate((5, 4))]
        if not masks:
            mask = [np.ones_like(x) for x in mask]
        weight = [np.round(rng.random((8, size)), 2) + 0.1
                  for size in (5, 4)]
        if not weights:
            weight = [np.ones_like(x) for x in weight]
        values = []
        for i in range(8):
            # One pair at a time, without padding.
            n, m = (int(x[i].sum()) for x in mask)
            values.append([float(x[0]) for x in greedy_cos_idf(
                tensor(target[i, :m]), torch.ones(1, m),
                tensor(weight[1][i, :m]), tensor(preds[i, :n]),
                torch.ones(1, n), tensor(weight[0][i, :n]))])
        batch = [preds, target]
        if masks or weights:
            batch += [x.astype("int64") for x in mask]
        if weights:
            batch += weight
        expected = {
            part: np.float64((mean - options.get(part + "_baseline", 0))
                             / (1 - options.get(part + "_baseline", 0)))
            for part, mean in zip(("precision", "recall", "f1"),
                                  np.mean(values, 0), strict=True)}
        return Case(label, options, split(*batch, sizes=(3, 1, 0, 4)),
                    expected, "bert-score 0.3.13", rtol=1e-9)

    return Fixture(name, "bert-score 0.3.13", [
        case("weighted"), case("plain", masks=False, weights=False),
        case("masked", weights=False), case("float64", "float64"),
        case("baselines", precision_baseline=0.3, recall_baseline=0.2,
             f1_baseline=0.25),
    ])


def main() -> None:
    """Writes a file for each metric."""
    DATA.mkdir(parents=True, exist_ok=True)
    for fixture in (_fid(), _kid(), _inception(), _memorization(),
                    _precision_recall(), _density_coverage(), _clip_score(),
                    _lpips(), _bert_score()):
        path = DATA / f"{fixture.metric}.json"
        path.write_text(to_text(fixture), encoding="utf-8")


if __name__ == "__main__":
    main()
