"""In what TorchMetrics' classes of detection differ from Tally's of the same name."""

import numpy
import torch
import torchmetrics
from torchmetrics.detection.helpers import (
    CocoBackend,
    _input_validator,
    _validate_iou_type_arg,
    _warning_on_too_many_detections,
)

import tally
from tally.compat.torchmetrics import _conventions

_FORMATS = ("xyxy", "xywh", "cxcywh")


def _check_flags(**flags):
    for name, value in flags.items():
        if not isinstance(value, bool):
            raise ValueError(f"Expected argument `{name}` to be a boolean")


def _check_list(name, value, what):
    if value is not None and not isinstance(value, list):
        raise ValueError(
            f"Expected argument `{name}` to either be `None` or a list of {what} but got {value}"
        )


def mean_average_precision(
    metric, box_format="xyxy", iou_type="bbox", iou_thresholds=None, rec_thresholds=None,
    max_detection_thresholds=None, class_metrics=False, extended_summary=False,
    average="macro", backend="pycocotools", **kwargs,
):
    """TorchMetrics' checks, without pycocotools and torchvision."""
    torchmetrics.Metric.__init__(metric, **kwargs)
    if box_format not in _FORMATS:
        raise ValueError(
            f"Expected argument `box_format` to be one of {_FORMATS} but got {box_format}"
        )
    _check_list("iou_thresholds", iou_thresholds, "floats")
    _check_list("rec_thresholds", rec_thresholds, "floats")
    _check_list("max_detection_thresholds", max_detection_thresholds, "ints")
    if max_detection_thresholds is not None and len(max_detection_thresholds) != 3:
        raise ValueError(
            "When providing a list of max detection thresholds it should have length 3."
            f" Got value {len(max_detection_thresholds)}"
        )
    _check_flags(class_metrics=class_metrics, extended_summary=extended_summary)
    if average not in ("macro", "micro"):
        raise ValueError(
            f"Expected argument `average` to be one of ('macro', 'micro') but got {average}"
        )
    metric.box_format = box_format
    metric.iou_type = _validate_iou_type_arg(iou_type)
    metric.iou_thresholds = iou_thresholds or numpy.linspace(0.5, 0.95, 10).tolist()
    metric.rec_thresholds = rec_thresholds or numpy.linspace(0, 1, 101).tolist()
    metric.max_detection_thresholds = sorted(max_detection_thresholds or [1, 10, 100])
    metric.class_metrics, metric.extended_summary = class_metrics, extended_summary
    metric.average = average
    metric._coco_backend = CocoBackend(backend)


def precision_options(options):
    """Lists of None are COCO's; the names of classes are always asked for."""
    options = {name: value for name, value in options.items() if value is not None}
    if "max_detection_thresholds" in options:
        options["max_detection_thresholds"] = sorted(options["max_detection_thresholds"])
    return {**options, "class_metrics": True}


# Behind the name of the one of which a micro average has the classes.
_OF_CLASSES = "_of_classes"


def make_precision(metric, options, of_ranks):
    """One of Tally's for boxes or masks, a collection for both.

    A micro average takes all boxes for one class; its classes are another one's.
    """
    options, is_micro = {**options, "average": "macro"}, metric.average == "micro"
    of_types = {}
    for each in metric.iou_type:
        own = {**options, "iou_type": each}
        if is_micro:
            of_types[each + _OF_CLASSES] = own
        of_types[each] = {**own, "class_agnostic": is_micro}
    if len(of_types) > 1:
        metrics = {name: tally.MeanAveragePrecision(**own) for name, own in of_types.items()}
        return tally.MetricCollection(metrics, **of_ranks)
    return tally.MeanAveragePrecision(**of_types[metric.iou_type[0]], **of_ranks)


def no_summary(extended_summary, **others):
    """Whether no overlaps of single objects are asked for, which are not kept."""
    return not extended_summary


def _whole_labels(images):
    """torch.tensor([]) is of numbers with fractions; TorchMetrics takes it for no labels."""
    return [
        {**image, "labels": image["labels"].long()} if not image["labels"].numel() else image
        for image in images
    ]


def _areas_of_boxes(boxes, box_format):
    corner, other = boxes.split(2, 1)
    return (other - corner if box_format == "xyxy" else other).prod(1)


def _areas(metric, images):
    """An area of 0 is one that is not known; that of a mask is that of its box, too."""
    for image in images:
        area = image.get("area")
        known = area is not None and area > 0
        if area is not None and bool(known.all()):
            yield image
            continue
        image = {name: value for name, value in image.items() if name != "area"}
        is_mixed = area is not None and bool(known.any())
        if len(image["labels"]) and (is_mixed or len(metric.iou_type) > 1):
            own = (
                image["masks"].flatten(1).bool().sum(1) if "segm" in metric.iou_type
                else _areas_of_boxes(image["boxes"], metric.box_format)
            )
            image["area"] = torch.where(known, area.to(own.dtype), own) if is_mixed else own
        yield image


def objects(metric, inputs):
    """Checked in TorchMetrics' words."""
    preds, target = inputs
    _input_validator(preds, target, iou_type=metric.iou_type)
    most = metric.max_detection_thresholds[-1]
    if metric.warn_on_many_detections and any(len(each["labels"]) > most for each in preds):
        _warning_on_too_many_detections(most)
    return [_whole_labels(preds), list(_areas(metric, _whole_labels(target)))]


