"""Pieces of reStructuredText."""


def heading(text: str, line: str) -> list[str]:
    return ["", text, line * len(text), ""]


def list_table(
    columns: list[str], rows: list[list[str]], widths: list[int], header: bool = True
) -> list[str]:
    """A table whose cells are one line each."""
    out = [".. list-table::", f"   :widths: {' '.join(map(str, widths))}"]
    if header:
        out.append("   :header-rows: 1")
    out.append("")
    for row in ([columns] if header else []) + rows:
        for i, cell in enumerate(row):
            out.append(f"   {'*' if i == 0 else ' '} - {cell}".rstrip())
    return out + [""]


def toctree(caption: str, pages: list[str]) -> list[str]:
    """One for a Markdown page, which shows in the sidebar alone."""
    return ["", "```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```", ""]
