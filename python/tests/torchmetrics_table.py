"""The table of TorchMetrics' tests: files, cases, passed, and why the others differ.

Usage: torchmetrics_table.py RESULTS DIFFERENCES

RESULTS is what torchmetrics_plugin.py wrote, DIFFERENCES a list of {"cases", "error",
"reason"}, of which the first two are regular expressions. Exits with 1 if a case that met
a class of Tally failed without such a reason.
"""

import collections
import json
import pathlib
import re
import sys


def main():
    results = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
    differences = json.loads(pathlib.Path(sys.argv[2]).read_text(encoding="utf-8"))
    files = collections.defaultdict(collections.Counter)
    reasons = collections.defaultdict(collections.Counter)
    unexplained = []
    for result in results:
        name = result["file"].split("unittests/")[-1]
        if result["outcome"] == "functional" or not result["met"]:
            kind = "functional" if result["outcome"] == "functional" else "elsewhere"
            files[name][kind] += 1
            continue
        files[name][result["outcome"]] += 1
        if result["outcome"] != "failed":
            continue
        for difference in differences:
            if re.search(difference["cases"], f"{name}::{result['case']}") and re.search(
                difference.get("error", ""), result["error"]
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
    for line in unexplained:
        print("unexplained:", line[:700])
    sys.exit(1 if unexplained else 0)


def row(name, c):
    cases = c["passed"] + c["failed"] + c["skipped"]
    kinds = ("passed", "failed", "skipped", "functional", "elsewhere")
    return f"| {name} | {cases} | " + " | ".join(str(c[kind]) for kind in kinds) + " |"


if __name__ == "__main__":
    main()
