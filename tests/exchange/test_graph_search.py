"""Pieces and search beside the graphs, in Python and JavaScript, against the tokenizers and the beam search here."""

import io
import json
import shutil
import struct
import subprocess
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import sentencepiece
import torch
from enumerable import TableWriter
from foreign_translators import toy_lines

from regard.decoding import BeamSearch
from regard.errors import RegardError
from regard.exchange.graphs.formats import _read_rules, pieces_of
from regard.ops.plain import plain
from regard.predictor.engines import translator
from regard.predictor.engines.translator import Beams
from regard.records import BOS, EOS, Batch
from regard.registry import Choice
from regard.runtime.pieces import piece_table
from regard.text import train_tokenizer
from regard.text.sentencepiece import PieceList, SentencePieceTokenizer

SCRIPT = Path(translator.__file__).with_suffix(".js")
TOKENIZERS = {
    "bpe": Choice("subwords", {"size": 420}),
    "unigram": Choice("subwords", {"size": 400, "kind": "unigram"}),
    "reserved": Choice("subwords", {"size": 420, "reserved": ["<bt>"]}),
    "words": Choice("words", {"size": 320}),
    "characters": Choice("characters", {"size": 300}),
}
MODELS = {  # SentencePiece models of other programs: settings of their trainer
    "unigram of OPUS-MT": {},
    "bpe of others": {"model_type": "bpe", "user_defined_symbols": ["<bt>"], "normalization_rule_name": "nfkc_cf"},
    "bytes of Firefox": {"byte_fallback": True, "user_defined_symbols": ["<bt>"]},
    "spaces kept": {
        "remove_extra_whitespaces": False,
        "add_dummy_prefix": False,
        "normalization_rule_name": "identity",
    },
}
TEXTS = [*toy_lines(0, 30, "test"), "", " ", "  two  spaces ",
         "▁ \ue0fe \ue0fe1 a▁b", "<bt> a <bt>b", "don't stop! 3.14", ">>de<< a dog", ">>xx<<a", "日本 日本語字",
         "Ünïcode n\u0303 日本語 文字。 ไทย 👩‍👩‍👧 𠀀", "a\u00a0b\u2028c\x1cd", "\ud800 lone", "ﬁ²Ⅷ٣_x"]  # fmt: skip
LIMIT = 3
SEARCHES = [
    dict(size=size, length_penalty=penalty, gnmt=gnmt, stop=stop, at_limit=at_limit, min_length=shortest)
    for size, penalty, gnmt in ((1, 0.0, False), (2, 1.0, False), (4, 0.6, True))
    for stop, at_limit, shortest in product(("exact", "full", "best_full"), ("end", "free", "cut"), (0, 1))
]


def foreign_tokenizer(**settings):
    """A model learnt by sentencepiece; its pieces have other ids, two of them stand for no text, and some are gone."""
    written, lines = io.BytesIO(), [*toy_lines(0, 200), "日本 ² Ⅷ", "日本 語 ﬁ"]
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=written, vocab_size=420, minloglevel=2, hard_vocab_limit=False,
        **{"character_coverage": 0.99, **settings},
    )  # fmt: skip
    model = sentencepiece.SentencePieceProcessor(model_proto=written.getvalue())
    names = [model.id_to_piece(number) for number in range(model.get_piece_size())]
    listed = [*reversed(names[3:-5]), ">>de<<", "日本", "<pad>", *names[:3]]
    specials = [listed.index(piece) for piece in ("<pad>", "<pad>", "</s>", "<unk>")]
    made = PieceList.of(listed, specials, before=[">>de<<"], unwritten=[">>de<<", "</s>"], codes=True)
    return SentencePieceTokenizer(written.getvalue(), made)


@pytest.fixture(scope="module", params=[*TOKENIZERS, *MODELS])
def tokenizer(request):
    if request.param in MODELS:
        return foreign_tokenizer(**MODELS[request.param])
    return train_tokenizer(TOKENIZERS[request.param], toy_lines(0, 200))


