"""Counts what a run of all tests came to.

Usage: count_tests.py EVENTS BAZEL_STATUS FORMAT_STATUS

EVENTS is Bazel's build event file. A test program counts as its test cases
where it left a report of them, else as one. What was not built counts as one
that failed, and the format check is one more. Prints `N passed, N failed` and
exits with 1 unless nothing failed.
"""

import collections
import json
import pathlib
import sys
import urllib.parse
import xml.etree.ElementTree as ElementTree


def cases(report):
    """Counts the cases of a JUnit report, by outcome."""
    counts = collections.Counter()
    for case in ElementTree.parse(report).iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            counts["failed"] += 1
        elif case.get("status") == "notrun":
            counts["disabled"] += 1
        elif case.get("result") == "skipped" or case.find("skipped") is not None:
            counts["skipped"] += 1
        else:
            counts["passed"] += 1
    return counts


def attempt(result):
    """Counts one run of one test program (or of a shard of it)."""
    passed = result.get("status") in ("PASSED", "FLAKY")
    counts = collections.Counter()
    for output in result.get("testActionOutput", []):
        if output.get("name") == "test.xml":
            path = urllib.parse.unquote(urllib.parse.urlparse(output["uri"]).path)
            if pathlib.Path(path).exists():
                try:
                    counts = cases(path)
                except ElementTree.ParseError:  # Cut off by a crash.
                    pass
    if not passed and not counts["failed"]:
        counts["failed"] = 1  # It crashed or ran out of time.
    if passed and not counts:
        counts["passed"] = 1
    return counts


def count(events):
    """Returns the counts, and a line for each target that failed."""
    last = {}  # A later attempt replaces an earlier one.
    failures = []
    for line in events:
        event = json.loads(line)
        kind = event.get("id", {})
        if "testResult" in event:
            key = kind["testResult"]
            unit = (key["label"], key.get("run"), key.get("shard"))
            last[unit] = attempt(event["testResult"])
        elif "targetCompleted" in kind:
            if not event.get("completed", {}).get("success"):
                failures.append(f"not built: {kind['targetCompleted']['label']}")
    total = collections.Counter()
    for (label, _, _), counts in last.items():
        total += counts
        if counts["failed"]:
            failures.append(f"failed: {label}")
    return total, failures


def main(path, bazel_status, format_status):
    try:
        with open(path, encoding="utf-8") as events:
            total, failures = count(events)
    except OSError:
        total, failures = collections.Counter(), []
    unbuilt = [line for line in failures if not line.startswith("failed:")]
    total["failed"] += len(unbuilt)
    if int(format_status) == 0:
        total["passed"] += 1
    else:
        total["failed"] += 1
        failures.append("failed: tools/format --check")
    # 3 says that all was built and a test failed.
    if int(bazel_status) not in (0, 3) and not unbuilt:
        total["failed"] += 1
        failures.append(f"Bazel's exit status is {bazel_status}")

    for line in sorted(failures):
        print(line)
    if total["skipped"] or total["disabled"]:
        print(f"{total['skipped']} skipped, {total['disabled']} disabled")
    print(f"{total['passed']} passed, {total['failed']} failed")
    return 1 if total["failed"] else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
