"""Settings of the site that `make docs` builds from these pages and from the docstrings."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import kernelbandits

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))
# The kernels of executed pages are processes of their own: one thread each, as in the tests.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Pages call the command `kernelbandits`, which is there also if no environment was activated.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])

project = "kernelbandits"
author = "The kernelbandits developers"
copyright = "2026, The kernelbandits developers"
release = version = kernelbandits.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_design",
    "sphinx_copybutton",
    "declared",
]
exclude_patterns = ["_build", "figures", "jupyter_execute"]
# A link to nothing is an error of the build, which runs with -W.
nitpicky = False
# `x` in a docstring is code, not a link.
default_role = "literal"
suppress_warnings = ["mystnb.unknown_mime_type"]

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
# Tutorials run when the site is built; a cell that fails ends the build.
nb_execution_mode = "cache"
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_merge_streams = True

# `--option` stays as it is typed.
smartquotes = False

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
napoleon_google_docstring = False
napoleon_use_rtype = False
add_module_names = False
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 90

html_theme = "furo"
# The style that furo takes in the dark underlines the names of modules, as if they were links.
pygments_dark_style = "github-dark"
html_title = "kernelbandits"
html_static_path = ["_static"]
html_css_files = ["style.css"]
html_show_sphinx = False
html_copy_source = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b6e99", "color-brand-content": "#0b6e99"},
    "dark_css_variables": {"color-brand-primary": "#6cc3e8", "color-brand-content": "#6cc3e8"},
}
# Prompts and output are not copied with a command or a snippet.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_exclude = ".linenos, .gp, .go"
