"""Contrastive losses where float32 is not enough to compute them naively.

By their formulas in 80-bit numbers, from the inputs as stored. No logit is
subtracted from a log-sum-exp: each term is of differences of logits, so that
losses near 0 and their gradients keep their digits.
"""

import math
from collections.abc import Callable, Iterator

import numpy as np

from .fixture import Case, Fixture
from .sampling import seeded

Long = np.longdouble
SOURCE = "formula in 80-bit numbers"


def fixtures() -> Iterator[Fixture]:
    """One fixture for each loss."""
    yield Fixture("ClipLoss.exact", SOURCE, list(clip_cases()))
    yield Fixture("SigLipLoss.exact", SOURCE, list(sig_lip_cases()))
    yield Fixture("NTXentLoss.exact", SOURCE, list(nt_xent_cases()))
    yield Fixture("SupConLoss.exact", SOURCE, list(sup_con_cases()))


def normal(*name: str, sizes: tuple[int, ...]) -> np.ndarray:
    """Standard normal numbers."""
    return seeded("contrastive", *name).standard_normal(sizes)


def unit(rows: np.ndarray) -> np.ndarray:
    """Rows of length 1."""
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def case(name: str, options: dict[str, float], inputs: list[np.ndarray],
         loss: Callable[..., dict[str, np.ndarray]],
         rtol: float, rtol_float32: float) -> Case:
    """A case of inputs rounded to float32. Tolerances are of norms: what the
    rounding of products alone makes of the result."""
    stored = [x if x.dtype == np.int64 else x.astype(np.float32)
              for x in inputs]
    wide = [x if x.dtype == np.int64 else x.astype(Long) for x in stored]
    expected = {key: np.asarray(value, dtype=np.float64)
                for key, value in loss(*wide, **options).items()}
    return Case(name, {**options, "rtol_float32": rtol_float32},
                [tuple(stored)], expected, SOURCE, rtol=rtol, atol=0)


