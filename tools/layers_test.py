"""Tests what tools/check_layers finds, in small trees.

Usage: layers_test.py
"""

import importlib.machinery
import importlib.util
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True

import layers

PROGRAM = pathlib.Path(__file__).with_name("check_layers")
loader = importlib.machinery.SourceFileLoader("check_layers", str(PROGRAM))
check_layers = importlib.util.module_from_spec(
    importlib.util.spec_from_loader(loader.name, loader)
)
loader.exec_module(check_layers)

#: `face` over `face/core`; domains that are alike, and one that is not.
TABLE = {
    "room": {
        "state": {"holds": "", "uses": []},
        "face": {"holds": "", "over": ["face/core", "face/files"], "uses": ["state", "face/core"]},
        "face/core": {"holds": "", "inner": True, "uses": ["state", "face"]},
        "face/files": {"holds": "", "inner": True, "uses": ["face", "face/core"]},
        "face/*": {"holds": "", "uses": ["face", "./kernels"]},
        "face/*/kernels": {"holds": "", "inner": True, "uses": []},
        "face/odd": {"holds": "", "like": "face/*", "uses": ["face", "state"]},
        "face/all.h": {"holds": "", "uses": ["face/*"]},
        "top": {"holds": "", "uses": ["face", "face/*"]},
    },
    "namespaces": {"tally::internal": ["state", "face"], "tally::top::internal": ["top"]},
}
#: A tree in which each room has a file, and nothing is wrong.
TREE = {
    "state/state.h": [],
    "face/face.h": ["state/state.h", "face/core/core.h"],
    "face/core/core.h": ["face/options.h"],
    "face/options.h": [],
    "face/files/file.h": ["face/core/core.h"],
    "face/text/text.h": ["face/face.h", "face/text/kernels/words.h"],
    "face/text/kernels/words.h": [],
    "face/odd/odd.h": ["state/state.h"],
    "face/all.h": ["face/text/text.h", "face/odd/odd.h"],
    "top/top.cc": ["face/text/text.h", "face/odd/odd.h"],
}


def found_in(tree, table=(), bodies=()):
    """What is wrong with TREE and more files, or other includes of them."""
    sources = {
        name: "".join(f'#include "tally/{header}"\n' for header in headers)
        for name, headers in {**TREE, **tree}.items()
    }
    for name, body in dict(bodies).items():
        sources[name] += body
    rooms = check_layers.Rooms(layers.Layers({**TABLE, **dict(table)}), sources)
    return list(rooms.check())


