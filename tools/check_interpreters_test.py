"""Tests that check_interpreters.py finds what an interpreter lacks.

Usage: check_interpreters_test.py
"""

import contextlib
import io
import sys
import unittest

sys.dont_write_bytecode = True

import check_interpreters


class ComplaintsTest(unittest.TestCase):
    def test_what_is_there_is_fine(self):
        text = "import os.path, json as j\nfrom typing import Any\nos.path.join, j.dumps, Any\n"
        self.assertEqual(list(check_interpreters.complaints(text)), [])

    def test_what_is_not_there_is_named_with_its_line(self):
        for text, said in {
            "\nimport asyncore_none_such, json.none": (2, "there is no json.none"),
            "from typing import NoneSuch": (1, "there is no typing.NoneSuch"),
            "import math as m\nm.none_such": (2, "there is no math.none_such"),
        }.items():
            self.assertEqual(list(check_interpreters.complaints(text)), [said])

    def test_other_packages_are_not_looked_for(self):
        text = "import torch\nfrom tally import none\ntorch.none\n"
        self.assertEqual(list(check_interpreters.complaints(text)), [])

    def test_what_does_not_parse_or_warns_is_named(self):
        self.assertEqual([line for line, _ in check_interpreters.complaints("\nif:\n")], [2])
        self.assertIn("invalid", next(check_interpreters.complaints("'\\d'"))[1])

    def test_without_an_interpreter_it_fails(self):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            self.assertEqual(check_interpreters.main(["python3.none"]), 1)
        self.assertEqual(said.getvalue(), "cannot be run: python3.none\n")


if __name__ == "__main__":
    unittest.main()
