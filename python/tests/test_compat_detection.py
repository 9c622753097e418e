"""Detection and features in TorchMetrics' place."""

import copy
import pickle

import numpy as np
import pytest
import tally
import torch
import torchmetrics as real
from test_detection import GOOD, coco_stats, random_images

import tally.compat.torchmetrics as torchmetrics

pytest.importorskip("torchvision")
pytest.importorskip("pycocotools")


# pycocotools'; those that TorchMetrics makes are in float32.
THRESHOLDS = {
    "iou_thresholds": np.linspace(0.5, 0.95, 10).tolist(),
    "rec_thresholds": np.linspace(0, 1, 101).tolist(),
}


def same(a, b):
    assert a.keys() == b.keys()
    for name in a:
        assert a[name].dtype == b[name].dtype, name
        assert a[name].shape == b[name].shape, name
        torch.testing.assert_close(a[name], b[name], rtol=1e-5, atol=1e-6)


# What loads weights of its own, and what takes dictionaries.
LEFT = {
    "LearnedPerceptualImagePatchSimilarity", "QualityWithNoReference", "SpatialDistortionIndex",
}


def annotated(preds, target):
    """TorchMetrics leaves out what was found in images without annotated masks."""
    pairs = [pair for pair in zip(preds, target) if len(pair[1]["labels"])]
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"class_metrics": True},
        {"iou_type": "segm"},
        {"iou_type": ("bbox",), "iou_thresholds": [0.25, 0.5], "rec_thresholds": [0.0, 0.5]},
        {"max_detection_thresholds": [2, 1, 100]},
        {"box_format": "cxcywh"},
        {"average": "micro"},
        {"average": "micro", "class_metrics": True},
        {"average": "micro", "iou_type": "segm"},
    ],
    ids=str,
)
def test_average_precision(options):
    preds, target = random_images(11, 20, masks=options.get("iou_type") == "segm")
    if "segm" in options.values():
        preds, target = annotated(preds, target)
    if "box_format" in options:
        for image in preds + target:
            first, last = image["boxes"].split(2, 1)
            image["boxes"] = torch.cat([(first + last) / 2, last - first], 1)
    mine = torchmetrics.detection.MeanAveragePrecision(**options)
    theirs = real.detection.MeanAveragePrecision(**{**THRESHOLDS, **options})
    assert type(mine) is not type(theirs) and isinstance(mine, real.Metric)
    for metric in (mine, theirs):
        metric.update(preds[:7], target[:7])
        metric.update(preds[7:], target[7:])
    same(mine.compute(), theirs.compute())
    for other in (copy.deepcopy(mine), pickle.loads(pickle.dumps(mine)), mine.clone()):
        same(other.compute(), mine.compute())
    mine.reset()
    assert mine.compute()["map"] == -1


def test_areas_of_zero_are_unknown():
    preds, target = annotated(*random_images(12, masks=True))
    for image in target:
        image["area"] = torch.zeros(len(image["labels"]))
    mine = torchmetrics.detection.MeanAveragePrecision(iou_type="segm")
    theirs = real.detection.MeanAveragePrecision(iou_type="segm", **THRESHOLDS)
    same(mine(preds, target), theirs(preds, target))


@pytest.mark.parametrize("box_format", ["xyxy", "xywh", "cxcywh"])
def test_areas_of_some_objects(box_format):
    preds, target = random_images(16, 12)
    for image in preds + target:
        image["boxes"] = image["boxes"].float()
    for image in target:
        image["area"] = torch.randint(3, (len(image["labels"]),)).float() * 2000
    options = {"box_format": box_format, **THRESHOLDS}
    mine, theirs = (lib.detection.MeanAveragePrecision(**options) for lib in (torchmetrics, real))
    same(mine(preds, target), theirs(preds, target))


def test_overlaps_of_single_objects_are_torchmetrics():
    values = []
    for package in (torchmetrics, real):
        metric = package.detection.MeanAveragePrecision(extended_summary=True)
        values.append(metric([GOOD], [GOOD]))
    assert values[0].keys() == values[1].keys() >= {"ious", "precision", "recall", "scores"}


