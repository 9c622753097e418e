"""The pages of docs/ for the site, with pages of the files that they link to."""

import os
import pathlib
import posixpath
import re

LINK = re.compile(r"(?<!\\)(!?\[[^\]\[]*(?:\[[^\]]*\][^\]\[]*)*\])\(([^()\s]+)\)")
INLINE = re.compile(r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
# As the place where the repository is hosted takes formulas.
MATH = re.compile(r"\$`([^`]+)`\$")
FENCE = re.compile(r"(^```.*?^```[ \t]*$)", re.DOTALL | re.MULTILINE)

LANGUAGES = {
    ".cc": "cpp",
    ".h": "cpp",
    ".py": "python",
    ".bzl": "python",
    ".bazel": "python",
    "BUILD": "python",
    "WORKSPACE": "python",
    "CMakeLists.txt": "cmake",
}
IMAGES = (".svg", ".png", ".jpg", ".gif")


def page_of(path: str) -> str:
    """The page of a file of the repository, without its ending."""
    if path.startswith("docs/") and path.endswith(".md"):
        return path[len("docs/") : -len(".md")]
    if path.endswith(".md"):
        return "repository/" + path[: -len(".md")]
    return "repository/" + path


class Guides:
    """Copies pages from `root` to `site`, and what they link to after them."""

    def __init__(self, root: pathlib.Path, site: pathlib.Path):
        self._root = root
        self._site = site
        self._queue: list[str] = []
        self._seen: set[str] = set()

    def copy(self, generated: str) -> list[str]:
        """All guides; `generated` stands for what index.md marks. Returns the
        pages that the index links to, in its order."""
        for path in sorted((self._root / "docs").glob("*.md")):
            self._add(f"docs/{path.name}")
        index = (self._root / "docs/index.md").read_text(encoding="utf-8")
        listed = []
        for _, target in LINK.findall(FENCE.sub("", index)):
            page = self._target("docs/index.md", target.split("#")[0])
            if page and page not in listed:
                listed.append(page)
        while self._queue:
            path = self._queue.pop(0)
            if (self._root / path).is_dir():
                self._write(page_of(path), self._folder(path))
            elif path.endswith(".md"):
                text = (self._root / path).read_text(encoding="utf-8")
                if path == "docs/index.md":
                    text = re.sub(
                        r"<!-- generated -->.*?<!-- /generated -->",
                        lambda _: generated,
                        text,
                        flags=re.DOTALL,
                    )
                orphan = "" if page_of(path) in [*listed, "index"] else "---\norphan: true\n---\n\n"
                self._write(page_of(path), orphan + self._with_links(path, text))
            else:
                self._write(page_of(path), self._source(path))
        return listed

    def _add(self, path: str) -> None:
        if path not in self._seen:
            self._seen.add(path)
            self._queue.append(path)

    def _target(self, page: str, link: str) -> str | None:
        """The page that a relative link leads to, unless it was generated."""
        if not link or link.endswith(".rst") or re.match(r"[a-z]+:", link):
            return None
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page), link))
        self._add(path)
        return page_of(path)

    def _with_links(self, page: str, text: str) -> str:
        here = posixpath.dirname(page_of(page)) or "."

        def replace(match: re.Match) -> str:
            name, target = match.groups()
            target, _, anchor = target.partition("#")
            if target.endswith(IMAGES) and not re.match(r"[a-z]+:", target):
                return f"{name}({self._image(page, target, here)})"
            found = self._target(page, target)
            if found is None:
                return match.group(0)
            suffix = f"#{anchor}" if anchor else ""
            return f"{name}({posixpath.relpath(found, here)}.md{suffix})"

        def linked(part: str) -> str:
            code = [match.span() for match in INLINE.finditer(part)]
            return LINK.sub(
                lambda match: match.group(0)
                if any(first < match.start() < last for first, last in code)
                else replace(match),
                part,
            )

        parts = FENCE.split(text)
        return "".join(
            part if i % 2 else MATH.sub(r"{math}`\1`", linked(part))
            for i, part in enumerate(parts)
        )

    def _image(self, page: str, target: str, here: str) -> str:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page), target))
        copy = self._site / "repository" / path
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes((self._root / path).read_bytes())
        return posixpath.relpath(f"repository/{path}", here)

    def _folder(self, path: str) -> str:
        names = sorted(
            os.path.relpath(file, self._root / path)
            for file in (self._root / path).rglob("*")
            if file.is_file() and file.suffix not in (".csv", ".npy", ".json")
        )
        lines = [f"# {path}", ""]
        for name in names:
            self._add(f"{path}/{name}")
            here = posixpath.dirname(page_of(path))
            page = posixpath.relpath(page_of(f"{path}/{name}"), here)
            lines.append(f"* [{name}]({page}.md)")
        return "---\norphan: true\n---\n\n" + "\n".join(lines) + "\n"

    def _source(self, path: str) -> str:
        file = self._root / path
        text = file.read_text(encoding="utf-8")
        language = LANGUAGES.get(file.name) or LANGUAGES.get(file.suffix)
        if language is None and text.startswith("#!"):
            language = "python" if "python" in text.split("\n")[0] else "bash"
        return (
            f"---\norphan: true\n---\n\n# {path}\n\n"
            f"``````{language or 'text'}\n{text.rstrip()}\n``````\n"
        )

    def _write(self, page: str, text: str) -> None:
        path = self._site / f"{page}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
