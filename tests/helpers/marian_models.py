"""An independent writer and reader of Marian's files, and its networks in numpy, made from the description alone."""

import io
import struct
import zipfile
from pathlib import Path

import numpy as np
import sentencepiece
import yaml

DIM, HEADS, HIDDEN, AAN = 8, 2, 12, 10
SENTENCES = ["Ein Hund läuft schnell.", "Zwei Männer gehen die Straße entlang.", "Der letzte Park hat 10 Bäume"] * 20
EOS, UNK = 0, 1


def spm_model(size=60, **settings):
    """A SentencePiece model as Marian trains it."""
    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(SENTENCES), model_writer=written, vocab_size=size, model_type="unigram", minloglevel=2,
        hard_vocab_limit=False, pad_id=-1, bos_id=-1, eos_id=EOS, unk_id=UNK, **settings,
    )  # fmt: skip
    return written.getvalue()


def config_of(vocabularies, decoder="self-attention", **settings):
    """A model.yml."""
    return {
        "type": "transformer", "dim-emb": DIM, "dim-vocabs": [*vocabularies], "enc-depth": 2, "dec-depth": 2,
        "dec-cell": "ssru" if decoder == "rnn" else "gru", "transformer-heads": HEADS, "transformer-dim-ffn": HIDDEN,
        "transformer-decoder-dim-ffn": 0, "transformer-ffn-depth": 2, "transformer-ffn-activation": "relu",
        "transformer-decoder-autoreg": decoder, "transformer-dim-aan": AAN, "transformer-aan-depth": 2,
        "transformer-aan-activation": "swish", "transformer-aan-nogate": False, "transformer-preprocess": "",
        "transformer-postprocess": "dan", "transformer-postprocess-emb": "d", "transformer-tied-layers": [],
        "transformer-no-projection": False, "transformer-train-position-embeddings": False, "lemma-dim-emb": 0,
        "tied-embeddings": False, "tied-embeddings-src": False, "tied-embeddings-all": True,
        "layer-normalization": False, "transformer-dropout": 0.1, **settings,
    }  # fmt: skip


class Tensors:
    """Random tensors under Marian's names; their sizes follow the config."""

    def __init__(self, config, seed):
        self.config, self.draws, self.found = config, np.random.default_rng(seed), {}
        self.dim = config["dim-emb"]

    def linear(self, prefix, letter, rows=None, columns=None, *, bias=True):
        rows, columns = rows or self.dim, columns or self.dim
        self.found[f"{prefix}_W{letter}"] = self.draws.normal(size=(rows, columns)) * 0.4
        if bias:
            self.found[f"{prefix}_b{letter}"] = self.draws.normal(size=(1, columns)) * 0.2

    def norm(self, prefix):
        self.found[f"{prefix}_ln_scale"] = 1 + self.draws.normal(size=(1, self.dim)) * 0.1
        self.found[f"{prefix}_ln_bias"] = self.draws.normal(size=(1, self.dim)) * 0.1

    def attention(self, prefix):
        for letter in "qkvo":
            self.linear(prefix, letter)
        self.norm(f"{prefix}_Wo")

    def forward(self, prefix, width):
        self.linear(prefix, "1", None, width)
        self.linear(prefix, "2", width, None)

    def stacks(self):
        hidden = self.config["transformer-dim-ffn"]
        for layer in range(1, self.config["enc-depth"] + 1):
            self.attention(f"encoder_l{layer}_self")
            self.forward(f"encoder_l{layer}_ffn", hidden)
            self.norm(f"encoder_l{layer}_ffn_ffn")
        for layer in range(1, self.config["dec-depth"] + 1):
            self.history(f"decoder_l{layer}")
            self.attention(f"decoder_l{layer}_context")
            self.forward(f"decoder_l{layer}_ffn", self.config["transformer-decoder-dim-ffn"] or hidden)
            self.norm(f"decoder_l{layer}_ffn_ffn")

    def history(self, name):
        kind = self.config["transformer-decoder-autoreg"]
        if kind == "self-attention":
            return self.attention(f"{name}_self")
        name = f"{name}_{'rnn' if kind == 'rnn' else 'aan'}"
        if kind == "rnn":
            self.linear(name, "", bias=False)
            self.linear(name, "f")
            if self.config.get("transformer-rnn-projection"):
                self.linear(name, "o")
        else:
            self.forward(name, self.config["transformer-dim-aan"])
            self.linear(name, "i")
            self.linear(name, "f")
        return self.norm(f"{name}_ffn")

    def tables(self):
        source, target = self.config["dim-vocabs"]
        names = (
            {"Wemb": source} if self.config["tied-embeddings-all"] else {"encoder_Wemb": source, "decoder_Wemb": target}
        )
        if not self.config["tied-embeddings-all"] and not self.config["tied-embeddings"]:
            names["decoder_ff_logit_out_Wt"] = target
        self.found |= {name: self.draws.normal(size=(size, self.dim)) for name, size in names.items()}
        self.found["decoder_ff_logit_out_b"] = self.draws.normal(size=(1, target)) * 0.5


