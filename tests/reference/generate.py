"""Writes the reference values that Tally's tests compare with.

    python generate.py            writes data/<Metric>.json, data/inputs/
    python generate.py --check    compares data/ with freshly made values
"""

import argparse
import json
import math
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

from generators import (aggregation, auroc, clustering_data, clustering_labels,
                        confusion_matrix, contrastive, counts, curves,
                        log_loss, matches, nominal, pairwise, positive_ranks,
                        probabilistic, ranking, regression, regression_errors,
                        regression_moments, regression_ranks, regression_rows,
                        retrieval, segmentation, stat_scores, surfaces,
                        weighted_curves)
from generators.fixture import layout, shared_inputs, to_text

DATA = Path(__file__).resolve().parent / "data"
MODULES = (aggregation, auroc, clustering_data, clustering_labels,
           confusion_matrix, contrastive, counts, curves, log_loss, matches,
           nominal, pairwise, positive_ranks, probabilistic, ranking,
           regression, regression_errors, regression_moments, regression_ranks,
           regression_rows, retrieval, segmentation, stat_scores, surfaces,
           weighted_curves)
# The last digits of exp and log differ between platforms.
RELATIVE_TOLERANCE = 1e-12


def write_all(folder: Path) -> None:
    """Writes one file for each metric, and one for each family of inputs."""
    (folder / "inputs").mkdir(parents=True, exist_ok=True)
    fixtures = [fixture for module in MODULES for fixture in module.fixtures()]
    for fixture in fixtures:
        path = folder / f"{fixture.metric}.json"
        path.write_text(to_text(fixture), encoding="utf-8")
    for family, inputs in shared_inputs(fixtures).items():
        path = folder / "inputs" / f"{family}.json"
        path.write_text(layout(inputs) + "\n", encoding="utf-8")


def same(left: Any, right: Any) -> bool:
    """Whether two JSON values agree, numbers up to their last digits."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return list(left) == list(right) and \
            all(same(left[key], right[key]) for key in left)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, float):
        return math.isclose(left, right, rel_tol=RELATIVE_TOLERANCE)
    return left == right


def differences(stored: Path, fresh: Path) -> list[str]:
    """The names of files that differ or stand on one side only."""
    names = sorted({str(path.relative_to(folder)) for folder in (stored, fresh)
                    for pattern in ("*.json", "inputs/*.json")
                    for path in folder.glob(pattern)})
    return [name for name in names
            if not _same_file(stored / name, fresh / name)]


def _same_file(stored: Path, fresh: Path) -> bool:
    """Whether both files exist and hold the same values."""
    if not (stored.exists() and fresh.exists()):
        return False
    return same(json.loads(stored.read_text(encoding="utf-8")),
                json.loads(fresh.read_text(encoding="utf-8")))


def check() -> int:
    """Generates into a temporary folder and compares; 1 if anything differs."""
    with tempfile.TemporaryDirectory() as folder:
        write_all(Path(folder))
        wrong = differences(DATA, Path(folder))
    for name in wrong:
        print(f"differs: {name}", file=sys.stderr)
    return 1 if wrong else 0


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true",
                        help="compare data/ with freshly made values")
    # Absent classes are part of the cases; scikit-learn warns about each.
    warnings.filterwarnings("ignore", category=UserWarning)
    if parser.parse_args().check:
        return check()
    write_all(DATA)
    return 0


if __name__ == "__main__":
    sys.exit(main())
