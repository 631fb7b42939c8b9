// Translate with the graphs of a folder: pieces, greedy and beam search over onnxruntime-node or onnxruntime-web.
//
//     npm install onnxruntime-node
//     node FOLDER/translator.js < texts.en > texts.de
//
//     const { GraphTranslator } = require("./FOLDER/translator.js");
//     const translator = await GraphTranslator.load(require("onnxruntime-node"), "FOLDER");
//     await translator.translate(["A sentence."]);
//
// On a page a script element loads it, with onnxruntime-web as `ort`: await Regard.GraphTranslator.load(ort, "FOLDER").
"use strict";

(() => {
  const BOS = 1, EOS = 2, UNK = 3;
  const SPACE = "\u2581", ESCAPE = "\ue0fe";
  const ESCAPED = [[ESCAPE, ESCAPE + "0"], [SPACE, ESCAPE + "1"], ["\0", ESCAPE + "2"]];
  const EDGES = /^[\s\x1c-\x1f\x85]+|[\s\x1c-\x1f\x85]+$/g;
  const WORD = /\u2581*[^\u2581]+|\u2581+/gu;
  const UNKNOWN = 10;  // below the least score of a unigram, as sentencepiece has it
  const ARRAYS = { float32: Float32Array, int64: BigInt64Array, bool: Uint8Array };

  const SURROGATE = /[\ud800-\udfff]/gu;

  /** Return the table of the content of a file of pieces. */
  function pieceTable(kept) {
    return kept.kind === "sentencepiece" ? new SentencePieceTable(kept) : new PieceTable(kept);
  }

  /** Texts ↔ ids: subwords (bpe, unigram), words or characters; what has no piece is spelt in bytes. */
  class PieceTable {
    constructor(kept) {
      this.kind = kept.kind;
      this.listed = kept.pieces;
      this.bytes = kept.bytes;
      this.first = [];  // ids that every text begins with
      this.apart = kept.unicode_pattern ? new RegExp(kept.unicode_pattern, "gu") : null;
      this.ofByte = new Map(kept.bytes.map((number, byte) => [number, byte]));
      const bytes = new Set(kept.bytes), reserved = new Set(kept.reserved || []), scores = new Map();
      this.ids = new Map();
      this.listed.forEach((piece, number) => {
        if (number <= UNK || bytes.has(number)) return;
        this.ids.set(piece, number);
        if (kept.scores && !reserved.has(number)) scores.set(piece, kept.scores[number]);
      });
      if (kept.scores) this.cutter = new PieceCutter(this.kind, scores, [...reserved].map((one) => this.listed[one]));
      this.utf8 = new TextEncoder();
    }

    /** Return the ids of a text, without its end. */
    encode(text) {
      text = text.replace(SURROGATE, "\ufffd").normalize("NFC");
      if (!text) return [];
      if (this.kind === "characters") return Array.from(text).flatMap((piece) => this.spelt(piece));
      if (this.kind === "words") return (" " + text).match(this.apart).flatMap((piece) => this.spelt(piece));
      for (const [character, code] of ESCAPED) text = text.split(character).join(code);
      return this.cutter.cut(SPACE + text.split(" ").join(SPACE)).flatMap((piece) => this.spelt(piece));
    }

    /** Return the text of ids. */
    decode(ids) {
      const raw = [];
      for (const one of ids) {
        if (this.ofByte.has(one)) raw.push(this.ofByte.get(one));
        else if (one > UNK && one < this.listed.length) raw.push(...this.utf8.encode(this.listed[one]));
      }
      let text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(Uint8Array.from(raw));
      if (this.kind === "words") return text.startsWith(" ") ? text.slice(1) : text;
      if (this.kind === "characters") return text;
      text = (text.startsWith(SPACE) ? text.slice(1) : text).split(SPACE).join(" ");
      return text.replace(/\ue0fe[012]/gu, (found) => ESCAPED[Number(found[1])][0]);
    }

    spelt(piece) {
      const known = this.ids.get(piece);
      return known !== undefined ? [known] : Array.from(this.utf8.encode(piece), (byte) => this.bytes[byte]);
    }
  }

  /** Texts ↔ ids as a SentencePiece model of another program has them: normalised first; unknown is <unk> or bytes. */
  class SentencePieceTable {
    constructor(kept) {
      this.kept = kept;
      this.listed = kept.pieces;
      this.first = kept.before;
      this.ids = new Map();
      this.listed.forEach((piece, number) => { if (number !== BOS) this.ids.set(piece, number); });
      for (const number of [0, EOS, UNK]) this.ids.set(this.listed[number], number);
      this.ofByte = new Map(Object.entries(kept.bytes).map(([number, byte]) => [Number(number), byte]));
      this.unwritten = new Set(kept.unwritten);
      const [replaced, replacing] = kept.rules.map((texts) => texts.split("\0").slice(0, -1));
      this.rules = new Map([...replaced.map((text, place) => [text, replacing[place]]), ...kept.defined.map((piece) => [piece, piece])]);
      this.starts = new Map();  // by first character: the longest rule, in characters
      for (const rule of this.rules.keys()) {
        const letters = Array.from(rule);
        this.starts.set(letters[0], Math.max(this.starts.get(letters[0]) || 0, letters.length));
      }
      this.cutter = new PieceCutter(kept.algorithm, new Map(Object.entries(kept.scores)), kept.defined);
      this.utf8 = new TextEncoder();
    }

    /** Return the ids of a text, without its end. */
    encode(text) {
      text = text.replace(SURROGATE, "\ufffd");
      const ids = [...this.first], id = (piece) => this.ids.has(piece) ? this.ids.get(piece) : UNK;
      if (this.kept.codes && text.startsWith(">>") && text.includes("<<")) {
        const end = text.indexOf("<<") + 2;
        ids.push(id(text.slice(0, end)));
        text = text.slice(end);
      }
      let unknown = "";
      for (const piece of [...this.cutter.cut(this.normalised(text)), ""]) {
        const known = this.cutter.known.has(piece);
        if (piece && !known && !this.kept.byte_fallback) {
          unknown += piece;  // unknown pieces side by side are one
          continue;
        }
        if (unknown) ids.push(id(unknown));
        unknown = "";
        if (known) ids.push(id(piece));
        else for (const byte of this.utf8.encode(piece)) ids.push(id(`<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`));
      }
      return ids;
    }

    /** Return the text of ids. */
    decode(ids) {
      const raw = [];
      for (const one of ids) {
        if (one <= UNK || one >= this.listed.length || this.unwritten.has(one)) continue;
        if (this.ofByte.has(one)) raw.push(this.ofByte.get(one));
        else raw.push(...this.utf8.encode(this.listed[one]));
      }
      return this.text(raw).split(SPACE).join(" ").replace(EDGES, "");
    }

    /** UTF-8 → text, with U+FFFD for each byte that is not UTF-8. */
    text(raw) {
      const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }), found = [];
      for (let start = 0; start < raw.length;) {
        const byte = raw[start], size = byte < 0xc0 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
        try {
          found.push(strict.decode(Uint8Array.from(raw.slice(start, start + size))));
          start += size;
        } catch {
          found.push("\ufffd");
          start += 1;
        }
      }
      return found.join("");
    }

    /** Apply the rules, the longest first, and mark spaces; several count as one, and those at the ends as none. */
    normalised(text) {
      const letters = Array.from(text);
      let found = "";
      for (let place = 0; place < letters.length;) {
        let size = Math.min(this.starts.get(letters[place]) || 0, letters.length - place);
        while (size && !this.rules.has(letters.slice(place, place + size).join(""))) size -= 1;
        found += size ? this.rules.get(letters.slice(place, place + size).join("")) : letters[place];
        place += size || 1;
      }
      if (!this.kept.extra_spaces) found = found.replace(/ +/g, " ").replace(/^ | $/g, "");
      return found && (this.kept.prefix ? SPACE : "") + found.split(" ").join(SPACE);
    }
  }

  /** Cuts marked texts into pieces, word by word: by merges (bpe), or the likeliest ones (unigram). */
  class PieceCutter {
    constructor(kind, scores, reserved) {
      this.kind = kind;
      this.scores = scores;
      this.reserved = new Set(reserved);
      this.known = new Set([...scores.keys(), ...reserved]);
      const names = kind === "bpe" ? [...reserved].sort((a, b) => Array.from(b).length - Array.from(a).length) : [];
      const quoted = names.map((name) => name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
      this.split = quoted.length ? new RegExp("(" + quoted.join("|") + ")", "u") : null;
      this.longest = 1;
      this.least = Infinity;
      this.most = -Infinity;
      for (const piece of this.known) this.longest = Math.max(this.longest, Array.from(piece).length);
      for (const score of scores.values()) {
        this.least = Math.min(this.least, score);
        this.most = Math.max(this.most, score);
      }
      this.words = new Map();
      this.utf8 = new TextEncoder();
    }

    /** Return the pieces; a character without one stands alone. */
    cut(text) {
      const found = [];
      for (const part of this.split ? text.split(this.split) : [text]) {
        if (this.split && this.reserved.has(part)) {
          found.push(part);
          continue;
        }
        for (const word of part.match(WORD) || []) {
          if (!this.words.has(word)) this.words.set(word, this.kind === "bpe" ? this.merged(word) : this.likeliest(word));
          for (const piece of this.words.get(word)) found.push(piece);
        }
      }
      return found;
    }

    /** Byte pair encoding: join the neighbours whose piece has the best score, the leftmost of equals. */
    merged(word) {
      const parts = Array.from(word);
      for (;;) {
        let best = -Infinity, place = -1;
        for (let left = 0; left + 1 < parts.length; left++) {
          const score = this.scores.get(parts[left] + parts[left + 1]);
          if (score !== undefined && score > best) [best, place] = [score, left];
        }
        if (place < 0) return parts;
        parts.splice(place, 2, parts[place] + parts[place + 1]);
      }
    }

    /** The segmentation of the highest probability under a unigram model. */
    likeliest(word) {
      const letters = Array.from(word), best = [0], starts = [0];
      for (let start = 0; start < letters.length; start++) {
        let piece = "";
        for (let end = start + 1; end <= Math.min(start + this.longest, letters.length); end++) {
          piece += letters[end - 1];
          const score = best[start] + this.score(piece, end - start);
          if (best[end] === undefined || score > best[end]) [best[end], starts[end]] = [score, start];
        }
      }
      const parts = [];
      for (let end = letters.length; end; end = starts[end]) parts.push(letters.slice(starts[end], end).join(""));
      return parts.reverse();
    }

    score(piece, length) {
      if (this.reserved.has(piece)) return this.utf8.encode(piece).length * this.most - 0.1;
      if (this.scores.has(piece)) return this.scores.get(piece);
      return length === 1 ? this.least - UNKNOWN : -Infinity;
    }
  }

  /** The hypotheses of several sources, a row each, those of a source one after the other. */
  class Beams {
    constructor(search, limits, first = []) {
      this.search = search;
      this.first = first;  // ids that all begin with, which cost nothing
      this.limits = limits;
      this.rows = limits.map((_, example) => ({ example, sum: 0, ids: [] }));
      this.finished = limits.map(() => []);
      this.ended = limits.map(() => 0);
      this.bar = limits.map(() => -Infinity);
      this.length = 0;
    }

    /** Return what the sum of a hypothesis is divided by, for its length with the end. */
    norm(length) {
      return (this.search.gnmt ? (5 + length) / 6 : length) ** this.search.length_penalty;
    }

    /** Return the ids of the best of each. */
    best() {
      return this.finished.map((found) => found.reduce((one, other) => (other.score > one.score ? other : one)).ids);
    }

    /** log-probabilities (rows, vocabulary) → the next words, and the rows that they follow; none when all end. */
    grow(scores, vocabulary) {
      const { size, at_limit: rule, stop } = this.search;
      let found = this.rows.flatMap((_, row) => this.choices(scores, row * vocabulary, vocabulary, row));
      this.length += 1;
      const last = (one) => this.limits[one.example] === this.length;
      if (rule !== "cut") {  // at the limit all end that can
        const closed = new Set(found.filter((one) => one.word === EOS).map((one) => one.example));
        found = found.filter((one) => one.word === EOS || !(closed.has(one.example) && last(one)));
      }
      for (const one of found) {
        const free = rule === "free" && one.word === EOS && last(one);
        one.sum = this.rows[one.row].sum + (free ? 0 : one.added);
      }
      found.sort((a, b) => a.example - b.example || b.sum - a.sum);
      const ranks = this.limits.map(() => 0), taken = this.limits.map(() => 0), going = [];
      for (const one of found) {
        const closing = one.word === EOS || (rule === "cut" && last(one));
        if (closing && ranks[one.example] < size) this.finish(one);
        if (!closing && taken[one.example]++ < size) going.push(one);
        ranks[one.example] += 1;
      }
      this.giveUp(new Set(going.map((one) => one.example)), this.length - 1);
      this.rows = going.map((one) => ({ ...one, ids: [...this.rows[one.row].ids, one.word] }));
      const best = this.limits.map(() => -Infinity);
      for (const row of this.rows) best[row.example] = Math.max(best[row.example], row.sum);
      const done = this.limits.map((limit, example) => limit <= this.length || this.stops(stop, example, best[example]));
      this.giveUp(new Set(this.rows.filter((row) => !done[row.example]).map((row) => row.example)), this.length);
      this.rows = this.rows.filter((row) => !done[row.example]);
      return [this.rows.map((row) => row.word), this.rows.map((row) => row.row)];
    }

    /** The likeliest words of a row, with the end among them. */
    choices(scores, start, vocabulary, row) {
      const count = this.search.size + 1, words = [], example = this.rows[row].example;
      if (this.length < this.first.length) return [{ example, row, word: this.first[this.length], added: 0 }];
      const short = this.length < this.search.min_length;
      for (let word = EOS; word < vocabulary; word++) {
        const score = scores[start + word];
        if ((word === EOS && short) || !(score > -Infinity)) continue;
        if (words.length === count && score <= words[count - 1].added) continue;
        let place = words.length;
        while (place && words[place - 1].added < score) place -= 1;
        words.splice(place, 0, { example, row, word, added: score });
        if (words.length > count) words.pop();
      }
      const end = scores[start + EOS];
      if (!short && end > -Infinity && !words.some((one) => one.word === EOS)) words.push({ example, row, word: EOS, added: end });
      return words;
    }

    finish(one) {
      const score = one.sum / this.norm(this.length), exact = this.search.stop === "exact";
      this.ended[one.example] += 1;
      if (exact && score <= this.bar[one.example]) return;
      const ids = this.rows[one.row].ids;
      this.finished[one.example].push({ ids: one.word === EOS ? ids : [...ids, one.word], score });
      if (exact) this.bar[one.example] = score;
    }

    stops(stop, example, best) {
      if (stop === "exact") {
        return Math.max(best / this.norm(this.length + 1), best / this.norm(this.limits[example])) <= this.bar[example];
      }
      if (this.ended[example] < this.search.size) return false;
      if (stop === "full") return true;
      const scores = this.finished[example].map((one) => one.score).sort((a, b) => b - a);
      return best / this.norm(this.length) <= scores[this.search.size - 1];
    }

    /** Answer sources that go on no further, and have no finished hypothesis, by the best that they have. */
    giveUp(going, length) {
      const best = new Map();
      for (const row of this.rows) {
        const other = best.get(row.example);
        if (!other || row.sum > other.sum) best.set(row.example, row);
      }
      for (const [example, row] of best) {
        if (going.has(example) || this.finished[example].length) continue;
        this.finished[example].push({ ids: row.ids, score: row.sum / this.norm(Math.max(length, 1)) });
      }
    }
  }

  /** A folder, opened. */
  class GraphTranslator {
    /** `ort` is onnxruntime-node or onnxruntime-web; `search` changes settings of the search, such as {size: 1}. */
    static async load(ort, folder, { search = {}, session = {} } = {}) {
      const read = await reader(folder), json = async (name) => JSON.parse(new TextDecoder().decode(await read(name)));
      const settings = await json("translator.json");
      const source = pieceTable(await json(settings.source));
      const target = settings.target === settings.source ? source : pieceTable(await json(settings.target));
      const open = async (name) => ort.InferenceSession.create(await read(name), session);
      const encoder = await open("encoder_model.onnx"), decoder = await open("decoder_model_merged.onnx");
      const made = new GraphTranslator();
      return Object.assign(made, { ort, settings, source, target, encoder, decoder, search: { ...settings.search, ...search } });
    }

    /** Translate sentences; nothing becomes nothing. */
    async translate(texts, { batch = 16 } = {}) {
      const found = texts.map(() => ""), rows = new Map(), most = this.settings.max_source;
      texts.forEach((text, number) => {
        if (!text.trim()) return;
        const row = [...this.source.encode(text), EOS];
        if (row.length > most) throw new Error(`text ${number + 1}: ${row.length - 1} pieces are more than this model takes (${most - 1})`);
        rows.set(number, row);
      });
      const asked = [...rows.keys()].sort((a, b) => rows.get(a).length - rows.get(b).length);
      for (let start = 0; start < asked.length; start += batch) {
        const some = asked.slice(start, start + batch);
        const best = await this.searched(some.map((number) => rows.get(number)));
        some.forEach((number, place) => { found[number] = this.target.decode(best[place]); });
      }
      return found;
    }

    /** Return the ids of the best translation of each source, ids with their end. */
    async searched(rows) {
      const { max_ratio: ratio, max_extra: extra } = this.search, most = this.settings.max_target;
      const limit = (row) => Math.trunc(Math.fround(row.length * Math.fround(ratio))) + extra;
      const limits = rows.map((row) => Math.min(Math.max(1, limit(row)), most));
      const beams = new Beams(this.search, limits, this.target.first);
      const width = Math.max(...rows.map((row) => row.length));
      const ids = this.whole(rows.flatMap((row) => [...row, ...Array(width - row.length).fill(0)]), [rows.length, width]);
      const shown = rows.flatMap((row) => Array.from({ length: width }, (_, place) => (place < row.length ? 1 : 0)));
      const mask = this.whole(shown, [rows.length, width]);
      const encoded = await this.encoder.run({ input_ids: ids, attention_mask: mask });
      const given = { ...encoded, encoder_hidden_states: encoded.last_hidden_state };
      const begin = this.whole(rows.map(() => BOS), [rows.length, 1]);
      let after = await this.step({ ...given, input_ids: begin, encoder_attention_mask: mask }, false);
      let fixed = { encoder_attention_mask: mask };
      for (const name of this.settings.fixed) fixed[name] = after[present(name)];
      for (let written = 1; ; written++) {
        const [words, parents] = beams.grow(after.logits.data, after.logits.dims.at(-1));
        if (!words.length) return beams.best();
        const same = parents.length === fixed.encoder_attention_mask.dims[0] && parents.every((row, place) => row === place);
        const moving = {};
        for (const name of this.settings.moving) moving[name] = same ? after[present(name)] : this.rowsOf(after[present(name)], parents);
        if (!same) fixed = Object.fromEntries(Object.entries(fixed).map(([name, one]) => [name, this.rowsOf(one, parents)]));
        const read = { input_ids: this.whole(words, [words.length, 1]), position: this.whole([written], [1]) };
        after = await this.step({ ...fixed, ...moving, ...read }, true);
      }
    }

    /** Run a step; the branch that does not run reads empty tensors. */
    async step(given, later) {
      const feeds = { use_cache_branch: new this.ort.Tensor("bool", [later], [1]) };
      for (const [name, [type, shape]] of Object.entries(this.settings.inputs)) {
        feeds[name] = given[name] || new this.ort.Tensor(type, new ARRAYS[type](shape.reduce((a, b) => a * b, 1)), shape);
      }
      return this.decoder.run(feeds);
    }

    whole(numbers, shape) {
      return new this.ort.Tensor("int64", BigInt64Array.from(numbers, BigInt), shape);
    }

    rowsOf(tensor, rows) {
      const { data, dims, type } = tensor, size = dims.slice(1).reduce((a, b) => a * b, 1);
      const made = new data.constructor(rows.length * size);
      rows.forEach((row, place) => made.set(data.subarray(row * size, (row + 1) * size), place * size));
      return new this.ort.Tensor(type, made, [rows.length, ...dims.slice(1)]);
    }
  }

  const present = (name) => name.replace("past_key_values", "present").replace("past_state", "present_state");

  /** Return a function that reads a file of a folder: from disk in Node, else over HTTP. */
  async function reader(folder) {
    if (typeof process !== "undefined" && process.versions && process.versions.node) {
      const fs = require("node:fs/promises"), path = require("node:path");
      return async (name) => new Uint8Array(await fs.readFile(path.join(folder, name)));
    }
    return async (name) => {
      const answer = await fetch(`${folder}/${name}`);
      if (!answer.ok) throw new Error(`${folder}/${name}: ${answer.status} ${answer.statusText}`);
      return new Uint8Array(await answer.arrayBuffer());
    };
  }

  const found = { Beams, GraphTranslator, pieceTable };
  if (typeof module === "undefined") globalThis.Regard = found;
  else module.exports = found;
})();

if (typeof require !== "undefined" && typeof module !== "undefined" && require.main === module) {
  (async () => {
    const ort = require("node:module").createRequire(process.cwd() + "/")("onnxruntime-node");
    const translator = await module.exports.GraphTranslator.load(ort, __dirname);
    const lines = require("node:fs").readFileSync(0, "utf8").split("\n");
    if (lines.at(-1) === "") lines.pop();
    for (const line of await translator.translate(lines)) console.log(line);
  })().catch((error) => {
    console.error(`error: ${error.message}`);
    process.exitCode = 2;
  });
}
