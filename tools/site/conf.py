"""Sphinx's configuration of the site that tools/docs builds; build.py gives the
paths."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))

project = "Tally"
copyright = "the authors of Tally"
root_doc = "index"
extensions = ["breathe", "links", "mathml", "myst_parser"]

html_math_renderer = "mathml"
html_theme = "furo"
html_title = "Tally"
html_copy_source = False
html_show_sourcelink = False
pygments_style = "default"
pygments_dark_style = "monokai"

breathe_default_project = "tally"
breathe_show_include = False
breathe_domain_by_extension = {"h": "cpp"}
primary_domain = "cpp"
highlight_language = "text"
# ROUGEScoreOptions has an option and a function of one name.
suppress_warnings = ["duplicate_declaration.cpp"]
cpp_maximum_signature_line_length = 80
toc_object_entries_show_parents = "hide"

myst_heading_anchors = 4
