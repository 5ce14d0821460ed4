// Tables that are sorted by a click on a heading; a third click restores the order they came in.
// `drawTable` returns what is to be called when a table comes into sight, for only then its columns have widths.

const TALL = 40; // more lines than this scroll in a window of their own; up to it the page shows them all

function shownNumber(value, digits) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return String(value);
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return String(value);
  const rounded = Number(value.toPrecision(digits));
  return Math.abs(rounded) >= 1e15 || (rounded && Math.abs(rounded) < 1e-6) ? rounded.toExponential() : String(rounded);
}

function compareCells(a, b) {
  const [x, y] = [parseFloat(a), parseFloat(b)];
  const [left, right] = Number.isNaN(x) || Number.isNaN(y) ? [String(a), String(b)] : [x, y];
  return left < right ? -1 : left > right ? 1 : 0;
}

function bestCells(table, row) {
  if (!table.best) return new Set();
  const numbers = row.map((cell, i) => (i >= table.best_from && typeof cell === "number" ? cell : null));
  const known = numbers.filter((cell) => cell !== null);
  const extreme = table.best === "min" ? Math.min(...known) : Math.max(...known);
  return new Set(numbers.flatMap((cell, i) => (cell !== null && cell === extreme ? [i] : [])));
}

function drawTable(table, host) {
  const tall = table.rows.length > TALL ? " tall" : "";
  const frame = element("div", { class: `scroll${tall}`, tabindex: "0", role: "region", "aria-label": table.title }, host);
  const grid = element("table", {}, frame);
  const head = element("tr", {}, element("thead", {}, grid));
  const body = element("tbody", {}, grid);
  const words = table.columns.map((_, i) => table.rows.some((row) => typeof row[i] === "string" && !/^[-+]?\d/.test(row[i])));
  const long = table.columns.map((_, i) => table.rows.some((row) => typeof row[i] === "string" && row[i].length > 40));
  const kind = (i) => [words[i] && "words", long[i] && "long", i < table.frozen && "frozen"].filter(Boolean).join(" ");
  let sorted = { column: -1, ascending: true };

  const headings = table.columns.map((name, i) => {
    const cell = element("th", { scope: "col", class: kind(i), "aria-sort": "none" }, head);
    element("button", { type: "button" }, cell, name).addEventListener("click", () => sortBy(i));
    return cell;
  });

  function sortBy(column) {
    if (sorted.column !== column) sorted = { column, ascending: true };
    else if (sorted.ascending) sorted = { column, ascending: false };
    else sorted = { column: -1, ascending: true };
    headings.forEach((cell, i) =>
      cell.setAttribute("aria-sort", i !== sorted.column ? "none" : sorted.ascending ? "ascending" : "descending"));
    fill();
  }

  function fill() {
    const rows = [...table.rows];
    if (sorted.column >= 0) {
      const direction = sorted.ascending ? 1 : -1;
      rows.sort((a, b) => {
        const [x, y] = [a[sorted.column], b[sorted.column]];
        if (x === null || y === null) return (x === null) - (y === null); // what is missing comes last
        return direction * compareCells(x, y);
      });
    }
    body.replaceChildren();
    for (const row of rows) {
      const line = element("tr", {}, body);
      const best = bestCells(table, row);
      row.forEach((cell, i) =>
        element("td", { class: `${kind(i)} ${best.has(i) ? "best" : ""}`.trim() }, line, shownNumber(cell, table.digits)));
    }
    freeze();
  }

  function freeze() {
    let left = 0;
    for (let i = 0; i < table.frozen && i < headings.length; i++) {
      for (const line of grid.rows) if (line.cells[i]) line.cells[i].style.left = `${left}px`;
      left += headings[i].offsetWidth;
    }
  }

  fill();
  return freeze;
}
