#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Looks at a built site in headless Chromium: every page can be reached from the start page, no page writes to the console,
every link, anchor and picture on the site exists, no line of a picture is filled on a dark screen, nothing is asked of
another host, and the search finds something:
  python3 docs/site/check_site.py build/site [--search WORD]
`./dev site --test` runs it. Ends with 1 and a line for each finding, with 3 where there is no Chromium."""
import argparse
import functools
import http.server
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import urllib.parse

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
DEADLINE_SECONDS = 180
CONSOLE = re.compile(r':CONSOLE[:(]\d+\)?\] "(.*)", source: (\S*)')
# Walks over the site in a frame of the same host, so that one browser sees all pages.
WALK = """<!DOCTYPE html><title>walk</title><iframe id="frame" width="1280" height="900"></iframe><script>
const frame = document.getElementById("frame"), pages = {}, search = new URLSearchParams(location.search).get("search");
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
function load(path) {
  return new Promise((done) => { frame.onload = () => done(frame.contentDocument); frame.src = path; });
}
async function visit(path) {
  const page = await load(path);
  await pause(100);
  pages[path] = {
    links: [...page.querySelectorAll("a[href]")].map((link) => link.href),
    ids: [...page.querySelectorAll("[id]")].map((element) => element.id),
    shown: [...page.images].map((image) => new URL(image.src)).filter((url) => url.origin === location.origin).map((url) => url.pathname),
    pictures: [...page.images].filter((image) => !image.naturalWidth).map((image) => image.src),
  };
}
(async () => {
  for (const open = ["/"]; open.length;) {
    const path = open.shift();
    if (path in pages) continue;
    await visit(path);
    for (const link of pages[path].links) {
      const url = new URL(link);
      if (url.origin === location.origin && /(\\/|\\.html)$/.test(url.pathname)) open.push(url.pathname);
    }
  }
  const shown = Object.values(pages).flatMap((page) => page.shown), filled = [];
  for (const path of new Set(shown.filter((path) => path.endsWith(".svg")))) {
    const lines = [...(await load(path)).querySelectorAll("polyline")];
    if (lines.some((line) => getComputedStyle(line).fill !== "none")) filled.push(path);
  }
  let found = null;
  if (search) {
    const page = await load("/?q=" + encodeURIComponent(search));
    for (let i = 0; i < 100 && !found; ++i, await pause(100)) found = page.querySelectorAll(".md-search-result__item").length;
  }
  fetch("/__report__", {method: "POST", body: JSON.stringify({pages, filled, found})});
})();
</script>"""


class Server(http.server.SimpleHTTPRequestHandler):
    def do_GET(self):
        if self.path.startswith("/__walk__"):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(WALK.encode())
        else:
            super().do_GET()

    def do_POST(self):
        self.server.report = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(204)
        self.end_headers()
        self.server.done.set()

    def send_error(self, code, message=None, explain=None):
        self.server.missing.add(urllib.parse.unquote(self.path))
        super().send_error(code, message, explain)

    def log_message(self, *_):
        pass


def walk(folder, browser, search):
    """What the walk reports, the paths that the server does not have, and what pages wrote to the console."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Server, directory=str(folder)))
    server.done, server.missing, server.report = threading.Event(), set(), None
    threading.Thread(target=server.serve_forever, daemon=True).start()
    start = f"http://127.0.0.1:{server.server_address[1]}/__walk__?search={urllib.parse.quote(search)}"
    with tempfile.TemporaryDirectory() as profile, open(pathlib.Path(profile) / "log", "w+", encoding="utf-8") as log:
        command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--enable-logging=stderr", "--v=0",
                   "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", f"--user-data-dir={profile}/profile",
                   "--remote-debugging-port=0", "--blink-settings=preferredColorScheme=0", start]  # 0: dark
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=log)
        try:
            server.done.wait(DEADLINE_SECONDS)
        finally:
            process.terminate()
            process.wait(30)
            server.shutdown()
            server.server_close()
        log.seek(0)
        console = CONSOLE.findall(log.read())
    return server.report, server.missing, console, server.server_address[1]


def pages_of(folder):
    """The paths under which a reader finds the pages of the folder, but for the page of errors."""
    found = set()
    for file in pathlib.Path(folder).rglob("*.html"):
        path = "/" + file.relative_to(folder).as_posix()
        if path != "/404.html":
            found.add(path[:-len("index.html")] if path.endswith("/index.html") else path)
    return found


def check(folder, browser, search=""):
    report, missing, console, port = walk(folder, browser, search)
    if report is None:
        return [f"{folder}: error: the browser did not get through the site within {DEADLINE_SECONDS} s"]
    pages, findings = report["pages"], []
    origin = f"http://127.0.0.1:{port}"
    for path in sorted(pages_of(folder) - set(pages)):
        findings.append(f"{folder}{path}: error: no link leads from the start page to this page")
    for path in sorted(missing - {"/favicon.ico"}):
        findings.append(f"{folder}{path}: error: a page asks for this file, which is not there")
    for message, source in console:
        if "favicon.ico" not in source:
            findings.append(f"{folder}{source.removeprefix(origin)}: error: a page writes to the console: {message}")
    for path, page in sorted(pages.items()):
        for picture in page["pictures"]:
            findings.append(f"{folder}{path}: error: the picture '{picture.removeprefix(origin)}' is not shown")
        for link in sorted(set(page["links"])):
            target = urllib.parse.urlsplit(link)
            anchor = urllib.parse.unquote(target.fragment)
            if link.startswith(origin) and anchor and target.path in pages and anchor not in pages[target.path]["ids"]:
                findings.append(f"{folder}{path}: error: '{target.path}' has no anchor '#{anchor}'")
    for picture in report["filled"]:
        findings.append(f"{folder}{picture}: error: a line of the picture is filled on a dark screen")
    if search and not report["found"]:
        findings.append(f"{folder}: error: the search finds nothing for '{search}'")
    return findings


def find_browser():
    return next((found for found in map(shutil.which, BROWSERS) if found), None)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--search", default="", metavar="WORD", help="a word that the search must find")
    options = parser.parse_args()
    browser = find_browser()
    if not browser:
        print(f"check_site.py: error: there is none of {', '.join(BROWSERS)}; on Debian install chromium", file=sys.stderr)
        sys.exit(3)
    findings = check(options.folder, browser, options.search)
    for finding in findings:
        print(finding, file=sys.stderr)
    if not findings:
        print(f"{options.folder}: {len(pages_of(options.folder))} pages, all within reach; nothing on the console")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
