"""Tests what tools/site/catalog.py finds wrong with pages.

Usage: catalog_test.py
"""

import sys
import unittest

sys.dont_write_bytecode = True

import catalog
import examples
from headers import Entity, Writer

METRIC = {
    "name": "MeanError", "domain": "regression", "what": "Mean of errors.", "range": "any",
    "aliases": "me", "source": "", "formula": r"\frac{1}{N} \sum_n e_n", "wrapper": False,
    "differentiable": True, "higher_is_better": False, "inputs": [], "options": [],
}
EXAMPLE = ">>> tally.MeanError()([1.0], [0.5])\ntensor(0.5000)"


def page(comment="The mean of errors.", example=EXAMPLE, **changes):
    entity = Entity("MeanError", "tally::MeanError", "class", "metrics/mean_error.h", [comment])
    one = METRIC | changes
    return catalog.page(one, entity, Writer(lambda code: None), example, None)


class ProblemsTest(unittest.TestCase):
    def found(self, text, **others):
        described = [METRIC] + [METRIC | {"name": name} for name in others]
        return catalog.problems(described, {"MeanError": text} | others)

    def test_nothing(self):
        self.assertEqual(self.found(page()), [])

    def test_no_page(self):
        self.assertEqual(catalog.problems([METRIC], {}), ["MeanError has no page: no header has a comment on it"])

    def test_no_formula(self):
        self.assertRegex(self.found(page(formula=""))[0], "MeanError has no formula")
        self.assertRegex(self.found(page(formula="e"))[0], "MeanError has no formula")

    def test_no_example(self):
        self.assertRegex(self.found(page(example=""))[0], "no example")

    def test_example_without_a_value(self):
        for example in (">>> metric.compute()", "tensor(0.5000)", ">>> for i in x:\n...     i\n..."):
            self.assertRegex(self.found(page(example=example))[0], "ends with its value")

    def test_same_first_sentence(self):
        same = page("The mean of errors. More.")
        self.assertRegex(self.found(page(), Other=same)[0], "MeanError and Other both begin")
        self.assertEqual(self.found(page(), Other=page("The mean of all errors.")), [])


class ExamplesTest(unittest.TestCase):
    def test_reads(self):
        read = examples.read("A\n>>> 1\n1\n\nBc2\n>>> tensor\ntensor(1)\n")
        self.assertEqual(read, {"A": ">>> 1\n1", "Bc2": ">>> tensor\ntensor(1)"})

    def test_refuses(self):
        for text in (">>> 1\n1\n", "A\n>>> 1\n1\n\nA\n>>> 1\n1\n"):
            with self.assertRaises(ValueError):
                examples.read(text)


if __name__ == "__main__":
    unittest.main()
