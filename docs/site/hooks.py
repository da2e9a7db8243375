# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What mkdocs.yml needs beside docs/: the pages at the root of the repository become pages of the site, and links to files that
are no pages become the names of the files. A link called `page.md` gets the title of the page."""
import functools
import pathlib
import posixpath
import re

from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = {"README.md": "index.md", "ARCHITECTURE.md": "architecture.md", "CONTRIBUTING.md": "contributing.md"}
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s#]*)(#[^)\s]*)?\)")
FENCED = re.compile(r"(^ *```.*?^ *```[^\n]*$)", re.S | re.M)


def on_files(files, config):
    for source, page in PAGES.items():
        text = rewritten((ROOT / source).read_text(encoding="utf-8"), source, page)
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown, page, **_):
    path = page.file.src_uri
    if path == "index.md":
        page.meta["hide"] = ["navigation"]  # it would list this page alone
    return markdown if path in PAGES.values() else rewritten(markdown, "docs/" + path, path)


def rewritten(text, source, page):
    """The Markdown of file `source` of the repository as that of `page` of the site."""
    parts = FENCED.split(text)
    return "".join(part if index % 2 else LINK.sub(lambda match: link(match, source, page), part) for index, part in enumerate(parts))


@functools.cache
def title(path):
    """What a link is called whose words are the name of a file."""
    return re.search(r"^# (.*)", (ROOT / path).read_text(encoding="utf-8"), re.M)[1]


def link(match, source, page):
    picture, words, target, anchor = match[1], match[2], match[3], match[4] or ""
    if not target or "://" in target:
        return match[0]
    path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
    if re.fullmatch(r"[\w/.-]+\.md", words) and (ROOT / path).is_file():
        words = title(path)
    if path in PAGES:
        path = PAGES[path]
    elif path.startswith("docs/"):
        path = path[len("docs/"):]
    elif (ROOT / path).exists():
        return f"{words} (`{path}`)" if words.strip("`") != path else f"`{path}`"
    return f"{picture}[{words}]({posixpath.relpath(path, posixpath.dirname(page) or '.')}{anchor})"
