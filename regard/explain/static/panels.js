// What stands around the words and the map: sentences, selectors, candidates, flags, the table and files.
const TABLE_CELLS = 20000;

function drawSentences() {
  const list = byId("sentences");
  list.hidden = data.predictions.length < 2;
  list.replaceChildren(...data.predictions.map((prediction, index) => {
    const button = element("button", { type: "button", "aria-current": String(index === state.index) });
    for (const text of [prediction.source, prediction.text]) button.append(element("span", { dir: "auto" }, visible(text, false)));
    button.addEventListener("click", () => choose({ index, rank: 0 }));
    return button;
  }));
}

function fill(id, options, value) {
  const select = byId(id);
  select.replaceChildren(...options.map(([key, text]) => element("option", { value: key }, text)));
  select.value = value;
  if (byId(`${id}-box`)) byId(`${id}-box`).hidden = options.length < 2;
}

function drawSelectors() {
  const explanation = current().explanation;
  fill("kind", kinds(explanation).map((kind) => [kind, t(kind)]), state.kind);
  const maps = state.kind === "alignment" ? [] : mapsOf(explanation, state.kind);
  const heads = Math.max(0, ...maps.map((each) => each.weights.length));
  if (!maps[state.layer]) state.layer = "average";
  if (state.head !== "strongest" && !(state.head < heads)) state.head = "average";
  const numbered = (count) => Array.from({ length: count }, (_, at) => [at, String(at + 1)]);
  fill("layer", maps.length > 1 ? [["average", t("average")], ...numbered(maps.length)] : [], state.layer);
  fill("head", heads > 1 ? [["average", t("average")], ["strongest", t("strongest")], ...numbered(heads)] : [], state.head);
  byId("end").checked = state.end;
  byId("map-name").textContent = t("caption", t(view.rowSide), t(view.columnSide));
}

function drawChoice() {
  byId("unit").replaceChildren(...[["words", "unitWords"], ["pieces", "unitPieces"]].map(([unit, key]) => {
    const button = element("button", { type: "button", "aria-pressed": String(state.unit === unit) }, t(key));
    button.addEventListener("click", () => choose({ unit }));
    return button;
  }));
  byId("legend").replaceChildren(...["sure", "fair", "poor"].map((kind) => {
    const item = element("li");
    item.append(element("span", { class: kind }, t(kind)));
    return item;
  }));
}

function drawCandidates() {
  const best = data.predictions[state.index];
  const all = [best, ...best.alternatives];
  byId("candidates-box").hidden = all.length < 2;
  byId("candidates").replaceChildren(...all.map((prediction, rank) => {
    const button = element("button", { type: "button", "aria-pressed": String(rank === state.rank) });
    const text = element("span", { class: "text", dir: "auto" });
    text.append(...compared(prediction.text, rank === 0 ? prediction.text : best.text));
    button.append(element("span", { class: "quiet" }, String(rank + 1)), text,
      element("span", { class: "score" }, prediction.score === null ? "" : decimal(prediction.score)));
    button.addEventListener("click", () => choose({ rank }));
    const item = element("li");
    item.append(button);
    return item;
  }));
}

// Words of a text; those beyond the longest common part with the other are marked.
function compared(text, other) {
  const cut = (string) => visible(string, false).match(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]|\s+|[^\s\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]+/gu) || [];
  const [words, others] = [cut(text), cut(other)];
  if (words.length * others.length > 1e6) return [document.createTextNode(visible(text, false))];
  const common = Array.from({ length: words.length + 1 }, () => new Array(others.length + 1).fill(0));
  for (let i = words.length - 1; i >= 0; i--) {
    for (let j = others.length - 1; j >= 0; j--) {
      common[i][j] = words[i] === others[j] ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
    }
  }
  const nodes = [];
  for (let i = 0, j = 0; i < words.length;) {
    if (j < others.length && words[i] === others[j]) { nodes.push(document.createTextNode(words[i])); i++; j++; }
    else if (j < others.length && common[i][j + 1] >= common[i + 1][j]) j++;
    else nodes.push(words[i].trim() ? element("mark", {}, words[i++]) : document.createTextNode(words[i++]));
  }
  return nodes;
}

function drawFlags() {
  const { flags = [], explanation } = current();
  byId("flags-box").hidden = !flags.length || !explanation;
  byId("flags").replaceChildren(...(explanation ? flags : []).map((flag) => {
    const words = explanation[`${flag.side}_words`];
    const button = element("button", { type: "button" });
    button.append(element("b", { dir: "auto" }, visible(words[flag.word]?.text ?? "")));
    const value = ["repeated", "unfinished"].includes(flag.kind) || flag.value === null ? "" : ` · ${percent(flag.value)}`;
    button.append(element("span", { class: "quiet" }, `${t(flag.side)} · ${t(flag.kind)}${value}`));
    button.addEventListener("click", () => showFlag(flag));
    const item = element("li");
    item.append(button);
    return item;
  }));
}

function showFlag(flag) {
  const kind = ["alignment", "cross"].includes(state.kind) ? state.kind : kinds(current().explanation)[0];
  choose({ unit: "words", kind });
  state.pinned = { line: flag.side === "source" ? "keys" : "queries", at: flag.word };
  highlight();
}

function drawTable() {
  const box = byId("table");
  if (!byId("table-box").open || !view) return box.replaceChildren();
  if (view.rows.length * view.columns.length > TABLE_CELLS) return box.replaceChildren(element("p", {}, t("large")));
  const table = element("table");
  table.append(element("caption", {}, t("caption", t(view.rowSide), t(view.columnSide))));
  const head = element("thead"), top = element("tr"), body = element("tbody");
  top.append(element("td"), ...view.columns.map((unit) => element("th", { scope: "col", dir: "auto" }, visible(unit.text))));
  head.append(top);
  body.append(...view.rows.map((unit, row) => {
    const line = element("tr");
    line.append(element("th", { scope: "row", dir: "auto" }, visible(unit.text)), ...view.weights[row].map((value) => element("td", {}, value.toFixed(3))));
    return line;
  }));
  table.append(head, body);
  return box.replaceChildren(table);
}

function save(name, type, text) {
  const link = element("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
