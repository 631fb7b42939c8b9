// Translate lines with a page of `regard export RUN --to page`, in Node: a JSON list of texts in, one of translations out.
const { readFileSync } = require("node:fs");
const page = readFileSync(process.argv[2], "utf8"), lines = JSON.parse(readFileSync(0, "utf8"));
const part = (id) => page.match(new RegExp(`<script type="[^"]+" id="${id}">([^<]*)</script>`))[1];
const program = page.match(/\/\/ begin of the search\n([\s\S]*?)\/\/ end of the search\n/)[1];
const asked = new Set(lines.filter((text) => text.trim())), found = new Map(); // a page answers equal lines once
const port = { postMessage: heard };

function heard({ ready, fault, text, row, most }) {
  if (ready && asked.size) port.onmessage({ data: [...asked].map((line) => ({ text: line })) });
  else if (fault) throw new Error(fault);
  else if (most) throw new Error(`line ${lines.indexOf(text) + 1}: at most ${most} pieces`);
  else if (row) found.set(text, row.text);
  if (found.size === asked.size) process.stdout.write(JSON.stringify(lines.map((line) => found.get(line) ?? "")));
}

new Function(`${program}\nreturn search;`)()(port);
port.onmessage({ data: { open: Object.fromEntries(["settings", "pieces", "engine", "weights"].map((id) => [id, part(id)])) } });