def tensors_of(config, seed=0):
    """Random tensors under Marian's names."""
    made = Tensors(config, seed)
    made.stacks()
    made.tables()
    return {name: value.astype(np.float32) for name, value in made.found.items()}


def write_npz(path: Path, config, tensors):
    """model.npz, member by member."""
    text = yaml.safe_dump(config).encode() + b"\0"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, value in {**tensors, "special:model.yml": np.frombuffer(text, np.int8)}.items():
            written = io.BytesIO()
            np.save(written, value)
            archive.writestr(f"{name}.npy", written.getvalue())


def write_bin(path: Path, config, tensors, *, int8=False, code=0x4101):
    """model.bin; with `int8` the weights of products and embeddings in 8 bits."""
    head, names, shapes, data = b"", b"", b"", b""
    rows = {**tensors, "special:model.yml": np.frombuffer(yaml.safe_dump(config).encode() + b"\0", np.int8)}
    for name, value in rows.items():
        last = name.rsplit("_", 1)[-1]
        if name.startswith("special:"):
            kind, content = 0x101, value.tobytes()
        elif int8 and ("Wemb" in name or (last.startswith("W") and len(last) <= 2)) and "QuantMult" not in name:
            multiplier = 127 / np.abs(value).max()
            whole = np.round(value * multiplier).astype(np.int8)
            content = (whole if "Wemb" in name else whole.T.copy()).tobytes() + struct.pack("<f", multiplier)
            kind = code
        else:
            kind, content = 0x404, value.astype("<f4").tobytes()
        content += b"\0" * (-len(content) % 256)
        head += struct.pack("<4Q", len(name) + 1, kind, value.ndim, len(content))
        names += name.encode() + b"\0"
        shapes += struct.pack(f"<{value.ndim}i", *value.shape)
        data += content
    start = struct.pack("<2Q", 1, len(rows)) + head + names + shapes
    padding = 256 - (len(start) + 8) % 256
    path.write_bytes(start + struct.pack("<Q", padding) + b"\0" * padding + data)


def read_bin(path: Path):
    """model.bin → config, tensors as floats, codes of their types."""
    content, place = path.read_bytes(), 16
    version, count = struct.unpack_from("<2Q", content)
    assert version == 1
    heads = [struct.unpack_from("<4Q", content, place + 32 * one) for one in range(count)]
    place += 32 * count
    names = []
    for length, *_ in heads:
        names.append(content[place : place + length - 1].decode())
        place += length
    shapes = []
    for _, _, axes, _ in heads:
        shapes.append(struct.unpack_from(f"<{axes}i", content, place))
        place += 4 * axes
    place += 8 + struct.unpack_from("<Q", content, place)[0]
    assert place % 256 == 0
    found, config, codes = {}, None, {}
    for name, shape, (_, code, _, size) in zip(names, shapes, heads, strict=True):
        assert size % 256 == 0
        part, elements = content[place : place + size], int(np.prod(shape))
        place += size
        codes[name] = code
        if code == 0x101:
            config = yaml.safe_load(part.split(b"\0")[0])
        elif code == 0x404:
            found[name] = np.frombuffer(part, "<f4", elements).reshape(shape)
        else:
            whole = np.frombuffer(part, np.int8, elements)
            whole = whole.reshape(shape) if "Wemb" in name else whole.reshape(shape[::-1]).T
            found[name] = whole / np.frombuffer(part, "<f4", 1, elements)[0]
    assert place == len(content)
    return config, found, codes


def write_lex(path: Path, lists, first=2):
    """lex.bin of lists of target ids by source id."""
    offsets = [0]
    for one in lists:
        offsets.append(offsets[-1] + len(one))
    ids = [number for one in lists for number in sorted(one)]
    body = struct.pack("<4Q", first, max(map(len, lists)), len(offsets), len(ids))
    body += struct.pack(f"<{len(offsets)}Q", *offsets) + struct.pack(f"<{len(ids)}I", *ids)
    seed = 0
    for place in range(0, len(body) - 7, 8):
        word = int.from_bytes(body[place : place + 8], "little")
        seed = (seed ^ (word + 0x9E3779B9 + (seed << 6) + (seed >> 2))) % 2**64
    path.write_bytes(struct.pack("<2Q", 0xF11A48D5013417F5, seed) + body)


