"""Models of Marian that were written by hand, imported, beside what Marian computes; and back."""

import gzip
import shutil
import struct
from functools import cache
from itertools import product

import marian_models as marian
import numpy as np
import pytest
import torch
import yaml

import regard
from regard.errors import CheckpointError, RegardError
from regard.exchange.format import ReadOptions
from regard.exchange.import_run import write_run
from regard.exchange.marian.firefox import FirefoxFormat
from regard.exchange.marian.format import MarianFormat
from regard.ops.kernels.search import CompiledWriter
from regard.ops.kernels.transformer import compiled_transformer
from regard.ops.plain import plain
from regard.pieces import BOS, PAD

VARIANTS = {
    "self-attention": {},
    "rnn": {"decoder": "rnn"},
    "rnn, projected": {"decoder": "rnn", "transformer-rnn-projection": True, "transformer-ffn-activation": "swish"},
    "average": {"decoder": "average-attention"},
    "gelu, other widths": {"transformer-ffn-activation": "gelu", "transformer-decoder-dim-ffn": 20},
    "tied target": {"tied-embeddings-all": False, "tied-embeddings": True},
    "not tied": {"tied-embeddings-all": False, "decoder": "rnn"},
}
TEXTS = ["Ein Hund läuft schnell.", "Zwei Männer", "Der letzte Park hat Bäume, 10 Bäume!", "x"]


@pytest.fixture(scope="module")
def spm():
    return marian.spm_model()


def folder_of(tmp_path, spm, variant, kind):
    """A folder of Marian → it, its config, its tensors as they are read."""
    size = marian.sentencepiece.SentencePieceProcessor(model_proto=spm).get_piece_size()
    config = marian.config_of((size, size), **VARIANTS[variant])
    tensors, folder = marian.tensors_of(config), tmp_path / "model"
    folder.mkdir()
    (folder / "vocab.spm").write_bytes(spm)
    if kind == "npz":
        marian.write_npz(folder / "model.npz", config, tensors)
        return folder, config, tensors
    code = 0x10001 if kind == "marian's int8" else 0x4101
    marian.write_bin(folder / "model.bin", config, tensors, int8="int8" in kind, code=code)
    return folder, config, marian.read_bin(folder / "model.bin")[1]


def imported(folder, run, row=MarianFormat):
    write_run(row().read(folder, ReadOptions()), run)
    return regard.load(run)


@pytest.fixture(scope="module")
def model(spm, tmp_path_factory):
    """A function of a variant and of a kind of files → their config, their tensors as they are read, the predictor."""

    @cache
    def made(variant, kind="npz"):
        place = tmp_path_factory.mktemp("marian")
        folder, config, tensors = folder_of(place, spm, variant, kind)
        return config, tensors, imported(folder, place / "run")

    return made


@pytest.mark.skipif(compiled_transformer() is None, reason="no compiler here")
@pytest.mark.parametrize("variant", VARIANTS)
def test_networks_are_searched_in_compiled_code(variant, model, monkeypatch):
    *_, predictor = model(variant)
    calls, whole = [], CompiledWriter.beam
    monkeypatch.setattr(CompiledWriter, "beam", lambda *given: calls.append(1) or whole(*given))
    found = [one.text for one in predictor.predict(TEXTS, safeguards=False)]
    assert bool(calls) == (variant != "average")
    with plain():
        assert [one.text for one in predictor.predict(TEXTS, safeguards=False)] == found


@torch.no_grad()
def gaps(predictor, spm, network):
    """The largest gap of a log-probability of each text, for targets made of the texts themselves."""
    theirs, task = marian.sentencepiece.SentencePieceProcessor(model_proto=spm), predictor.task
    order = task.vocabularies["target"].tokenizer.listed.order
    for text in TEXTS:
        ids = task.vocabularies["source"].encode(text)
        batch = task.batch([{"source": ids, "target": ids[::-1]}])
        mine = predictor.model.distributions(batch).log_probs.double().numpy()
        read = theirs.encode(text)
        wanted = network.log_probs(read, [order[one] for one in ids[::-1]])
        known = [one for one in range(len(order)) if one not in (PAD, BOS)]
        yield np.abs(mine[:, known] - wanted[:, [order[one] for one in known]]).max()
        assert np.exp(mine[:, [PAD, BOS]]).max() < 1e-30


