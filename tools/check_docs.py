"""Checks what the documentation refers to.

Usage: check_docs.py [--release]

Of every tracked Markdown page: relative links lead to files and headings that are
there; sources and folders in backticks are there; commands name targets, programs,
configurations and options that exist; what examples are said to print is what they
say themselves. Of docs/names.md: the classes exist. Of the README, the guides and the
benchmarks' page: tools/commands.tsv says of each command how it was last tried. Of the
README: it is short. Of pages, public headers and Python's modules: the spelling is
American. For a release: the address to report to is filled in. Prints what is wrong
and exits with 1.
"""

import argparse
import functools
import pathlib
import posixpath
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE)
INLINE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
LINK = re.compile(r"!?\[[^\]\[]*(?:\[[^\]]*\][^\]\[]*)*\]\(([^()\s]+)\)")
HTML_LINK = re.compile(r"<[^>]*\b(?:href|src|srcset)=\"([^\"\s]+)\"")
SOURCE = re.compile(r"`((?:[\w-]+/)+(?:[\w-]+\.(?:cc|h|py|toml|tsv|txt))?)`")

# "[examples/NAME.cc](...) prints", or NAME.sh, and what.
PRINTS = re.compile(r"\[(examples/[\w/]+\.(?:cc|sh))\]\([^)]*\) prints\s+```\w*\n(.*?)```", re.DOTALL)
# A command, a tab, and how it was last tried.
TRIED = "tools/commands.tsv"
README_LINES = 170
REPORT_ADDRESS = "<<report address>>"
# British words, or how they begin.
BRITISH = re.compile(
    r"(?<![\w-])(?:un|re|de|pre)?(?:"
    r"behaviour|colour|favour|honour|neighbour|labour|catalogue|centre[ds]?\b|licence|"
    r"judgement|artefact|grey\b|analys(?:e|ed|es|ing)\b|learnt|spelt|whilst|towards\b|"
    r"(?:label|model|travel|cancel|signal|channel)l(?:ed|ing|er)\b|"
    r"(?:synchron|initial|normal|optim|organ|recogn|general|summar|minim|maxim|serial|"
    r"visual|standard|random|real|regular|token|vector|stabil|author|custom|discret|"
    r"priorit|parallel|factor|quant|emphas|penal|util|categor|binar|local|parametr)"
    r"is(?:e|ed|es|ing|ation|ations|er)\b)",
    re.IGNORECASE,
)
# Labels of a reader's own workspace.
NOT_OURS = re.compile(r"//my[:/]")
COMMANDS = {"list", "describe", "evaluate", "report", "compare", "plan", "merge", "show",
            "completion"}


@functools.cache
def text_of(page):
    return (ROOT / page).read_text(encoding="utf-8")


def blanked(pattern, text):
    """Without what matches, every line in its place."""
    return pattern.sub(lambda m: re.sub(r"[^\n]", " ", m.group(0)), text)


@functools.cache
def headings(page):
    """The anchors of a page, as GitHub makes them."""
    found = {}
    anchors = set()
    for title in re.findall(r"^#{1,6}\s+(.*?)\s*#*$", blanked(FENCE, text_of(page)), re.M):
        title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title)
        slug = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        number = found.get(slug, 0)
        found[slug] = number + 1
        anchors.add(f"{slug}-{number}" if number else slug)
    return anchors


def check_sources(page):
    """Paths in backticks that begin with a folder of the repository."""
    text = blanked(FENCE, text_of(page))
    for match in SOURCE.finditer(text):
        path = match.group(1).removeprefix("tally/")
        ours = (ROOT / path.split("/")[0]).is_dir()
        if ours and not (ROOT / path).exists():
            yield f"{page}:{at(text, match.start())}: there is no {path}"


def at(text, position):
    return text.count("\n", 0, position) + 1


def check_links(page):
    text = blanked(INLINE, blanked(FENCE, text_of(page)))
    # Brackets with code in them are links, too: only the target is looked at.
    links = [*LINK.finditer(text), *HTML_LINK.finditer(text)]
    for match in links:
        target = match.group(1)
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        full = posixpath.normpath(posixpath.join(posixpath.dirname(page), path)) if path else page
        where = f"{page}:{at(text, match.start())}"
        if not (ROOT / full).exists():
            yield f"{where}: there is no {full}"
        elif anchor and (not full.endswith(".md") or anchor not in headings(full)):
            yield f"{where}: {full} has no heading #{anchor}"


@functools.cache
def names_in(package):
    build = ROOT / package / "BUILD"
    if not build.is_file():
        return None
    text = build.read_text(encoding="utf-8")
    # A header of a folder has a label of its own (tools/tally.bzl).
    labels = re.findall(r"\"(\w+)\.h\"", text) if "tally_cc_folder(" in text else []
    return {*re.findall(r"\bname = \"([^\"]+)\"", text), *labels}


def label_error(label):
    package, _, target = label[2:].partition(":")
    if package.endswith("..."):
        folder = package[:-3].rstrip("/")
        return None if (ROOT / folder).is_dir() else f"there is no folder {folder}"
    names = names_in(package)
    if names is None:
        return f"there is no package //{package}"
    target = target or package.rpartition("/")[2]
    if target in ("all", "*") or target in names or (ROOT / package / target).is_file():
        return None
    return f"there is no target {label}"


