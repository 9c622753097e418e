"""Reads Tally's headers: what is declared in them, and what they say of it.

A comment is written for someone who reads the header. Paragraphs are plain text
with `code` in backticks; what is indented by two or more is code, or a formula.
"""

import dataclasses
import pathlib
import re

# Folders of headers that programs include, in the order of the reference.
FOLDERS = (
    "metrics", "files", "sinks", "plots", "report", "losses", "sync", "training", "testing",
    "state",
)

COMMENT = re.compile(r"^(\s*)///(?!<) ?(.*)$")


@dataclasses.dataclass
class Entity:
    """A class, enumeration, alias or header, with its comment."""

    name: str
    qualified: str  # "tally::sync::Communicator"
    kind: str  # "class", "struct", "enum", "using", "header"
    header: str  # "sync/communicator.h"
    comment: list[str]

    @property
    def summary(self) -> str:
        """The first sentence."""
        text = []
        for line in self.comment:
            if not line.strip() or line.startswith("  "):
                break
            text.append(line)
        return first_sentence(" ".join(text))


def first_sentence(text: str) -> str:
    match = re.match(r"(.*?[^.][.:])(?= [A-Z`]|$)", text)
    return re.sub(r":$", ".", match.group(1) if match else text)


def files(root: pathlib.Path) -> list[str]:
    """The headers, without those that only sources of their folder include."""
    paths = [path for folder in FOLDERS for path in (root / folder).rglob("*.h")]
    names = [str(path.relative_to(root)) for path in paths if "-inl" not in path.name]
    # A folder's own headers before those of the folders in it.
    return sorted(names, key=lambda n: (FOLDERS.index(n.split("/")[0]), n.count("/"), n))


def without_template(declaration: str) -> str:
    """What follows "template <...>"."""
    if not declaration.startswith("template"):
        return declaration
    depth = 0
    for i, character in enumerate(declaration):
        depth += (character == "<") - (character == ">")
        if depth == 0 and character == ">":
            return without_template(declaration[i + 1 :].lstrip())
    return declaration


DECLARATION = re.compile(r"(class|struct|enum class|enum|using)\s+(\w+)(?!\w*\s*<)")


def scan(text: str, header: str) -> list[Entity]:
    """What stands in namespaces for everyone, in order, if it has a comment."""
    found = []
    namespaces = []
    comment = []
    lines = iter(text.splitlines())
    for line in lines:
        match = COMMENT.match(line)
        if match and not match.group(1):
            comment.append(match.group(2))
            continue
        opens = re.match(r"(?:inline )?namespace ([\w:]+) \{$", line)
        if opens:
            if comment and "internal" not in opens.group(1):
                found.append(Entity(header, header, "header", header, comment))
            namespaces.append(opens.group(1))
        elif line == "namespace {":
            namespaces.append("internal")
        elif line.startswith("}  // namespace") and namespaces:
            namespaces.pop()
        elif comment and not line.startswith("#"):
            declaration = line
            while not re.search(r"[;{]", declaration):
                declaration += " " + next(lines).strip()
            declared = DECLARATION.match(without_template(declaration))
            scope = "::".join(namespaces)
            if declared and "internal" not in scope:
                kind, name = declared.groups()
                qualified = f"{scope}::{name}"
                found.append(Entity(name, qualified, kind.split()[0], header, comment))
        comment = []
    return found


def scan_all(root: pathlib.Path) -> list[Entity]:
    entities = []
    for name in files(root):
        entities += scan((root / name).read_text(encoding="utf-8"), name)
    return entities


