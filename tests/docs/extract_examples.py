"""Writes a C++ file that holds the examples of the documentation.

Each block that follows "/// Example:" in a header, and each ```cpp block of a
Markdown file, becomes the body of a function, in the order of the arguments.
Lines that include headers are dropped: the file includes the whole library.
"""

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


def main() -> None:
    for path in sys.argv[1:]:
        text = pathlib.Path(path).read_text(encoding="utf-8")
        find = markdown_examples if path.endswith(".md") else header_examples
        for number, example in enumerate(find(text), start=1):
            # Bazel's path of a header ends in the one that users include.
            name = re.sub(r"\W", "_", re.sub(r".*/_virtual_includes/\w+/", "", path))
            body = "\n".join(
                line
                for line in example.splitlines()
                if not line.lstrip().startswith("#include")
            )
            print(f'#line 1 "{name} example {number}"')
            print(f"void example_{name}_{number}(Things& things) {{")
            print("  EXAMPLE_THINGS(things)")
            print("  {")
            print(body)
            print("  }")
            print("}\n")


if __name__ == "__main__":
    main()
