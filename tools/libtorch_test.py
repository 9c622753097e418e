"""Tests which versions of LibTorch are taken, and what is said of others.

Usage: libtorch_test.py
"""

import pathlib
import re
import runpy
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

sys.dont_write_bytecode = True

import check_builds

ROOT = pathlib.Path(__file__).resolve().parent.parent
RULES = runpy.run_path(str(ROOT / "third_party" / "libtorch_versions.bzl"))
TEXT = (ROOT / "port" / "libtorch_versions.txt").read_text(encoding="utf-8")
VERSIONS = {"oldest": "2.10", "newest": "2.15", "cxx20": "2.14",
            "python311": "2.15", "default": "2.11.0"}


def refusal(version, untested=False):
    return RULES["refusal"](version, "/torch (from LIBTORCH)", VERSIONS, untested)


def bash(script):
    return subprocess.run(
        ["bash", "-euc", f"source tools/libtorch.sh; {script}"],
        cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True,
    ).stdout.split()


class VersionsTest(unittest.TestCase):
    def test_the_file_has_each_version_once(self):
        versions = RULES["parse_versions"](TEXT)
        self.assertEqual(set(versions), set(VERSIONS))
        for name, version in versions.items():
            form = r"2\.\d+\.\d+" if name == "default" else r"2\.\d+"
            self.assertRegex(version, f"^{form}$")
        self.assertTrue(RULES["is_supported"](versions["default"], versions))

    def test_bash_reads_the_same(self):
        versions = RULES["parse_versions"](TEXT)
        names = [f'"${{libtorch_versions[{name}]}}"' for name in versions]
        self.assertEqual(bash("echo " + " ".join(names)), list(versions.values()))

    def test_there_are_pins_with_hashes_for_the_oldest_the_newest_and_the_default(self):
        versions = RULES["parse_versions"](TEXT)
        pins = {path.stem: path for path in (ROOT / "tools" / "libtorch").glob("*.txt")}
        self.assertIn(versions["default"], pins)
        for name in ("oldest", "newest"):
            self.assertIn(bash(f"pinned_libtorch {versions[name]}")[0], pins)
        for version, path in pins.items():
            text = path.read_text(encoding="utf-8")
            machines = re.findall(r"^# (\w+): \d+ MB$", text, re.M)
            self.assertIn(machines, (["x86_64"], ["x86_64", "aarch64"]))
            self.assertIn(f"\ntorch=={version} ", text)
            for pin in text.split("==")[1:]:
                hashes = re.findall("--hash=sha256:([0-9a-f]{64})", pin)
                self.assertEqual(len(set(hashes)), len(machines), version)

    def test_a_machine_without_pins_is_refused_before_anything_is_downloaded(self):
        for version, machine, said in (
            ("2.10.0", "aarch64", "LibTorch 2.10.0 is not pinned for Linux aarch64; set LIBTORCH"),
            ("2.15.0", "riscv64", "LibTorch 2.15.0 is not pinned for Linux riscv64; set LIBTORCH"),
            ("2.12.0", "x86_64", "there are no pins for LibTorch 2.12.0 in tools/libtorch"),
        ):
            words = bash("cache=/none; die() { echo \"$@\"; exit 0; }; "
                         f"fetch_libtorch {version} {machine}")
            self.assertIn(said, " ".join(words))

    def test_another_machines_libtorch_lies_beside_that_of_this_one(self):
        own, same, other = bash("cache=/cache; cached_libtorch 2.15.0; "
                                "cached_libtorch 2.15.0 $(uname -m); cached_libtorch 2.15.0 m68k")
        self.assertEqual(own, "/cache/libtorch-2.15.0-cpu")
        self.assertEqual(same, own)
        self.assertEqual(other, own + "-m68k")

    def test_each_version_of_the_range_is_taken(self):
        for version in ("2.10.0", "2.11.0+cpu", "2.15.3", "2.15.0a0+git1234"):
            self.assertEqual(refusal(version), "", version)

    def test_older_ones_are_refused_with_what_to_do(self):
        for version in ("2.9.1", "1.13.0"):
            self.assertEqual(
                refusal(version, untested=True),
                f"/torch (from LIBTORCH) is LibTorch {version}, and Tally takes 2.10 to 2.15: "
                "set LIBTORCH to the folder of another.",
            )
        self.assertIn("is LibTorch before 2.9, and Tally takes 2.10 to 2.15", refusal(""))

    def test_newer_ones_are_refused_unless_the_user_wants_to_try(self):
        for version in ("2.16.0", "2.100.0", "3.0.0"):
            self.assertIn(f"is LibTorch {version}, and Tally was tested with 2.10 to 2.15: "
                          "set TALLY_LIBTORCH_UNTESTED=1 to try it", refusal(version))
            self.assertEqual(refusal(version, untested=True), "")

    def test_the_version_is_read_from_the_header(self):
        lines = [f"#define TORCH_VERSION_{part}" for part in ("MAJOR 2", "MINOR 15", "PATCH 1")]
        header = "\n".join(["#pragma once", *lines, '#define TORCH_VERSION "2.15.1"'])
        self.assertEqual(RULES["version_in"](header), "2.15.1")
        self.assertEqual(RULES["version_in"]("#pragma once\n"), "")

    def test_the_standard_is_what_the_headers_need(self):
        for version, standard in (("2.10.0", "17"), ("2.13.1", "17"), ("2.14.0", "20"),
                                  ("2.16.0", "20"), ("3.0.0", "20")):
            self.assertEqual(RULES["standard_of"](version, VERSIONS), f"-std=c++{standard}")

    def test_the_oldest_python_is_that_of_torch(self):
        for version, python in (("2.10", "3.10"), ("2.14", "3.10"), ("2.15", "3.11"),
                                ("2.16", "3.11")):
            self.assertEqual(RULES["python_of"](version, VERSIONS), python)