FILES = ("npz", "bin", "int8", "marian's int8")  # other than npz of two networks, with one table and with three
EACH_FILE = [
    pytest.param(*one, marks=[] if one[1] == "npz" or one[0] in ("self-attention", "not tied") else pytest.mark.slow)
    for one in product(VARIANTS, FILES)
]


@pytest.mark.parametrize(("variant", "kind"), EACH_FILE)
def test_an_imported_model_computes_what_marian_does(variant, kind, spm, model):
    config, tensors, predictor = model(variant, kind)
    assert max(gaps(predictor, spm, marian.Network(config, tensors))) < 1e-4


@pytest.mark.parametrize("variant", VARIANTS)
def test_an_imported_model_is_exported_as_it_was(variant, model, tmp_path):
    """All but the rows that fill the vocabulary up to a multiple of eight."""
    (config, tensors, predictor), made = model(variant), tmp_path / "made"
    made.mkdir()
    MarianFormat().write(predictor, made)
    told, found, codes = marian.read_bin(made / "model.bin")
    assert {*codes.values()} == {0x101, 0x404} and found.keys() == tensors.keys()
    kept = ("transformer-decoder-autoreg", "dim-emb", "enc-depth", "tied-embeddings-all", "transformer-ffn-activation")
    assert {name: told[name] for name in kept} == {name: config[name] for name in kept}
    packed = np.load(made / "model.npz")
    for name, wanted in tensors.items():
        assert np.array_equal(found[name], packed[name])
        rows = tuple(slice(size) for size in wanted.shape)
        assert np.array_equal(found[name][rows], wanted), name
    again = imported(made, tmp_path / "again")
    texts = [one.text for one in predictor.predict(TEXTS, safeguards=False)]
    assert [one.text for one in again.predict(TEXTS, safeguards=False)] == texts


@pytest.mark.parametrize(
    "search",
    ["name: greedy, max_ratio: 1.5", "name: beam, size: 3, length_penalty: 0.6, stop: full", "name: beam, size: 1"],
)
def test_exported_search_is_that_of_the_run(search, spm, tmp_path):
    folder, _, _ = folder_of(tmp_path, spm, "rnn", "npz")
    imported(folder, tmp_path / "run")
    made = tmp_path / "made"
    made.mkdir()
    predictor = regard.load(tmp_path / "run", [f"decoding.search={{{search}, max_extra: 1}}"])
    MarianFormat().write(predictor, made)
    texts = [one.text for one in predictor.predict(TEXTS, safeguards=False)]
    assert [one.text for one in imported(made, tmp_path / "again").predict(TEXTS, safeguards=False)] == texts


@pytest.mark.parametrize(
    "change",
    ["search={name: sampling}", "search={name: beam, normalisation: gnmt}", "search={name: beam, min_length: 3}",
     "features=[{name: length}]"],
)  # fmt: skip
def test_search_that_marian_lacks_is_not_exported(change, spm, tmp_path):
    folder, _, _ = folder_of(tmp_path, spm, "rnn", "npz")
    imported(folder, tmp_path / "run")
    with pytest.raises(RegardError, match=r"decoding\.(search|features).*Marian"):
        MarianFormat().write(regard.load(tmp_path / "run", [f"decoding.{change}"]), tmp_path)


