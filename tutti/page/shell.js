"use strict";
// A header's button sorts its table: rising, then falling. Cells without a value come last.
document.addEventListener("click", (event) => {
  const head = event.target.closest("thead th");
  if (!head || !event.target.closest("button")) return;
  const falls = head.getAttribute("aria-sort") === "ascending";
  const body = head.closest("table").tBodies[0];
  for (const other of head.parentNode.children) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", falls ? "descending" : "ascending");
  const isNumber = head.classList.contains("number");
  const key = (row) => {
    const cell = row.cells[head.cellIndex];
    return isNumber ? ("value" in cell.dataset ? Number(cell.dataset.value) : null) : cell.textContent || null;
  };
  const compare = (a, b) => (isNumber ? a - b : a.localeCompare(b, "en", {numeric: true})) * (falls ? -1 : 1);
  const rows = Array.from(body.rows, (row) => [key(row), row]);
  rows.sort(([a], [b]) => (a === null) - (b === null) || (a === null ? 0 : compare(a, b)));
  body.append(...rows.map(([, row]) => row));
});
// On paper everything is open.
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((part) => { part.open = true; }));