def compile_with(version, standard):
    """What the compiler says of port/libtorch_version.h with a LibTorch."""
    major, minor = version.split(".")
    with tempfile.TemporaryDirectory() as folder:
        header = pathlib.Path(folder, "torch", "headeronly", "version.h")
        header.parent.mkdir(parents=True)
        header.write_text(
            f"#define TORCH_VERSION_MAJOR {major}\n#define TORCH_VERSION_MINOR {minor}\n",
            encoding="utf-8",
        )
        return subprocess.run(
            ["g++", f"-std={standard}", "-fsyntax-only", "-I", folder, "-x", "c++",
             "port/libtorch_version.h", "-w"],
            cwd=ROOT, stderr=subprocess.PIPE, text=True,
        ).stderr


class HeaderTest(unittest.TestCase):
    def test_versions_and_standards_that_fit_compile(self):
        for version, standard in (("2.10", "c++17"), ("2.13", "c++17"), ("2.11", "c++20"),
                                  ("2.14", "c++20"), ("3.0", "c++20")):
            self.assertEqual(compile_with(version, standard), "", version)

    def test_an_older_libtorch_is_refused_in_a_sentence(self):
        for version in ("2.9", "1.13"):
            self.assertIn("Tally takes LibTorch 2.10 and newer", compile_with(version, "c++20"))

    def test_an_older_standard_is_refused_with_both_ways_out(self):
        for version in ("2.14", "3.0"):
            said = compile_with(version, "c++17")
            self.assertIn("LibTorch 2.14 and newer need C++20", said)
            self.assertIn("-std=c++20", said)
            self.assertIn("LibTorch of 2.10 to 2.13", said)


class MachineTest(unittest.TestCase):
    def test_a_wheel_is_for_the_machine_of_its_library(self):
        wheel = runpy.run_path(str(ROOT / "tools" / "wheel"), run_name="wheel")
        for number, name in ((62, "x86_64"), (183, "aarch64")):
            header = b"\x7fELF" + bytes(14) + number.to_bytes(2, "little")
            machine = wheel["machine_of"](header, "x.so")
            self.assertEqual(wheel["platform_tag"]("GLIBC_2.17 GLIBCXX_3.4.30", machine),
                             f"py3-none-manylinux_2_35_{name}")
        for header in (b"", b"\x7fELF" + bytes(14) + b"\x03\0", b"MZ" + bytes(16) + b"\x3e\0"):
            with self.assertRaisesRegex(SystemExit, "x.so to be a library for x86_64 or aarch64"):
                wheel["machine_of"](header, "x.so")

    def test_only_a_machines_own_libraries_are_listed(self):
        rules = runpy.run_path(
            str(ROOT / "third_party" / "system.bzl"),
            init_globals={"repository_rule": mock.MagicMock(), "attr": mock.MagicMock()},
        )
        for machine in ("x86_64", "aarch64"):
            self.assertEqual(rules["library_folders"](machine),
                             ["/usr/lib64", "/usr/lib", f"/usr/lib/{machine}-linux-gnu"])


class GlooTest(unittest.TestCase):
    def test_symbols_of_gloo_that_depend_on_its_headers_are_found(self):
        bad = [
            "gloo::Context::getTimeout() const",
            "vtable for gloo::rendezvous::Store",
            "typeinfo for gloo::rendezvous::Store",
            "vtable for c10d::ProcessGroupGloo::GlooStore",
        ]
        good = [
            "gloo::Context::closeConnections()",
            "typeinfo for c10d::ProcessGroupGloo",
            "c10d::ProcessGroupGloo::createDefaultDevice(bool)",
            "std::vector<std::shared_ptr<gloo::transport::Device> >::size() const",
        ]
        self.assertEqual(list(check_builds.symbols_of_gloo([*bad, *good])), bad)


if __name__ == "__main__":
    unittest.main()
