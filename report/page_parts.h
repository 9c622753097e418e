#pragma once

/// What every page of a report has.
namespace tally::internal {

/// Colors reach a contrast of 4.5:1 for texts and 3:1 for marks in both modes.
/// In the dark one, the ground and the grays of charts are exchanged; the
/// colors of series are told apart on both.
inline constexpr const char* kReportStyle = R"css(
:root { color-scheme: light dark; --ground: #ffffff; --text: #161616;
  --faint: #595959; --line: #767676; --grid: #dddddd; --hint: #b0b0b0;
  --stripe: #f4f4f4; --link: #0043ce; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #161616; --text: #f4f4f4; --faint: #c6c6c6;
    --line: #8d8d8d; --grid: #393939; --hint: #6f6f6f; --stripe: #262626;
    --link: #78a9ff; }
  svg [stroke="#000000"] { stroke: #ffffff; }
  svg circle[fill="#000000"], svg polygon[fill="#000000"] { fill: #ffffff; }
}
@media (prefers-reduced-motion: no-preference) {
  html { scroll-behavior: smooth; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 1rem;
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere;
  background: var(--ground); color: var(--text); }
h1 { font-size: 1.75rem; line-height: 1.25; margin: 0.5rem 0; }
h2 { font-size: 1.25rem; line-height: 1.25; margin: 2rem 0 0.75rem; }
a { color: var(--link); }
nav ul { display: flex; flex-wrap: wrap; gap: 0 1.25rem; list-style: none;
  margin: 0; padding: 0; }
nav a, .skip { display: inline-block; padding: 0.25rem 0; }
.skip:not(:focus) { position: absolute; left: -100rem; }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
pre { white-space: pre-wrap; padding: 0.75rem; margin: 0;
  background: var(--stripe); }
.charts { display: grid; gap: 1.5rem;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); }
figure { margin: 0; min-width: 0; }
svg { display: block; max-width: 100%; height: auto; margin: 0 auto; }
svg > rect[fill="#ffffff"] { fill: var(--ground); }
svg text[fill="#161616"] { fill: var(--text); }
svg text[fill="#595959"] { fill: var(--faint); }
svg [stroke="#161616"] { stroke: var(--text); }
svg [stroke="#dddddd"] { stroke: var(--grid); }
svg [stroke="#b0b0b0"] { stroke: var(--hint); }
svg [stroke="#767676"] { stroke: var(--line); }
summary { cursor: pointer; padding: 0.25rem 0; }
.scroller { overflow-x: auto; max-width: 100%; max-height: 36rem;
  margin: 0.75rem 0; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums;
  overflow-wrap: normal; }
caption { text-align: left; font-weight: 600; padding: 0.25rem 0; }
th, td { padding: 0.25rem 0.75rem; text-align: right; white-space: nowrap;
  border-bottom: 1px solid var(--line); }
th:first-child { text-align: left; }
tbody th { font-weight: 400; max-width: 24rem; white-space: normal;
  overflow-wrap: break-word; }
tbody tr:nth-child(even) { background: var(--stripe); }
thead th { padding: 0; }
th button { font: inherit; font-weight: 600; color: inherit; width: 100%;
  background: none; border: 0; padding: 0.25rem 0.75rem; min-height: 24px;
  min-width: 24px; text-align: inherit; cursor: pointer; }
th button::after { content: " \2195" / ""; color: var(--faint); }
th[aria-sort="ascending"] button::after { content: " \2191" / ""; }
th[aria-sort="descending"] button::after { content: " \2193" / ""; }
footer { margin-top: 2rem; color: var(--faint); }
@media print { .scroller { max-height: none; overflow: visible; } }
)css";

/// Numbers come before texts, cells without a number behind them. Written so
/// that the page is well-formed XML, too.
inline constexpr const char* kReportScript = R"js(
const order = new Intl.Collator(undefined, {numeric: true}).compare;
function compared(a, b, sign) {
  const x = a.dataset.value, y = b.dataset.value;
  if (x === undefined ? y !== undefined : y === undefined) {
    return x === undefined ? 1 : -1;
  }
  return sign * (x === undefined ? order(a.textContent, b.textContent) : x - y);
}
document.querySelectorAll("th button").forEach((button) => {
  button.addEventListener("click", () => {
    const head = button.parentElement;
    const body = head.closest("table").tBodies[0];
    const falls = head.getAttribute("aria-sort") === "ascending";
    for (const other of head.parentElement.cells) {
      other.setAttribute("aria-sort", "none");
    }
    head.setAttribute("aria-sort", falls ? "descending" : "ascending");
    const place = head.cellIndex, sign = falls ? -1 : 1;
    const rows = Array.from(body.rows);
    rows.sort((a, b) => compared(a.cells[place], b.cells[place], sign));
    body.append(...rows);
  });
});
)js";

}  // namespace tally::internal
