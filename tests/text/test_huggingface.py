"""Tokenizers of Hugging Face, beside the library that reads them."""

import json
import sys

import pytest
from foreign_berts import bert_tokenizer, roberta_tokenizer

from regard.errors import CheckpointError, ConfigError, RegardError
from regard.pieces import BOS, EOS, PAD, UNK
from regard.registry import Choice
from regard.text import load_tokenizer, train_tokenizer
from regard.text.huggingface import HuggingFaceTokenizer

MADE = {"bert": bert_tokenizer, "roberta": roberta_tokenizer}
TEXTS = ["The dogs, sees a Cat .", " the  unknown\tdog", "the ä 𠀀 he", "Two red apples", "日 the"]


@pytest.fixture(params=MADE)
def both(request, tmp_path):
    """Ours, and the library's."""
    theirs = MADE[request.param]()
    theirs.save(str(tmp_path / "tokenizer.json"))
    theirs.no_truncation()
    return train_tokenizer(Choice("huggingface", {"file": tmp_path / "tokenizer.json"}), []), theirs


@pytest.mark.parametrize("text", TEXTS)
def test_texts_are_cut_as_the_library_does(both, text):
    ours, theirs = both
    found = theirs.encode(text, add_special_tokens=False)
    ids = ours.encode(text)
    assert [ours.order[one] for one in ids] == found.ids
    assert ours.encode_batch([text, ""]) == [ids, []]
    for place, (start, end) in zip(ours.offsets(text), found.offsets, strict=True):
        assert place is None or text[place[0] : place[1]] == text[start:end].strip()


def test_ids_are_each_once_and_specials_have_their_places(both):
    ours, theirs = both
    assert sorted(ours.order) == [*range(theirs.get_vocab_size())]
    names = ("[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]") if theirs.token_to_id("[CLS]") else None
    names = names or ("<pad>", "<s>", "</s>", "<unk>", "<mask>")
    assert [theirs.id_to_token(ours.order[one]) for one in (PAD, BOS, EOS, UNK, ours.mask)] == [*names]
    assert ours.mask == len(ours) - 1


def test_a_mask_is_written_out_and_no_other_special_is(both):
    ours, theirs = both
    mask = theirs.id_to_token(ours.order[ours.mask])
    wanted = theirs.encode(f"the {mask} dog, {mask}", add_special_tokens=False).ids
    assert [ours.order[one] for one in ours.encode("the <mask> dog, <mask>")] == wanted
    text = "the <mask> dog"
    assert ours.offsets(text)[ours.encode(text).index(ours.mask)] == (4, 10)
    assert not {PAD, BOS, EOS, ours.mask} & {*ours.encode("[PAD] [CLS] [SEP] [MASK] <s> </s> <pad>")}


def test_pieces_show_where_words_begin(tmp_path):
    for made, text, shown in (
        (bert_tokenizer(), "The dogs, ä", ["▁the", "▁dog", "s", ",", "▁a"]),
        (roberta_tokenizer(), "h the ä", ["h", "▁the", "▁", "<0xC3>", "<0xA4>"]),
    ):
        made.save(str(tmp_path / "tokenizer.json"))
        ours = train_tokenizer(Choice("huggingface", {"file": tmp_path / "tokenizer.json"}), [])
        assert ours.pieces(ours.encode(text)) == shown
        assert ours.pieces([-1, BOS, 10**6]) == ["<unk>", "<s>", "<unk>"]


def test_pieces_of_bytes_keep_a_text_and_words_in_lower_case_do_not(both):
    ours, _ = both
    assert ours.keeps_words
    assert ours.lossless == all(ours.decode(ours.encode(text)) == text for text in TEXTS)
    assert ours.decode([BOS, *ours.encode("two red <mask>"), EOS, 10**6]) == "two red"


def test_what_leaves_no_piece_is_unknown(both):
    ours, _ = both
    assert ours.encode("") == []
    assert all(ours.encode_batch(["\u200b", "\ufffd"]))


def test_it_stands_alone_once_it_is_saved(both, tmp_path):
    ours, _ = both
    ours.save(tmp_path / "saved")
    (tmp_path / "tokenizer.json").unlink()
    again = load_tokenizer(tmp_path / "saved")
    assert isinstance(again, HuggingFaceTokenizer)
    assert again.key() == ours.key() and again.order == ours.order
    assert [again.encode(text) for text in TEXTS] == [ours.encode(text) for text in TEXTS]


def test_files_that_cannot_be_used_are_told(tmp_path, monkeypatch):
    file = tmp_path / "tokenizer.json"
    with pytest.raises(ConfigError, match=r"text\.tokenizer\.file: must be given"):
        train_tokenizer(Choice("huggingface"), [])
    choice = Choice("huggingface", {"file": file})
    for content, told in (
        (None, "cannot be read"),
        ("{}", "is not a tokenizer of Hugging Face"),
        ("\0", "is not a tok"),
    ):
        if content is not None:
            file.write_text(content)
        with pytest.raises(CheckpointError, match=f"{file}: {told}"):
            train_tokenizer(choice, [])
    settings = json.loads(bert_tokenizer().to_str())
    settings["added_tokens"] = [one for one in settings["added_tokens"] if one["content"] != "[MASK]"]
    del settings["model"]["vocab"]["[MASK]"]
    file.write_text(json.dumps(settings))
    with pytest.raises(CheckpointError, match=r"has no piece \[MASK\]"):
        train_tokenizer(choice, [])
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(RegardError, match=r"pip install -e '\.\[huggingface\]'"):
        train_tokenizer(choice, [])
