"""Writes ../data/peers/: values and gradients of losses in other libraries.

    python generate.py

Each library runs in one process, where its losses are right; over ranks Tally
is compared with itself in one process. Where a library is wrong even there, a
comment says so and the right value is made from it in another way.
"""

import importlib.metadata
import importlib.util
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor

sys.path.append(str(Path(__file__).resolve().parents[1]))

from generators.fixture import encode_tensor, layout  # noqa: E402
from generators.sampling import seeded  # noqa: E402

DATA = Path(__file__).resolve().parents[1] / "data" / "peers"


def module_of(package: str, path: str) -> ModuleType:
    """One file of a package, without what the package imports besides."""
    file = importlib.metadata.distribution(package).locate_file(path)
    spec = importlib.util.spec_from_file_location(
        path.replace("/", "_").removesuffix(".py"), str(file))
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def normal(*name: str, sizes: tuple[int, ...]) -> Tensor:
    """Standard normal float64 numbers with three decimals."""
    return torch.from_numpy(
        np.round(seeded(*name).standard_normal(sizes), 3))


def case(name: str, options: dict[str, Any], inputs: list[Tensor],
         expected: dict[str, Tensor], rtol: float = 1e-10,
         atol: float = 1e-10) -> dict[str, Any]:
    """A case as it stands in the file."""
    return {
        "name": name,
        "options": options,
        "batches": [{"inputs": [encode_tensor(x.detach().numpy())
                                for x in inputs]}],
        "expected": {key: encode_tensor(value.detach().numpy())
                     for key, value in expected.items()},
        "rtol": rtol,
        "atol": atol,
    }


def write(loss: str, package: str, cases: list[dict[str, Any]]) -> None:
    """One file for one loss."""
    source = f"{package} {importlib.metadata.version(package)}"
    fixture = {"metric": loss, "source": source, "cases": cases}
    DATA.mkdir(parents=True, exist_ok=True)
    (DATA / f"{loss}.json").write_text(layout(fixture) + "\n",
                                       encoding="utf-8")


# Of vector-quantize-pytorch.

LFQ_CASES: dict[str, dict[str, Any]] = {
    "plain": {"dim": 4},
    "two codebooks": {"codebook_size": 4, "num_codebooks": 2},
    "spherical": {"dim": 4, "spherical": True, "codebook_scale": 1.5},
    "soft clamp": {"dim": 3, "soft_clamp_input_value": 1.2},
    "softplus": {"dim": 3, "softplus_entropy_loss": True,
                 "diversity_gamma": 2.5},
    "mask of samples": {"dim": 4},
    "mask of tokens": {"dim": 4},
    "projections": {"dim": 5, "codebook_size": 8},
}
LFQ_COMMON = {"entropy_loss_weight": 0.7, "commitment_loss_weight": 0.25}
INVERSE_TEMPERATURE = 0.2


def lfq_case(name: str, options: dict[str, Any]) -> dict[str, Any]:
    """Output, losses and gradients of LFQ."""
    from vector_quantize_pytorch import LFQ

    options = {**LFQ_COMMON, **options}
    renamed = {"softplus_entropy_loss": "experimental_softplus_entropy_loss"}
    torch.manual_seed(3)
    # force_quantization_f32 would round to float32.
    module = LFQ(force_quantization_f32=False,
                 **{renamed.get(k, k): v for k, v in options.items()}).double()
    x = normal("LFQ", name, sizes=(3, 4, module.dim)).requires_grad_()
    inputs = [x]
    mask = None
    passed = x
    if name == "mask of samples":
        mask = torch.tensor([True, False, True])
        inputs.append(mask)
    if name == "mask of tokens":
        # LFQ takes such a mask, but then averages over no tokens: its batch
        # entropy is that of single tokens. Only the tokens that count, as one
        # sample, are what is meant.
        keep = torch.from_numpy(seeded("LFQ", "mask").random((3, 4)) < 0.6)
        inputs.append(keep)
        passed = x[keep][None]
    parameters = [p.detach() for p in module.parameters()]
    with torch.no_grad():
        # LFQ clamps probabilities at 1e-5 in its entropies, which is wrong
        # below; here, none is.
        latents = module.maybe_l2norm(
            module.project_in(x).unflatten(2, (module.num_codebooks, -1)))
        codes = module.maybe_l2norm(module.codebook)
        logits = 2 * INVERSE_TEMPERATURE * latents @ codes.T
        assert logits.softmax(-1).min() > 1e-5, name
    (_, _, aux_loss), parts = module(
        passed, inv_temperature=INVERSE_TEMPERATURE, mask=mask,
        return_loss_breakdown=True)
    quantized, indices, _ = module(x, inv_temperature=INVERSE_TEMPERATURE)
    (aux_loss + quantized.square().sum() / 10).backward()
    expected = {
        "quantized": quantized, "indices": indices, "aux_loss": aux_loss,
        "per_sample_entropy": parts.per_sample_entropy,
        "batch_entropy": parts.batch_entropy, "commitment": parts.commitment,
        "x_grad": x.grad,
    }
    for i, parameter in enumerate(module.parameters()):
        expected[f"parameter_{i}_grad"] = parameter.grad
    return case(name, {**options, "inverse_temperature": INVERSE_TEMPERATURE},
                inputs + parameters, expected)