class LayersTest(unittest.TestCase):
    def assert_one(self, found, *parts):
        self.assertEqual(len(found), 1, found)
        for part in parts:
            self.assertIn(part, found[0])

    def test_allowed_includes_pass(self):
        self.assertEqual(found_in({}), [])

    def test_an_include_upward_is_named_with_its_line(self):
        found = found_in({"face/face.h": ["state/state.h", "face/core/core.h", "top/top.h"],
                          "top/top.h": []})
        self.assertIn("face/face.h:3: face may not include top (top/top.h)", found[0])

    def test_nothing_follows_from_what_others_use(self):
        self.assert_one(found_in({"top/more.cc": ["state/state.h"]}), "top/more.cc:1: top may not")

    def test_kernels_are_those_of_the_own_domain(self):
        found = found_in({"face/audio/audio.h": ["face/text/kernels/words.h"]})
        self.assert_one(found, "face/audio may not include face/text/kernels")

    def test_a_room_like_others_has_its_own_row(self):
        found = found_in({"face/text/more.h": ["state/state.h"]})
        self.assert_one(found, "face/text may not include state")

    def test_a_circle_names_each_arrow(self):
        found = found_in({"state/state.h": ["face/options.h"]})
        self.assertTrue(any("circle: face -> state" in each and
                            "state -> face (state/state.h includes face/options.h)" in each
                            for each in found), found)

    def test_a_face_and_its_inner_rooms_are_one(self):
        self.assertEqual(found_in({"face/core/more.h": ["face/face.h"]}), [])

    def test_inner_rooms_have_no_circle(self):
        found = found_in({"face/core/more.h": ["face/files/file.h"]})
        self.assertTrue(any("face/core -> face/files" in each and "circle" in each
                            for each in found), found)

    def test_what_is_read_through_others_is_told_with_the_way(self):
        rule = {"header": "face/*.h", "reads": "state/*.h", "reason": "because"}
        table = {"never": [rule]}
        found = found_in({"face/odd/odd.h": [], "face/text/text.h": ["face/face.h"]}, table)
        ways = [each for each in found if each.startswith("face/text/text.h:1:")]
        self.assert_one(ways, "face/text/text.h -> face/face.h -> state/state.h", "because")

    def test_a_folder_without_a_row_and_a_row_without_one(self):
        self.assertTrue(any("no row has new/" in each for each in found_in({"new/new.h": []})))
        rooms = {**TABLE["room"], "gone": {"holds": "", "uses": []}}
        self.assert_one(found_in({}, {"room": rooms}), "nothing lies in gone")

    def test_a_header_that_is_nowhere(self):
        self.assert_one(found_in({"top/more.cc": ["face/gone.h"]}), "no library has face/gone.h")

    def test_exemptions_allow_what_they_name_and_are_needed(self):
        exempt = {"files": ["top/more.cc"], "uses": ["state/state.h"], "reason": ""}
        tree = {"top/more.cc": ["state/state.h"]}
        self.assertEqual(found_in(tree, {"exempt": [exempt]}), [])
        self.assert_one(found_in({}, {"exempt": [exempt]}), "nothing needs the exemption")

    def test_internal_names_are_for_rooms_that_may_use_theirs(self):
        named = {"top/top.cc": "int x = internal::x + tally::internal::y;\n"}
        declared = {"face/face.h": "int y;\n"}
        found = found_in({}, bodies={**named, **declared})
        self.assert_one(found, "top/top.cc:3: tally::internal::y is named outside its room")
        inner = {**TABLE["room"], "face": {**TABLE["room"]["face"], "inner": True}}
        self.assertEqual(found_in({}, {"room": inner}, {**named, **declared}), [])

    def test_namespaces_of_others_are_not_reopened(self):
        body = {"top/top.cc": "namespace tally::internal {\n}\n"}
        self.assert_one(found_in({}, bodies=body), "top/top.cc:3: reopens tally::internal")

    def test_private_headers_of_libtorch_are_for_one_room(self):
        table = {"libtorch": {"room": "state", "private": ["torch/csrc/*", "*/impl/*"],
                              "public": ["torch/csrc/good.h"]}}
        lines = ("#include <torch/csrc/good.h>\n#include <torch/torch.h>\n"
                 "#include <torch/csrc/bad.h>\n")
        found = found_in({}, table, {"top/top.cc": lines})
        self.assert_one(found, "top/top.cc:5: torch/csrc/bad.h is private to LibTorch", "state/")
        found = found_in({}, table, {"face/face.h": "#include <c10/core/impl/guard.h>\n"})
        self.assert_one(found, "face/face.h:3: c10/core/impl/guard.h is private")
        self.assertEqual(found_in({}, table, {"state/state.h": lines}), [])

    def test_one_room_asks_for_the_version_of_libtorch(self):
        table = {"libtorch": {"room": "state", "private": [], "public": []}}
        for line in ("#if TORCH_VERSION_MINOR > 12\n", "#  elif TALLY_LIBTORCH_AT_LEAST(2, 12)\n"):
            found = found_in({}, table, {"top/top.cc": line})
            self.assert_one(found, "top/top.cc:3: only state/ asks for LibTorch's version")
            self.assertEqual(found_in({}, table, {"state/state.h": line}), [])

    def test_modules_of_python_form_no_circle(self):
        found = list(check_layers.check_python({
            "python/tally/__init__.py": "from tally._one import x\nfrom tally import _two\n",
            "python/tally/_one.py": "def f():\n    from tally import _two\n",
            "python/tally/_two.py": "from ._one import f\n",
        }))
        self.assert_one(found, "tally._one -> tally._two (python/tally/_one.py:2)",
                        "tally._two -> tally._one (python/tally/_two.py:1)")


if __name__ == "__main__":
    unittest.main()