def test_filling_rows_get_no_probability(spm, model, tmp_path):
    (_, tensors, predictor), made = model("rnn"), tmp_path / "made"
    made.mkdir()
    MarianFormat().write(predictor, made)
    _, found, _ = marian.read_bin(made / "model.bin")
    size = tensors["Wemb"].shape[0]
    assert len(found["Wemb"]) == -(-size // 8) * 8 > size
    assert not found["Wemb"][size:].any() and (found["decoder_ff_logit_out_b"][0, size:] == -100).all()
    read = marian.sentencepiece.SentencePieceProcessor(model_proto=(made / "vocab.spm").read_bytes())
    theirs = marian.sentencepiece.SentencePieceProcessor(model_proto=spm)
    assert (read.eos_id(), read.unk_id(), read.get_piece_size()) == (0, 1, len(found["Wemb"]))
    assert [read.encode(text) for text in TEXTS] == [theirs.encode(text) for text in TEXTS]


def firefox_folder(tmp_path, spm, lists=None):
    """A folder of Firefox, packed as it is published → it and the tensors as they are read."""
    folder, config, tensors = folder_of(tmp_path, spm, "rnn", "int8")
    content = (folder / "model.bin").read_bytes()
    (folder / "model.bin").unlink()
    (folder / "model.ende.intgemm.alphas.bin.gz").write_bytes(gzip.compress(content))
    (folder / "vocab.spm").rename(folder / "vocab.ende.spm")
    marian.write_lex(folder / "lex.50.50.ende.s2t.bin", lists or [[0, 5]] * config["dim-vocabs"][0])
    return folder, config, tensors


def test_a_firefox_folder_is_read_with_its_shortlist(spm, tmp_path):
    size = marian.sentencepiece.SentencePieceProcessor(model_proto=spm).get_piece_size()
    lists = [[0, number, (number * 7) % size] for number in range(size)]
    folder, config, tensors = firefox_folder(tmp_path, spm, lists)
    assert FirefoxFormat().recognises(folder)
    predictor = imported(folder, tmp_path / "run", FirefoxFormat)
    assert predictor.setup.languages == ("en", "de")
    assert max(gaps(predictor, spm, marian.Network(config, tensors))) < 1e-4
    column = predictor.task.vocabularies["source"]
    order = column.tokenizer.listed.order
    ids = column.encode(TEXTS[0])
    batch = predictor.task.batch([{"source": ids, "target": ids}]).sequences("source")
    allowed = predictor.setup.engine.shortlist.allowed(batch)[0].nonzero().flatten().tolist()
    wanted = {0, 1, *(one for number in [*map(order.__getitem__, ids), 0] for one in (*lists[number], number))}
    assert {order[one] for one in allowed if one > BOS} == wanted


def test_a_firefox_folder_is_written_in_eight_bits(spm, tmp_path, monkeypatch):
    monkeypatch.setattr("regard.exchange.marian.firefox.CALIBRATED", 8)  # texts
    folder, _, tensors = firefox_folder(tmp_path, spm)
    predictor, made = imported(folder, tmp_path / "run", FirefoxFormat), tmp_path / "made"
    made.mkdir()
    FirefoxFormat().write(predictor, made)
    _, found, codes = marian.read_bin(made / "model.ende.intgemm.alphas.bin")
    products = {name for name in tensors if "_W" in name or name == "Wemb"}
    products -= {name for name in tensors if "_Wo_ln" in name}
    assert {name for name, code in codes.items() if code == 0x4101} == products
    alphas = {name.removesuffix("_QuantMultA") for name in found if name.endswith("_QuantMultA")}
    assert alphas == products | {"none"}
    assert all(found[f"{name}_QuantMultA"].shape == (1,) and found[f"{name}_QuantMultA"][0] > 0 for name in alphas)
    for name in products - {"Wemb"}:
        assert np.allclose(found[name], tensors[name], atol=1e-6)  # what was in 8 bits stays as it was
    again = imported(made, tmp_path / "again", FirefoxFormat)
    texts = [one.text for one in predictor.predict(TEXTS, safeguards=False)]
    assert [one.text for one in again.predict(TEXTS, safeguards=False)] == texts


def test_source_and_target_may_have_vocabularies_of_their_own(spm, tmp_path):
    other = marian.spm_model(50, character_coverage=0.98)
    sizes = [marian.sentencepiece.SentencePieceProcessor(model_proto=one).get_piece_size() for one in (spm, other)]
    config = marian.config_of(sizes, **{"tied-embeddings-all": False, "tied-embeddings": True})
    folder = tmp_path / "model"
    folder.mkdir()
    marian.write_npz(folder / "model.npz", config, marian.tensors_of(config))
    for name, content in (("srcvocab.spm", spm), ("trgvocab.spm", other)):
        (folder / name).write_bytes(content)
    predictor, made = imported(folder, tmp_path / "run"), tmp_path / "made"
    assert [len(predictor.task.vocabularies[side]) for side in ("source", "target")] == [size + 2 for size in sizes]
    made.mkdir()
    MarianFormat().write(predictor, made)
    assert {"srcvocab.spm", "trgvocab.spm"} <= {file.name for file in made.iterdir()}


def test_a_decoder_file_names_the_search(spm, tmp_path):
    folder, _, _ = folder_of(tmp_path, spm, "rnn", "npz")
    file = folder / "model.npz.decoder.yml"
    file.write_text("beam-size: 4\nnormalize: 0.6\nmax-length-factor: 2\n")
    search = imported(folder, tmp_path / "run").run.experiment.decoding.search
    assert (search.name, search.settings["size"], search.settings["length_penalty"]) == ("beam", 4, 0.6)
    file.write_text("beam-size: 4\nword-penalty: 0.5\n")
    with pytest.raises(CheckpointError, match=r"decoder\.yml: word-penalty is 0\.5, and 0 can be read"):
        MarianFormat().read(folder, ReadOptions())


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"type": "s2s"}, "type is 's2s'"),
        ({"lemma-dim-emb": 64}, "lemma-dim-emb is 64, and 0 can be read: it writes factors"),
        ({"transformer-preprocess": "n"}, "transformer-preprocess is 'n'.* not keys and values"),
        ({"transformer-postprocess": "da"}, "transformer-postprocess is 'da'"),
        ({"transformer-train-position-embeddings": True}, "transformer-train-position-embeddings is True"),
        ({"transformer-ffn-activation": "tanh"}, "transformer-ffn-activation is 'tanh', and relu, swish, gelu"),
        ({"transformer-decoder-autoreg": "rnn"}, "dec-cell is 'gru', and ssru can be read"),
        ({"transformer-tied-layers": [1, 1]}, "transformer-tied-layers is"),
        ({"transformer-new-thing": 3}, "transformer-new-thing is 3, a setting that no part here has"),
        ({"dim-emb": "wide"}, "dim-emb is 'wide', and a whole number"),
        ({"transformer-heads": 3}, "dim-emb 8 cannot be divided among 3 heads"),
        ({"dim-vocabs": [9]}, "dim-vocabs is"),
        ({"enc-depth": 3}, "has no tensor encoder_l3_self_Wq"),
        ({"dec-depth": 1}, "has the tensor decoder_l2_.*, which no part here reads"),
        ({"dim-vocabs": [999, 999]}, "has 39 pieces, and the model has 999 rows"),
        ({"transformer-dim-ffn": 13}, "encoder_l1_ffn_W1 has the shape 8 × 12, and its model.yml asks for 8 × 13"),
    ],
)  # fmt: skip
def test_what_no_part_here_has_is_refused_in_one_line(settings, line, spm, tmp_path):
    folder, config, tensors = folder_of(tmp_path, spm, "self-attention", "npz")
    marian.write_npz(folder / "model.npz", {**config, **settings}, tensors)
    with pytest.raises(CheckpointError, match=line) as error:
        MarianFormat().read(folder, ReadOptions())
    assert "\n" not in str(error.value)


