"""Counts what a run of all tests came to.

Usage: count_tests.py EVENTS BAZEL_STATUS [CHECK=STATUS]...

EVENTS is Bazel's build event file. A test program counts as its test cases
where it left a report of them, else as one. A test that was not built counts as
one that failed, and every other check, of this exit status, is one more. Prints
`N passed, N failed` and exits with 1 unless nothing failed.
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
    """Returns the counts, and a line for each target that failed or broke."""
    last = {}  # A later attempt replaces an earlier one.
    is_test = {}
    broken = set()
    for line in events:
        event = json.loads(line)
        kind = event.get("id", {})
        if "testResult" in event:
            key = kind["testResult"]
            unit = (key["label"], key.get("run"), key.get("shard"))
            last[unit] = attempt(event["testResult"])
        elif "configured" in event:
            rule = event["configured"].get("targetKind", "")
            is_test[kind["targetConfigured"]["label"]] = "_test " in rule
        elif "targetCompleted" in kind:
            if not event.get("completed", {}).get("success"):
                broken.add(kind["targetCompleted"]["label"])
    total = collections.Counter()
    for counts in last.values():
        total += counts
    # A broken library counts through the tests that it took with it.
    total["failed"] += sum(is_test.get(label, False) for label in broken)
    lines = {f"not built: {label}" for label in broken}
    lines |= {f"failed: {key[0]}" for key, c in last.items() if c["failed"]}
    return total, sorted(lines)


def main(path, bazel_status, *checks):
    total, lines = collections.Counter(), []
    try:
        with open(path, encoding="utf-8") as events:
            total, lines = count(events)
    except OSError:
        pass  # Bazel did not start; its status says so.
    if int(bazel_status) != 0 and not total["failed"]:
        total["failed"] += 1
        lines.append(f"Bazel's exit status is {bazel_status}")
    for check in checks:
        name, _, status = check.rpartition("=")
        if int(status) == 0:
            total["passed"] += 1
        else:
            total["failed"] += 1
            lines.append(f"failed: {name}")

    for line in lines:
        print(line)
    if total["skipped"] or total["disabled"]:
        print(f"{total['skipped']} skipped, {total['disabled']} disabled")
    print(f"{total['passed']} passed, {total['failed']} failed")
    return 1 if total["failed"] else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
