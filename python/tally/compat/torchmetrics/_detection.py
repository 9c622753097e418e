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


def _one_type(iou_type, **others):
    """Whether boxes or masks are compared; of both, objects are TorchMetrics' own."""
    return isinstance(iou_type, str) or len(iou_type) == 1


def precision_options(options):
    """Lists of None are COCO's; the names of classes are always asked for."""
    (iou_type,) = _validate_iou_type_arg(options["iou_type"])
    options = {name: value for name, value in options.items() if value is not None}
    if "max_detection_thresholds" in options:
        options["max_detection_thresholds"] = sorted(options["max_detection_thresholds"])
    return {**options, "iou_type": iou_type, "class_metrics": True}


def _whole_labels(images):
    """torch.tensor([]) is of numbers with fractions; TorchMetrics takes it for no labels."""
    return [
        {**image, "labels": image["labels"].long()} if not image["labels"].numel() else image
        for image in images
    ]


def _areas(images):
    """An area of 0 is one that is not known."""
    for image in images:
        area = image.get("area")
        if area is None or bool((area > 0).all()):
            yield image
        elif not bool((area > 0).any()):
            yield {name: value for name, value in image.items() if name != "area"}
        else:
            raise ValueError("expected the areas of all objects of an image or of none, got both")


def objects(metric, inputs):
    """Checked in TorchMetrics' words."""
    preds, target = inputs
    _input_validator(preds, target, iou_type=metric.iou_type)
    most = metric.max_detection_thresholds[-1]
    if metric.warn_on_many_detections and any(len(each["labels"]) > most for each in preds):
        _warning_on_too_many_detections(most)
    return [_whole_labels(preds), list(_areas(_whole_labels(target)))]


def precision_results(metric, value):
    """TorchMetrics has -1 where values of classes are not asked for."""
    value = dict(value)
    depth = metric.max_detection_thresholds[-1]
    for name in ("map_per_class", f"mar_{depth}_per_class"):
        if not metric.class_metrics:
            value[name] = torch.tensor([-1.0], device=value["map"].device)
    value["classes"] = value["classes"].int()
    return value


def overlap_options(options):
    """TorchMetrics' classes compare each box with each."""
    return {**options, "pairs": "all"}


def boxes(metric, inputs):
    """Checked in TorchMetrics' words."""
    preds, target = inputs
    _input_validator(preds, target, ignore_score=True)
    return [_whole_labels(preds), _whole_labels(target)]


def overlap_results(metric, value):
    """Classes have names of their own. One that is predicted alone has no pairs, and no mean."""
    value = dict(value)
    name = metric._iou_type
    named = {name: value[name]}
    if metric.class_metrics:
        for label, mean in zip(value["classes"].tolist(), value[f"{name}_per_class"]):
            named[f"{name}/cl_{label}"] = mean
    return named


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

ONLY_WITH = {"MeanAveragePrecision": _one_type}
LOOKED_AFTER = {"MeanAveragePrecision": {"backend"}}
OPTIONS = {
    "MeanAveragePrecision": precision_options,
    **dict.fromkeys(_OVERLAPS, overlap_options),
}
CONSTRUCTED = {"MeanAveragePrecision": mean_average_precision}
PREPARED = {"MeanAveragePrecision": objects, **dict.fromkeys(_OVERLAPS, boxes)}
RESULTS = {
    "MeanAveragePrecision": precision_results,
    **dict.fromkeys(_OVERLAPS, overlap_results),
}
METHODS = {"MeanAveragePrecision": {"tm_to_coco": no_file}}
