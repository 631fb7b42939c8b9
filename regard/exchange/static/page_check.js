// Translate lines with a page of `regard export RUN --to page`, in Node: a JSON list of texts in, one of translations out.
const text = require("node:fs").readFileSync(process.argv[2], "utf8");
const part = (id) => text.match(new RegExp(`<script type="[^"]+" id="${id}">([^<]*)</script>`))[1];
const bytes = (id) => Uint8Array.from(Buffer.from(part(id), "base64"));
const program = text.match(/\/\/ begin of the engine\n([\s\S]*?)\/\/ end of the engine\n/)[1];
const { WasmEngine, pieceTable } = new Function(`${program}\nreturn { WasmEngine, pieceTable: Regard.pieceTable };`)();

(async () => {
  const settings = JSON.parse(part("settings")), tables = JSON.parse(part("pieces"));
  const [source, target] = [settings.source, settings.target].map((name) => pieceTable(tables[name]));
  const engine = await WasmEngine.open(bytes("engine"), settings, bytes("weights"));
  const lines = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
  const one = (line) => target.decode(engine.translate([[...source.encode(line), settings.shape.end]], target.first)[0].ids);
  console.log(JSON.stringify(lines.map((line) => (line.trim() ? one(line) : ""))));
})();