def test_a_damaged_shortlist_is_refused(spm, tmp_path):
    folder, _, _ = firefox_folder(tmp_path, spm)
    lex = folder / "lex.50.50.ende.s2t.bin"
    content = lex.read_bytes()
    for damaged, line in (
        (content[:-4], "its header asks for"),
        (content[:60] + b"\1" + content[61:], "its checksum is wrong"),
        (b"text" + content[4:], "is not a binary shortlist"),
    ):
        lex.write_bytes(damaged)
        with pytest.raises(CheckpointError, match=line):
            FirefoxFormat().read(folder, ReadOptions())
    marian.write_lex(lex, [[0, 99_999]])
    with pytest.raises(CheckpointError, match="does not fit vocabularies"):
        FirefoxFormat().read(folder, ReadOptions())


def test_missing_files_are_named(spm, tmp_path):
    folder, _, _ = folder_of(tmp_path, spm, "rnn", "npz")
    (folder / "vocab.spm").unlink()
    with pytest.raises(CheckpointError, match=r"has no vocabularies ending in \.spm"):
        MarianFormat().read(folder, ReadOptions())
    (folder / "model.npz").unlink()
    with pytest.raises(CheckpointError, match="has no model"):
        MarianFormat().read(folder, ReadOptions())


def test_a_file_that_asks_for_more_memory_than_it_has_is_refused(spm, tmp_path):
    folder, _, _ = folder_of(tmp_path, spm, "rnn", "bin")
    file = folder / "model.bin"
    content = bytearray(file.read_bytes())
    struct.pack_into("<Q", content, 16 + 24, 1 << 50)  # the length of the first tensor
    file.write_bytes(content)
    with pytest.raises(CheckpointError, match=r"is damaged: it has .* bytes, and its header asks for"):
        MarianFormat().read(folder, ReadOptions())


