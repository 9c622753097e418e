"""Writes the files that the tests of the program read.

    python3 -m venv env && env/bin/pip install --require-hashes -r tests/reference/requirements.txt
    env/bin/python tests/cli/data/generate.py
"""

import json
import pathlib
import struct
import zlib

import numpy as np
from sklearn import metrics

HERE = pathlib.Path(__file__).parent

DTYPES = [
    *("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"),
    *("f2", "f4", "f8", "f16", "c8", "c16", "c32"),
]


def save(name: str, array: np.ndarray, version: tuple[int, int] = (1, 0)) -> None:
    with open(HERE / f"{name}.npy", "wb") as file:
        np.lib.format.write_array(file, array, version=version)


def write_arrays() -> None:
    """Each dtype, in C order, and in Fortran order with the bytes swapped."""
    values = np.arange(12).reshape(3, 2, 2) - 3
    for dtype in DTYPES:
        kind = values % 2 == 0 if dtype == "b1" else np.abs(values) if dtype[0] == "u" else values
        array = kind.astype("<" + dtype)
        if dtype[0] in "fc":
            array = array / 2
        if dtype[0] == "c":
            array = array - 0.25j
        save(dtype, array.astype("<" + dtype))
        save(dtype + "_swapped_fortran", np.asfortranarray(array.astype(">" + dtype)))
    save("version_2", values, version=(2, 0))
    save("version_3", values, version=(3, 0))
    save("uint64_large", np.array([1, 2**63], dtype=np.uint64))
    save("zero_dim", np.array(1.5))
    save("empty_rows", np.zeros((3, 0)))
    save("no_rows", np.zeros((0, 3), dtype=np.float32))
    save("text", np.array(["a", "b"]))
    save("structure", np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]))
    save("time", np.array(["2020-01-01"], dtype="datetime64[D]"))


def write_predictions() -> None:
    """Three classes of 19 samples, and what metrics of them are."""
    rng = np.random.default_rng(6)
    preds = rng.dirichlet([1, 1, 1], size=19).astype(np.float32)
    target = rng.integers(0, 3, size=19)
    weight = rng.integers(1, 9, size=19) / 8
    save("preds", preds)
    save("target", target)
    save("weight", weight)
    np.savez(HERE / "arrays.npz", preds=preds, target=target, weight=weight)
    np.savez_compressed(HERE / "arrays_compressed.npz", p=preds, y=target)
    with open(HERE / "predictions.csv", "w", encoding="utf-8") as file:
        file.write('id,p0,p1,"p2",target,weight\n')
        for i, (row, t, w) in enumerate(zip(preds, target, weight)):
            file.write(f'"row ""{i}"",\n",{row[0]!s},{row[1]!s},{row[2]!s},{t},{w}\n')

    preds = preds.astype(np.float64)
    labels = preds.argmax(axis=1)
    eps = np.finfo(np.float32).eps
    loss = -np.log(np.clip(preds[np.arange(19), target], eps, 1 - eps))
    expected = {
        "accuracy": metrics.accuracy_score(target, labels),
        "f1": metrics.f1_score(target, labels, average=None).tolist(),
        "confusion": metrics.confusion_matrix(target, labels).tolist(),
        "auroc": [metrics.roc_auc_score(target == c, preds[:, c]) for c in range(3)],
        "loss": loss.mean(),
        "weighted_loss": np.average(loss, weights=weight),
        "mse": metrics.mean_squared_error(target, weight),
    }
    with open(HERE / "expected.json", "w", encoding="utf-8") as file:
        json.dump(expected, file, indent=1)
        file.write("\n")


def paeth(left: int, above: int, corner: int) -> int:
    distances = [abs(above - corner), abs(left - corner), abs(left + above - 2 * corner)]
    return [left, above, corner][distances.index(min(distances))]


def write_images() -> None:
    """PNG files with each filter in two rows, compressed, and in two chunks."""
    height, width = 10, 7
    for name, channels in (("rgb", 3), ("rgba", 4)):
        y, x, c = np.ogrid[:height, :width, :channels]
        pixels = (37 * y + 11 * x * x + 5 * c * y * x) % 256
        rows = [[0] * (width * channels)] + pixels.reshape(height, -1).tolist()
        filtered = bytearray()
        for i in range(height):
            above, row = rows[i], rows[i + 1]
            left = [0] * channels + row
            corner = [0] * channels + above
            kind = i % 5
            filtered.append(kind)
            for k, value in enumerate(row):
                expected = [0, left[k], above[k], (left[k] + above[k]) // 2, paeth(left[k], above[k], corner[k])][kind]
                filtered.append((value - expected) % 256)
        packed = zlib.compress(bytes(filtered), 9)
        header = struct.pack(">IIBBBBB", width, height, 8, 2 if channels == 3 else 6, 0, 0, 0)
        chunks = ((b"IHDR", header), (b"tEXt", b"Title\0a test"), (b"IDAT", packed[:50]), (b"IDAT", packed[50:]), (b"IEND", b""))
        file = b"\x89PNG\r\n\x1a\n"
        for chunk, data in chunks:
            file += struct.pack(">I", len(data)) + chunk + data + struct.pack(">I", zlib.crc32(chunk + data))
        (HERE / f"{name}.png").write_bytes(file)


if __name__ == "__main__":
    write_arrays()
    write_images()
    write_predictions()
