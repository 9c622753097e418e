"""Writes a C++ file that holds the examples of the documentation.

Each block that follows "/// Example:" in a header, and each ```cpp block of a
Markdown file, becomes the body of a function, in the order of the arguments.
Lines that include headers are dropped: the file includes what it needs. With
--tests it writes the blocks that define tests instead, as they are.

Usage: extract_examples.py [--only FOLDER]... [--without FOLDER]... [--tests]
                           FILE...

Of headers, --only takes those below a folder of the repository, --without all
others.
"""

import argparse
import pathlib
import re
import sys


def header_examples(text: str) -> list[str]:
    """The code in backticks, or indented, behind each "/// Example:"."""
    examples = []
    lines = iter(text.splitlines())
    for line in lines:
        if not re.match(r"\s*/// Example:", line):
            continue
        inline = re.search(r"Example: `(.*)`", line)
        if inline:
            examples.append(inline.group(1))
            continue
        code = []
        for follower in lines:
            match = re.match(r"\s*///(?: {4,}(.*)|\s*)$", follower)
            if not match:
                break
            code.append(match.group(1) or "")
        examples.append("\n".join(code))
    return examples


def markdown_examples(text: str) -> list[str]:
    """The bodies of the ```cpp blocks."""
    return re.findall(r"```cpp\n(.*?)```", text, flags=re.DOTALL)


def defines_tests(example: str) -> bool:
    return re.search(r"^\w*TEST\w*\(", example, flags=re.MULTILINE) is not None


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--without", action="append", default=[])
    parser.add_argument("--tests", action="store_true")
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()

    def is_below(path: str, folders: list[str]) -> bool:
        return any(path.startswith(f"tally/{folder}/") for folder in folders)

    for path in arguments.files:
        # Bazel's path of a header ends in the one that users include.
        header = re.sub(r".*/_virtual_includes/\w+/", "", path)
        if is_below(header, arguments.without) or (
            arguments.only and not is_below(header, arguments.only)
        ):
            continue
        text = pathlib.Path(path).read_text(encoding="utf-8")
        find = markdown_examples if path.endswith(".md") else header_examples
        for number, example in enumerate(find(text), start=1):
            if defines_tests(example) != arguments.tests:
                continue
            name = re.sub(r"\W", "_", header)
            body = "\n".join(
                line
                for line in example.splitlines()
                if not line.lstrip().startswith("#include")
            )
            print(f'#line 1 "{name} example {number}"')
            if arguments.tests:
                print(body + "\n")
                continue
            print(f"void example_{name}_{number}(Things& things) {{")
            print("  EXAMPLE_THINGS(things)")
            print("  {")
            print(body)
            print("  }")
            print("}\n")


if __name__ == "__main__":
    main()