def test_what_is_found_where_nothing_is_counts_against_masks_too():
    preds, target = random_images(13, masks=True)
    assert any(len(p["labels"]) and not len(t["labels"]) for p, t in zip(preds, target))
    value = torchmetrics.detection.MeanAveragePrecision(iou_type="segm")(preds, target)
    for name, expected in coco_stats(preds, target, "segm").items():
        assert value[name].item() == pytest.approx(expected, abs=1e-6), name


@pytest.mark.parametrize("class_metrics", [True, False])
def test_boxes_and_masks_at_once(class_metrics):
    preds, target = annotated(*random_images(14, masks=True))
    options = {"iou_type": ("bbox", "segm"), "class_metrics": class_metrics, **THRESHOLDS}
    mine = torchmetrics.detection.MeanAveragePrecision(**options)
    theirs = real.detection.MeanAveragePrecision(**options)
    for metric in (mine, theirs):
        metric.update(preds[:3], target[:3])
        metric.update(preds[3:], target[3:])
    value = mine.compute()
    same(value, theirs.compute())
    assert value["bbox_map"] != value["segm_map"]
    same(pickle.loads(pickle.dumps(mine)).compute(), value)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"box_format": "xy"}, "`box_format`"),
        ({"iou_type": "box"}, "`iou_type`"),
        ({"iou_thresholds": 0.5}, "`iou_thresholds`"),
        ({"rec_thresholds": 0.5}, "`rec_thresholds`"),
        ({"max_detection_thresholds": [1, 2]}, "length 3"),
        ({"class_metrics": 0}, "`class_metrics`"),
        ({"extended_summary": 0}, "`extended_summary`"),
        ({"average": "mean"}, "`average`"),
        ({"backend": "mine"}, "`backend`"),
    ],
)
def test_arguments_are_refused_in_torchmetrics_words(options, match):
    for package in (torchmetrics, real):
        with pytest.raises(ValueError, match=match):
            package.detection.MeanAveragePrecision(**options)


def test_every_metric_of_both_is_replaced():
    from tally.compat.torchmetrics import _mirror, _table

    names = {cls.__name__ for cls in _mirror.CLASSES}
    for module in (real.detection, real.image):
        for name in vars(module):
            if name in tally._METRICS and name not in _table.LEFT_OUT | LEFT:
                assert name in names, name


def test_images_are_refused_in_torchmetrics_words():
    without = {name: value for name, value in GOOD.items() if name != "scores"}
    for package in (torchmetrics, real):
        metric = package.detection.MeanAveragePrecision()
        with pytest.raises(ValueError, match="to have the same length"):
            metric.update([GOOD], [])
        with pytest.raises(ValueError, match="contain the `scores` key"):
            metric.update([without], [GOOD])
    metric = torchmetrics.detection.MeanAveragePrecision()
    with pytest.raises(NotImplementedError, match="not kept"):
        metric.tm_to_coco("file")


def test_many_detections_are_warned_about():
    many = {name: value.repeat(101, *[1] * (value.ndim - 1)) for name, value in GOOD.items()}
    with pytest.warns(UserWarning, match="more than 100 detections"):
        torchmetrics.detection.MeanAveragePrecision().update([many], [GOOD])


# ---- overlaps and panoptic quality

OVERLAPS = {
    "IntersectionOverUnion": "iou", "GeneralizedIntersectionOverUnion": "giou",
    "DistanceIntersectionOverUnion": "diou", "CompleteIntersectionOverUnion": "ciou",
}


