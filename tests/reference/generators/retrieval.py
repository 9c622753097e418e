"""Retrieval metrics."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytrec_eval
from sklearn.metrics import ndcg_score, roc_auc_score

from .fixture import Case, Fixture
from .retrieval_rankings import (ALL_RELEVANT, UNJUDGED, Measure, Ranking,
                                 aggregate, documents, queries, query_value)

SOURCE = "trec_eval (pytrec_eval-terrier 0.5.11)"
# Variants of retrieval_rankings.documents() with the options that read them.
VARIANTS: dict[str, dict[str, Any]] = {
    "binary": {}, "graded": {}, "float64": {}, "ties": {},
    "ids": {"ties": "ids"}, "not_retrieved": {},
    "unjudged": {"unjudged": UNJUDGED},
    "unjudged_ties_not_retrieved": {"unjudged": UNJUDGED},
    "ties_signed_zeros": {},
}
# Cases besides one of each variant: name, variant and options.
MORE: list[tuple[str, str, dict[str, Any]]] = [
    ("ids_expected", "ids", {}),
    ("pessimistic", "unjudged_ties_not_retrieved",
     {"unjudged": UNJUDGED, "ties": "pessimistic"}),
    ("optimistic", "unjudged_ties_not_retrieved",
     {"unjudged": UNJUDGED, "ties": "optimistic"}),
    ("condensed", "unjudged_ties_not_retrieved",
     {"unjudged": UNJUDGED, "condensed": True}),
    ("ignore_index", "unjudged", {"ignore_index": UNJUDGED}),
    ("ignore_grade", "ties", {"ignore_index": 1}),
    ("empty_pos", "graded", {"empty_target_action": "pos"}),
    ("empty_neg", "graded", {"empty_target_action": "neg"}),
    ("empty_skip", "ties", {"empty_target_action": "skip"}),
    ("median", "ties", {"aggregation": "median"}),
    ("min", "ties", {"aggregation": "min", "empty_target_action": "skip"}),
    ("max", "ties", {"aggregation": "max"}),
    ("per_query", "ties", {"aggregation": "none"}),
    ("per_query_skip", "graded",
     {"aggregation": "none", "empty_target_action": "skip"}),
]
# Those of metrics that can be told to look at the best k only.
TOP_K: list[tuple[str, str, dict[str, Any]]] = [
    ("top_1", "ties", {"top_k": 1}),
    ("top_3", "ties", {"top_k": 3}),
    ("top_4_graded", "graded", {"top_k": 4}),
    ("top_4_skip", "ties",
     {"top_k": 4, "empty_target_action": "skip", "aggregation": "none"}),
    ("top_5_unjudged", "unjudged_ties_not_retrieved",
     {"top_k": 5, "unjudged": UNJUDGED}),
    ("top_5_ids", "ids", {"top_k": 5, "ties": "ids"}),
    ("top_20", "ties", {"top_k": 20}),
    ("kept_3", "ties", {"top_k": 3, "keep_top_k": 3}),
    ("kept_4_unjudged", "unjudged_ties_not_retrieved",
     {"top_k": 3, "keep_top_k": 4, "unjudged": UNJUDGED}),
    ("kept_4_pessimistic", "ties",
     {"top_k": 4, "keep_top_k": 4, "ties": "pessimistic"}),
]
Maker = Callable[[dict[str, Any]], Measure]


def _fallible(value: Callable[[Ranking, int | None], float]) -> Maker:
    """A measure of the best top_k, which needs a relevant document."""
    def make(options: dict[str, Any]) -> Measure:
        k = options.get("top_k")
        return lambda r: value(r, k) if r.relevant else None

    return make


def _precision_sum(r: Ranking, k: int | None) -> float:
    hits = r.hits(k)
    return sum(sum(hits[:i + 1]) / (i + 1) for i, h in enumerate(hits) if h)


def _map(options: dict[str, Any]) -> Measure:
    k = options.get("top_k")

    def value(r: Ranking) -> float | None:
        if not r.relevant:
            return None
        most = r.relevant
        if options.get("denominator") == "attainable" and k:
            most = min(k, most)
        return _precision_sum(r, k) / most

    return value


def _reciprocal_rank(r: Ranking, k: int | None) -> float:
    hits = r.hits(k)
    return 1 / (hits.index(True) + 1) if any(hits) else 0.0


def _first_rank(r: Ranking) -> float | None:
    hits = r.hits(None)
    return hits.index(True) + 1.0 if any(hits) else None


def _precision(options: dict[str, Any]) -> Measure:
    k = options.get("top_k")

    def value(r: Ranking) -> float | None:
        if not r.relevant:
            return None
        size = k or len(r.listed)
        if options.get("adaptive_k"):
            size = min(size, len(r.listed))
        return sum(r.hits(k)) / size if size else 0.0

    return value


def _fall_out(options: dict[str, Any]) -> Measure:
    k = options.get("top_k")
    return lambda r: sum(g == 0 for g in r.listed[:k]) / r.others \
        if r.others else None


def _gain(grade: float | None, kind: str) -> float:
    if grade is None:
        return 0.0
    return grade if kind == "linear" else 2.0**grade - 1


def _ndcg(options: dict[str, Any]) -> Measure:
    k, kind = options.get("top_k"), options.get("gain", "linear")

    def dcg(grades) -> float:
        return sum(_gain(g, kind) / np.log2(i + 2)
                   for i, g in enumerate(grades[:k]))

    return lambda r: dcg(r.listed) / dcg(sorted(r.judged, reverse=True)) \
        if r.relevant else None


def _auroc(options: dict[str, Any]) -> Measure:
    k, max_fpr = options.get("top_k"), options.get("max_fpr")

    def value(r: Ranking) -> float | None:
        labels = [g > 0 for g in r.listed[:k] if g is not None]
        if all(labels) or not any(labels):
            return None
        return roc_auc_score(labels, -np.arange(len(labels)), max_fpr=max_fpr)

    return value


def _err(options: dict[str, Any]) -> Measure:
    k, g_max = options.get("top_k"), options["g_max"]

    def value(r: Ranking) -> float | None:
        if not r.relevant:
            return None
        total, going_on = 0.0, 1.0
        for i, grade in enumerate(r.listed[:k]):
            stops = _gain(grade, "exponential") / 2.0**g_max
            total += going_on * stops / (i + 1)
            going_on *= 1 - stops
        return total

    return value


def _rbp(options: dict[str, Any]) -> tuple[Measure, Measure]:
    k, g_max = options.get("top_k"), options["g_max"]
    p = options.get("persistence", 0.8)

    def value(r: Ranking) -> float | None:
        return (1 - p) * sum((g or 0) / g_max * p**i for i, g in
                             enumerate(r.listed[:k])) if r.relevant else None

    def residual(r: Ranking) -> float:
        listed = r.listed[:k]
        return p**len(listed) + (1 - p) * sum(
            p**i for i, g in enumerate(listed) if g is None)

    return value, residual


def _bpref(_: dict[str, Any]) -> Measure:
    def value(r: Ranking) -> float | None:
        if not r.relevant:
            return None
        total, above = 0.0, 0
        for grade in r.listed:
            if grade is not None and grade > 0:
                total += 1 - min(above, r.relevant) / \
                    min(r.others, r.relevant) if above else 1
            above += grade == 0
        return total / r.relevant

    return value


def _curve(options: dict[str, Any], depth: int) -> Measure:
    """Precisions and recalls at 1 to depth; empty queries are 0."""
    def value(r: Ranking) -> np.ndarray | None:
        if not r.relevant:
            return None
        depths = np.arange(1, depth + 1)
        hits = np.array([sum(r.hits(int(k))) for k in depths], "float64")
        if options.get("adaptive_k"):
            depths = np.minimum(depths, max(len(r.listed), 1))
        return np.array([hits / depths, hits / r.relevant])

    return value


def _values(variant: str, options: dict[str, Any], measure: Measure,
            action: str | None = None) -> list[Any]:
    action = action or options.get("empty_target_action", "neg")
    return [query_value(docs, options.get("ties", "expected"), measure, action)
            for _, docs in queries(documents(variant),
                                   options.get("ignore_index"),
                                   options.get("condensed", False))]


def _cases(more: list[tuple[str, str, dict[str, Any]]],
           expected: Callable[[str, dict[str, Any]], Any],
           always: dict[str, Any]) -> list[Case]:
    listed = [(name, name, options) for name, options in VARIANTS.items()]
    cases = []
    for name, variant, own in [*listed, *MORE, *more]:
        options = {**always, **own}
        cases.append(Case(name, options, documents(variant),
                          expected(variant, options), SOURCE, rtol=1e-12,
                          atol=1e-14,
                          inputs=f"retrieval/{variant}"))
    return cases


def _fixture(metric: str, make: Maker,
             more: list[tuple[str, str, dict[str, Any]]],
             always: dict[str, Any] | None = None,
             action: str | None = None) -> Fixture:
    """Of one value; `action` is the default one."""
    def expected(variant: str, options: dict[str, Any]) -> Any:
        own = options.get("empty_target_action", action)
        return aggregate(_values(variant, options, make(options), own),
                         options.get("aggregation", "mean"))

    return Fixture(metric, SOURCE, _cases(more, expected, always or {}))


def _rbp_fixture() -> Fixture:
    def expected(variant: str, options: dict[str, Any]) -> Any:
        value, residual = _rbp(options)
        values = _values(variant, options, value)
        residuals = [None if v is None else r for v, r in zip(
            values, _values(variant, options, residual), strict=True)]
        aggregation = options.get("aggregation", "mean")
        return {"": aggregate(values, aggregation),
                "residual": aggregate(residuals, aggregation)}

    more = [("persistence", "ties", {"persistence": 0.95, "g_max": 5})]
    return Fixture("RetrievalRBP", SOURCE,
                   _cases([*TOP_K, *more], expected, {"g_max": 4}))


def _mean_rank_fixture() -> Fixture:
    all_cases = _fixture("RetrievalMeanRank", lambda _: _first_rank, [],
                         action="skip")
    cases = [case for case in all_cases.cases if case.options.get(
        "empty_target_action", "skip") == "skip"]
    return Fixture(all_cases.metric, SOURCE, cases)


def _curves(variant: str, options: dict[str, Any]) -> tuple[np.ndarray, int]:
    """Aggregated [2, depth] or [queries, 2, depth]."""
    batches = documents(variant)
    most = max(sum(s != -np.inf for s, _, _ in docs) for _, docs in queries(
        batches, options.get("ignore_index"), options.get("condensed", False)))
    depth = options.get("max_k", most)
    values = _values(variant, options, _curve(options, depth))
    values = [np.full((2, depth), v) if np.ndim(v) == 0 and v is not None
              else v for v in values]
    return aggregate(values, options.get("aggregation", "mean")), depth


DEPTHS: list[tuple[str, str, dict[str, Any]]] = [
    ("max_k_3", "ties", {"max_k": 3}),
    ("max_k_20", "ties", {"max_k": 20}),
    ("adaptive_20", "unjudged_ties_not_retrieved",
     {"max_k": 20, "adaptive_k": True, "unjudged": UNJUDGED}),
    ("adaptive", "graded", {"adaptive_k": True}),
    ("kept_4", "unjudged_ties_not_retrieved",
     {"max_k": 4, "keep_top_k": 4, "unjudged": UNJUDGED}),
]


def _curve_fixture() -> Fixture:
    def expected(variant: str, options: dict[str, Any]) -> Any:
        curves, depth = _curves(variant, options)
        return {"precision": curves[..., 0, :], "recall": curves[..., 1, :],
                "top_k": np.arange(1, depth + 1)}

    return Fixture("RetrievalPrecisionRecallCurve", SOURCE,
                   _cases(DEPTHS, expected, {}))


def _fixed_precision_fixture() -> Fixture:
    def best(curve: np.ndarray, depth: int, least: float) -> tuple[float, int]:
        if np.isnan(curve).all():
            return np.nan, 0
        found = [(r, k + 1) for k, (p, r) in enumerate(curve.T) if p >= least]
        recall, k = max(found, default=(0.0, depth))
        return (recall, k) if recall > 0 else (0.0, depth)

    def expected(variant: str, options: dict[str, Any]) -> Any:
        curves, depth = _curves(variant, options)
        least = options.get("min_precision", 0)
        if curves.ndim == 2:
            recall, k = best(curves, depth, least)
        else:
            pairs = [best(curve, depth, least) for curve in curves]
            recall, k = map(np.array, zip(*pairs, strict=True))
        return {"": np.asarray(recall, "float64"), "top_k": np.asarray(k)}

    more = [("precision_0", "ties", {"min_precision": 0}),
            ("precision_1", "ties", {"min_precision": 1}),
            ("precision_0.45", "graded", {"min_precision": 0.45})]
    return Fixture("RetrievalRecallAtFixedPrecision", SOURCE,
                   _cases([*DEPTHS, *more], expected,
                          {"min_precision": 0.51}))


def _check_against_trec_eval() -> None:
    """Fails unless the measures above are trec_eval's."""
    measures = {
        "map": _map({}), "map_cut_5": _map({"top_k": 5}),
        "P_5": _precision({"top_k": 5}),
        "recall_5": _fallible(lambda r, _: sum(r.hits(5)) / r.relevant)({}),
        "success_5": _fallible(lambda r, _: float(any(r.hits(5))))({}),
        "recip_rank": _fallible(_reciprocal_rank)({}),
        "Rprec": _fallible(_r_precision)({}), "bpref": _bpref({}),
        "ndcg": _ndcg({}), "ndcg_cut_5": _ndcg({"top_k": 5}),
    }
    for variant in ("graded", "ids", "not_retrieved", "unjudged"):
        judged, run, ours = {}, {}, {}
        for query, docs in queries(documents(variant), None, False):
            names = [f"d{identity + 1000:06d}" if variant == "ids" else
                     f"d{i:06d}" for i, (_, identity, _) in enumerate(docs)]
            judged[str(query)] = {
                name: int(grade) for name, (_, _, grade) in
                zip(names, docs, strict=True) if grade is not None}
            run[str(query)] = {
                name: score for name, (score, _, _) in
                zip(names, docs, strict=True) if score != -np.inf}
            ours[str(query)] = {
                name: query_value(docs, "ids", measure, "neg")
                for name, measure in measures.items()}
        evaluator = pytrec_eval.RelevanceEvaluator(
            judged, {"map", "map_cut.5", "P.5", "recall.5", "success.5",
                     "recip_rank", "Rprec", "bpref", "ndcg", "ndcg_cut.5"})
        for query, values in evaluator.evaluate(run).items():
            docs = dict(queries(documents(variant), None, False))[int(query)]
            rank = query_value(docs, "ids", _first_rank, "skip")
            np.testing.assert_allclose(1 / rank if rank else 0.0,
                                       values["recip_rank"], rtol=1e-12)
            for name, value in ours[query].items():
                np.testing.assert_allclose(value, values[name], rtol=1e-12,
                                           err_msg=f"{variant} {query} {name}")


