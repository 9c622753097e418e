"""Options and inputs by chance, for drop_in_difference.py."""

import importlib.util
import inspect

import torch

_SITUATIONS = ("plain", "plain", "absent", "one kind", "ties", "logits", "negative")
_WORDS = ("the", "cat", "sat", "on", "a", "mat", "dog", "Ran.", "down", "hill,", "2", "x")

# Domains, each with how its inputs are made.
_DOMAINS = {}

# Those with groups, with other inputs, or that load what is not there.
_LEFT_OUT = {
    "BinaryFairness", "BinaryGroupStatRates", "PermutationInvariantTraining", "SQuAD",
    "ClusterAccuracy", "FrechetInceptionDistance", "InceptionScore", "KernelInceptionDistance",
    "MemorizationInformedFrechetInceptionDistance", "MultiScaleStructuralSimilarityIndexMeasure",
}


# Options of these names that are others.
_CHOICES_OF = {
    "ConfusionMatrix": {"normalize": [None, "true", "pred", "all"]},
    "EER": {"average": ["macro", "micro", None]},
    "LogAUC": {"average": ["macro", "none"]},
    "MulticlassROC": {"average": ["macro", "micro", None]},
    "PrecisionRecallCurve": {"average": ["macro", "micro", None]},
    "SpectralDistortionIndex": {"p": [1, 2]},
    "TotalVariation": {"reduction": ["sum", "mean", "none"]},
    "VisualInformationFidelity": {"reduction": ["mean", "none"]},
    "CriticalSuccessIndex": {"threshold": [0.5]},
    "IntersectionOverUnion": {
        "iou_threshold": [0.2], "respect_labels": [True, False], "class_metrics": [True, False],
        "box_format": ["xyxy", "xywh", "cxcywh"],
    },
    "MeanAveragePrecision": {
        "iou_type": ["bbox", "segm", ("bbox", "segm")], "class_metrics": [True, False],
        "average": ["macro", "micro"], "extended_summary": [False, False, True],
        "box_format": ["xyxy", "xywh", "cxcywh"], "iou_thresholds": [[0.25, 0.5]],
        "max_detection_thresholds": [[1, 2, 100]],
    },
    "PanopticQuality": {
        "things": [{0, 1}], "stuffs": [{2}], "return_sq_and_rq": [True, False],
        "return_per_class": [True, False], "allow_unknown_preds_category": [True, False],
    },
}


def domain_of(real):
    return real.__module__.split(".")[1]


def is_compared(real):
    """Whether cases of a class are made here."""
    domain = domain_of(real)
    if domain == "detection" and not importlib.util.find_spec("torchvision"):
        return False  # TorchMetrics' own need it
    return domain in _DOMAINS and real.__name__ not in _LEFT_OUT


def _of(domain):
    def add(function):
        _DOMAINS[domain] = function
        return function

    return add


def options_of(real, rng):
    """Options that most classes have, and those without a default."""
    parameters = inspect.signature(real.__init__).parameters
    domain = domain_of(real)
    choices = {
        "average": ["macro", "micro", "weighted", "none"],
        "thresholds": [None, None, 5, [0.1, 0.5, 0.9]],
        "ignore_index": [None, None, -1, 0],
        "multidim_average": ["global", "global", "samplewise"],
        "beta": [0.5, 2.0],
        "top_k": [1, 2] if real.__name__.startswith("Multiclass") else [None, 1, 2],
        "empty_target_action": ["neg", "skip", "pos"],
        "num_groups": [2],
        "p": [1.0, 2.0],
        "squared": [True, False],
        "multioutput": ["uniform_average", "raw_values", "variance_weighted"],
        "variant": ["b", "c"],
        "power": [0.0, 1.0, 2.0],
        "norm": ["l1", "l2"],
        "normalization": ["mean", "range", "std", "l2"],
        "average_method": ["arithmetic", "max", "min", "geometric"],
        "bias_correction": [True, False],
        "include_background": [True, False],
        "per_class": [True, False],
        "weight_type": ["square", "simple", "linear"],
        "input_format": ["one-hot", "index"],
        "directed": [True, False],
        "n_gram": [1, 4],
        "smooth": [True, False],
        "lowercase": [True, False],
        "normalize": [True, False],
        "whitespace": [True, False],
        "rouge_keys": ["rouge1", "rouge2", "rougeL"],
        "accumulate": ["best", "avg"],
        "zero_mean": [True, False],
        "data_range": [1.0],
        "aggregation": ["mean", "median", "max"],
        "reduction": {
            "text": ["mean", "sum", None], "regression": ["mean", "sum", "none"],
            "image": ["elementwise_mean"], "shape": ["mean", "sum"],
        }.get(domain, []),
        **{name: [0.2, 0.5, 0.9] for name in parameters if name.startswith("min_")},
    }
    for name, values in _CHOICES_OF.items():
        if real.__name__.endswith(name):
            choices |= values
    sized = domain in ("classification", "nominal", "segmentation")
    options = {}
    for name, parameter in parameters.items():
        if name in ("num_classes", "num_labels") and sized:
            options[name] = rng.choice([3, 4])
        elif choices.get(name) and (
            rng.random() < 0.7 or parameter.default is inspect.Parameter.empty
        ):
            options[name] = rng.choice(choices[name])
    if "rouge_keys" in parameters:  # sentences are split by data that a first use downloads
        options.setdefault("rouge_keys", "rouge1")
    return options