def test_another_network_is_not_exported(spm, tmp_path):
    folder, _, _ = folder_of(tmp_path, spm, "rnn", "npz")
    imported(folder, tmp_path / "run")
    file = tmp_path / "run" / "experiment.yaml"
    settings = yaml.safe_load(file.read_text())
    settings["model"]["embedder"]["zero_start"] = False
    file.write_text(yaml.safe_dump(settings))
    (tmp_path / "run" / "manifest.json").unlink()
    (tmp_path / "made").mkdir()
    with pytest.raises(RegardError, match=r"model\.embedder\.zero_start is false, and Marian has true"):
        MarianFormat().write(regard.load(tmp_path / "run"), tmp_path / "made")


ENGINE = """
export class TranslatorBacking {}
export class BatchTranslator {
    constructor(options, backing) { this.backing = backing; }
    async translate({text}) {
        const {model, vocabs, shortlist, config} = await this.backing.loadTranslationModel();
        const sizes = [model.byteLength, vocabs.length, shortlist.byteLength > 0, config['gemm-precision']];
        return {target: {text: `${text.toUpperCase()} ${sizes}`}};
    }
    async delete() {}
}
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="no Node here")
def test_the_engine_of_firefox_is_given_the_folder_line_by_line(spm, tmp_path, monkeypatch):
    """By a package that writes what it was given; docs/results/bridges.md has figures of the real one."""
    folder, _, _ = firefox_folder(tmp_path, spm)
    predictor = imported(folder, tmp_path / "run", FirefoxFormat)
    monkeypatch.chdir(tmp_path)
    assert FirefoxFormat().program(folder, predictor) is None
    package = tmp_path / "node_modules/@browsermt/bergamot-translator"
    package.mkdir(parents=True)
    (package / "package.json").write_text('{"type": "module", "version": "0.4.9"}')
    (package / "translator.js").write_text(ENGINE)
    program = FirefoxFormat().program(folder, predictor)
    size = len(gzip.decompress((folder / "model.ende.intgemm.alphas.bin.gz").read_bytes()))
    assert program.name == "bergamot-translator 0.4.9"
    assert program.translate(["ein hund", "zwei\nmänner"]) == [
        f"EIN HUND {size},1,true,int8shiftAlphaAll",
        f"ZWEI MÄNNER {size},1,true,int8shiftAlphaAll",
    ]
    (package / "translator.js").write_text("throw new Error('no engine')")
    with pytest.raises(RegardError, match=r"ended with an error: .*no engine"):
        program.translate(["x"])
