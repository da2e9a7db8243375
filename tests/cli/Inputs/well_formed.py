# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds a page or picture of `heddle` to be well formed and self-contained: every element is closed in order, SVG is XML,
nothing is loaded from elsewhere, and links lead to anchors that exist: well_formed.py FILE"""
import html.parser
import re
import sys
import xml.dom.minidom

VOID = {"meta", "link", "br", "hr", "img", "input"}


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.count, self.anchors, self.links = [], 0, set(), set()

    def handle_starttag(self, tag, attributes):
        self.count += 1
        if tag not in VOID:
            self.open.append(tag)
        self.note(attributes)

    def handle_startendtag(self, tag, attributes):
        self.count += 1
        self.note(attributes)

    def note(self, attributes):
        for name, value in attributes:
            if name == "id":
                if value in self.anchors:
                    sys.exit(f"the anchor '{value}' exists twice")
                self.anchors.add(value)
            elif name in ("href", "src") and value.startswith("#"):
                self.links.add(value[1:])
            elif name in ("href", "src") and value != "data:,":
                sys.exit(f"the page loads or links '{value}'")

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            sys.exit(f"'</{tag}>' closes what is not open, at {self.getpos()}")


path = sys.argv[1]
text = open(path, encoding="utf-8").read()
if re.search(r"@import|url\(|<script", text):
    sys.exit("the page loads something")
if path.endswith(".svg"):
    count = len(xml.dom.minidom.parseString(text.encode()).getElementsByTagName("*"))
else:
    page = Page()
    page.feed(text)
    page.close()
    count = page.count
    if page.open or page.links - page.anchors:
        sys.exit(f"not closed: {page.open}; links without anchor: {page.links - page.anchors}")
print(f"{path}: {count} elements, nothing loaded")