class Network:
    """What Marian computes, step by step, in float64."""

    def __init__(self, config, tensors):
        self.config, self.of = config, {name: value.astype(np.float64) for name, value in tensors.items()}
        self.dim, self.heads = config["dim-emb"], config["transformer-heads"]

    def log_probs(self, source, target):
        """Ids without ends → log-probabilities (target + 1, vocab) of each next piece."""
        states = self.encode([*source, EOS])
        rows, before = [], None
        past = [None] * self.config["dec-depth"]
        for place in range(len(target) + 1):
            row, past = self.step(before, place, past, states)
            rows.append(row)
            before = target[place] if place < len(target) else None
        return np.stack(rows)

    def encode(self, ids):
        x = self.table("encoder")[ids] * self.dim**0.5 + self.places(0, len(ids))
        for layer in range(1, self.config["enc-depth"] + 1):
            name = f"encoder_l{layer}"
            x = self.norm(f"{name}_self_Wo", x + self.attend(f"{name}_self", x, x))
            x = self.norm(f"{name}_ffn_ffn", x + self.forward(f"{name}_ffn", x))
        return x

    def step(self, word, place, past, states):
        x = np.zeros((1, self.dim)) if word is None else self.table("decoder")[[word]] * self.dim**0.5
        x, after = x + self.places(place, 1), []
        for layer, known in enumerate(past, start=1):
            name = f"decoder_l{layer}"
            x, kept = self.look_back(name, x, known, place)
            x = self.norm(f"{name}_context_Wo", x + self.attend(f"{name}_context", x, states))
            x = self.norm(f"{name}_ffn_ffn", x + self.forward(f"{name}_ffn", x))
            after.append(kept)
        table = self.of.get("decoder_ff_logit_out_Wt", self.table("decoder"))
        logits = (x @ table.T + self.of["decoder_ff_logit_out_b"])[0]
        return logits - logits.max() - np.log(np.exp(logits - logits.max()).sum()), after

    def look_back(self, name, x, known, place):
        """The layer that reads what was written, and what it keeps."""
        kind = self.config["transformer-decoder-autoreg"]
        if kind == "self-attention":
            seen = x if known is None else np.concatenate([known, x])
            return self.norm(f"{name}_self_Wo", x + self.attend(f"{name}_self", x, seen)), seen
        if kind == "rnn":
            forget = sigmoid(self.linear(f"{name}_rnn", "f", x))
            cell = forget * (0 if known is None else known) + (1 - forget) * (x @ self.of[f"{name}_rnn_W"])
            h = np.maximum(cell, 0)
            h = self.linear(f"{name}_rnn", "o", h) if self.config.get("transformer-rnn-projection") else h
            return self.norm(f"{name}_rnn_ffn", x + h), cell
        mean = x if known is None else (known * place + x) / (place + 1)
        y = self.active("transformer-aan-activation", self.linear(f"{name}_aan", "1", mean))
        y = self.linear(f"{name}_aan", "2", y)
        i, f = (sigmoid(self.linear(f"{name}_aan", one, read)) for one, read in (("i", x), ("f", y)))
        return self.norm(f"{name}_aan_ffn", x + i * x + f * y), mean

    def table(self, side):
        return self.of.get("Wemb", self.of.get(f"{side}_Wemb"))

    def places(self, start, count):
        half = self.dim // 2
        angles = np.arange(start, start + count)[:, None] * 10000.0 ** (-np.arange(half) / (half - 1))
        return np.concatenate([np.sin(angles), np.cos(angles)], axis=1)

    def linear(self, prefix, letter, x):
        return x @ self.of[f"{prefix}_W{letter}"] + self.of[f"{prefix}_b{letter}"]

    def active(self, key, x):
        slope = {"relu": None, "swish": 1.0, "gelu": 1.702}[self.config[key]]
        return np.maximum(x, 0) if slope is None else x * sigmoid(slope * x)

    def forward(self, prefix, x):
        return self.linear(prefix, "2", self.active("transformer-ffn-activation", self.linear(prefix, "1", x)))

    def norm(self, prefix, x):
        spread = x - x.mean(axis=-1, keepdims=True)
        scaled = spread / np.sqrt((spread**2).mean(axis=-1, keepdims=True) + 1e-6)
        return scaled * self.of[f"{prefix}_ln_scale"] + self.of[f"{prefix}_ln_bias"]

    def attend(self, prefix, queries, keys):
        q, k, v = (self.linear(prefix, letter, of) for letter, of in (("q", queries), ("k", keys), ("v", keys)))
        width, parts = self.dim // self.heads, []
        for head in range(self.heads):
            cut = slice(head * width, (head + 1) * width)
            scores = q[:, cut] @ k[:, cut].T / width**0.5
            weights = np.exp(scores - scores.max(axis=1, keepdims=True))
            parts.append(weights / weights.sum(axis=1, keepdims=True) @ v[:, cut])
        return self.linear(prefix, "o", np.concatenate(parts, axis=1))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))
