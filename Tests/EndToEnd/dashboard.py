# SPDX-License-Identifier: Apache-2.0
"""The dashboard of a running daemon in Chromium, for tests and screenshots."""

import contextlib
import re
import urllib.parse

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

DESKTOP = {"width": 1280, "height": 800}
PHONE = {"width": 360, "height": 740}
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
FLAGS = ["--no-sandbox", "--autoplay-policy=no-user-gesture-required"]
# A camera that nobody has to permit, and its media on loopback.
CAMERA = ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream", "--allow-loopback-in-peer-connection",
          "--disable-features=WebRtcHideLocalIpsWithMdns"]


def check_accessible(page):
    """axe-core finds nothing: no control without a name, no text with too little contrast (WCAG 2.2, levels A and AA).

    axe-core takes a link at the edge of a list that scrolls, or half behind the bar, for a small one: such lists are shown
    whole, and the page from its top.
    """
    page.evaluate("""() => {
      window.scrollTo({ top: 0, behavior: "instant" });
      for (const list of document.querySelectorAll("ol, ul")) if (list.scrollHeight > list.clientHeight) list.style.maxHeight = "none";
    }""")
    found = Axe().run(page, options={"runOnly": RULES, "resultTypes": ["violations"]}).response["violations"]
    assert found == [], "\n".join(f"{rule['help']}: {node['html'][:200]} {node['failureSummary']}"
                                  for rule in found for node in rule["nodes"])


@contextlib.contextmanager
def chromium(*flags):
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=[*FLAGS, *flags], timeout=90_000)
        try:
            yield browser
        finally:
            browser.close()


class Dashboard:
    """A page with the dashboard; notes what a visitor would not see."""

    def __init__(self, browser, url, viewport=None, scheme="light"):
        self.url = url
        self.context = browser.new_context(viewport=viewport or DESKTOP, color_scheme=scheme, reduced_motion="reduce",
                                           locale="en-GB", timezone_id="Europe/Berlin")
        self.page = self.context.new_page()
        self.page.set_default_timeout(90_000)
        self.errors, self.foreign, self.sizes = [], [], {}
        # A status that is asked for: the browser may tell of it at any later time.
        self.expected = None
        self.page.on("console", self.note_console)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", self.note_request)

    def note_console(self, message):
        if message.type in ("error", "warning"):
            place = message.location.get("url", "")
            # A picture, or a turn of the daemon, that is not made in time is no fault: it comes with the next look.
            late = urllib.parse.urlsplit(place).path.endswith(("/thumbnail.jpg", "/levels", "/readyz")) and re.search(r"\b(404|503)\b", message.text)
            if not (late or self.expected and re.search(rf"\b{self.expected}\b", message.text)):
                self.errors.append(f"{message.text} {place}")

    def note_request(self, request):
        here = urllib.parse.urlsplit(self.url).netloc
        if not request.url.startswith(("blob:", "data:")) and urllib.parse.urlsplit(request.url).netloc != here:
            self.foreign.append(request.url)

    def open(self, view="rooms"):
        self.page.goto(f"{self.url.rstrip('/')}/#{view}")
        return self.page

    def card(self, room):
        return self.page.get_by_role("article", name=room, exact=True)

    def close(self):
        self.context.close()