def _of_one_class(metric, value, depth):
    """What does not go by class from one metric, the rest from the other."""
    several = len(metric.iou_type) > 1
    named = {}
    for each in metric.iou_type:
        ours = f"{each}_" if several else ""
        for name in value:
            if name.startswith(f"{each}_") and not name.startswith(each + _OF_CLASSES):
                named[ours + name.removeprefix(f"{each}_")] = value[name]
        for name in ("map_per_class", f"mar_{depth}_per_class", "classes"):
            named[ours + name] = value[f"{each}{_OF_CLASSES}_{name}"]
    return named


def precision_results(metric, value):
    """TorchMetrics has -1 where values of classes are not asked for."""
    value, prefixes = dict(value), [""]
    depth = metric.max_detection_thresholds[-1]
    if len(metric.iou_type) > 1 or metric.average == "micro":
        value = {name.replace(".", "_", 1): each for name, each in value.items()}
    if metric.average == "micro":
        value = _of_one_class(metric, value, depth)
    if len(metric.iou_type) > 1:
        prefixes = [each + "_" for each in metric.iou_type]
    for prefix in prefixes:
        if not metric.class_metrics:
            for name in ("map_per_class", f"mar_{depth}_per_class"):
                value[prefix + name] = value[prefix + "map"].new_tensor([-1.0])
        classes = value.pop(prefix + "classes").int()
    return {**value, "classes": classes}


def overlap_options(options):
    """TorchMetrics' classes compare each box with each."""
    return {**options, "pairs": "all"}


def _one_sided(metric, there):
    """Images with a pair of overlap 0 for each box of one that has none to compare it with."""
    points = [
        {"boxes": there["boxes"].new_zeros(len(labels), 4), "labels": labels}
        for labels in there["labels"].split(1 if metric.respect_labels else len(there["labels"]))
    ]
    return points, points


def boxes(metric, inputs):
    """Checked in TorchMetrics' words.

    As there, boxes in an image without others count as overlaps of 0, and classes that are
    only predicted are named: one more image has boxes of them that are compared with none.
    """
    _input_validator(*inputs, ignore_score=True)
    images = [[], []]
    for pair in zip(*map(_whole_labels, inputs)):
        there = [image for image in pair if len(image["labels"])]
        more = _one_sided(metric, *there) if len(there) == 1 else ([pair[0]], [pair[1]])
        images = [have + new for have, new in zip(images, more)]
    labels = [image["labels"] for image in images[0]]
    if metric.class_metrics and labels:
        found = torch.cat(labels).unique()
        nowhere = found.new_zeros(len(found), 4).float()
        images[0].append({"boxes": nowhere[:0], "labels": found[:0]})
        images[1].append({"boxes": nowhere, "labels": found})
    return images


def no_threshold(iou_threshold, **others):
    """Whether pairs of no overlap count like others: TorchMetrics leaves out some of them."""
    return iou_threshold is None


def overlap_results(metric, value):
    """Means of no pairs are 0 in TorchMetrics, and classes have names of their own."""
    value = {name: each.nan_to_num(0.0) for name, each in value.items()}
    name = metric._iou_type
    named = {name: value[name]}
    if metric.class_metrics:
        for label, mean in zip(value["classes"].tolist(), value[f"{name}_per_class"]):
            named[f"{name}/cl_{label}"] = mean
    return named


def categories(options):
    """Any collection names categories."""
    lists = {name: sorted(set(options[name])) for name in ("things", "stuffs")}
    return {**options, **lists}


def panoptic_results(metric, value):
    """One tensor of all that is asked for."""
    names = ("pq", "sq", "rq") if metric.return_sq_and_rq else ("pq",)
    parts = [value[name] for name in names]
    if metric.return_per_class:
        if not _conventions.are_tallys():  # a category that never occurs is 0
            parts = [each.nan_to_num(0.0) for each in parts]
        return (torch.stack(parts, -1) if len(parts) > 1 else parts[0][None]).double()
    return (torch.stack(parts) if len(parts) > 1 else parts[0]).double()


def modified_panoptic_result(metric, value):
    """The mean alone."""
    return value["pq"].double()


def no_file(metric, name="tm_map_input"):
    """Tally keeps what is counted, and not the boxes."""
    raise NotImplementedError(
        "tm_to_coco: the objects of images are matched in update() and not kept; "
        "TorchMetrics' own class writes them"
    )


_OVERLAPS = (
    "CompleteIntersectionOverUnion", "DistanceIntersectionOverUnion",
    "GeneralizedIntersectionOverUnion", "IntersectionOverUnion",
)

_PANOPTIC = ("ModifiedPanopticQuality", "PanopticQuality")

LOOKED_AFTER = {"MeanAveragePrecision": {"backend"}}
OPTIONS = {
    "MeanAveragePrecision": precision_options,
    **dict.fromkeys(_OVERLAPS, overlap_options),
    **dict.fromkeys(_PANOPTIC, categories),
}
CONSTRUCTED = {"MeanAveragePrecision": mean_average_precision}
PREPARED = {"MeanAveragePrecision": objects, **dict.fromkeys(_OVERLAPS, boxes)}
RESULTS = {
    "MeanAveragePrecision": precision_results,
    **dict.fromkeys(_OVERLAPS, overlap_results),
    "ModifiedPanopticQuality": modified_panoptic_result,
    "PanopticQuality": panoptic_results,
}
ONLY_WITH = {"MeanAveragePrecision": no_summary, **dict.fromkeys(_OVERLAPS, no_threshold)}
MADE = {"MeanAveragePrecision": make_precision}
METHODS = {"MeanAveragePrecision": {"tm_to_coco": no_file}}
