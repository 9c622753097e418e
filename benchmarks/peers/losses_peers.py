"""Times contrastive losses of OpenCLIP and Lightly over local Gloo ranks.

    python losses_peers.py RANKS ROWS SIZE ROUNDS [CASE...]

Prints a line of JSON for each case; those of ../losses_benchmark.cc. The
losses are written as in open_clip_torch 3.2.0 (open_clip/loss.py: ClipLoss with
local_loss and gather_with_grad, SigLipLoss with dist_impl "gather") and lightly
1.5.22 (lightly/loss/ntx_ent_loss.py with gather_distributed), which bring
along much that is not needed here.
"""

from __future__ import annotations

import ctypes
import json
import pathlib
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
import torch.distributed.nn.functional as dist_nn
from torch import Tensor
from torch.multiprocessing.spawn import spawn
from torch.nn import functional as F

Loss = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


def gather(tensor: Tensor) -> Tensor:
    """All ranks' rows, with gradients."""
    if dist.get_world_size() == 1:
        return tensor
    return torch.cat(dist_nn.all_gather(tensor), dim=0)


def clip(a: Tensor, b: Tensor, scale: Tensor, _: Tensor) -> Tensor:
    all_a, all_b = gather(a), gather(b)
    per_a = scale * a @ all_b.T
    per_b = scale * b @ all_a.T
    labels = torch.arange(len(a)) + len(a) * dist.get_rank()
    return (F.cross_entropy(per_a, labels) + F.cross_entropy(per_b, labels)) / 2


def siglip(a: Tensor, b: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
    def block(texts: Tensor, negative_only: bool) -> Tensor:
        logits = scale * a @ texts.T + bias
        labels = -torch.ones((len(a), len(texts)))
        if not negative_only:
            labels = 2 * torch.eye(len(a)) + labels
        return -F.logsigmoid(labels * logits).sum() / len(a)

    loss = block(b, False)
    if dist.get_world_size() == 1:
        return loss
    for rank, texts in enumerate(dist_nn.all_gather(b)):
        loss = loss + float(rank != dist.get_rank()) * block(texts, True)
    return loss


def ntxent(a: Tensor, b: Tensor, _: Tensor, __: Tensor) -> Tensor:
    temperature = 0.5
    a, b = F.normalize(a, dim=1), F.normalize(b, dim=1)
    rows, ranks = len(a), dist.get_world_size()
    all_a, all_b = gather(a), gather(b)
    diagonal = torch.zeros((rows, rows * ranks), dtype=torch.bool)
    own = torch.arange(rows)
    diagonal[own, own + rows * dist.get_rank()] = True
    aa = torch.einsum("nc,mc->nm", a, all_a) / temperature
    ab = torch.einsum("nc,mc->nm", a, all_b) / temperature
    ba = torch.einsum("nc,mc->nm", b, all_a) / temperature
    bb = torch.einsum("nc,mc->nm", b, all_b) / temperature
    aa = aa[~diagonal].view(rows, -1)
    bb = bb[~diagonal].view(rows, -1)
    logits = torch.cat(
        [torch.cat([ab, aa], dim=1), torch.cat([ba, bb], dim=1)], dim=0
    )
    labels = (own + rows * dist.get_rank()).repeat(2)
    return F.cross_entropy(logits, labels)


def lfq(a: Tensor, _: Tensor, __: Tensor, ___: Tensor) -> Tensor:
    """The entropies of vector-quantize-pytorch."""
    from vector_quantize_pytorch import LFQ
    return LFQ(dim=a.size(1))(a[None]).entropy_aux_loss


CASES: dict[str, Loss] = {"clip": clip, "siglip": siglip, "ntxent": ntxent}


def own(name: str) -> Loss:
    """The same of Tally's package."""
    from tally import losses
    if name == "clip":
        loss = losses.ClipLoss(local_loss=True)
        return lambda a, b, scale, _: loss(a, b, scale)
    if name == "siglip":
        return losses.SigLipLoss()
    if name == "ntxent":
        return lambda a, b, _, __: losses.NTXentLoss()(a, b)
    return lambda a, _, __, ___: losses.LFQ(dim=a.size(1))(a[None]).aux_loss


def loss_of(name: str) -> Loss:
    """By name; those of Tally begin with "tally:", lfq is not among all."""
    if name.startswith("tally:"):
        return own(name.removeprefix("tally:"))
    return lfq if name == "lfq" else CASES[name]


def status_mb(name: str) -> float:
    """A line of /proc/self/status."""
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) / 1000
    raise KeyError(name)


def peak_mb(call: Callable[[], None]) -> float:
    """The peak of resident memory during a call, above what was there."""
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    pathlib.Path("/proc/self/clear_refs").write_text("5")
    before = status_mb("VmRSS")
    call()
    return status_mb("VmHWM") - before


def measure(name: str, rows: int, size: int, rounds: int) -> None:
    """Prints what one step takes on rank 0."""
    a = F.normalize(torch.randn(rows, size)).requires_grad_()
    b = F.normalize(torch.randn(rows, size)).requires_grad_()
    scale = torch.tensor(14.3, requires_grad=True)
    bias = torch.tensor(-10.0, requires_grad=True)

    loss = loss_of(name)

    def step() -> None:
        a.grad = b.grad = None
        loss(a, b, scale, bias).backward()

    step()
    a.grad = b.grad = None
    peak = peak_mb(step) - 2 * rows * size * 4 / 1e6
    times, cpu_times = [], []
    for _ in range(rounds):
        dist.barrier()
        start, cpu = time.perf_counter(), time.process_time()
        step()
        times.append((time.perf_counter() - start) * 1e3)
        cpu_times.append((time.process_time() - cpu) * 1e3)
    if dist.get_rank() == 0:
        best, median = np.quantile(times, [0, 0.5])
        print(json.dumps({
            "case": name,
            "ranks": dist.get_world_size(),
            "best_ms": best,
            "p50_ms": median,
            "cpu_ms": min(cpu_times),
            "peak_mb": peak,
        }), flush=True)


def run(rank: int, ranks: int, arguments: list[str], store: str) -> None:
    """One rank."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", init_method=f"file://{store}", rank=rank, world_size=ranks
    )
    rows, size, rounds = map(int, arguments[:3])
    for name in arguments[3:] or CASES:
        measure(name, rows, size, rounds)
    dist.destroy_process_group()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = str(pathlib.Path(folder) / "store")
        ranks = int(sys.argv[1])
        start: Any = spawn  # it has no types
        start(run, args=(ranks, sys.argv[2:], store), nprocs=ranks)


if __name__ == "__main__":
    main()
