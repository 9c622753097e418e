"""A page for each metric and loss, and one for each domain that lists them: what
the registry knows of a class, what its header says, an example, and a picture."""

import collections
import pathlib
import re

import examples
from headers import Entity, Writer, first_sentence, scan_all
from rst import heading, list_table

KINDS = ("Binary", "Multiclass", "Multilabel")
LOSSES = "losses"
PLOTS = "docs/plots.md"


def family(name: str) -> tuple[str, int, str]:
    """By which metrics are sorted: BinaryAUROC beside MulticlassAUROC."""
    for i, kind in enumerate(KINDS):
        if name.startswith(kind):
            return (name[len(kind) :].lower(), i, name)
    return (name.lower(), -1, name)


def label(name: str) -> str:
    return f"metric-{name.lower()}"


def code(text: str) -> str:
    return f"``{text}``" if text.strip() else ""


def answer(value: bool | None, neither: str) -> str:
    return neither if value is None else "yes" if value else "no"


def yes_or_no(metric: dict) -> tuple[str, str]:
    """Whether it is differentiable, and whether higher is better."""
    inner = "same as the wrapped metric" if metric["wrapper"] else None
    return (
        answer(metric["differentiable"], inner or "no"),
        answer(metric["higher_is_better"], inner or "neither"),
    )


def entity_of(one: dict, entities: dict[str, Entity]) -> Entity | None:
    """The class whose comment is about it; a loss is a holder of one."""
    return entities.get(one["name"]) or entities.get(one["name"] + "Impl")


def definitions(metrics: list[dict], entities: dict[str, Entity]) -> list[Entity]:
    """Classes that comments of metrics refer to for what they have in common.

    They are of the metrics' own folder, and no options, enumerations or
    metrics themselves.
    """
    names = {metric["name"] for metric in metrics}
    queue = [entities[name] for name in sorted(names) if name in entities]
    found = {}
    while queue:
        entity = queue.pop(0)
        for word in re.findall(r"\w+", "\n".join(entity.comment)):
            other = entities.get(word)
            if (
                other is None
                or word in names
                or word in found
                or word.endswith("Options")
                or other.kind not in ("class", "struct", "using")
                or other.header.count("/") < 2
                or other.header.split("/")[1] != entity.header.split("/")[1]
                or not re.search(r"[a-z][A-Z]", word)
            ):
                continue
            found[word] = other
            queue.append(other)
    return [found[name] for name in sorted(found)]


def opening(lines: list[str]) -> tuple[list[str], list[str]]:
    """A comment's first paragraph with the formula that follows; and the rest."""
    end = lines.index("") + 1
    if end < len(lines) and lines[end].startswith(".. code-block"):
        end += 1
        while end < len(lines) and (not lines[end] or lines[end].startswith(" ")):
            end += 1
    return lines[:end], lines[end:]


def pictures(root: pathlib.Path, names: set[str]) -> dict[str, tuple[str, str]]:
    """By class, the picture of the first section of the page on plots that names
    it: its path and what it shows."""
    found = {}
    for section in (root / PLOTS).read_text(encoding="utf-8").split("\n## ")[1:]:
        picture = re.search(r"!\[([^\]]*)\]\(([^)]+)\)", section)
        for name in re.findall(r"\w+", section) if picture else []:
            if name in names:
                found.setdefault(name, (f"docs/{picture[2]}", picture[1]))
    return found


def facts(one: dict) -> list[str]:
    """What is said in a word or two."""
    if one["domain"] == LOSSES:
        fields = {"Results": ", ".join(code(name) for name in one["results"])}
    else:
        differentiable, higher = yes_or_no(one)
        fields = {
            "Range": code(one["range"]),
            "Differentiable": differentiable,
            "Higher is better": higher,
            "Intervals": ", ".join(code(method) for method in one.get("intervals", [])),
        }
    fields["Also called"] = one["aliases"]
    fields["More of"] = f":doc:`{one['domain']} <{one['domain']}>`"
    fields["Reference"] = one["source"]
    return [f":{name}: {value}" for name, value in fields.items() if value] + [""]


def tables(one: dict, writer: Writer) -> list[str]:
    """Its inputs and options."""
    out = []
    rows = [
        [code(each["name"]), code(each.get("what", "")), "optional" if each["optional"] else ""]
        for each in one["inputs"]
    ]
    other = one.get("other_inputs")
    if other:
        rows.append(["others", f"as the metric of the option ``{other}``", ""])
    if rows:
        out += list_table(["Input", "What", ""], rows, [20, 60, 20])
    rows = [
        [
            code(each["name"]),
            code(each["default"]) if "default" in each else "required",
            writer.text(each["expected"]),
            writer.text(each["what"]),
        ]
        for each in one["options"]
    ]
    if rows:
        out += list_table(["Option", "Default", "Values", "Meaning"], rows, [18, 14, 28, 40])
    return out


