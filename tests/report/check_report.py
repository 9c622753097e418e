"""Looks at pages of `tally report` in a browser.

Usage: check_report.py PAGE... [--screenshots FOLDER]

    apt-get install chromium chromium-driver
    python3 -m venv venv
    venv/bin/pip install selenium==4.51.0
    bazel-bin/cli/tally report -m "BinaryAUROC; BinaryF1Score" --csv FILE -o page.html
    venv/bin/python tests/report/check_report.py page.html

In light and dark, at 1280, 390 and 320 pixels, each page must log no error, load
nothing, draw every chart, and cut no text nor need scrolling sideways outside of
its tables. Texts must reach a contrast of 4.5:1, marks of 3:1, and what can be
clicked 24 pixels. Tables must sort by mouse and key.
"""

import argparse
import pathlib
import sys

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

WIDTHS = (1280, 390, 320)

LAYOUT = r"""
const faults = [];
const inside = (inner, outer) => inner.left >= outer.left - 1 &&
  inner.right <= outer.right + 1 && inner.top >= outer.top - 1 &&
  inner.bottom <= outer.bottom + 1;
const named = (node) => node.nodeName + " '" + node.textContent.slice(0, 40) + "'";
document.querySelectorAll("details").forEach((details) => details.open = true);
if (document.documentElement.scrollWidth > document.documentElement.clientWidth) {
  faults.push("the page is " + document.documentElement.scrollWidth + " pixels wide");
}
const charts = document.querySelectorAll("svg");
charts.forEach((svg) => {
  const box = svg.getBoundingClientRect();
  if (box.width < 100 || box.height < 30) faults.push("not drawn: " + named(svg));
  if (svg.querySelectorAll("rect, line, polyline, circle").length < 2) faults.push("empty: " + named(svg));
  svg.querySelectorAll("text").forEach((text) => {
    if (!inside(text.getBoundingClientRect(), box)) faults.push("cut: " + named(text));
  });
});
document.querySelectorAll("h1, h2, p, a, th, td, summary, button, pre").forEach((node) => {
  if (node.closest(".skip")) return;
  if (node.scrollWidth > node.clientWidth + 1 && getComputedStyle(node).display != "inline") {
    faults.push("cut: " + named(node));
  }
});
document.querySelectorAll("a, button, summary").forEach((node) => {
  const box = node.getBoundingClientRect();
  if (box.height < 24 || box.width < 24) faults.push("small: " + named(node));
});
if (performance.getEntriesByType("resource").length > 0) faults.push("something is loaded");
return [charts.length, faults];
"""

COLORS = r"""
const faults = new Set();
const parse = (text) => (text.match(/[\d.]+/g) || []).map(Number);
const channel = (c) => c / 255 <= 0.04045 ? c / 255 / 12.92
                                          : ((c / 255 + 0.055) / 1.055) ** 2.4;
const luminance = ([r, g, b]) =>
  0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
const ratio = (a, b) => {
  const [x, y] = [luminance(a), luminance(b)];
  return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
};
const ground = (node) => {
  for (; node; node = node.parentElement) {
    const color = parse(getComputedStyle(node).backgroundColor);
    if (color.length == 3 || color[3] > 0) return color;
  }
  return [255, 255, 255];
};
const check = (node, color, behind, least) => {
  const found = ratio(parse(color), behind);
  if (found < least) {
    faults.add("contrast " + found.toFixed(2) + ": " + node.nodeName + " " + color);
  }
};
document.querySelectorAll("h1, h2, p, a, th, td, button, summary, code, caption")
  .forEach((node) => check(node, getComputedStyle(node).color, ground(node), 4.5));
document.querySelectorAll("svg").forEach((svg) => {
  const rect = svg.querySelector("rect");
  const behind = parse(getComputedStyle(rect).fill);
  const boxes = Array.from(svg.querySelectorAll("rect")).slice(1);
  svg.querySelectorAll("text").forEach((text) => {
    const at = text.getBoundingClientRect();
    const x = (at.left + at.right) / 2, y = (at.top + at.bottom) / 2;
    const under = boxes.find((box) => {
      const b = box.getBoundingClientRect();
      return b.left <= x && x <= b.right && b.top <= y && y <= b.bottom;
    });
    check(text, getComputedStyle(text).fill,
          under ? parse(getComputedStyle(under).fill) : behind, 4.5);
  });
  svg.querySelectorAll("polyline, circle, polygon").forEach((mark) => {
    const style = getComputedStyle(mark);
    const color = style.stroke != "none" ? style.stroke : style.fill;
    if (mark.getAttribute("stroke") == "#b0b0b0") return;  // lines that orient
    check(mark, color, behind, 3);
  });
});
return Array.from(faults);
"""


def sort_faults(browser):
    """By mouse, then by key, the first column that has numbers."""
    for table in browser.find_elements(By.TAG_NAME, "table"):
        for place, head in enumerate(table.find_elements(By.CSS_SELECTOR, "thead th")):
            cells = f"tbody tr > :nth-child({place + 1})"
            values = [
                cell.get_attribute("data-value")
                for cell in table.find_elements(By.CSS_SELECTOR, cells)
            ]
            if len(values) < 2 or None in values:
                continue
            button = head.find_element(By.TAG_NAME, "button")
            for act, state, falls in (
                (button.click, "ascending", False),
                (lambda: button.send_keys(Keys.ENTER), "descending", True),
                (lambda: button.send_keys(Keys.SPACE), "ascending", False),
            ):
                act()
                now = [
                    float(cell.get_attribute("data-value"))
                    for cell in table.find_elements(By.CSS_SELECTOR, cells)
                ]
                if head.get_attribute("aria-sort") != state:
                    yield f"'{button.text}' is not {state}"
                if now != sorted(map(float, values), reverse=falls):
                    yield f"'{button.text}' is not sorted, {state}"
            return
    yield "no table has a column to sort by"


def check(browser, page, folder):
    for scheme in ("light", "dark"):
        for width in WIDTHS:
            browser.execute_cdp_cmd(
                "Emulation.setEmulatedMedia",
                {"features": [{"name": "prefers-color-scheme", "value": scheme}]},
            )
            browser.execute_cdp_cmd(
                "Emulation.setDeviceMetricsOverride",
                {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False},
            )
            browser.get(page.resolve().as_uri())
            where = f"{page.name} {scheme} {width}"
            if folder:
                size = browser.execute_cdp_cmd("Page.getLayoutMetrics", {})["cssContentSize"]
                browser.execute_cdp_cmd(
                    "Emulation.setDeviceMetricsOverride",
                    {"width": width, "height": int(size["height"]), "deviceScaleFactor": 1,
                     "mobile": False},
                )
                browser.save_screenshot(str(folder / f"{page.stem}_{scheme}_{width}.png"))
            charts, faults = browser.execute_script(LAYOUT)
            faults += browser.execute_script(COLORS)
            if width == WIDTHS[0] and scheme == "light":
                faults += sort_faults(browser)
            faults += [
                entry["message"]
                for entry in browser.get_log("browser")
                if entry["level"] in ("SEVERE", "WARNING")
            ]
            print(f"{where}: {charts} charts, {len(faults)} faults")
            for fault in faults:
                print(f"  {fault}")
            yield not faults


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("pages", nargs="+", type=pathlib.Path)
    parser.add_argument("--screenshots", type=pathlib.Path)
    arguments = parser.parse_args()
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for option in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(executable_path="/usr/bin/chromedriver")
    with webdriver.Chrome(options=options, service=service) as browser:
        passed = [
            result
            for page in arguments.pages
            for result in check(browser, page, arguments.screenshots)
        ]
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