VQ_CASES: dict[str, dict[str, Any]] = {
    "rotation": {},
    "straight through": {"rotation_trick": False, "decay": 0.9},
    "cosine": {"use_cosine_sim": True},
    "mask": {},
    "mask of none": {},
}


def vq_case(name: str, options: dict[str, Any]) -> dict[str, Any]:
    """Two training steps of VectorQuantize with an EMA codebook."""
    from vector_quantize_pytorch import VectorQuantize

    module = VectorQuantize(dim=3, codebook_size=5, commitment_weight=0.25,
                            **options)
    codes = normal("VQ", name, "codes", sizes=(1, 5, 3)).float()
    if options.get("use_cosine_sim"):
        codes = torch.nn.functional.normalize(codes, dim=-1)
    module._codebook.embed.data.copy_(codes)
    module._codebook.embed_avg.data.copy_(codes)
    x = normal("VQ", name, sizes=(3, 4, 3)).float().requires_grad_()
    inputs = [codes[0], x]
    mask = None
    if name.startswith("mask"):
        mask = torch.from_numpy(seeded("VQ", "mask").random((3, 4)) < 0.6)
        if name == "mask of none":
            mask &= False
        inputs.append(mask)
    quantized, indices, loss = module(x, mask=mask)
    if name == "mask of none":
        # Its loss is NaN, and its counts decay toward 0.
        return case(name, options, inputs, {"indices": indices})
    (loss.sum() + quantized.square().sum() / 10).backward()
    expected = {"quantized": quantized, "indices": indices,
                "loss": loss.reshape(()), "x_grad": x.grad}
    module(x.detach() * 0.5 + 0.25, mask=mask)
    book = module._codebook
    expected |= {"codebook": book.embed[0], "code_sums": book.embed_avg[0],
                 "code_counts": book.cluster_size[0]}
    # The codebook computes in float32.
    return case(name, options, inputs, expected, rtol=1e-5, atol=1e-6)


def kmeans_case(name: str, cosine: bool) -> dict[str, Any]:
    """k-means from given means."""
    from vector_quantize_pytorch.vector_quantize_pytorch import kmeans

    x = normal("kmeans", name, sizes=(1, 40, 3))
    if cosine:
        x = torch.nn.functional.normalize(x, dim=-1)
    # Far from all tokens: a code that stays empty keeps its place.
    far = torch.full((1, 1, 3), -9.0 if not cosine else -1e-9,
                     dtype=torch.float64)
    start = torch.cat([x[:, :4], far], 1)
    means, counts = kmeans(x, 5, num_iters=4, use_cosine_sim=cosine,
                           sample_fn=lambda _, __: start)
    return case(name, {"use_cosine_sim": cosine, "kmeans_iters": 4},
                [x[0], start[0]], {"means": means[0], "counts": counts[0]})


# Of lightly.

def two_views(loss: str, name: str, options: dict[str, Any],
              function: Callable[[Tensor, Tensor], Tensor],
              sizes: tuple[int, ...] = (6, 4)) -> dict[str, Any]:
    """Value and gradients of a loss of two views."""
    views = [normal(loss, name, str(i), sizes=sizes).requires_grad_()
             for i in range(2)]
    value = function(*views)
    value.backward()
    return case(name, options, views, {"": value, "grad_0": views[0].grad,
                                       "grad_1": views[1].grad})