class Writer:
    """Turns comments into reStructuredText.

    `link(name)` gives the role that leads to what `name` is, or nothing.
    """

    # Calls, names that can only be code, and words that may be names.
    CODE = re.compile(
        r"`([^`]+)`"
        r"|(?<![\w:])([a-z_][\w:]*\((?:[^()]|\([^()]*\))*\))(?<!\(s\))"
        r"|(?<![\w:.])((?:\w+::)*[A-Za-z_]\w*)"
    )

    # A line that begins so is about something else than the one before.
    TOPIC = re.compile(
        r"(Result|State|NaN|Errors?|Source|Differentiable|Not differentiable|Gradients"
        r"|Throws|Thread-safety|update\()"
    )

    def __init__(self, link):
        self._link = link

    def text(self, text: str) -> str:
        """A paragraph, on one line."""
        topic = re.match(r"([A-Z][\w-]+):(?= |$)", text)
        if topic:
            rest = self._text(text[topic.end() :].lstrip())
            return f"**{topic.group(1)}:** {rest}".rstrip()
        return self._text(text)

    def _text(self, text: str) -> str:
        out = []
        end = 0
        for match in self.CODE.finditer(text):
            role = self._role(match)
            if role is None:
                continue
            out += [self._escaped(text[end : match.start()]), role]
            end = match.end()
        out.append(self._escaped(text[end:]))
        return self._joined(out)

    def comment(self, lines: list[str]) -> list[str]:
        """A whole comment, line by line."""
        out = []
        paragraph = []

        def finish():
            if paragraph:
                out.extend([self.text(" ".join(paragraph)), ""])
                paragraph.clear()

        i = 0
        while i < len(lines):
            line = lines[i].rstrip()
            if not line:
                finish()
            elif line.startswith("  "):
                finish()
                block = []
                while i < len(lines) and (not lines[i].strip() or lines[i].startswith("  ")):
                    block.append(lines[i].rstrip())
                    i += 1
                out.extend(self._block(block))
                continue
            else:
                if paragraph and paragraph[-1].endswith(".") and self.TOPIC.match(line):
                    finish()
                paragraph.append(line)
            i += 1
        finish()
        return out

    @staticmethod
    def _block(block: list[str]) -> list[str]:
        while block and not block[-1]:
            block.pop()
        indent = min(len(line) - len(line.lstrip()) for line in block if line)
        code = [line[indent:] for line in block]
        is_code = re.search(r"[;{}]\s*(//.*)?$", "\n".join(code), re.M)
        language = "json" if code[0] == "{" else "cpp" if is_code else "text"
        # What is no whole program may not be C++ to the last character.
        return (
            [f".. code-block:: {language}", "   :force:", ""]
            + ["   " + line if line else "" for line in code]
            + [""]
        )

    def _role(self, match: re.Match) -> str | None:
        quoted, call, word = match.groups()
        code = quoted or call or word
        # "Rows" and "Number" begin sentences, "BinaryCounts" is a class.
        if not word or "::" in word or re.search(r"[a-z\d][A-Z]|^[A-Z]{2}", word):
            link = self._link(code)
            if link:
                return link
        if word and not (
            "_" in word.strip("_") or "::" in word or re.fullmatch(r"k[A-Z]\w*", word)
        ):
            return None
        return f"``{code}``"

    @staticmethod
    def _escaped(text: str) -> str:
        return re.sub(r"([\\*`|_])", r"\\\1", text)

    @staticmethod
    def _joined(parts: list[str]) -> str:
        """Text and roles in turn; roles need room on both sides."""
        out = ""
        for i, part in enumerate(parts):
            is_role = i % 2 == 1
            if is_role and out and not re.search(r"[\s\-:/'\"<(\[{]$", out):
                out += r"\ "
            elif not is_role and i and part and not re.match(r"[\s\-.,:;!?/'\")\]}>]", part):
                out += r"\ "
            out += part
        return out


def for_doxygen(text: str, writer: Writer) -> str:
    """The header, its comments as reStructuredText that Doxygen passes on."""
    out = []
    block: list[str] = []
    indent = ""

    def finish():
        if block:
            embedded = writer.comment(block)
            while embedded and not embedded[-1]:
                embedded.pop()
            out.append(f"{indent}/// \\verbatim embed:rst:leading-slashes")
            out.extend(f"{indent}/// {line}".rstrip() for line in embedded)
            out.append(f"{indent}/// \\endverbatim")
            block.clear()

    for line in text.splitlines():
        match = COMMENT.match(line)
        if match:
            indent = match.group(1)
            block.append(match.group(2))
            continue
        finish()
        behind = re.match(r"(.*\S\s*)///< ?(.*)$", line)
        if behind:
            plain = re.sub(r'([\\@<>&#%"$])', r"\\\1", behind.group(2))
            line = f"{behind.group(1)}///< {plain}"
        holder = re.match(r"TORCH_MODULE\((\w+)\);", line)
        if holder:
            name = holder.group(1)
            block.append(
                f"The module that holds a `{name}Impl`, which has its documentation: "
                f"`{name} loss(options);`, then `loss->forward(...)`."
            )
            indent = ""
            finish()
            line = f"class {name} : public torch::nn::ModuleHolder<{name}Impl> {{}};"
        # Doxygen 1.9.4 takes the quote in 20'000 for the beginning of a character.
        out.append(re.sub(r"(?<=\d)'(?=\d)", "", line))
    finish()
    return "\n".join(out) + "\n"
