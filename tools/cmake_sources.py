"""Writes the lists of the CMake build: what Bazel's libraries are made of.

Usage: cmake_sources.py [--check]

Asks Bazel for the libraries and the examples and writes cmake/sources.cmake, so
that who builds with CMake needs neither Bazel nor Python. With --check, says
whether the file is what would be written, and writes nothing.
"""

import collections
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUTPUT = ROOT / "cmake" / "sources.cmake"

# Which folders, or targets of one, make up a component; the next may use those
# before it.
COMPONENTS = {
    "sync": ["", "port", "state", "sync"],
    "metrics": ["metrics"],
    "files": ["files"],
    "sinks": ["sinks"],
    "plots": ["plots"],
    "report": ["report"],
    "losses": ["losses"],
    "training": ["training"],
    "testing": ["testing"],
    # Whoever links it has the device.
    "pretend_device": ["testing:pretend_device"],
    "cli": ["cli"],
}
FOLDERS = {folder: name for name, folders in COMPONENTS.items() for folder in folders}

# Of these, a build has one; CMakeLists.txt says which.
CHOICES = {"sync/nccl.cc", "sync/nccl_stub.cc"}

# What Bazel's build makes of sources that it compiles together.
JOINED = re.compile(r"_joined_\d+\.cc$")


def path(label):
    """The file of a label, or nothing if it is not in this repository."""
    if not label.startswith("//"):
        return None
    package, _, name = label[2:].partition(":")
    return f"{package}/{name}" if package else name


def component(label):
    if not label.startswith("//"):
        return None
    target = label[2:].removesuffix("_private_hdrs")  # tools/tally.bzl
    package = target.partition(":")[0]
    return FOLDERS.get(target) or FOLDERS.get(package.split("/")[0])


def query():
    """Bazel's C++ targets in the folders that there are, as XML."""
    patterns = ["//:version", "//examples/..."] + [
        f"//{folder}/..." for folder in FOLDERS if folder and (ROOT / folder).is_dir()
    ]
    expression = f'kind("cc_(library|binary) rule", {" + ".join(patterns)})'
    output = subprocess.run(
        ["tools/bazel", "query", "--output=xml", expression],
        cwd=ROOT, check=True, stdout=subprocess.PIPE,
    ).stdout
    # Expat knows XML 1.0 only.
    return ElementTree.fromstring(output.replace(b'version="1.1"', b'version="1.0"', 1))


def values(rule, name):
    found = rule.find(f"list[@name='{name}']")
    return [] if found is None else [item.get("value") for item in found]


def is_public(rule):
    """Whether programs may use it, by its own word or its package's."""
    own = values(rule, "visibility")
    package = rule.get("name")[2:].partition(":")[0]
    default = 'default_visibility = ["//visibility:public"]'
    build = (ROOT / package / "BUILD").read_text(encoding="utf-8")
    return "//visibility:public" in own or (not own and default in build)


def closure(headers):
    """The headers, and those of Tally that they include."""
    wanted, found = list(headers), set()
    while wanted:
        header = wanted.pop()
        if header not in found:
            found.add(header)
            text = (ROOT / header).read_text(encoding="utf-8")
            wanted += re.findall(r'^#include ["<]tally/(.+?)[">]', text, re.M)
    return found


def sources_of(rule):
    files = [path(label) for label in values(rule, "srcs")]
    found = {file for file in files if file and file.endswith(".cc")} - CHOICES
    return {file for file in found if not JOINED.search(file)}


def is_joined(rule):
    return any(JOINED.search(label) for label in values(rule, "srcs"))


def add_example(name, rules, lists):
    """What a program of examples/ is made of: its sources and those of libraries
    there, and the components that these use."""
    wanted, found = [name], set()
    example = lists[name.rpartition(":")[2]]
    while wanted:
        label = wanted.pop()
        if label in found:
            continue
        found.add(label)
        if label.startswith("//examples"):
            example["SOURCES"] |= sources_of(rules[label])
            wanted += values(rules[label], "deps")
        elif component(label):
            example["COMPONENTS"].add(component(label))


def collect(rules):
    """Returns the lists of each component, and those of each example."""
    lists = collections.defaultdict(lambda: collections.defaultdict(set))
    examples = collections.defaultdict(lambda: collections.defaultdict(set))
    public, owners = set(), {}
    by_name = {rule.get("name"): rule for rule in rules}
    for label, rule in by_name.items():
        if label.startswith("//examples"):
            if rule.get("class") == "cc_binary":
                add_example(label, by_name, examples)
            continue
        if label.endswith("/compat:compat"):
            continue  # CMakeLists.txt has its folder
        name = component(label)
        sources = sources_of(rule)
        lists[name]["SOURCES"] |= sources
        if not is_joined(rule):
            lists[name]["SINGLE_SOURCES"] |= sources
        for label in values(rule, "deps"):
            if component(label) not in (None, name):
                lists[name]["COMPONENTS"].add(component(label))
        headers = {path(label) for label in values(rule, "hdrs")}
        owners.update(dict.fromkeys(headers, name))
        if is_public(rule):
            public |= headers
    for header in closure(public):
        owner = owners.get(header) or component("//" + header.rpartition("/")[0])
        lists[owner]["HEADERS"].add(header)
    return lists, examples


def render(lists, examples):
    lines = ["# Written by tools/cmake_sources.py from Bazel's BUILD files."]
    order = list(COMPONENTS)

    def add(name, items, key=str):
        lines.append(f"\nset(TALLY_{name.upper()}")
        lines.extend(f"    {item}" for item in sorted(items, key=key))
        lines[-1] += ")"

    for name in filter(lists.__contains__, order):
        add(f"{name}_COMPONENTS", lists[name]["COMPONENTS"], order.index)
        for kind in ("HEADERS", "SOURCES", "SINGLE_SOURCES"):
            add(f"{name}_{kind}", lists[name][kind])
    add("EXAMPLES", examples)
    for name in sorted(examples):
        add(f"EXAMPLE_{name}_COMPONENTS", examples[name]["COMPONENTS"], order.index)
        add(f"EXAMPLE_{name}_SOURCES", examples[name]["SOURCES"])
    return "\n".join(lines) + "\n"


def main(arguments):
    text = render(*collect(query().iter("rule")))
    if arguments == ["--check"]:
        if OUTPUT.exists() and OUTPUT.read_text(encoding="utf-8") == text:
            return 0
        print(f"{OUTPUT.relative_to(ROOT)} is stale: run tools/cmake_sources.py")
        return 1
    OUTPUT.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