def in_node(code, given):
    """Run JavaScript with the program beside graphs as `found` and a JSON value as `given`; return its `answer`."""
    program = f"const found = require({json.dumps(str(SCRIPT))});" + (
        "const given = JSON.parse(require('fs').readFileSync(0, 'utf8')); let answer;"
        f"{code}; console.log(JSON.stringify(answer));"
    )
    done = subprocess.run(["node", "-e", program], input=json.dumps(given), capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_pieces_are_those_of_the_tokenizer(tokenizer):
    pieces = piece_table(pieces_of(tokenizer, "source"))
    rows = [tokenizer.encode(text) for text in TEXTS]
    assert [pieces.encode(text) for text in TEXTS] == rows
    torn = [row[1::2] for row in rows] + [[0, 1, 2, 3, 5, 200, 4]]  # bytes and escapes without their ends
    assert [pieces.decode(row) for row in rows + torn] == [tokenizer.decode(row) for row in rows + torn]


@pytest.mark.skipif(shutil.which("node") is None, reason="no Node here")
def test_pieces_in_javascript_are_equal(tokenizer):
    kept, rows = pieces_of(tokenizer, "source"), [tokenizer.encode(text) for text in TEXTS]
    code = "const pieces = found.pieceTable(given.kept); answer = [given.texts.map((one) => pieces.encode(one)), "
    code += "given.rows.map((one) => pieces.decode(one))]"
    torn = [row[1::2] for row in rows] + [[0, 1, 2, 3, 5, 200, 4]]
    encoded, decoded = in_node(code, {"kept": kept, "texts": TEXTS, "rows": rows + torn})
    assert encoded == rows
    assert decoded == [tokenizer.decode(row) for row in rows + torn]


def test_a_normalisation_that_goes_round_is_refused():
    units = np.zeros(256, "<u4")
    units[97] = 97 | 97 << 10  # the place of "a" leads to itself
    for compiled in (struct.pack("<I", units.nbytes) + units.tobytes(), b"\4\0"):
        with pytest.raises(RegardError, match="normalisation of the SentencePiece model of its source"):
            _read_rules(compiled, "source")


def tables(seed):
    """(place, last word, word) log-probabilities of words."""
    made = torch.randn(LIMIT, 8, 8, generator=torch.Generator().manual_seed(seed)) * 2
    made[..., :2] = -1e9
    return made.log_softmax(dim=-1)


class Tables(TableWriter):
    """The writer of enumerable targets with other tables, each of three sources behind its own."""

    def __init__(self, made):
        torch.nn.Module.__init__(self)
        self.made = made

    def log_probs(self):
        return self.made

    def longest(self, batch):
        return LIMIT


def searched(made, settings, first):
    """Ids by the beam search here."""
    named = {name: value for name, value in settings.items() if name != "gnmt"}
    beam = BeamSearch(**named, normalisation="gnmt" if settings["gnmt"] else "length", max_ratio=0.0, max_extra=LIMIT)
    with plain():
        ((best, *_),) = beam.beginning(first).run(Tables(made), Batch({}, "translate", torch.arange(1), 1))
    return best.ids


def in_numpy(made, settings, first=()):
    beams, table = Beams(settings, np.array([LIMIT]), first), made.numpy()
    last, place = np.array([BOS]), 0
    while len(last):
        last, _ = beams.grow(table[place, last].astype(np.float64))
        place += 1
    return beams.best()[0].ids


@pytest.mark.parametrize("first", [(), (5,)], ids=["any", "a language first"])
@pytest.mark.parametrize("seed", range(6))
def test_beams_are_those_of_the_search_here(seed, first):
    made = tables(seed)
    for settings in SEARCHES:
        assert in_numpy(made, settings, first) == searched(made, settings, first), settings


@pytest.mark.skipif(shutil.which("node") is None, reason="no Node here")
@pytest.mark.parametrize("first", [(), (5,)], ids=["any", "a language first"])
def test_beams_in_javascript_are_equal(first):
    cases = [(seed, settings) for seed in range(6) for settings in SEARCHES]
    code = """
        answer = given.map(([table, settings, limit, first]) => {
            const beams = new found.Beams(settings, [limit], first);
            for (let place = 0, last = [1]; last.length; place++) {
                [last] = beams.grow(last.flatMap((one) => table[place][one]), 8);
            }
            return beams.best()[0];
        })"""
    given = [[tables(seed).tolist(), settings, LIMIT, first] for seed, settings in cases]
    assert in_node(code, given) == [in_numpy(tables(seed), settings, first) for seed, settings in cases]


def test_sources_of_a_batch_end_apart():
    made = [tables(seed).numpy() for seed in (1, 2)]
    settings = SEARCHES[20]
    beams, last, rows = Beams(settings, np.array([LIMIT, 1])), np.array([BOS, BOS]), np.array([0, 1])
    examples, place = np.array([0, 1]), 0
    while len(last):
        scores = np.stack([made[one][place, word] for one, word in zip(examples, last, strict=True)])
        last, rows = beams.grow(scores.astype(np.float64))
        examples, place = beams.examples, place + 1
    assert rows.size == 0
    assert beams.best()[0].ids == in_numpy(torch.from_numpy(made[0]), settings)
    assert len(beams.best()[1].ids) <= 1
    assert EOS not in beams.best()[1].ids
