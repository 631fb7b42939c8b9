// Tables sort by a click on a column's name; pointing at a system dims the others; buttons choose language and theme.
const value = (row, place) => row.cells[place].dataset.value ?? row.cells[place].textContent;

function order(a, b) {
  const [x, y] = [Number(a), Number(b)];
  if (a === "" || b === "") return (a === "") - (b === "");
  return Number.isNaN(x) || Number.isNaN(y) ? a.localeCompare(b) : x - y;
}

function sort(table, place) {
  const head = table.tHead.rows[0].cells[place];
  const down = head.getAttribute("aria-sort") === "ascending";
  for (const cell of table.tHead.rows[0].cells) cell.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  const rows = [...table.tBodies[0].rows].map((row) => [value(row, place), row]);
  rows.sort(([a], [b]) => (a === "" || b === "" ? order(a, b) : down ? order(b, a) : order(a, b)));
  table.tBodies[0].append(...rows.map(([, row]) => row));
}

for (const table of document.querySelectorAll("table.sortable")) {
  [...table.tHead.rows[0].cells].forEach((cell, place) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...cell.childNodes);
    button.addEventListener("click", () => sort(table, place));
    cell.append(button);
  });
}

const systems = [...document.querySelectorAll("[data-system]")];

function point(number) {
  document.body.classList.toggle("pointed", number !== null);
  for (const each of systems) each.classList.toggle("active", each.dataset.system === number);
}

for (const each of systems) {
  each.addEventListener("pointerenter", () => point(each.dataset.system));
  each.addEventListener("pointerleave", () => point(null));
}

$phrases.connectPhrases(PHRASES);
