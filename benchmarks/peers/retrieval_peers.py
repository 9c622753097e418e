"""What retrieval_benchmark.cc has peers for; see peer_metrics.py.

Every peer begins with the same three tensors: what it takes to make its own
form of them is part of its time, but no compilation.
"""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

import pytrec_eval
import ranx
import torch
from torchmetrics import retrieval

Work = Callable[[], Any]
Peers = dict[str, Work]
Cases = dict[str, Callable[[], Peers]]
Documents = tuple[torch.Tensor, torch.Tensor, torch.Tensor]
Rankings = dict[str, dict[str, Any]]

TREC_MEASURES = {"map", "map_cut.10", "recip_rank", "P.10", "recall.10",
                 "success.10", "ndcg", "ndcg_cut.10", "Rprec"}
RANX_MEASURES = ["map", "map@10", "mrr", "precision@10", "recall@10",
                 "hit_rate@10", "ndcg", "ndcg@10", "r-precision"]


def _documents(queries: int, each: int, shuffled: bool) -> Documents:
    count = queries * each
    indexes = torch.arange(count) // each
    if shuffled:
        indexes = indexes[torch.randperm(count)]
    return torch.rand(count), torch.randint(2, (count,)), indexes


def _rankings(documents: Documents) -> tuple[Rankings, Rankings]:
    """Judgments and scores as dictionaries of queries and documents."""
    judged: Rankings = collections.defaultdict(dict)
    run: Rankings = collections.defaultdict(dict)
    preds, target, indexes = (x.tolist() for x in documents)
    for i, (score, grade, query) in enumerate(zip(preds, target, indexes)):
        name, query = f"d{i}", f"q{query}"
        judged[query][name] = grade
        run[query][name] = score
    return dict(judged), dict(run)


def _trec_eval(documents: Documents, measures: set[str]) -> Work:
    def work() -> Any:
        judged, run = _rankings(documents)
        values = pytrec_eval.RelevanceEvaluator(judged, measures).evaluate(run)
        sums: dict[str, float] = collections.defaultdict(float)
        for query in values.values():
            for measure, value in query.items():
                sums[measure] += value
        return {name: total / len(values) for name, total in sums.items()}

    return work


def _ranx(documents: Documents, measures: list[str]) -> Work:
    def work() -> Any:
        judged, run = _rankings(documents)
        return ranx.evaluate(ranx.Qrels(judged), ranx.Run(run), measures)

    return work


def _torchmetrics(name: str, documents: Documents) -> Work:
    def work() -> Any:
        metric = getattr(retrieval, name)()
        preds, target, indexes = documents
        metric.update(preds, target, indexes=indexes)
        return metric.compute()

    return work


def _one(name: str, trec: str, of_ranx: str, queries: int, each: int,
         shuffled: bool = True) -> Callable[[], Peers]:
    def peers() -> Peers:
        documents = _documents(queries, each, shuffled)
        return {"TorchMetrics": _torchmetrics(name, documents),
                "pytrec_eval": _trec_eval(documents, {trec}),
                "ranx": _ranx(documents, [of_ranx])}

    return peers


def _family(queries: int, each: int) -> Callable[[], Peers]:
    def peers() -> Peers:
        documents = _documents(queries, each, True)
        return {"pytrec_eval": _trec_eval(documents, TREC_MEASURES),
                "ranx": _ranx(documents, RANX_MEASURES)}

    return peers


def cases() -> Cases:
    """All of them, by the names of Tally's benchmarks."""
    many = (10_000, 50)
    return {
        "RetrievalMAP/10000x50": _one("RetrievalMAP", "map", "map", *many),
        "RetrievalMAP/10000x50_in_order":
            _one("RetrievalMAP", "map", "map", *many, shuffled=False),
        "RetrievalMRR/10000x50":
            _one("RetrievalMRR", "recip_rank", "mrr", *many),
        "RetrievalNormalizedDCG/10000x50":
            _one("RetrievalNormalizedDCG", "ndcg", "ndcg", *many),
        "RetrievalMAP/1000x1000":
            _one("RetrievalMAP", "map", "map", 1000, 1000),
        "Retrieval(9)/10000x50": _family(*many),
        "Retrieval(9)/1000x1000": _family(1000, 1000),
    }