def others_than(logits: np.ndarray, right: np.ndarray,
                counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each row, log(1 + sum exp(logit - right)) over the columns that
    count, and those columns' probabilities, `right` being the logit of one
    more column."""
    d = np.where(counts, logits - right[:, None], -np.inf)
    largest = np.maximum(d.max(axis=1), 0)
    e = np.exp(d - largest[:, None])
    small = e.sum(axis=1)
    own = np.exp(-largest)
    loss = np.where(largest > 0, largest + np.log(own + small),
                    np.log1p(small))
    return loss, e / (own + small)[:, None]


def clip(image: np.ndarray, text: np.ndarray,
         scale: float) -> dict[str, np.ndarray]:
    """The mean of both cross entropies of `scale` times all products."""
    rows = len(image)
    products = image @ text.T
    right = products.diagonal()
    counts = ~np.eye(rows, dtype=bool)
    s = Long(scale)
    by_image, p = others_than(s * products, s * right, counts)
    by_text, q = others_than(s * products.T, s * right, counts)
    gradient = p + q.T
    slope = (p * (products - right[:, None])
             + q * (products.T - right[:, None])).sum()
    gradient -= np.diag(p.sum(axis=1) + q.sum(axis=1))
    return {"": (by_image.sum() + by_text.sum()) / (2 * rows),
            "image_grad": s * (gradient @ text) / (2 * rows),
            "text_grad": s * (gradient.T @ image) / (2 * rows),
            "scale_grad": slope / (2 * rows)}


def clip_cases() -> Iterator[Case]:
    """Pairs that are alike, and logits of all sizes."""
    rows = unit(normal("matched", sizes=(9, 24)))
    yield case("matched rows at scale 100", {"scale": 100.0}, [rows, rows],
               clip, 1e-12, 1e-4)
    pairs = np.eye(9)
    yield case("orthonormal pairs", {"scale": 14.3}, [pairs, pairs],
               clip, 1e-13, 2e-6)
    lengths = 10.0 ** np.linspace(-6, 3, 9)[:, None]
    yield case("lengths from 1e-6 to 1e3", {"scale": 50.0},
               [lengths * unit(normal("a", sizes=(9, 6))),
                lengths * unit(normal("b", sizes=(9, 6)))],
               clip, 1e-11, 2e-6)
    yield case("offset of 1e4", {"scale": 1e-4},
               [1e4 + normal("c", sizes=(9, 6)),
                1e4 + normal("d", sizes=(9, 6))],
               clip, 1e-9, 0.1)
    yield case("logits of 1e12", {"scale": 100.0},
               [1e5 * unit(normal("e", sizes=(9, 6))),
                1e5 * unit(normal("f", sizes=(9, 6)))],
               clip, 1e-13, 2e-6)
    yield case("no scale", {"scale": 0.0},
               [unit(normal("g", sizes=(9, 6))),
                unit(normal("h", sizes=(9, 6)))],
               clip, 1e-13, 2e-6)
    yield case("negative scale", {"scale": -30.0},
               [unit(normal("i", sizes=(9, 6))),
                unit(normal("j", sizes=(9, 6)))],
               clip, 1e-12, 2e-5)


def sig_lip(image: np.ndarray, text: np.ndarray, scale: float,
            bias: float) -> dict[str, np.ndarray]:
    """The sum of all log(1 + exp(-z logit)), by rows."""
    rows = len(image)
    products = image @ text.T
    z = np.where(np.eye(rows, dtype=bool), Long(-1), Long(1))
    t = z * (Long(scale) * products + Long(bias))
    e = np.exp(-abs(t))
    loss = np.maximum(t, 0) + np.log1p(e)
    gradient = z * np.where(t < 0, e, 1) / (1 + e) / rows
    return {"": loss.sum() / rows,
            "image_grad": Long(scale) * (gradient @ text),
            "text_grad": Long(scale) * (gradient.T @ image),
            "scale_grad": (gradient * products).sum(),
            "bias_grad": gradient.sum()}


def sig_lip_cases() -> Iterator[Case]:
    """Pairs that are told apart well."""
    pairs = np.eye(9)
    yield case("orthonormal pairs", {"scale": 32.0, "bias": -16.0},
               [pairs, pairs], sig_lip, 1e-12, 1e-5)
    yield case("beyond softplus's threshold", {"scale": 50.0, "bias": -25.0},
               [pairs, pairs], sig_lip, 1e-12, 1e-5)
    rows = unit(normal("separated", sizes=(9, 6)))
    yield case("matched rows", {"scale": 100.0, "bias": -88.0}, [rows, rows],
               sig_lip, 1e-11, 1e-4)
    yield case("logits of 1e12", {"scale": 100.0, "bias": -10.0},
               [1e5 * unit(normal("k", sizes=(9, 6))),
                1e5 * unit(normal("l", sizes=(9, 6)))],
               sig_lip, 1e-13, 2e-6)


def among_themselves(z: np.ndarray, labels: np.ndarray,
                     temperature: float) -> tuple[np.ndarray, np.ndarray]:
    """The mean cross entropy of rows that have others of their label, and its
    gradient."""
    count = len(z)
    logits = z @ z.T / Long(temperature)
    not_self = ~np.eye(count, dtype=bool)
    alike = (labels[:, None] == labels) & not_self
    found = alike.sum(axis=1)
    loss = Long(0)
    gradient = np.zeros((count, count), dtype=Long)
    for i in np.flatnonzero(found):
        # Against the first one alike, then against the mean of all.
        first = np.flatnonzero(alike[i])[0]
        columns = not_self[i].copy()
        columns[first] = False
        term, p = others_than(logits[i:i + 1], logits[i:i + 1, first],
                              columns[None])
        loss += term[0] + (logits[i, first] - logits[i][alike[i]]).sum() \
            / found[i]
        gradient[i] = p[0] - alike[i] / Long(found[i])
        gradient[i, first] = 1 - p[0].sum() - 1 / Long(found[i])
        if found[i] == 1:
            gradient[i, first] = -p[0].sum()
    rows = np.count_nonzero(found)
    gradient = (gradient + gradient.T) / rows
    return loss / rows, gradient @ z / Long(temperature)


def nt_xent(out0: np.ndarray, out1: np.ndarray,
            temperature: float) -> dict[str, np.ndarray]:
    """Of rows of any length."""
    rows = len(out0)
    features = np.concatenate([out0, out1])
    lengths = np.sqrt((features * features).sum(axis=1, keepdims=True))
    z = features / lengths
    samples = np.concatenate([np.arange(rows)] * 2)
    loss, gradient = among_themselves(z, samples, temperature)
    gradient -= z * (z * gradient).sum(axis=1, keepdims=True)
    gradient /= lengths
    return {"": loss, "grad_0": gradient[:rows], "grad_1": gradient[rows:]}


def nt_xent_cases() -> Iterator[Case]:
    """Views that are alike or not, cold."""
    out0 = normal("out0", sizes=(7, 6))
    yield case("temperature 0.01", {"temperature": 0.01},
               [out0, normal("out1", sizes=(7, 6))], nt_xent, 1e-12, 2e-5)
    yield case("views alike at temperature 0.01", {"temperature": 0.01},
               [out0, out0 + 0.1 * normal("noise", sizes=(7, 6))],
               nt_xent, 1e-11, 5e-4)
    yield case("orthonormal pairs", {"temperature": 1 / 16},
               [np.eye(9), np.eye(9)], nt_xent, 1e-12, 1e-5)
    lengths = 10.0 ** np.linspace(-6, 3, 7)[:, None]
    yield case("lengths from 1e-6 to 1e3", {"temperature": 0.01},
               [lengths * out0, lengths[::-1] * normal("out2", sizes=(7, 6))],
               nt_xent, 1e-11, 2e-5)
    yield case("negative temperature", {"temperature": -0.05},
               [out0, normal("out3", sizes=(7, 6))], nt_xent, 1e-12, 2e-5)


def sup_con_cases() -> Iterator[Case]:
    """Kinds of one, two and more rows, cold."""

    def sup_con(features: np.ndarray, labels: np.ndarray,
                temperature: float) -> dict[str, np.ndarray]:
        loss, gradient = among_themselves(features, labels, temperature)
        return {"": loss, "features_grad": gradient}

    labels = np.array([3, 1, 3, 7, 1, 3, -5, 1, 3, -5, 40])
    features = unit(normal("features", sizes=(11, 6)))
    yield case("temperature 0.01", {"temperature": 0.01}, [features, labels],
               sup_con, 1e-12, 2e-5)
    kinds = unit(normal("kinds", sizes=(50, 6)))[labels % 50]
    close = unit(kinds + 0.05 * normal("spread", sizes=(11, 6)))
    yield case("kinds apart at temperature 0.02", {"temperature": 0.02},
               [close, labels], sup_con, 1e-11, 5e-4)
