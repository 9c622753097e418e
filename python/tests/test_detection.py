"""Lists of images: detection from Python, and in TorchMetrics' place."""

import contextlib
import copy
import io
import pickle

import numpy as np
import pytest
import ranks
import tally
import torch

import tally.compat.torchmetrics as torchmetrics

KEYS = [
    "map", "map_50", "map_75", "map_small", "map_medium", "map_large", "mar_1", "mar_10",
    "mar_100", "mar_small", "mar_medium", "mar_large",
]
HEIGHT, WIDTH = 60, 80
# As pycocotools, which adds 2.2e-16 to divisors.
ONE = pytest.approx(1)


def random_images(seed, count=12, masks=False):
    """Detections near annotations, by image."""
    generator = torch.Generator().manual_seed(seed)

    def uniform(*shape):
        return torch.rand(*shape, generator=generator, dtype=torch.float64)

    def whole(most):
        return int(uniform(1) * most)

    preds, target = [], []
    for i in range(count):
        n, extra = whole(5), whole(4)
        corners = uniform(n + extra, 2) * torch.tensor([40.0, 30.0])
        boxes = torch.cat([corners, corners + 4 + uniform(n + extra, 2) * 25], 1)
        labels = (uniform(n + extra) * 3).long()
        crowd = (uniform(n) > 0.9).long()
        found = boxes + (uniform(n + extra, 4) - 0.5) * 4
        target.append({"boxes": boxes[:n], "labels": labels[:n], "iscrowd": crowd})
        preds.append({"boxes": found, "labels": labels, "scores": uniform(n + extra)})
        if masks:
            target[-1]["masks"] = filled(boxes[:n])
            preds[-1]["masks"] = filled(found)
    return preds, target


def filled(boxes):
    rows, columns = torch.arange(HEIGHT)[:, None], torch.arange(WIDTH)[None]
    masks = torch.zeros(len(boxes), HEIGHT, WIDTH, dtype=torch.bool)
    for mask, (x0, y0, x1, y1) in zip(masks, boxes.tolist()):
        mask |= (rows >= y0) & (rows < y1) & (columns >= x0) & (columns < x1)
    return masks


def coco_stats(preds, target, iou_type="bbox"):
    """The twelve numbers of pycocotools."""
    coco = pytest.importorskip("pycocotools.coco")
    from pycocotools import mask as runs
    from pycocotools.cocoeval import COCOeval

    def entries(images, extra):
        for i, image in enumerate(images):
            for k in range(len(image["labels"])):
                x0, y0, x1, y1 = image["boxes"][k].tolist()
                box = [x0, y0, x1 - x0, y1 - y0]
                entry = {"image_id": i, "category_id": int(image["labels"][k]), "bbox": box}
                entry["area"] = box[2] * box[3]
                if iou_type == "segm":
                    pixels = np.asfortranarray(image["masks"][k].numpy().astype(np.uint8))
                    entry["segmentation"] = runs.encode(pixels)
                    entry["area"] = float(runs.area(entry["segmentation"]))
                for name in extra:
                    entry[name] = image[{"score": "scores"}.get(name, name)][k].item()
                yield entry

    with contextlib.redirect_stdout(io.StringIO()):
        truth = coco.COCO()
        truth.dataset = {
            "info": {},
            "images": [
                {"id": i, "height": HEIGHT, "width": WIDTH} for i in range(len(target))
            ],
            "categories": [{"id": i} for i in range(3)],
            "annotations": [
                {"id": n + 1, **e} for n, e in enumerate(entries(target, ["iscrowd"]))
            ],
        }
        truth.createIndex()
        # With the areas and boxes that results have in COCO's own format.
        found = truth.loadRes([
            {k: v for k, v in e.items() if k != ("bbox" if iou_type == "segm" else "")}
            for e in entries(preds, ["score"])
        ])
        evaluation = COCOeval(truth, found, iou_type)
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    return dict(zip(KEYS, evaluation.stats.tolist()))