def lightly_losses() -> None:
    """The losses of two views."""
    from lightly.loss.barlow_twins_loss import BarlowTwinsLoss
    from lightly.loss.dcl_loss import DCLLoss, DCLWLoss
    from lightly.loss.vicreg_loss import VICRegLoss

    def of(loss: str, module: Callable[..., Any], name: str,
           options: dict[str, Any], renamed: dict[str, str],
           sizes: tuple[int, ...] = (6, 4)) -> dict[str, Any]:
        made = module(**{renamed.get(k, k): v for k, v in options.items()})
        return two_views(loss, name, options, made, sizes)

    write("DCLLoss", "lightly", [
        of("DCLLoss", DCLLoss, "default", {}, {}),
        of("DCLLoss", DCLLoss, "warm", {"temperature": 0.5}, {})])
    write("DCLWLoss", "lightly", [
        of("DCLWLoss", DCLWLoss, "default", {}, {}),
        of("DCLWLoss", DCLWLoss, "warm", {"temperature": 0.5, "sigma": 0.8},
           {})])
    renamed = {"lambda": "lambda_param", "mu": "mu_param", "nu": "nu_param"}
    write("BarlowTwinsLoss", "lightly", [
        of("BarlowTwinsLoss", BarlowTwinsLoss, "default", {}, renamed),
        of("BarlowTwinsLoss", BarlowTwinsLoss, "lambda", {"lambda": 0.3},
           renamed)])
    write("VICRegLoss", "lightly", [
        of("VICRegLoss", VICRegLoss, "default", {}, renamed),
        of("VICRegLoss", VICRegLoss, "weights",
           {"lambda": 3.0, "mu": 2.0, "nu": 0.5, "eps": 0.01}, renamed),
        of("VICRegLoss", VICRegLoss, "positions", {}, renamed, (5, 2, 3))])


# Of OpenCLIP.

def open_clip_losses() -> None:
    """Captioning and distillation on top of the contrastive loss."""
    loss = module_of("open_clip_torch", "open_clip/loss.py")

    def unit(*name: str, sizes: tuple[int, ...]) -> Tensor:
        return torch.nn.functional.normalize(normal(*name, sizes=sizes), dim=1)

    def coca(name: str, options: dict[str, Any]) -> dict[str, Any]:
        image, text = (unit("CoCa", name, side, sizes=(5, 4)).requires_grad_()
                       for side in ("image", "text"))
        logits = normal("CoCa", name, "logits",
                        sizes=(5, 3, 6)).requires_grad_()
        labels = torch.from_numpy(
            seeded("CoCa", name, "labels").integers(0, 6, (5, 3)))
        labels[0] = options.get("pad_id", 0)
        scale = torch.tensor(7.5, dtype=torch.float64, requires_grad=True)
        contrastive, caption = loss.CoCaLoss(**options)(
            image, text, logits, labels, scale)
        (contrastive + caption).backward()
        inputs = [image, text, logits, labels, scale]
        expected = {"contrastive": contrastive, "caption": caption,
                    "logits_grad": logits.grad}
        if options["clip_loss_weight"] > 0:
            expected |= {"image_grad": image.grad, "scale_grad": scale.grad}
        else:
            expected["contrastive"] = contrastive.double()
        return case(name, options, inputs, expected)

    write("CoCaLoss", "open_clip_torch", [
        coca("default", {"caption_loss_weight": 2.0, "clip_loss_weight": 1.0}),
        coca("pad", {"caption_loss_weight": 1.0, "clip_loss_weight": 0.5,
                     "pad_id": 5}),
        coca("no clip", {"caption_loss_weight": 1.0, "clip_loss_weight": 0.0}),
    ])

    image, text = (unit("Distill", side, sizes=(6, 4)).requires_grad_()
                   for side in ("image", "text"))
    teacher = [unit("Distill teacher", side, sizes=(6, 3))
               for side in ("image", "text")]
    scale = torch.tensor(6.5, dtype=torch.float64, requires_grad=True)
    of_teacher = torch.tensor(9.0, dtype=torch.float64)
    contrastive, distill = loss.DistillClipLoss()(
        image, text, scale, teacher[0], teacher[1], of_teacher)
    (contrastive + distill).backward()
    write("DistillClipLoss", "open_clip_torch", [case(
        "default", {}, [image, text, scale, *teacher, of_teacher],
        {"contrastive": contrastive, "distill": distill,
         "image_grad": image.grad, "text_grad": text.grad,
         "scale_grad": scale.grad})])


