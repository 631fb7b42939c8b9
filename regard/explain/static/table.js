// The numbers of the map as a real table, for screen readers.
import { element } from "./elements.js";
import { caption } from "./controls.js";
import { strength } from "./data.js";
import { amount, visible } from "./text.js";

const CELLS = 4096; // of a table; above, each word has a row with the words it attends to most
const MOST = 5;

export function drawTable(viewer) {
  const { parts, view, t } = viewer;
  if (!view || !parts.tableBox.open) return parts.table.replaceChildren();
  const whole = view.rows.length * view.columns.length <= CELLS;
  const heads = whole ? view.columns.map((unit) => visible(unit.text)) : Array.from({ length: MOST }, (_, at) => t("most", at + 1));
  const table = element("table", {},
    element("caption", {}, whole ? caption(viewer) : t("large")),
    element("thead", {}, element("tr", {}, element("td"), ...heads.map((text) => element("th", { scope: "col", dir: "auto" }, text)))),
    element("tbody", {}, ...view.rows.map((unit, row) => element("tr", {},
      element("th", { scope: "row", dir: "auto" }, visible(unit.text)),
      ...(whole ? view.weights[row].map((value) => element("td", {}, value.toFixed(3).replace("-", "−"))) : most(view, row))))));
  return parts.table.replaceChildren(table);
}

function most(view, row) {
  const order = view.columns.map((_, at) => at).sort((a, b) => strength(view, view.weights[row][b]) - strength(view, view.weights[row][a])).slice(0, MOST);
  return order.map((at) => element("td", { dir: "auto" }, `${visible(view.columns[at].text)} ${amount(view, view.weights[row][at])}`));
}
