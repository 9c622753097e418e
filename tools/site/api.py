"""Pages of the C++ API: what Doxygen found, header by header."""

import collections
import dataclasses
import pathlib
import re
import xml.etree.ElementTree as ElementTree

from headers import Entity, Writer, first_sentence
from rst import heading, list_table

DIRECTIVES = {
    "class": "doxygenclass",
    "struct": "doxygenstruct",
    "enum": "doxygenenum",
    "function": "doxygenfunction",
    "typedef": "doxygentypedef",
    "variable": "doxygenvariable",
    "define": "doxygendefine",
}
TITLES = {
    "metrics": "Metrics, collections, options",
    "losses": "Losses",
    "sync": "Sync",
    "training": "Training",
    "testing": "Testing",
    "state": "States",
    "files": "Files",
    "sinks": "Sinks",
    "plots": "Plots",
    "report": "Reports",
}


@dataclasses.dataclass
class Declared:
    """Something documented that programs can use."""

    kind: str
    name: str  # "tally::sync::all_gather"
    header: str
    line: int
    arguments: str = ""  # of a function: "(const at::Tensor&, int)"
    text: str = ""


def words(element) -> str:
    return "".join(element.itertext()) if element is not None else ""


def _is_public(name: str) -> bool:
    return "internal" not in name and "<" not in name and "@" not in name


def _header(element) -> str:
    location = element.find("location")
    file = location.get("declfile") or location.get("file")
    return re.sub(r".*include/tally/", "", file)


def _line(element) -> int:
    location = element.find("location")
    return int(location.get("declline") or location.get("line"))


def _text(element) -> str:
    """The comment, as it was embedded."""
    verbatim = element.find("detaileddescription//verbatim")
    lines = words(verbatim).splitlines()[1:]
    return "\n".join(re.sub(r"^\s*/// ?", "", line) for line in lines).strip()


def read(xml: pathlib.Path) -> list[Declared]:
    """What is declared in a namespace, or as a macro, and has a comment."""
    found = []
    index = ElementTree.parse(xml / "index.xml").getroot()
    for entry in index.findall("compound"):
        kind = entry.get("kind")
        if kind not in ("class", "struct", "namespace", "file"):
            continue
        compound = ElementTree.parse(xml / f"{entry.get('refid')}.xml").find("compounddef")
        name = words(compound.find("compoundname"))
        if kind in ("class", "struct"):
            outer = name.rpartition("::")[0]
            is_nested = re.match(r"[A-Z]", outer.rpartition("::")[2])
            if _is_public(name) and not is_nested and _text(compound):
                found.append(
                    Declared(kind, name, _header(compound), _line(compound), "", _text(compound))
                )
            continue
        if not _is_public(name) and kind == "namespace":
            continue
        for member in compound.iter("memberdef"):
            if (member.get("kind") == "define") != (kind == "file"):
                continue
            short = words(member.find("name"))
            if not _is_public(short) or short.endswith("_") or not _text(member):
                continue
            declared = Declared(
                member.get("kind"),
                short if kind == "file" else f"{name}::{short}",
                _header(member),
                _line(member),
                text=_text(member),
            )
            if declared.kind == "function":
                types = [words(param.find("type")) for param in member.findall("param")]
                declared.arguments = "(" + ", ".join(types) + ")"
            found.append(declared)
    return found


def page_of(header: str) -> str:
    """The page that a header is on: "sync", "metrics_regression"."""
    parts = header.split("/")
    if parts[0] == "metrics" and len(parts) > 2 and parts[1] != "registry":
        return f"metrics_{parts[1]}"
    return parts[0]


def title_of(page: str) -> str:
    folder, _, domain = page.partition("_")
    return f"Options and results: {domain}" if domain else TITLES.get(folder, folder)


def _directive(declared: Declared) -> list[str]:
    lines = [f".. {DIRECTIVES[declared.kind]}:: {declared.name}{declared.arguments}"]
    if declared.kind in ("class", "struct"):
        lines.append("   :members:")
    return lines + [""]


def _summary(declared: Declared) -> str:
    paragraph = declared.text.split("\n\n")[0]
    return first_sentence(paragraph) if not paragraph.startswith("..") else ""


def _rows(contents: list[Declared]) -> list[list[str]]:
    """Of a page's table: each name once, no options, and of a module and its
    implementation the module."""
    summaries = {}
    for one in contents:
        summaries.setdefault(one.name, _summary(one))
    rows = []
    for name, summary in summaries.items():
        if f"{name}Impl" in summaries:
            summary = summaries[f"{name}Impl"]
        elif name.endswith("Options") or name.removesuffix("Impl") in summaries.keys() - {name}:
            continue
        rows.append([f":cpp:any:`~{name}`", summary])
    return rows


def write(
    folder: pathlib.Path,
    declared: list[Declared],
    introductions: dict[str, Entity],
    writer: Writer,
) -> list[str]:
    """Writes a page for each folder; returns their names."""
    pages = collections.defaultdict(lambda: collections.defaultdict(list))
    for one in declared:
        pages[page_of(one.header)][one.header].append(one)
    order = list(TITLES)
    names = sorted(pages, key=lambda page: (order.index(page.split("_")[0]), page))
    for page in names:
        out = heading(title_of(page), "=")
        rows = []
        body = []
        for header, contents in sorted(pages[page].items(), key=lambda h: (h[0].count("/"), h)):
            contents.sort(key=lambda one: one.line)
            body += heading(f"tally/{header}", "-")
            if header in introductions:
                body += writer.comment(introductions[header].comment)
            for one in contents:
                body += _directive(one)
            rows += _rows(contents)
        out += list_table(["", ""], rows, widths=[35, 65], header=False) + body
        (folder / f"{page}.rst").write_text("\n".join(out), encoding="utf-8")
    return names