@pytest.mark.parametrize("name", OVERLAPS)
@pytest.mark.parametrize(
    "options",
    [{}, {"iou_threshold": 0.3}, {"respect_labels": False}, {"class_metrics": True},
     {"class_metrics": True, "respect_labels": False}, {"box_format": "xywh"}],
    ids=str,
)
def test_overlaps(name, options):
    preds, target = random_images(15, 8)
    if "class_metrics" in options:  # which TorchMetrics refuses for boxes predicted alone
        preds, target = annotated(preds, target)
        target[0]["labels"] = target[0]["labels"].clamp(max=0)
        preds[0]["labels"] = torch.full_like(preds[0]["labels"], 7)
    else:
        target[2] = {key: each[:0] for key, each in target[2].items()}
    preds[1] = {key: each[:0] for key, each in preds[1].items()}
    for image in preds + target:
        image["boxes"] = image["boxes"].float()
        if "box_format" in options:
            image["boxes"][:, 2:] -= image["boxes"][:, :2]
    mine = getattr(torchmetrics.detection, name)(**options)
    theirs = getattr(real.detection, name)(**options)
    assert (type(mine) is type(theirs)) == ("iou_threshold" in options)
    for metric in (mine, theirs):
        same(metric(preds[:3], target[:3]), theirs.__class__(**options)(preds[:3], target[:3]))
        metric.update(preds[3:], target[3:])
    value = mine.compute()
    same(value, theirs.compute())
    assert OVERLAPS[name] in value and (len(value) > 1) == ("class_metrics" in options)
    with pytest.raises(ValueError, match="to have the same length"):
        mine.update([GOOD], [])


def test_overlaps_of_nothing():
    for name, key in OVERLAPS.items():
        metric = getattr(torchmetrics.detection, name)(class_metrics=True)
        other = {**GOOD, "labels": GOOD["labels"] + 1}
        assert metric([other], [GOOD]) == {key: 0, f"{key}/cl_1": 0, f"{key}/cl_2": 0}
        nothing = {"boxes": torch.empty(0, 4), "labels": torch.empty(0).long()}
        assert metric([nothing], [nothing]) == {key: 0}
        assert metric([], []) == {key: 0}


GRID = torch.arange(64).reshape(1, 8, 8)
SEGMENTS = torch.stack([GRID % 8 // 3 * 3, GRID // 32], -1)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("ModifiedPanopticQuality", {}),
        ("PanopticQuality", {}),
        ("PanopticQuality", {"return_sq_and_rq": True}),
        ("PanopticQuality", {"return_per_class": True}),
        ("PanopticQuality", {"return_sq_and_rq": True, "return_per_class": True}),
    ],
)
def test_panoptic_quality(name, options):
    options = {"things": {6, 0}, "stuffs": [3], **options}
    mine = getattr(torchmetrics.detection, name)(**options)
    theirs = getattr(real.detection, name)(**options)
    assert type(mine) is not type(theirs)
    for metric in (mine, theirs):
        metric.update(SEGMENTS[:, :, :2], SEGMENTS[:, :, :2])
    torch.testing.assert_close(mine.compute(), theirs.compute(), rtol=1e-6, atol=1e-6)
    preds = SEGMENTS.roll(1, 1)
    preds[0, :, 0] = torch.tensor([3, 7])
    for metric in (mine, theirs):
        metric.update(preds, SEGMENTS)
        metric.update(SEGMENTS, SEGMENTS)
    value, expected = mine.compute(), theirs.compute()
    assert value.shape == expected.shape
    torch.testing.assert_close(value.double(), expected.double(), rtol=1e-6, atol=1e-6)
    with pytest.raises(ValueError, match="Unknown categories"):
        mine.update(SEGMENTS + 1, SEGMENTS)


# ---- features


class Network(torch.nn.Module):
    """Bytes of images to features."""

    num_features = 6

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layer = torch.nn.Linear(3 * 4 * 4, 6)

    def forward(self, images):
        return self.layer(images.flatten(1).float() / 255)


torch.manual_seed(1)
REAL = torch.randint(0, 200, (40, 3, 4, 4), dtype=torch.uint8)
FAKE = torch.randint(50, 255, (50, 3, 4, 4), dtype=torch.uint8)


def accumulated(metric):
    metric.update(REAL[:25], real=True)
    metric.update(FAKE, real=False)
    metric.update(REAL[25:], True)
    return metric


