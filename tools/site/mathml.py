"""Writes formulas as MathML, which browsers draw without a script or a network."""

import re

from docutils.nodes import SkipNode
from docutils.utils.math import latex2mathml
from sphinx.util import logging

logger = logging.getLogger(__name__)

# Commands, with names that are upright already; and names of several letters.
WORD = re.compile(r"\\(?:mathrm|text|operatorname|begin|end)\{[^}]*\}|\\[A-Za-z]+|([A-Za-z]{3,}|[A-Z]{2})")


def upright(tex: str) -> str:
    """With "TP" as one name, not as T times P."""
    return WORD.sub(lambda m: f"\\mathrm{{{m[1]}}}" if m[1] else m[0], tex)


def _written(node, as_block: bool) -> str:
    try:
        return latex2mathml.tex2mathml(upright(node.astext()), as_block=as_block)
    except Exception as error:  # whatever stops it
        logger.warning("formula %s: %s", node.astext(), error, location=node)
        return ""


def visit_inline(self, node):
    self.body.append(_written(node, as_block=False))
    raise SkipNode


def visit_display(self, node):
    self.body.append(f"<div class=\"math\">{_written(node, as_block=True)}</div>")
    raise SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_display, None))
    return {"parallel_read_safe": True}