def _check_against_sklearn() -> None:
    """The same of means over ties, where scikit-learn has them."""
    for query, docs in queries(documents("ties"), None, False):
        score, _, grade = zip(*docs, strict=True)
        ours = query_value(docs, "expected", _ndcg({"top_k": 5}), "neg")
        if any(grade):
            np.testing.assert_allclose(
                ours, ndcg_score([grade], [score], k=5), rtol=1e-12)
        labels = np.array(grade) > 0
        if len(set(labels)) == 2:
            np.testing.assert_allclose(
                query_value(docs, "expected", _auroc({}), "neg"),
                roc_auc_score(labels, score), rtol=1e-12)
        else:
            assert query in (ALL_RELEVANT, 6), query


def _r_precision(r: Ranking, _: int | None) -> float:
    return sum(r.hits(r.relevant)) / r.relevant


def fixtures() -> list[Fixture]:
    """The fixtures of this module."""
    _check_against_trec_eval()
    _check_against_sklearn()
    adaptive = [("adaptive", "ties", {"top_k": 10, "adaptive_k": True}),
                ("not_adaptive", "ties", {"top_k": 10})]
    attainable = [("attainable", "ties",
                   {"top_k": 2, "denominator": "attainable"})]
    exponential = [("exponential", "ties", {"gain": "exponential"}),
                   ("exponential_top_2", "graded",
                    {"gain": "exponential", "top_k": 2})]
    partial = [("max_fpr", "ties", {"max_fpr": 0.3}),
               ("max_fpr_top_5", "unjudged_ties_not_retrieved",
                {"max_fpr": 0.55, "top_k": 5, "unjudged": UNJUDGED}),
               ("max_fpr_1", "graded", {"max_fpr": 1.0})]
    return [
        _fixture("RetrievalMAP", _map, [*TOP_K, *attainable]),
        _mean_rank_fixture(),
        _fixture("RetrievalMRR", _fallible(_reciprocal_rank), TOP_K),
        _fixture("RetrievalPrecision", _precision, [*TOP_K, *adaptive]),
        _fixture("RetrievalRecall", _fallible(
            lambda r, k: sum(r.hits(k)) / r.relevant), TOP_K),
        _fixture("RetrievalFallOut", _fall_out, TOP_K, action="pos"),
        _fixture("RetrievalHitRate", _fallible(
            lambda r, k: float(any(r.hits(k)))), TOP_K),
        _fixture("RetrievalNormalizedDCG", _ndcg, [*TOP_K, *exponential]),
        _fixture("RetrievalRPrecision", _fallible(_r_precision), []),
        _fixture("RetrievalAUROC", _auroc, [*TOP_K, *partial]),
        _curve_fixture(), _fixed_precision_fixture(),
        _fixture("RetrievalERR", _err, TOP_K, {"g_max": 4}),
        _rbp_fixture(),
        _fixture("RetrievalBpref", _bpref, []),
    ]
