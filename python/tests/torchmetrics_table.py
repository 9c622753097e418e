"""The table of TorchMetrics' tests: files, cases, passed, and why the others differ.

Usage: torchmetrics_table.py RESULTS DIFFERENCES

RESULTS is what torchmetrics_plugin.py wrote, DIFFERENCES a list of {"cases", "error",
"values", "reason"}: the first two are regular expressions, and "values" how the numbers of
both sides are related, where a reason accounts for certain numbers only (RELATIONS). Exits
with 1 if a case that met a class of Tally failed without such a reason.
"""

import collections
import json
import math
import pathlib
import re
import sys


def _near(a, b):
    return math.isclose(a, b, rel_tol=1e-5, abs_tol=1e-6)


def _nan(mine, theirs):
    """NaN where nothing counts, and else the same."""
    return math.isnan(mine) or _near(mine, theirs)


def _fewer_of_five(mine, theirs):
    """Means over some of five, of which TorchMetrics' has 0 or 1 for each of the others."""
    return _nan(mine, theirs) or any(
        math.isclose(5 * theirs - (5 - others) * mine, ones, abs_tol=2e-5)
        for others in (1, 2, 3, 4)
        for ones in range(others + 1)
    )


def _at_most(mine, theirs):
    """Of thresholds with the same best rate, one that is better in the other is lower."""
    return _nan(mine, theirs) or mine <= theirs


def _one(mine, theirs):
    """A weighted average without weights, of zero_division=1."""
    return _nan(mine, theirs) or (mine, theirs) == (1, 0)


def _without_one(mine, theirs):
    """The mean of all but one of up to five values in [0, 1], of which TorchMetrics has all."""
    return _nan(mine, theirs) or any(
        -1e-5 <= n * theirs - (n - 1) * mine <= 1 + 1e-5 for n in (2, 3, 4, 5)
    )


#: How each number of Tally's is related to TorchMetrics'.
RELATIONS = {
    "at most": _at_most,
    "mean over fewer of five": _fewer_of_five,
    "mean without one of five": _without_one,
    "nan or equal": _nan,
    "one where nothing counts": _one,
}


def _numbers(text):
    return [float(each) for each in re.findall(r"nan|-?\d+\.?\d*(?:e[-+]?\d+)?", text)]


def are_related(relation, error):
    """Whether the numbers of a failed comparison are."""
    sides = re.search(r"tm_result: (.*), ref_result: (.*)", error, re.S)
    if sides is None:
        return False
    mine, theirs = map(_numbers, sides.groups())
    if len(mine) != len(theirs):
        return False
    return all(map(RELATIONS[relation], mine, theirs))


def main():
    results = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
    differences = json.loads(pathlib.Path(sys.argv[2]).read_text(encoding="utf-8"))
    files = collections.defaultdict(collections.Counter)
    reasons = collections.defaultdict(collections.Counter)
    unexplained, alone = [], []
    for result in results:
        name = result["file"].split("unittests/")[-1]
        if result["outcome"] == "failed" and not result["met"]:
            alone.append(f"{name}::{result['case']}: {result['error']}")
        if result["outcome"] == "functional" or not result["met"]:
            kind = "functional" if result["outcome"] == "functional" else "elsewhere"
            files[name][kind] += 1
            continue
        files[name][result["outcome"]] += 1
        if result["outcome"] != "failed":
            continue
        for difference in differences:
            if (
                re.search(difference["cases"], f"{name}::{result['case']}")
                and re.search(difference.get("error", ""), result["error"])
                and ("values" not in difference
                     or are_related(difference["values"], result["error"]))
            ):
                reasons[difference["reason"]][name] += 1
                break
        else:
            unexplained.append(f"{name}::{result['case']}: {result['error']}")
    print("| file | cases | passed | differ | skipped | functional | others without Tally |")
    print("|---|---|---|---|---|---|---|")
    total = collections.Counter()
    for name in sorted(files):
        c = files[name]
        total.update(c)
        print(row(name, c))
    print(row("all", total))
    print("\n| cases | of | why they differ |\n|---|---|---|")
    for reason, counts in sorted(reasons.items(), key=lambda each: -sum(each[1].values())):
        where = ", ".join(f"{name} ({count})" for name, count in sorted(counts.items()))
        print(f"| {sum(counts.values())} | {where} | {reason} |")
    for line in alone:
        print("failed without Tally:", line[:200])
    for line in unexplained:
        print("unexplained:", line[:700])
    sys.exit(1 if unexplained else 0)


def row(name, c):
    cases = c["passed"] + c["failed"] + c["skipped"]
    kinds = ("passed", "failed", "skipped", "functional", "elsewhere")
    return f"| {name} | {cases} | " + " | ".join(str(c[kind]) for kind in kinds) + " |"


if __name__ == "__main__":
    main()
