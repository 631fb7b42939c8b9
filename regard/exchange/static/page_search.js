// The search of a page, behind a port: a worker's, so that typing never waits. A message is the list of what is wanted now,
// {text} to translate and {text, ids} to explain, and replaces the list before it; each is answered by a message of its own.
const SPACE = "\u2581", END = "</s>";
let engine = null, settings = null, source = null, target = null, wanted = [], working = true; // until it is open

port.onmessage = async ({ data }) => {
  if (!data.open) {
    wanted = data;
    if (!working) work();
    return;
  }
  try {
    await open(data.open);
    port.postMessage({ ready: true });
    await work();
  } catch (error) {
    port.postMessage({ fault: error.message });
  }
};

// The parts of a page, as they stand in it.
async function open(parts) {
  const bytes = (coded) => Uint8Array.from(atob(coded), (character) => character.charCodeAt(0));
  settings = JSON.parse(parts.settings);
  const tables = JSON.parse(parts.pieces);
  [source, target] = [settings.source, settings.target].map((name) => Regard.pieceTable(tables[name]));
  engine = await WasmEngine.open(bytes(parts.engine), settings, bytes(parts.weights));
}

async function work() {
  working = true;
  while (wanted.length) {
    const job = wanted.shift();
    port.postMessage({ ...job, ...answered(job) });
    await new Promise((resolve) => { setTimeout(resolve); }); // a newer list may have come, with what is done
    wanted = wanted.filter(({ text, ids }) => text !== job.text || !ids !== !job.ids);
  }
  working = false;
}

function answered({ text, ids }) {
  try {
    return ids ? { explanation: explained(ids) } : translated(text);
  } catch (error) {
    return { fault: error.message };
  }
}

// A translation as the viewer reads it, or the most pieces of a text where it has more.
function translated(text) {
  const { max_source: most, shape } = settings, ids = [...source.encode(text), shape.end];
  if (ids.length > most) return { most: most - 1 };
  const [best] = engine.translate([ids], target.first);
  return { row: { answers: "text", source: text, text: target.decode(best.ids), ids: [ids, best.ids], score: best.score, finished: best.finished,
    log_probs: best.logProbs, alternatives: [], flags: [], explanation: null } };
}

// The weights of each word over the source, of ids that were translated.
function explained([read, written]) {
  const { weights } = engine.force(read, written);
  const tokens = (table, ids) => [...ids.map((one) => table.listed[one]), END];
  const [from, to] = [tokens(source, read.slice(0, -1)), tokens(target, written)];
  return { source_tokens: from, target_tokens: to, source_words: words(from, source), target_words: words(to, target),
    alignment: to.map((_, row) => [weights[row].indexOf(Math.max(...weights[row])), row]), weights, shares: true, maps: [] };
}

// Words of pieces: [{text, pieces: [position]}].
function words(pieces, { kind }) {
  const found = [];
  const begins = { words: () => true, characters: (piece) => piece === " " };
  pieces.forEach((piece, at) => {
    const first = piece === END || !found.length || (begins[kind] ?? ((one) => one.startsWith(SPACE)))(piece);
    if (first) found.push({ text: "", pieces: [] });
    const text = kind === "words" || kind === "characters" ? piece.trim() : piece.replaceAll(SPACE, "");
    found.at(-1).text += text;
    found.at(-1).pieces.push(at);
  });
  return found.filter(({ text }) => text);
}