@pytest.mark.parametrize("iou_type", ["bbox", "segm"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_values_are_those_of_pycocotools(seed, iou_type):
    preds, target = random_images(seed, masks=iou_type == "segm")
    metric = tally.MeanAveragePrecision(iou_type=iou_type)
    for i in range(0, len(preds), 5):
        metric.update(preds[i : i + 5], target[i : i + 5], torch.arange(i, min(i + 5, len(preds))))
    value = metric.compute()
    for name, expected in coco_stats(preds, target, iou_type).items():
        assert value[name].item() == pytest.approx(expected, abs=1e-12), name


def joined(images):
    whole = {key: torch.cat([image[key] for image in images]) for key in images[0]}
    return {**whole, "counts": [len(image["labels"]) for image in images]}


def as_runs(images, form):
    from pycocotools import mask as runs

    def run(mask):
        encoded = runs.encode(np.asfortranarray(mask.numpy().astype(np.uint8)))
        if form == "bytes":
            return encoded
        if form == "text":
            return {**encoded, "counts": encoded["counts"].decode()}
        flat = mask.T.flatten().int()
        changes = torch.diff(flat, prepend=torch.zeros(1, dtype=flat.dtype)).nonzero()[:, 0]
        ends = torch.cat([torch.tensor([0]), changes, torch.tensor([len(flat)])])
        return {"size": list(mask.shape), "counts": ends.diff().tolist()}

    return [{**image, "masks": [run(mask) for mask in image["masks"]]} for image in images]


def value_of(preds, target, **options):
    return tally.MeanAveragePrecision(**options)(preds, target)


def test_forms_of_images():
    preds, target = random_images(4)
    expected = value_of(preds, target)
    assert 0 < expected["map"] < 1

    def arrays(images):
        return tuple({k: v.numpy() for k, v in image.items()} for image in images)

    def lists(images):
        return [{k: v.tolist() for k, v in image.items()} for image in images]

    for form in (arrays, lists, joined):
        value = value_of(form(preds), form(target))
        assert value.keys() == expected.keys()
        assert all(torch.equal(value[name], expected[name]) for name in expected), form


@pytest.mark.parametrize("form", ["bytes", "text", "counts"])
def test_masks_as_runs(form):
    preds, target = random_images(5, masks=True)
    expected = value_of(preds, target, iou_type="segm")
    value = value_of(as_runs(preds, form), as_runs(target, form), iou_type="segm")
    assert all(torch.equal(value[name], expected[name]) for name in expected)


def test_masks_as_polygons():
    square = {"size": [10, 10], "polygons": [[2, 2, 6, 2, 6, 6, 2, 6]]}
    pixels = torch.zeros(1, 10, 10, dtype=torch.bool)
    pixels[0, 2:6, 2:6] = True
    found = {"masks": pixels, "labels": [0], "scores": [0.5]}
    value = value_of([found], [{"masks": [square], "labels": [0]}], iou_type="segm")
    assert value["map"].item() == ONE


def test_results_of_classes_and_arrays():
    preds, target = random_images(6)
    value = value_of(preds, target, class_metrics=True, extended_summary=True)
    assert value["classes"].tolist() == [0, 1, 2]
    assert value["map_per_class"].shape == (3,)
    assert value["precision"].shape == (10, 101, 3, 4, 3)
    per_class = value["map_per_class"]
    torch.testing.assert_close(per_class[per_class >= 0].mean(), value["map"])


def test_empty_images():
    empty = {"boxes": torch.tensor([]), "labels": torch.tensor([]), "scores": []}
    assert value_of([empty], [empty])["map"] == -1
    assert value_of([], [])["map"] == -1
    one = {"boxes": [[0, 0, 9, 9]], "labels": [1], "scores": [0.5]}
    assert value_of([empty, one], [one, empty])["map"] == 0
    assert value_of([one, empty], [one, empty])["map"].item() == ONE


GOOD = {"boxes": torch.tensor([[0.0, 0, 9, 9]]), "labels": torch.tensor([1]),
        "scores": torch.tensor([0.5])}


@pytest.mark.parametrize(
    ("preds", "error", "match"),
    [
        (GOOD, TypeError, "list with a dict"),
        ([GOOD, 3], TypeError, "image 1: expected a dict .* got a int"),
        ([GOOD], ValueError, "images"),
        ([GOOD, {**GOOD, "boxes": torch.zeros(1, 3)}], ValueError, "image 1.*boxes.*1, 4"),
        ([GOOD, {**GOOD, "boxes": torch.tensor([[5.0, 0, 1, 1]])}], ValueError, "image 1.*box 0"),
        ([GOOD, {**GOOD, "scores": torch.tensor([torch.nan])}], ValueError, "image 1"),
        ([GOOD, {**GOOD, "labels": torch.tensor([0.5])}], ValueError, "image 1.*whole numbers as labels"),
        ([GOOD, {**GOOD, "labels": ["a"]}], (TypeError, ValueError), "image 1.*'labels'"),
        ([GOOD, {"boxes": GOOD["boxes"], "labels": GOOD["labels"]}], TypeError, "scores"),
        ([GOOD, {**GOOD, "masks": [{"counts": "a"}]}], ValueError, "image 1.*size"),
        ([GOOD, {**GOOD, "masks": [{"size": [2, 2]}]}], ValueError, "image 1.*neither"),
        ([GOOD, {**GOOD, "masks": [{"size": [2, 2], "polygons": []}]}], ValueError, "polygon"),
        ({**GOOD, "counts": [1, 1]}, ValueError, "expected.*2|counts"),
        ({**GOOD, "counts": [0.5, 0.5]}, TypeError, "counts"),
    ],
)
def test_bad_images_change_nothing(preds, error, match):
    metric = tally.MeanAveragePrecision()
    metric.update([GOOD], [GOOD])
    before = metric.serialize()
    with pytest.raises(error, match=match) as caught:
        metric.update(preds, [GOOD, GOOD])
    assert "\n" not in str(caught.value).strip()
    assert metric.serialize() == before
    assert metric.compute()["map"].item() == ONE


def test_other_rules():
    preds, target = random_images(7)
    assert 0 < tally.PascalVOCAveragePrecision()(preds, target)["map"] < 1
    assert 0 < tally.MeanAverageRecall()(preds, target) < 1
    judged = [{**image, "negative_labels": [0, 1, 2]} for image in target]
    assert 0 < tally.LVISAveragePrecision()(preds, judged)["map"] < 1


def test_counts_at_a_score():
    preds, target = random_images(9)
    options = {"num_classes": 3, "score_threshold": 0.4}
    matrix = tally.DetectionConfusionMatrix(**options)(preds, target)
    assert matrix.shape == (4, 4) and matrix[3, 3] == 0
    true = matrix.diag()[:3].double()
    precision, recall = true / matrix.sum(0)[:3], true / matrix.sum(1)[:3]
    options["average"] = "none"
    assert torch.equal(tally.DetectionPrecision(**options)(preds, target), precision)
    assert torch.equal(tally.DetectionRecall(**options)(preds, target), recall)
    torch.testing.assert_close(
        tally.DetectionF1Score(**options)(preds, target),
        2 * precision * recall / (precision + recall),
    )
    with pytest.raises(ValueError, match=r"expected labels in \[0, 2\), got 2"):
        tally.DetectionRecall(2)(preds, target)


def test_boxes_in_fractions_of_the_image():
    preds, target = random_images(10)
    size = torch.tensor([WIDTH, HEIGHT, WIDTH, HEIGHT])

    def fractions(images):
        return [
            {**image, "boxes": image["boxes"] / size, "image_size": [HEIGHT, WIDTH]}
            for image in images
        ]

    pixels = tally.MeanAveragePrecision()(preds, target)
    metric = tally.MeanAveragePrecision(coordinates="normalized")
    value = metric(fractions(preds), fractions(target))
    assert value.keys() == pixels.keys()
    for name, each in value.items():
        torch.testing.assert_close(each, pixels[name])
    with pytest.raises(TypeError, match="target of image 0: expected image_size"):
        metric(fractions(preds), target)


def test_collections_copies_and_pickles():
    preds, target = random_images(8)
    metrics = tally.MetricCollection(
        {"coco": tally.MeanAveragePrecision(), "recall": tally.MeanAverageRecall()}
    )
    metrics.update(preds, target=target)
    value = metrics.compute()
    for same in (copy.deepcopy(metrics), pickle.loads(pickle.dumps(metrics))):
        assert torch.equal(same.compute()["coco.map"], value["coco.map"])


def test_images_of_wrapped_metrics():
    preds, target = random_images(10)
    recall = tally.MeanAverageRecall()
    expected = recall(preds, target)
    for metric in (
        tally.Running(tally.MeanAverageRecall(), window=3),
        tally.Metric("MinMaxMetric(metric=MeanAverageRecall())"),
        tally.sqrt(tally.MeanAverageRecall()) ** 2,
    ):
        metric.update(preds[:6], target[:6])
        metric.update(joined(preds[6:]), joined(target[6:]))
        value = metric.compute()
        value = value["raw"] if isinstance(value, dict) else value
        torch.testing.assert_close(value, expected)


def of_rank(rank, world, drop_in):
    preds, target = random_images(9, 30)
    make = torchmetrics.detection.MeanAveragePrecision if drop_in else tally.MeanAveragePrecision
    metric = make()
    if rank != world - 1:
        metric.update(preds[rank :: world - 1], target[rank :: world - 1])
    return dict(metric.compute())


@pytest.mark.parametrize("drop_in", [False, True])
def test_over_ranks(drop_in):
    if drop_in:
        pytest.importorskip("torchvision")  # without which TorchMetrics has no such class
    preds, target = random_images(9, 30)
    expected = value_of(preds, target)
    for value in ranks.run(3, of_rank, drop_in):
        for name in KEYS:
            torch.testing.assert_close(
                value[name], expected[name].to(value[name].dtype), rtol=1e-6, atol=1e-6
            )