def test_frechet_distance():
    mine = accumulated(torchmetrics.image.FrechetInceptionDistance(feature=Network()))
    theirs = accumulated(real.image.FrechetInceptionDistance(feature=Network()))
    assert isinstance(mine, real.image.FrechetInceptionDistance)
    assert type(mine) is not type(theirs)
    torch.testing.assert_close(mine.compute(), theirs.compute(), rtol=1e-4, atol=1e-6)
    features = Network()(REAL).detach(), Network()(FAKE).detach()
    native = tally.FrechetInceptionDistance()
    native.update(features[0], True)
    native.update(features[1], False)
    torch.testing.assert_close(mine.compute(), native.compute().float())
    for other in (copy.deepcopy(mine), pickle.loads(pickle.dumps(mine))):
        assert torch.equal(other.compute(), mine.compute())


def test_kernel_distance_on_all_samples():
    options = {"feature": Network(), "subsets": 3, "subset_size": 40, "gamma": 0.5, "coef": 0.5}
    mine = torchmetrics.image.KernelInceptionDistance(**options)
    theirs = real.image.KernelInceptionDistance(**options)
    for metric in (mine, theirs):
        metric.update(REAL, real=True)
        metric.update(FAKE[:40], real=False)
    for a, b in zip(mine.compute(), theirs.compute()):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


def test_inception_score_of_one_part():
    mine = torchmetrics.image.InceptionScore(feature=Network(), splits=1)
    theirs = real.image.InceptionScore(feature=Network(), splits=1)
    for metric in (mine, theirs):
        metric.update(FAKE[:20])
        metric.update(FAKE[20:])
    torch.testing.assert_close(mine.compute()[0], theirs.compute()[0], rtol=1e-5, atol=1e-6)


def test_memorization_informed_distance():
    metric = accumulated(
        torchmetrics.image.MemorizationInformedFrechetInceptionDistance(feature=Network())
    )
    a, b = Network()(REAL).double(), Network()(FAKE).double()
    unit_a, unit_b = (x / x.norm(dim=1, keepdim=True) for x in (a, b))
    distance = (1 - (unit_b @ unit_a.T).abs()).amin(1).mean()
    fid = accumulated(torchmetrics.image.FrechetInceptionDistance(feature=Network())).compute()
    expected = fid / (distance if distance < 0.1 else 1)
    torch.testing.assert_close(metric.compute(), expected.float(), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    "name",
    ["FrechetInceptionDistance", "KernelInceptionDistance",
     "MemorizationInformedFrechetInceptionDistance"],
)
@pytest.mark.parametrize("keeps", [True, False])
def test_real_samples_outlast_reset(name, keeps):
    make = getattr(torchmetrics.image, name)
    metric = accumulated(make(feature=Network(), reset_real_features=not keeps))
    value = metric.compute()
    metric = pickle.loads(pickle.dumps(metric))
    for _ in range(2):
        metric.reset()
        metric.update(FAKE, real=False)
        first = [x[0] if isinstance(x, tuple) else x for x in (metric.compute(), value)]
        if keeps:
            torch.testing.assert_close(*first)
        else:
            assert first[0].isnan()


def test_features_are_made_without_gradients_and_normalized_as_torchmetrics_does():
    network = Network()
    metric = torchmetrics.image.FrechetInceptionDistance(feature=network, normalize=True)
    metric.update(REAL.float() / 255, real=True)
    assert metric._tally.update_count == 1
    assert metric.inception is network
    script = torch.jit.script(Network())
    scripted = accumulated(
        torchmetrics.image.FrechetInceptionDistance(feature=script, input_img_size=(3, 4, 4))
    )
    plain = accumulated(torchmetrics.image.FrechetInceptionDistance(feature=Network()))
    torch.testing.assert_close(scripted.compute(), plain.compute())
    for package in (torchmetrics, real):
        with pytest.raises(TypeError, match="unknown input to argument `feature`"):
            package.image.FrechetInceptionDistance(feature=[1])
        with pytest.raises(ValueError, match="`reset_real_features`"):
            package.image.FrechetInceptionDistance(feature=network, reset_real_features=1)
