"""Configures Sphinx; `gather.py` writes its input."""

from duckdb_priv import __version__

project = "duckdb_priv"
release = version = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc"]
html_theme = "furo"
html_title = "duckdb_priv"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
myst_heading_anchors = 3
# Pygments knows no structures of DuckDB, such as {'age': 2}.
suppress_warnings = ["misc.highlighting_failure"]
autodoc_typehints = "description"
autodoc_member_order = "bysource"
nitpicky = True
nitpick_ignore_regex = [
    # Types of other projects, whose pages are elsewhere.
    ("py:.*", r"(duckdb|_duckdb|pathlib|collections|typing)\..*|Path|Sequence|Mapping"),
]
