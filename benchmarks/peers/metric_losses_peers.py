"""Times losses of MONAI, segmentation-models-pytorch, LibAUC and torchsort.

    python metric_losses_peers.py ROUNDS [CASE...]

Prints a line of JSON for each case; those of ../metric_losses_benchmark.cc. The
Lovasz loss is written as in segmentation_models_pytorch 0.6.0 (losses/lovasz.py),
which brings along much that is not needed here; so does LibAUC, which can be
installed without it.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable

import torch
from losses_peers import peak_mb
from monai.losses import DiceLoss, GeneralizedDiceLoss, TverskyLoss
from torch import Tensor

Loss = Callable[[Tensor, Tensor], Tensor]


def lovasz_grad(labels: Tensor) -> Tensor:
    total = labels.sum()
    intersection = total - labels.float().cumsum(0)
    union = total + (1 - labels).float().cumsum(0)
    jaccard = 1.0 - intersection / union
    jaccard[1:] = jaccard[1:] - jaccard[0:-1]
    return jaccard


def lovasz_softmax(scores: Tensor, target: Tensor) -> Tensor:
    p = scores.softmax(1).movedim(1, -1).reshape(-1, scores.size(1))
    labels = target.reshape(-1)
    losses = []
    for c in range(scores.size(1)):
        fg = (labels == c).type_as(p)
        errors = (fg - p[:, c]).abs()
        errors_sorted, order = torch.sort(errors, 0, descending=True)
        losses.append(torch.dot(errors_sorted, lovasz_grad(fg[order])))
    return torch.stack(losses).mean()


def pairwise_auc(scores: Tensor, target: Tensor) -> Tensor:
    from libauc.losses.auc import PairwiseAUCLoss
    return PairwiseAUCLoss("squared_hinge")(scores, target)


def soft_rank(values: Tensor, weights: Tensor) -> Tensor:
    import torchsort
    ranks = torchsort.soft_rank(values, regularization_strength=0.1)
    return (ranks * weights).sum()


def monai(loss: torch.nn.Module) -> Loss:
    return lambda scores, target: loss(scores, target[:, None])


COMMON = {"to_onehot_y": True, "softmax": True, "batch": True}
LOSSES: dict[str, Loss] = {
    "dice": monai(DiceLoss(**COMMON)),
    "generalized_dice": monai(GeneralizedDiceLoss(**COMMON)),
    "tversky": monai(TverskyLoss(**COMMON)),
    "lovasz_softmax": lovasz_softmax,
    "soft_rank_1e5": soft_rank,
    "auc_1e5": pairwise_auc,
}


def inputs(case: str) -> tuple[Tensor, Tensor]:
    if case == "auc_1e5":
        return torch.randn(100_000), (torch.arange(100_000) % 100 == 0).long()
    if case == "soft_rank_1e5":
        return torch.randn(1, 100_000), torch.randn(1, 100_000)
    return torch.randn(8, 4, 256, 256), torch.randint(4, (8, 256, 256))


def measure(case: str, rounds: int) -> None:
    """Prints what one step takes."""
    x, y = inputs(case)
    x.requires_grad_()

    def step() -> None:
        x.grad = None
        LOSSES[case](x, y).backward()

    step()
    x.grad = None
    peak = peak_mb(step)
    times, cpu_times = [], []
    for _ in range(rounds):
        start, cpu = time.perf_counter(), time.process_time()
        step()
        times.append((time.perf_counter() - start) * 1e3)
        cpu_times.append((time.process_time() - cpu) * 1e3)
    print(json.dumps({"case": case, "best_ms": min(times),
                      "cpu_ms": min(cpu_times), "peak_mb": peak}), flush=True)


def main() -> None:
    torch.set_num_threads(1)
    for case in sys.argv[2:] or LOSSES:
        measure(case, int(sys.argv[1]) if case != "auc_1e5" else 1)


if __name__ == "__main__":
    main()