def inputs_of(real, options, rng):
    """The situation, and what update() takes."""
    size, situation = rng.choice([1, 3, 8, 30]), rng.choice(_SITUATIONS)
    return situation, _DOMAINS[domain_of(real)](real, options, size, situation, rng)


@_of("aggregation")
def _values(real, options, size, situation, rng):
    values = torch.rand(size)
    if situation == "one kind":
        values[:] = torch.nan
    if situation == "absent":
        values[0] = torch.nan
    return [values]


@_of("regression")
def _numbers(real, options, size, situation, rng):
    preds, target = torch.rand(size), torch.rand(size)
    if situation == "one kind":
        target = torch.ones(size)
    if situation == "absent":
        preds = torch.zeros(size)
    if situation == "ties":
        preds = (preds * 4).round() / 4
    if real.__name__ in ("CosineSimilarity", "KLDivergence", "JensenShannonDivergence"):
        preds, target = torch.rand(size, 4), torch.rand(size, 4)
        preds, target = preds / preds.sum(1, keepdim=True), target / target.sum(1, keepdim=True)
        if situation == "one kind" and real.__name__ == "CosineSimilarity":
            target[0] = 0
    if real.__name__ == "ContinuousRankedProbabilityScore":
        preds = torch.rand(size, 5)
    return [preds, target]


@_of("clustering")
def _clusters(real, options, size, situation, rng):
    labels = 1 if situation == "one kind" else 3
    first = torch.randint(labels, (size,))
    is_data = "data" in inspect.signature(real.update).parameters
    return [torch.rand(size, 2) if is_data else first, torch.randint(labels, (size,))]


@_of("nominal")
def _categories(real, options, size, situation, rng):
    if real.__name__ == "FleissKappa":
        counts = torch.zeros(size, 3).long()
        for _ in range(4):
            category = torch.randint(1 if situation == "one kind" else 3, (size, 1))
            counts.scatter_add_(1, category, torch.ones(size, 1).long())
        return [counts]
    count = 1 if situation == "one kind" else options["num_classes"]
    return [torch.randint(count, (size,)), torch.randint(options["num_classes"], (size,))]


@_of("classification")
def _scores(real, options, size, situation, rng):
    name = real.__name__
    inner = (5,) if options.get("multidim_average") == "samplewise" else ()
    if name.endswith("ExactMatch") and name.startswith("Multiclass"):
        inner = (5,)
    count = options.get("num_classes") or options.get("num_labels") or 3
    if name.startswith("Multiclass"):
        preds = torch.randn(size, count, *inner).softmax(1)
        target = torch.randint(count, (size, *inner))
    else:
        shape = (size, count, *inner) if name.startswith("Multilabel") else (size, *inner)
        preds, target = torch.rand(shape), torch.randint(2, shape)
    target = _in(target, situation, rng)
    if situation == "ties":
        preds = (preds * 4).round() / 4
    if situation == "logits":
        preds = preds * 6 - 3
    if options.get("ignore_index") == -1:
        target[torch.rand(target.shape) < rng.choice([0.2, 1.0])] = -1
    return [preds, target]


def _in(target, situation, rng):
    if situation == "absent":
        return target.clamp(max=max(0, int(target.max()) - 1))
    if situation == "one kind":
        return torch.full_like(target, rng.choice([0, 1]))
    return target


@_of("retrieval")
def _documents(real, options, size, situation, rng):
    preds, target = torch.rand(size), _in(torch.randint(2, (size,)), situation, rng)
    if situation == "ties":
        preds = (preds * 4).round() / 4
    if situation == "logits":
        preds = preds * 6 - 3
    if situation == "negative":
        preds = preds - 1
    if options.get("ignore_index") == -1:
        target[torch.rand(target.shape) < rng.choice([0.2, 1.0])] = -1
    return [preds, target, torch.randint(2, (size,))]