def page(one: dict, entity: Entity, writer: Writer, example: str, picture) -> str:
    name = one["name"]
    first, rest = opening(writer.comment(entity.comment))
    first, block = first[: first.index("") + 1], first[first.index("") + 1 :]
    # In no list of the sidebar, which every page has.
    out = [":orphan:", "", f".. _{label(name)}:", ""] + heading(name, "=")
    out += [".. cpp:namespace:: tally", ""] + first
    if one["formula"]:
        out += [".. math::", "", f"   {one['formula']}", ""]
    out += block + [f"``#include <tally/{entity.header}>``", ""] + facts(one) + tables(one, writer)
    if example:
        out += heading("Example", "-") + [".. code-block:: pycon", ""]
        out += [f"   {line}".rstrip() for line in example.splitlines()] + [""]
    if picture:
        path, text = picture
        out += [f".. figure:: /repository/{path}", f"   :alt: {text}", ""]
        out += [f"   {text} :doc:`How it is drawn </plots>`.", ""]
    return "\n".join(out + heading("Details", "-") + rest) + "\n"


def problems(described: list[dict], pages: dict[str, str]) -> list[str]:
    """What the pages, by name, lack."""
    found = []
    first = {}
    for one in described:
        name = one["name"]
        if name not in pages:
            found.append(f"{name} has no page: no header has a comment on it")
            continue
        text = pages[name]
        if one["formula"] and f".. math::\n\n   {one['formula']}\n" not in text:
            found.append(f"the page of {name} has no formula, and its class declares one")
        shown = re.search(r"^\.\. code-block:: pycon\n\n((?:   .*\n|\n)+)", text, re.M)
        if not shown or not examples.prints(re.sub("^   ", "", shown[1], flags=re.M)):
            found.append(f"the page of {name} has no example that ends with its value")
        words = re.search(r"^\.\. cpp:namespace:: \w+\n\n(.*)$", text, re.M)
        sentence = first_sentence(words[1]) if words else ""
        other = first.setdefault(sentence, name)
        if other != name:
            found.append(f"the pages of {other} and {name} both begin with: {sentence}")
    return found


def pages_of(
    root: pathlib.Path, described: list[dict], entities: dict[str, Entity], writer: Writer
) -> tuple[dict[str, str], list[str]]:
    """The pages by name, and what is wrong with them."""
    shown = examples.read_all(root)
    drawn = pictures(root, {one["name"] for one in described})
    pages = {}
    for one in described:
        name = one["name"]
        entity = entity_of(one, entities)
        if entity:
            pages[name] = page(one, entity, writer, shown.get(name, ""), drawn.get(name))
    found = problems(described, pages)
    for name in sorted(shown.keys() - {one["name"] for one in described}):
        found.append(f"docs/examples: there is no {name}")
    return pages, found


def check(root: pathlib.Path, described: list[dict]) -> list[str]:
    """The problems found in the pages; uses the standard library only."""
    entities = {one.name: one for one in scan_all(root) if one.kind != "header"}
    return pages_of(root, described, entities, Writer(lambda code: None))[1]


def write(
    folder: pathlib.Path,
    root: pathlib.Path,
    described: list[dict],
    entities: dict[str, Entity],
    writer: Writer,
) -> list[str]:
    """Writes the pages; returns the domains, each of which has one, too."""
    pages, found = pages_of(root, described, entities, writer)
    if found:
        raise SystemExit("\n".join(found))
    for name, text in pages.items():
        (folder / f"{name}.rst").write_text(text, encoding="utf-8")
    domains = collections.defaultdict(list)
    for one in described:
        domains[one["domain"]].append(one)
    for domain, members in domains.items():
        members.sort(key=lambda one: family(one["name"]))
        text = domain_page(domain, members, entities, writer)
        (folder / f"{domain}.rst").write_text("\n".join(text), encoding="utf-8")
    return sorted(domains, key=lambda domain: (domain == LOSSES, domain))


def domain_page(
    domain: str, members: list[dict], entities: dict[str, Entity], writer: Writer
) -> list[str]:
    out = heading(domain[0].upper() + domain[1:].replace("_", " "), "=")
    out += [".. cpp:namespace:: tally", ""]
    rows = []
    for one in members:
        row = [f":ref:`{one['name']} <{label(one['name'])}>`", writer.text(one["what"])]
        if domain != LOSSES:
            row += [code(one["range"]), *yes_or_no(one)]
        rows.append(row)
    if domain == LOSSES:
        out += list_table(["Loss", "What it is"], rows, [30, 70])
    else:
        out += list_table(
            ["Metric", "What it is", "Range", "Differentiable", "Higher is better"],
            rows,
            [28, 36, 14, 11, 11],
        )
    # The pages of the C++ API have what losses share.
    shared = definitions(members, entities) if domain != LOSSES else []
    if shared:
        out += heading("What several of them share", "-")
    for entity in shared:
        out += [f".. _{label(entity.name)}:", ""] + heading(entity.name, "~")
        out += writer.comment(entity.comment)
    return out
