"""Pages of metrics, one for each domain: what the registry knows of a metric,
and what its header says."""

import collections
import pathlib
import re

from headers import Entity, Writer
from rst import heading, list_table

KINDS = ("Binary", "Multiclass", "Multilabel")


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


def metric_section(metric: dict, entity: Entity, writer: Writer) -> list[str]:
    name = metric["name"]
    first, rest = opening(writer.comment(entity.comment))
    out = [f".. _{label(name)}:", ""] + heading(name, "-") + first
    out += [f"``#include <tally/{entity.header}>``", ""]
    differentiable, higher = yes_or_no(metric)
    out += [
        f":Range: {code(metric['range'])}",
        f":Differentiable: {differentiable}",
        f":Higher is better: {higher}",
        "",
    ]

    rows = [
        [code(one["name"]), code(one["what"]), "optional" if one["optional"] else ""]
        for one in metric["inputs"]
    ]
    other = metric.get("other_inputs")
    if other:
        rows.append(["others", f"as the metric of the option ``{other}``", ""])
    if rows:
        out += list_table(["Input", "What", ""], rows, [20, 60, 20])
    rows = [
        [
            code(one["name"]),
            code(one["default"]) if "default" in one else "required",
            writer.text(one["expected"]),
            writer.text(one["what"]),
        ]
        for one in metric["options"]
    ]
    if rows:
        out += list_table(["Option", "Default", "Values", "Meaning"], rows, [18, 14, 28, 40])
    return out + rest


def write(
    folder: pathlib.Path,
    metrics: list[dict],
    entities: dict[str, Entity],
    writer: Writer,
) -> list[str]:
    """Writes the pages; returns their names. Each metric has to have a header."""
    domains = collections.defaultdict(list)
    for metric in metrics:
        domains[metric["domain"]].append(metric)
    for domain, members in domains.items():
        members.sort(key=lambda metric: family(metric["name"]))
        title = domain[0].upper() + domain[1:].replace("_", " ")
        out = heading(title, "=") + [".. cpp:namespace:: tally", ""]
        rows = []
        for metric in members:
            differentiable, higher = yes_or_no(metric)
            rows.append(
                [
                    f":ref:`{metric['name']} <{label(metric['name'])}>`",
                    writer.text(metric["what"]),
                    code(metric["range"]),
                    differentiable,
                    higher,
                ]
            )
        out += list_table(
            ["Metric", "What it is", "Range", "Differentiable", "Higher is better"],
            rows,
            [28, 36, 14, 11, 11],
        )
        for metric in members:
            out += metric_section(metric, entities[metric["name"]], writer)
        shared = definitions(members, entities)
        if shared:
            out += heading("What several of them share", "-")
        for entity in shared:
            out += [f".. _{label(entity.name)}:", ""] + heading(entity.name, "~")
            out += writer.comment(entity.comment)
        (folder / f"{domain}.rst").write_text("\n".join(out), encoding="utf-8")
    return sorted(domains)