def check_commands(page):
    text = text_of(page)
    configurations = set(re.findall(r"^\w+:(\w+)", text_of(".bazelrc"), re.M))
    cmake = text_of("CMakeLists.txt") + "".join(
        text_of(path.relative_to(ROOT)) for path in (ROOT / "cmake").glob("*")
    )
    found = []
    for match in re.finditer(r"(?<![\w@/:])//(?!/)[\w/.]*(?::[\w.*-]+)?(?![\w/<])", text):
        label = match.group(0)
        if not label.endswith("..."):
            label = label.rstrip(".")
        if len(label) > 2 and not NOT_OURS.match(label) and not is_comment(text, match):
            found.append((match, label_error(label)))
    for match in re.finditer(r"(?<![\w/.])(?:\./)?((?:tools|benchmarks)/[\w./]+|\.ci/run)", text):
        path = match.group(1).rstrip("./")
        if not (ROOT / path).exists() and text[match.end() : match.end() + 1] != "<":
            found.append((match, f"there is no {path}"))
    for match in re.finditer(r"bazel-bin/([\w/]+)/(\w+)", text):
        found.append((match, label_error(f"//{match.group(1)}:{match.group(2)}")))
    for match in re.finditer(r"--config=(\w+)", text):
        if match.group(1) not in configurations:
            found.append((match, f".bazelrc has no configuration {match.group(1)}"))
    for match in re.finditer(r"-D(TALLY_\w+)", text):
        if match.group(1) not in cmake:
            found.append((match, f"CMake knows no {match.group(1)}"))
    for block in FENCE.finditer(text):
        if block.group(1) != "sh":
            continue
        for match in re.finditer(r"^\s*tally (\w+)", block.group(2), re.M):
            if match.group(1) not in COMMANDS:
                found.append((block, f"there is no command tally {match.group(1)}"))
    for match, error in found:
        if error:
            yield f"{page}:{at(text, match.start())}: {error}"


def commands_of(page):
    """The commands in a page's blocks of shell, without comments, by position."""
    for block in FENCE.finditer(text_of(page)):
        if block.group(1) != "sh":
            continue
        lines = block.group(2).replace("\\\n", " ").splitlines()
        for line in lines:
            command = " ".join(re.sub(r"(^|\s)#.*", "", line).split())
            if command and command not in ("done", "wait"):
                yield block.start(), command


def check_tried(pages):
    """Each command is in the list, and nothing else is."""
    rows = [line.split("\t") for line in text_of(TRIED).splitlines() if line]
    tried = {row[0]: row[1] for row in rows if len(row) == 2 and row[1].strip()}
    named = set()
    for page in pages:
        for position, command in commands_of(page):
            named.add(command)
            if command not in tried:
                yield (
                    f"{page}:{at(text_of(page), position)}: {TRIED} does not say how this was "
                    f"last tried: {command}"
                )
    for command in sorted({row[0] for row in rows} - named):
        yield f"{TRIED}: no page names this: {command}"


def is_comment(text, match):
    """Whether the slashes begin a comment of C++."""
    return match.group(0)[2:3] in ("", " ") or any(
        block.start() < match.start() < block.end() and block.group(1) == "cpp"
        for block in FENCE.finditer(text)
    )


def check_outputs(page):
    """What a page says that an example prints is what its first comment says, to
    which a test holds it."""
    text = text_of(page)
    for match in PRINTS.finditer(text):
        promised = re.sub(r"^(?://|#)(   )?", "", text_of(match.group(1)), flags=re.M)
        if match.group(2) not in promised:
            yield f"{page}:{at(text, match.start())}: {match.group(1)} prints something else"


def check_names(page):
    """Classes in backticks are declared in a header."""
    headers = "".join(
        path.read_text(encoding="utf-8")
        for folder in (
            "metrics", "files", "sinks", "plots", "report", "losses", "sync", "training"
        )
        for path in (ROOT / folder).rglob("*.h")
    )
    declared = set(re.findall(r"\b(?:class|struct|using|TORCH_MODULE\()\s*(\w+)", headers))
    text = blanked(FENCE, text_of(page))
    for code in INLINE.finditer(text):
        for name in re.findall(r"(?<!\w)[A-Z][a-z]\w+", code.group(2)):
            kinds = [prefix + name for prefix in ("", "Binary", "Multiclass", "Multilabel")]
            if not declared.intersection(kinds):
                yield f"{page}:{at(text, code.start())}: there is no class {name}"


def check_length(page):
    lines = text_of(page).count("\n")
    if lines > README_LINES:
        yield f"{page}: {lines} lines, and {README_LINES} are what a reader looks through"


def prose_of(path):
    """Of a page all but its code, of a program its comments; every line in its place."""
    text = text_of(path)
    if path.endswith(".md"):
        return blanked(INLINE, blanked(FENCE, text))
    if path.endswith(".h"):
        return "\n".join(line.partition("//")[2] for line in text.split("\n"))
    return text


def check_spelling(path):
    text = prose_of(path)
    for match in BRITISH.finditer(text):
        yield f"{path}:{at(text, match.start())}: American spelling, not {match.group(0)}"


def check_address(page):
    for match in re.finditer(re.escape(REPORT_ADDRESS), text_of(page)):
        yield f"{page}:{at(text_of(page), match.start())}: fill in {REPORT_ADDRESS}"


def tracked(*patterns):
    return subprocess.run(
        ["git", "ls-files", "--", *patterns],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout.split()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--release", action="store_true")
    release = parser.parse_args().release
    pages = tracked("*.md")
    found = [*check_names("docs/names.md"), *check_length("README.md")]
    found += check_tried([
        page for page in pages
        if page in ("README.md", "benchmarks/README.md") or page.startswith("docs/")
    ])
    for page in pages:
        if (ROOT / page).exists():
            found += [*check_links(page), *check_sources(page), *check_commands(page)]
            found += check_outputs(page)
            if release:
                found += check_address(page)
    for path in [*pages, *tracked("*.h", "python/tally/*.py", "python/tally/**/*.py")]:
        if (ROOT / path).exists():
            found += check_spelling(path)
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
