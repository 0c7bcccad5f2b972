"""The configuration of Sphinx for the site of the documentation: see build.sh."""

import os
import re

project = "Plimsoll"
html_title = "Plimsoll"
copyright = "the authors of Plimsoll, Apache 2.0"
extensions = ["myst_parser"]
myst_enable_extensions = ["html_image"]
myst_heading_anchors = 3
myst_all_links_external = False
root_doc = "README"
exclude_patterns = ["examples/**/README.md"]
html_theme = "furo"
html_extra_path = []
html_show_sphinx = False
html_show_sourcelink = False
html_copy_source = False
highlight_language = "none"
suppress_warnings = ["misc.highlighting_failure", "myst.header"]

CONTENTS = """
```{toctree}
:hidden:
:caption: Questions

docs/capacity
docs/run
docs/drill
docs/compare
docs/disk
docs/size
docs/trust
```

```{toctree}
:hidden:
:caption: More

docs/study
docs/lab
docs/platform
docs/transactions
docs/agents
docs/workloads
docs/recording
docs/report
docs/serve
docs/ci
docs/records
docs/engines
docs/faultfs
docs/ycsb
docs/glossary
```

```{toctree}
:hidden:
:caption: Published measurements

docs/storage-io
docs/write-concern
docs/policy-storage
docs/ssd-vs-disk
docs/failover
```

```{toctree}
:hidden:
:caption: Reference
:glob:

docs/reference/*
man
examples
```

```{toctree}
:hidden:
:caption: The project

reports
ARCHITECTURE
CONTRIBUTING
CHANGELOG
SECURITY
bench/README
```
"""

LINK = re.compile(r"\[([^\]]*)\]\((?!https?:|mailto:|#)([^)#\s]+)(#[^)\s]*)?\)")


def listing(source):
    """Returns a page with a link to each file of examples."""
    lines = ["# Examples", ""]
    for folder, folders, files in sorted(os.walk(os.path.join(source, "examples"))):
        folders.sort()
        if files:
            lines += ["", f"## {os.path.relpath(folder, source)}", ""]
        for name in sorted(files):
            path = os.path.relpath(os.path.join(folder, name), source)
            lines.append(f"- {{download}}`{name} <{path}>`")
    return "\n".join(lines) + "\n"


def generate(app):
    """Writes the pages that list others."""
    source = str(app.srcdir)

    def write(name, text):
        with open(os.path.join(source, name), "w", encoding="utf-8") as page:
            page.write(text)

    write("examples.md", listing(source))
    write("man.md", "# Man pages\n\n`make man` writes them for `man`.\n\n```{toctree}\n:glob:\n\nman/*\n```\n")
    reports = sorted(os.listdir(os.path.join(source, "reports", "reports")))
    write("reports.md", "# Reports to click through\n\nEach is the page that `plimsoll report` made of a real record on a real"
          " `mongod`.\n\n" + "".join(f'- <a href="reports/{r}">{r.removesuffix(".html")}</a>\n' for r in reports))
    app.config.html_extra_path = [os.path.join(source, "reports")]


def repair(app, page, text):
    """Leads links to what is not a page of the site to the list of examples, or makes them text."""
    source = str(app.srcdir)
    here = os.path.dirname(os.path.join(source, page))

    def link(match):
        target = os.path.normpath(os.path.join(here, match[2]))
        inside = os.path.relpath(target, source)
        up = os.path.relpath(source, here)
        if os.path.isdir(target) or inside.startswith("examples") and target.endswith(".md"):
            folder = inside if os.path.isdir(target) else os.path.dirname(inside)
            if folder.startswith("examples"):
                return f"[{match[1]}]({up}/examples.md#{folder.replace('/', '').lower()})"
            return match[1]
        return match[0]

    text[0] = LINK.sub(link, text[0])
    if page == "README":
        text[0] += CONTENTS


def setup(app):
    app.connect("builder-inited", generate)
    app.connect("source-read", repair)
