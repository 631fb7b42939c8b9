// The compiled engine on a page: ids in, ids out. See engine.cpp; SHAPE, REALS, STOPS and LIMITS come from regard/runtime/engine.py.
class WasmEngine {
  // `wasm` and `weights` are bytes, `settings` those of translator.json.
  static async open(wasm, settings, weights) {
    const module = await WebAssembly.compile(wasm);
    const imports = {};
    for (const { module: from, name } of WebAssembly.Module.imports(module)) {
      imports[from] ??= {};
      imports[from][name] = () => { if (name === "proc_exit") throw new Error("the engine has ended"); return 8; }; // no files
    }
    const { exports } = await WebAssembly.instantiate(module, imports);
    exports._initialize?.();
    return new WasmEngine(exports, settings, weights);
  }

  constructor(exports, settings, weights) {
    Object.assign(this, { exports, settings, end: settings.shape.end });
    const memory = this.scope();
    const start = this.scope().take(weights.length); // stays: embeddings are looked up there
    new Uint8Array(exports.memory.buffer, start, weights.length).set(weights);
    const tensors = settings.tensors.flatMap((one) => (one ? [start + one[0], ...one.slice(1)] : [0, 0, 0, 0]));
    const shape = memory.longs(SHAPE.map((name) => settings.shape[name]));
    const reals = memory.doubles(REALS.map((name) => settings.reals[name]));
    const count = BigInt(settings.tensors.length);
    this.engine = this.call(() => exports.open_engine(shape, reals, memory.longs(tensors), count, memory.take(4)));
    memory.free();
  }

  // Return the best hypothesis of each source, ids with their end: {ids, score, logProbs, finished}. `first` begins each.
  translate(sources, first = []) {
    const { search } = this.settings, memory = this.scope();
    const limits = sources.map((source) => this.limit(source.length));
    const starts = sources.reduce((places, source) => [...places, places.at(-1) + source.length], [0]);
    const norms = Array.from({ length: Math.max(...limits) + 2 }, (_, length) => (length ? this.norm(length) : 1));
    const rules = [search.size, 1, STOPS.indexOf(search.stop), search.min_length, LIMITS.indexOf(search.at_limit)].map(BigInt);
    const found = this.call(() => this.exports.translate(this.engine, BigInt(sources.length), memory.longs(starts), memory.longs(sources.flat()),
      ...rules, memory.longs(limits), memory.doubles(norms), BigInt(first.length), memory.longs(first), memory.take(4)));
    const many = sources.length, total = Number(this.exports.sizes(found, memory.take(8 * many)));
    const [lengths, scores, finished] = [memory.take(8 * many), memory.take(8 * many), memory.take(many)];
    const [ids, logProbs] = [memory.take(8 * total), memory.take(8 * total)];
    this.exports.take(found, BigInt(this.end), lengths, scores, finished, ids, logProbs);
    const { buffer } = this.exports.memory;
    const whole = (place, size) => Array.from(new BigInt64Array(buffer, place, size), Number);
    const sizes = whole(lengths, many), all = whole(ids, total), values = [...new Float64Array(buffer, logProbs, total)];
    const points = [...new Float64Array(buffer, scores, many)], ended = [...new Uint8Array(buffer, finished, many)];
    memory.free();
    let start = 0;
    return sizes.map((size, at) => {
      const written = all.slice(start, start + size), own = values.slice(start, start + size);
      start += size;
      if (written.at(-1) === this.end) written.pop();
      return { ids: written, score: points[at], logProbs: own, finished: Boolean(ended[at]) };
    });
  }

  // Return log-probabilities of a target (ids without the end) and its end, and their weights over the source.
  force(source, target) {
    const memory = this.scope(), rows = target.length + 1, places = source.length;
    const [logProbs, weights] = [memory.take(4 * rows), memory.take(4 * rows * places)];
    this.call(() => this.exports.force(this.engine, BigInt(places), memory.longs(source), BigInt(target.length), memory.longs(target),
      logProbs, weights, memory.take(4)));
    const { buffer } = this.exports.memory;
    const found = { logProbs: [...new Float32Array(buffer, logProbs, rows)], weights: [] };
    for (let row = 0; row < rows; row++) found.weights.push([...new Float32Array(buffer, weights + 4 * row * places, places)]);
    memory.free();
    return found;
  }

  // Return the most ids of a translation with its end, for a source of this size.
  limit(size) {
    const { max_ratio: ratio, max_extra: extra } = this.settings.search;
    return Math.max(1, Math.min(Math.trunc(Math.fround(size * Math.fround(ratio))) + extra, this.settings.max_target));
  }

  norm(length) {
    const { gnmt, length_penalty: penalty } = this.settings.search;
    return (gnmt ? (5 + length) / 6 : length) ** penalty;
  }

  // Run a call of the engine; what it cannot do is an Error that says why.
  call(run) {
    try {
      return run();
    } catch (error) {
      const bytes = new Uint8Array(this.exports.memory.buffer), from = this.exports.fault();
      const message = from ? new TextDecoder().decode(bytes.subarray(from, bytes.indexOf(0, from))) : error.message;
      throw new Error(message, { cause: error });
    }
  }

  // Memory for the arguments of a call.
  scope() {
    const { exports } = this, taken = [];
    const take = (size) => {
      const place = exports.malloc(Math.max(size, 8));
      if (!place) throw new Error("there is not enough memory");
      taken.push(place);
      return place;
    };
    const filled = (Kind, numbers) => {
      const place = take(8 * numbers.length);
      new Kind(exports.memory.buffer, place, numbers.length).set(numbers);
      return place;
    };
    return {
      take, free: () => taken.forEach((place) => exports.free(place)),
      longs: (numbers) => filled(BigInt64Array, numbers.map(BigInt)), doubles: (numbers) => filled(Float64Array, numbers),
    };
  }
}
