// Translate lines with a page of `regard export RUN --to page`, in Node: a JSON list of texts in, one of translations out.
const { readFileSync } = require("node:fs");
const page = readFileSync(process.argv[2], "utf8"), lines = JSON.parse(readFileSync(0, "utf8"));
const part = (id) => page.match(new RegExp(`<script type="[^"]+" id="${id}">([^<]*)</script>`))[1];
const program = page.match(/\/\/ begin of the search\n([\s\S]*?)\/\/ end of the search\n/)[1];
const found = lines.map(() => ""), asked = lines.map((text, at) => ({ text, at })).filter(({ text }) => text.trim());
const port = { postMessage: heard };
let left = asked.length;

function heard({ ready, fault, at, row, most }) {
  if (ready && left) port.onmessage({ data: asked });
  else if (fault) throw new Error(fault);
  else if (most) throw new Error(`line ${at + 1}: at most ${most} pieces`);
  else if (row) [found[at], left] = [row.text, left - 1];
  if (!left) process.stdout.write(JSON.stringify(found));
}

new Function(`${program}\nreturn search;`)()(port);
port.onmessage({ data: { open: Object.fromEntries(["settings", "pieces", "engine", "weights"].map((id) => [id, part(id)])) } });
