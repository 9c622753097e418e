"""Tests that tools/new_metric and tools/new_loss find all places that they touch, for
each domain and family. Writes nothing.

Usage: scaffold_test.py
"""

import contextlib
import importlib.machinery
import importlib.util
import io
import pathlib
import re
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True

import scaffold


def program(name):
    path = pathlib.Path(__file__).with_name(name)
    loader = importlib.machinery.SourceFileLoader(name, str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


new_metric, new_loss = program("new_metric"), program("new_loss")


class ScaffoldTest(unittest.TestCase):
    def assert_lines_added(self, edits, *paths):
        """Files that exist lose nothing; each of these names the new class or file."""
        for path in set(edits.texts) - set(edits.new):
            old = (scaffold.ROOT / path).read_text(encoding="utf-8").splitlines()
            new = edits.texts[path].splitlines()
            # Lists of one line become lists of lines, and lists of types grow.
            lost = [
                each for each in set(old) - set(new)
                if not re.search(r"= \[.*\],$|>\(\);", each)
            ]
            self.assertEqual(lost, [], path)
        for path in paths:
            self.assertRegex(edits.texts[path], r"NewThing|new_thing", path)

    def test_metrics_of_each_domain(self):
        for domain in new_metric.DOMAINS:
            with self.subTest(domain):
                edits, _ = new_metric.make("NewThing", domain)
                self.assertEqual(len(edits.new), 4)
                registry = [each for each in edits.texts if each.startswith("metrics/registry/")]
                self.assertEqual(len(registry), 1)
                self.assert_lines_added(
                    edits, f"metrics/{domain}/BUILD", f"metrics/{domain}/{domain}.h",
                    f"tests/metrics/{domain}/BUILD", "cmake/sources.cmake",
                    "docs/from_torchmetrics.md", *registry,
                )

    def test_losses_of_each_family(self):
        for family in new_loss.families():
            with self.subTest(family):
                edits, _ = new_loss.make("NewThing", family)
                self.assertEqual(len(edits.new), 3)
                self.assert_lines_added(
                    edits, f"losses/{family}/BUILD", "losses/losses.h", "tests/losses/BUILD",
                    "cmake/sources.cmake", "losses/registry/loss_registry.cc", "python/tally/functional.py",
                )

    def test_every_domain_is_known(self):
        registry = (scaffold.ROOT / "metrics" / "registry" / "domains.h").read_text("utf-8")
        domains = {
            name for name in re.findall(r"\badd_(\w+)\(", registry)
            if (scaffold.ROOT / "metrics" / name).is_dir()
        }
        self.assertGreater(len(domains), 5)
        self.assertEqual(domains - {*new_metric.DOMAINS, *new_metric.BY_HAND}, set())
        for path in new_metric.BY_HAND.values():
            self.assertTrue((scaffold.ROOT / path).is_file(), path)

    def test_refusals(self):
        for tool, arguments, reason in [
            (new_metric, ("MeanSquaredError", "regression"), "exists"),
            (new_metric, ("NewThing", "detection"), "inputs of their own"),
            (new_metric, ("NewThing", "nowhere"), "there is no domain nowhere"),
            (new_metric, ("new_thing", "regression"), "CamelCase"),
            (new_loss, ("ListNetLoss", "slates"), "exists"),
            (new_loss, ("NewThing", "nowhere"), "there is no family nowhere"),
        ]:
            with self.subTest(arguments), self.assertRaisesRegex(scaffold.Refused, reason):
                tool.make(*arguments)

    def test_sources_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            with contextlib.redirect_stdout(io.StringIO()):
                status = scaffold.run(
                    ["--into", folder, "NewThing", "text"], "", new_metric.make, new_metric.sources
                )
            self.assertEqual(status, 0)
            written = [path for path in pathlib.Path(folder).rglob("*") if path.is_file()]
            self.assertEqual(
                sorted(path.relative_to(folder).as_posix() for path in written),
                sorted(new_metric.sources("NewThing", "text")),
            )


if __name__ == "__main__":
    unittest.main()
