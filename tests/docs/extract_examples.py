"""Writes a C++ file that holds the examples of the documentation.

Each block that follows "/// Example:" in a header, and each ```cpp block of a
Markdown file, becomes the body of a function, in the order of the arguments. The
blocks of a Markdown file have a namespace, for those that define classes or
main(), which stand there as they are. Lines that include headers are dropped: the
file includes what it needs. With --tests it writes the blocks that define tests
instead, as they are. With --program N it writes only the N-th block that has a
main(), includes and all; with --output N what that program prints according to
the ```text block that follows.

Usage: extract_examples.py [--only FOLDER]... [--without FOLDER]... [--tests]
                           [--program N] [--output N] FILE...

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


def programs(text: str) -> list[tuple[str, str]]:
    """Each ```cpp block that has a main(), and the next ```text block."""
    found = []
    for match in re.finditer(r"```cpp\n(.*?)```", text, flags=re.DOTALL):
        if is_program(match.group(1)):
            output = re.search(
                r"```text\n(.*?)```", text[match.end() :], flags=re.DOTALL
            )
            found.append((match.group(1), output.group(1) if output else ""))
    return found


def is_program(example: str) -> bool:
    return re.search(r"^int main\(", example, flags=re.MULTILINE) is not None


def defines_tests(example: str) -> bool:
    return re.search(r"^\w*TEST\w*\(", example, flags=re.MULTILINE) is not None


def is_declaration(example: str) -> bool:
    """Whether it cannot stand in a function."""
    pattern = r"^(struct|class|enum|template|namespace) "
    return re.search(pattern, example, flags=re.MULTILINE) is not None


def write_page(name: str, examples: list[tuple[int, str]]) -> None:
    """Those of a Markdown file. A block may return what it has computed."""
    print(f"inline namespace of_{name} {{")
    for number, body in examples:
        print(f'#line 1 "{name} example {number}"')
        if is_program(body):
            print(f"namespace program_{number} {{\n{body}\n}}")
            continue
        if is_declaration(body):
            print(body)
            continue
        print(f"void example_{name}_{number}(Things& things) {{")
        print("  EXAMPLE_THINGS(things)")
        print(f"  [&] {{\n{body}\n  }}();")
        print("}\n")
    print(f"}}  // namespace of_{name}\n")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--without", action="append", default=[])
    parser.add_argument("--tests", action="store_true")
    parser.add_argument("--program", type=int)
    parser.add_argument("--output", type=int)
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
        if arguments.program:
            print(programs(text)[arguments.program - 1][0], end="")
            continue
        if arguments.output:
            print(programs(text)[arguments.output - 1][1], end="")
            continue
        find = markdown_examples if path.endswith(".md") else header_examples
        name = re.sub(r"\W", "_", header)
        examples = []
        for number, example in enumerate(find(text), start=1):
            if defines_tests(example) == arguments.tests:
                lines = example.splitlines()
                kept = [line for line in lines if not line.lstrip().startswith("#include")]
                examples.append((number, "\n".join(kept)))
        if path.endswith(".md") and not arguments.tests:
            write_page(name, examples)
            continue
        for number, body in examples:
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
