"""Builds the site: see tools/docs.

Usage: build.py --metrics FILE --work FOLDER --output FOLDER

FILE is what `tally describe --format json` prints; what is made on the way lies
in the folder --work. Both folders are emptied first.
"""

import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
import api
import catalog
import guides
import headers
import rst

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent

# What a page loads, or its style does, from somewhere else.
REMOTE = re.compile(
    r"<(?:script|img|iframe|source)\b[^>]*\bsrc=[\"'](?:https?:)?//"
    r"|<link\b(?![^>]*\brel=[\"']canonical)[^>]*\bhref=[\"'](?:https?:)?//"
    r"|@import\s+(?:url\()?[\"']?(?:https?:)?//"
    r"|url\([\"']?(?:https?:)?//"
)


def names_of(described, declared):
    """What a name leads to, as ends of qualified names: domain, role, target."""
    names = {}
    ambiguous = set()
    targets = {one.name: ("cpp", "any", one.name) for one in declared if one.kind != "define"}
    for one in described:
        scope = "tally::losses" if one["domain"] == catalog.LOSSES else "tally"
        targets[f"{scope}::{one['name']}"] = ("std", "ref", catalog.label(one["name"]))
    for qualified, target in targets.items():
        parts = qualified.split("::")[1:]
        for i in range(len(parts)):
            name = "::".join(parts[i:])
            # Functions of one word are members' names, too.
            if name.islower() and "_" not in name and i == len(parts) - 1:
                continue
            if names.setdefault(name, target) != target:
                ambiguous.add(name)
    for name in ambiguous:
        del names[name]
    return names


def writer_for(names, shared):
    """Links by `names`, and to the classes that pages of metrics explain."""

    def link(code):
        code = re.sub(r"\(\)$", "", code).removeprefix("tally::")
        if code in shared:
            return f":ref:`{code} <{catalog.label(code)}>`"
        if code not in names:
            return None
        domain, role, target = names[code]
        prefix = "" if domain == "std" else f"{domain}:"
        return f":{prefix}{role}:`{code} <{target}>`"

    return headers.Writer(link)


def run_doxygen(work, writer):
    """Doxygen's XML of the headers."""
    for name in headers.files(ROOT):
        copy = work / "include/tally" / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        text = (ROOT / name).read_text(encoding="utf-8")
        copy.write_text(headers.for_doxygen(text, writer), encoding="utf-8")
    configuration = (HERE / "Doxyfile").read_text(encoding="utf-8")
    configuration += f'INPUT = "{work}/include"\nOUTPUT_DIRECTORY = "{work}"\n'
    subprocess.run(["doxygen", "-"], input=configuration, text=True, check=True)
    return work / "xml"


def run_sphinx(work, output):
    subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-E",
         "-b", "html", "-c", str(HERE), "-d", str(work / "doctrees"),
         "-D", f"breathe_projects.tally={work / 'xml'}",
         "-D", f"tally_names_file={work / 'names.json'}",
         str(work / "pages"), str(output)],
        check=True,
    )


def check_offline(output):
    """Fails if a page needs the network."""
    found = []
    for path in sorted(output.rglob("*")):
        if path.suffix in (".html", ".css"):
            for match in REMOTE.finditer(path.read_text(encoding="utf-8")):
                found.append(f"{path}: {match.group(0)}")
    if found:
        sys.exit("not to be read without a network:\n" + "\n".join(found))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--metrics", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    work, output = arguments.work.resolve(), arguments.output.resolve()
    for folder in (work, output):
        shutil.rmtree(folder, ignore_errors=True)
    pages = work / "pages"
    for folder in ("catalog", "api"):
        (pages / folder).mkdir(parents=True)

    described = json.loads(arguments.metrics.read_text(encoding="utf-8"))
    metrics = [one for one in described if one["domain"] != catalog.LOSSES]
    scanned = headers.scan_all(ROOT)
    entities = {e.name: e for e in scanned if e.kind != "header"}
    introductions = {e.header: e for e in scanned if e.kind == "header"}
    explained = {
        entity.name
        for domain in {m["domain"] for m in metrics}
        for entity in catalog.definitions(
            [m for m in metrics if m["domain"] == domain], entities
        )
    }

    # Comments link to what Doxygen finds, so it reads them twice.
    declared = api.read(run_doxygen(work, writer_for({}, set())))
    listed = {f"tally::{m['name']}" for m in metrics}
    declared = [
        one
        for one in declared
        if one.name not in listed and one.name.rpartition("::")[2] not in explained
    ]
    names = names_of(described, declared)
    writer = writer_for(names, explained)
    run_doxygen(work, writer)
    for name in explained:
        names[name] = ("std", "ref", catalog.label(name))
    # "F1Score" stands for all of its kind.
    for kind in ("Multiclass", "Binary", "Multilabel"):
        for metric in metrics:
            if metric["name"].startswith(kind):
                target = ("std", "ref", catalog.label(metric["name"]))
                names.setdefault(metric["name"].removeprefix(kind), target)
    (work / "names.json").write_text(json.dumps(names), encoding="utf-8")

    domains = catalog.write(pages / "catalog", ROOT, described, entities, writer)
    folders = api.write(pages / "api", declared, introductions, writer)
    reference = ["A page for each, by domain:", ""]
    reference += [f"* [{domain.capitalize()}](catalog/{domain}.rst)" for domain in domains]
    reference += ["", "The C++ API:", ""]
    reference += [f"* [{api.title_of(folder)}](api/{folder}.rst)" for folder in folders]
    guide_pages = guides.Guides(ROOT, pages).copy("\n".join(reference))
    trees = rst.toctree("Guides", guide_pages)
    trees += rst.toctree("Metrics and losses", [f"catalog/{domain}" for domain in domains])
    trees += rst.toctree("C++ API", [f"api/{folder}" for folder in folders])
    with open(pages / "index.md", "a", encoding="utf-8") as index:
        index.write("\n".join(trees))

    run_sphinx(work, output)
    check_offline(output)


if __name__ == "__main__":
    main()
