// Heads of sortable tables become buttons: by a column up, then down. What has no number comes last.
const FACTORS = { us: 1e-6, ms: 1e-3, s: 1, K: 1e3, M: 1e6, G: 1e9 };

function value(cell) {
  const words = cell.textContent.trim();
  const found = words.replaceAll(",", "").match(/^([+-]?[\d.]+) ?(us|ms|s|K|M|G)?/);
  return found ? Number(found[1]) * (FACTORS[found[2]] ?? 1) : words;
}

function before(first, second) {
  const numbers = [first, second].map((each) => typeof each === "number");
  if (numbers[0] && numbers[1]) return first - second;
  if (numbers[0] !== numbers[1]) return numbers[0] ? -1 : 1;
  return first.localeCompare(second);
}

function sort(table, place) {
  const heads = [...table.tHead.rows[0].cells];
  const down = heads[place].getAttribute("aria-sort") === "ascending";
  for (const head of heads) head.removeAttribute("aria-sort");
  heads[place].setAttribute("aria-sort", down ? "descending" : "ascending");
  const rows = [...table.tBodies[0].rows].map((row) => [value(row.cells[place]), row]);
  const missing = (each) => each === "-";
  rows.sort(([a], [b]) => missing(a) - missing(b) || (down ? -1 : 1) * before(a, b));
  table.tBodies[0].append(...rows.map(([, row]) => row));
}

for (const table of document.querySelectorAll(".sortable table")) {
  [...table.tHead.rows[0].cells].forEach((head, place) => {
    const button = document.createElement("button");
    button.type = "button";
    const parts = head.textContent.split(/(?<=_)|(?<=\.)(?=[a-z])/);  // where a long key may be broken
    button.append(...parts.flatMap((part, at) => (at ? [document.createElement("wbr"), part] : [part])));
    button.addEventListener("click", () => sort(table, place));
    head.replaceChildren(button);
  });
}
