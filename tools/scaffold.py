"""Changes to several files at once, all or none: what tools/new_metric and
tools/new_loss share."""

import functools
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

#: What the writer of a new class has to fill in begins with this word.
WRITE = "Write:"


class Refused(Exception):
    """Nothing was written, for this reason."""


def git(*arguments):
    return subprocess.run(
        ["git", *arguments], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True
    ).stdout


def snake(name):
    """MeanSquaredError -> mean_squared_error, CLIPScore -> clip_score."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def check_name(name):
    if not re.fullmatch(r"[A-Z]\w*[a-z]\w*", name) or "_" in name:
        raise Refused(f"expected a name in CamelCase, such as MeanSquaredError, got {name}")


@functools.lru_cache(maxsize=None)
def headers():
    """The text of each header, by path."""
    return {
        file: (ROOT / file).read_text("utf-8")
        for file in git("ls-files", "--", "*.h").splitlines()
        if (ROOT / file).is_file()
    }


def check_not_declared(*names):
    """None of the classes exists anywhere in the libraries."""
    pattern = re.compile(
        r"(?:\b(?:class|struct|using)\s+|TORCH_MODULE\()(" + "|".join(names) + r")\b(?!\s*;)"
    )
    for file, text in headers().items():
        found = pattern.search(text)
        if found:
            raise Refused(f"{found[1]} exists: {file}")


class Edits:
    """New texts of files, by path below the root."""

    def __init__(self):
        self.texts = {}
        self.new = []

    def create(self, path, text):
        if (ROOT / path).exists():
            raise Refused(f"{path} exists")
        self.new.append(path)
        self.texts[path] = text

    def text(self, path):
        return self.texts.get(path) or (ROOT / path).read_text(encoding="utf-8")

    def insert(self, path, position, addition):
        text = self.text(path)
        self.texts[path] = text[:position] + addition + text[position:]

    def add_line(self, path, line, begins, after=""):
        """Adds a line in order to the block of lines that match `begins`, the first
        behind what matches `after`."""
        text = self.text(path)
        start = re.search(after, text, re.M).end()
        block = list(re.finditer(rf"^(?:{begins}).*\n", text[start:], re.M))
        if not block:
            raise Refused(f"{path}: found no line like {begins}")
        place = start + block[0].start()
        for one, other in zip(block, [*block[1:], None]):
            if re.split(r"\s\s+//", one[0])[0] < line:
                place = start + one.end()
            if other is None or other.start() != one.end():
                break
        self.insert(path, place, line + "\n")

    def add_item(self, path, attribute, item, after=""):
        """Adds a string to a list of a rule in a BUILD file, the first behind `after`."""
        text = self.text(path)
        start = re.search(after, text, re.M).end()
        found = re.search(rf"^    {attribute} = \[([^\]]*)\]", text[start:], re.M)
        if not found:
            raise Refused(f"{path}: found no {attribute}")
        items = sorted({*re.findall(r'"([^"]+)"', found[1]), item})
        lines = "".join(f'        "{each}",\n' for each in items)
        begin, end = start + found.start(1), start + found.end(1)
        self.texts[path] = f"{text[:begin]}\n{lines}    {text[end:]}"

    def add_to_cmake(self, component, header, source):
        """Where tools/cmake_sources.py would put them."""
        for kind, path in (("HEADERS", header), ("SOURCES", source)):
            text = self.text("cmake/sources.cmake")
            name = f"set(TALLY_{component}_{kind}"
            start = text.index(name + "\n") + len(name) + 1
            end = text.index(")\n", start)
            lines = sorted([*text[start:end].split(), path])
            listed = "\n".join(f"    {line}" for line in lines)
            self.texts["cmake/sources.cmake"] = text[:start] + listed + text[end:]

    def write(self):
        """Writes all, unless a file has changes that are not committed."""
        dirty = git("status", "--porcelain", "--", *self.texts).splitlines()
        if dirty:
            raise Refused("commit or stash first: " + ", ".join(line[3:] for line in dirty))
        for path, text in self.texts.items():
            (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
            (ROOT / path).write_text(text, encoding="utf-8")
        sources = [path for path in self.texts if path.endswith((".h", ".cc"))]
        if shutil.which("clang-format-14"):
            subprocess.run(
                ["clang-format-14", "-i", "--style=file", *sources], cwd=ROOT, check=True
            )
        for path in self.texts:
            print(f"{'new    ' if path in self.new else 'changed'} {path}")


def write_into(folder, texts):
    """Writes the sources of a class below a folder."""
    for path, text in texts.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")


def run(arguments, usage, make, sources):
    """The program: `make(NAME, FOLDER)` returns Edits and what to do next, and
    `sources(NAME, FOLDER)` the texts of the new sources alone."""
    into = None
    if len(arguments) == 4 and arguments[0] == "--into":
        into, arguments = pathlib.Path(arguments[1]), arguments[2:]
    if len(arguments) != 2 or arguments[0].startswith("-"):
        print(usage.strip(), file=sys.stderr)
        return 2
    try:
        if into:
            write_into(into, sources(*arguments))
            return 0
        edits, next_steps = make(*arguments)
        edits.write()
    except Refused as refusal:
        print(refusal, file=sys.stderr)
        return 1
    print(next_steps)
    return 0