@_of("segmentation")
def _masks(real, options, size, situation, rng):
    size, classes = min(size, 3), options["num_classes"]
    masks = [torch.randint(classes, (size, 6, 6)) for _ in range(2)]
    if situation == "absent":
        masks = [each.clamp(max=classes - 2) for each in masks]
    if situation == "one kind":
        masks[rng.choice([0, 1])] = torch.zeros(size, 6, 6).long()
    if situation == "ties":
        masks[1] = masks[0].clone()
    if options.get("input_format", "one-hot") == "one-hot":
        masks = [torch.nn.functional.one_hot(each, classes).movedim(-1, 1) for each in masks]
    return masks


def _side(real, size, situation, is_other):
    """Boxes [left, top, width, height] of whole numbers, labels, scores and masks of images."""
    images = []
    for i in range(size):
        count = int(torch.randint(5, ())) if size > 1 else 3
        if situation == "absent" and i % 2 == is_other:
            count = 0
        start = torch.randint(14, (count, 2))
        boxes = torch.cat([start, torch.randint(3, 10, (count, 2))], 1).float()
        masks = torch.zeros(count, 24, 24, dtype=torch.bool)
        for mask, (x, y, w, h) in zip(masks, boxes.int().tolist()):
            mask[y:y + h, x:x + w] = True
        labels = torch.randint(1 if situation == "one kind" else 3, (count,))
        images.append({"boxes": boxes, "labels": labels, "masks": masks,
                       "scores": torch.rand(count)})
    return images


@_of("detection")
def _boxes(real, options, size, situation, rng):
    size = min(size, 8)
    if real.__name__.endswith("PanopticQuality"):
        segments = torch.randint(3, (2, size, 4, 4)).repeat_interleave(2, 2)
        if situation == "ties":
            segments[1] = segments[0]
        if situation == "absent":
            segments = segments.clamp(max=1)
        return list(torch.stack([segments, torch.randint(2, segments.shape)], -1))
    preds, target = (_side(real, size, situation, i) for i in range(2))
    if situation == "ties":
        target = [{name: each.clone() for name, each in image.items()} for image in preds]
    for image in preds + target:
        corner, extent = image["boxes"].split(2, 1)
        image["boxes"] = {
            "xywh": image["boxes"], "xyxy": torch.cat([corner, corner + extent], 1),
            "cxcywh": torch.cat([corner + extent / 2, extent], 1),
        }[options.get("box_format", "xyxy")]
    for image in target:
        del image["scores"]
        if situation == "plain" and rng.random() < 0.3:
            image["iscrowd"] = torch.randint(2, (len(image["labels"]),))
        if situation == "plain" and rng.random() < 0.3:
            image["area"] = torch.randint(3, (len(image["labels"]),)).float() * 40
    return [preds, target]


@_of("shape")
def _points(real, options, size, situation, rng):
    points = torch.rand(size, 6, 3)
    return [points, points.clone() if situation == "ties" else torch.rand(size, 6, 3)]


@_of("audio")
def _signals(real, options, size, situation, rng):
    shape = {"ComplexScaleInvariantSignalNoiseRatio": (4, 20, 2)}.get(real.__name__, (2, 600))
    preds = torch.randn(min(size, 3), *shape)
    target = torch.randn(min(size, 3), *shape)
    return [preds, preds * 0.5 + target] if situation == "ties" else [preds, target]


@_of("image")
def _images(real, options, size, situation, rng):
    size = min(size, 3)
    name = real.__name__
    side = 48 if name == "VisualInformationFidelity" else 24
    shape = (size, 1 if name.endswith("BlockedEffect") else 3, side, side)
    preds, target = torch.rand(shape), torch.rand(shape)
    if situation == "ties":
        target = preds.clone()
    # Of images without contrast, fidelity is NaN in TorchMetrics, and 0 here.
    if situation == "one kind" and name != "VisualInformationFidelity":
        target = torch.full_like(target, 0.5)
    return [preds] if name == "TotalVariation" else [preds, target]


@_of("text")
def _texts(real, options, size, situation, rng):
    if real.__name__ == "Perplexity":
        target = torch.randint(5, (size, 4))
        if options.get("ignore_index") == -1:
            target[torch.rand(target.shape) < rng.choice([0.2, 1.0])] = -1
        return [torch.randn(size, 4, 5).softmax(-1), target]

    def text():
        return " ".join(rng.choice(_WORDS) for _ in range(rng.randint(1, 9)))

    preds, target = [text() for _ in range(size)], [text() for _ in range(size)]
    if situation == "ties":
        target = list(preds)
    if situation == "absent":
        preds[0] = ""
    if situation == "one kind":
        target = [""] * size
    # Of several references each: BLEU and what is like it.
    if any(each in real.__name__ for each in ("BLEU", "CHRF", "ROUGE", "Translation", "Extended")):
        target = [[each, text()] if rng.random() < 0.5 else [each] for each in target]
    return [preds, target]