def contrastive_losses() -> None:
    """The losses of pairs, of OpenCLIP, lightly and SupContrast."""
    from lightly.loss import NTXentLoss

    loss = module_of("open_clip_torch", "open_clip/loss.py")

    def pairs(name: str, function: Callable[..., Tensor], scale: float,
              bias: float) -> dict[str, Any]:
        sides = [torch.nn.functional.normalize(
            normal("pairs", name, side, sizes=(7, 4)), dim=1).requires_grad_()
                 for side in ("image", "text")]
        numbers = [torch.tensor(x, dtype=torch.float64, requires_grad=True)
                   for x in (scale, bias)]
        value = function(*sides, *numbers)
        value.backward()
        names = ("image", "text", "scale", "bias")
        return case(name, {}, sides + numbers, {"": value} | {
            f"{key}_grad": x.grad if x.grad is not None else torch.zeros(())
            for key, x in zip(names, sides + numbers)})

    clip = loss.ClipLoss()
    write("ClipLoss", "open_clip_torch", [
        pairs("clip", clip, 14.3, -10.0), pairs("clip 100", clip, 100.0, 0.0)])
    siglip = loss.SigLipLoss()
    write("SigLipLoss", "open_clip_torch", [
        pairs("siglip", siglip, 10.0, -10.0),
        pairs("siglip 100", siglip, 100.0, -3.5)])

    def banked(name: str, temperature: float) -> dict[str, Any]:
        module = NTXentLoss(temperature, memory_bank_size=(6, 5))
        bank = module.memory_bank.bank.double()
        module.memory_bank.bank = bank.clone()
        made = two_views("NTXentLoss", name,
                         {"temperature": temperature, "memory_bank_size": 6},
                         module, (4, 5))
        made["batches"][0]["inputs"].append(encode_tensor(bank.numpy()))
        made["expected"]["bank"] = encode_tensor(
            module.memory_bank.bank.numpy())
        return made

    torch.manual_seed(5)
    write("NTXentLoss", "lightly", [
        two_views("NTXentLoss", "default", {}, NTXentLoss()),
        two_views("NTXentLoss", "cold", {"temperature": 0.05},
                  NTXentLoss(0.05)),
        # No more rows than there is room for: it drops the others.
        banked("memory bank", 0.2)])

    def sup_con(features: Tensor, labels: Tensor, temperature: float,
                base_temperature: float) -> Tensor:
        """As losses.py of github.com/HobbitLong/SupContrast, which is not a
        package, where each row has others of its label."""
        z = torch.cat(torch.unbind(features, dim=1))
        labels = labels.repeat(features.shape[1])
        logits = z @ z.T / temperature
        others = 1 - torch.eye(len(z), dtype=torch.float64)
        alike = (labels[:, None] == labels).double() * others
        log_sum = (logits.exp() * others).sum(1, keepdim=True).log()
        mean = (alike * (logits - log_sum)).sum(1) / alike.sum(1)
        return -(temperature / base_temperature) * mean.mean()

    cases = []
    for name, temperature, base in (("default", 0.07, 0.07),
                                    ("base", 0.5, 0.1)):
        features = torch.nn.functional.normalize(
            normal("SupCon", name, sizes=(5, 2, 4)), dim=2).requires_grad_()
        labels = torch.tensor([3, 1, 3, 8, 1])
        value = sup_con(features, labels, temperature, base)
        value.backward()
        cases.append(case(name, {"temperature": temperature,
                                 "base_temperature": base},
                          [features, labels],
                          {"": value, "features_grad": features.grad}))
    write("SupConLoss", "torch", cases)


def main() -> None:
    # lightly makes a tensor of a tensor.
    warnings.filterwarnings("ignore", message="To copy construct")
    write("LFQ", "vector-quantize-pytorch",
          [lfq_case(*item) for item in LFQ_CASES.items()])
    write("VectorQuantize", "vector-quantize-pytorch",
          [vq_case(*item) for item in VQ_CASES.items()])
    write("KMeans", "vector-quantize-pytorch",
          [kmeans_case("euclidean", False), kmeans_case("cosine", True)])
    lightly_losses()
    open_clip_losses()
    contrastive_losses()


if __name__ == "__main__":
    main()
