"""Makes links of what Markdown pages name in backticks: metrics, and classes and
functions of the API."""

import json

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform


class LinkNames(SphinxTransform):
    default_priority = 500

    def apply(self, **kwargs):
        if self.env.doc2path(self.env.docname).suffix != ".md":
            return
        names = self.config.tally_names
        for literal in list(self.document.findall(nodes.literal)):
            if isinstance(literal.parent, (nodes.reference, addnodes.pending_xref, nodes.title)):
                continue
            text = literal.astext()
            target = names.get(text.removesuffix("()").removeprefix("tally::"))
            if target is None:
                continue
            domain, role, where = target
            xref = addnodes.pending_xref(
                "",
                refdoc=self.env.docname,
                refdomain=domain,
                reftype=role,
                reftarget=where,
                refexplicit=True,
                refwarn=True,
            )
            literal.replace_self(xref)
            xref += literal


def read_names(app, config):
    with open(config.tally_names_file, encoding="utf-8") as file:
        config.tally_names = json.load(file)


def setup(app):
    app.add_config_value("tally_names_file", "", "env", str)
    app.add_config_value("tally_names", {}, "", dict)
    app.connect("config-inited", read_names)
    app.add_transform(LinkNames)
    return {"parallel_read_safe": True}
