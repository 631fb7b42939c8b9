"""The tokenizer of a BERT or a RoBERTa of Hugging Face: a tokenizer.json, read by the library `tokenizers`."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from regard.config import Doc, parse_json
from regard.errors import CheckpointError, PartError, RegardError
from regard.pieces import MASK_PIECE, SPECIALS, UNK, byte_piece
from regard.text.clean import clean
from regard.text.offsets import TextPlace, given_places, trimmed
from regard.text.tokenizer import Recipe, Tokenizer

if TYPE_CHECKING:
    from tokenizers import Tokenizer as Cutter

TOKENIZER_FILE = "tokenizer.json"
ROLES = (  # padding, beginning, end, unknown and mask as BERT and RoBERTa spell them
    ("[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"),
    ("<pad>", "<s>", "</s>", "<unk>", "<mask>"),
)
_SPACE = "\u2581"  # shown before a piece that begins a word
_PRINTED = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]  # bytes that byte-level BPE writes as they are
_HIDDEN = [byte for byte in range(256) if byte not in _PRINTED]
_BYTES = {chr(byte): byte for byte in _PRINTED} | {chr(256 + place): byte for place, byte in enumerate(_HIDDEN)}


class HuggingFaceRecipe(Recipe):
    """The pieces of a tokenizer.json as they are: nothing is learnt. For models that read texts and write none.

    Symbols such as [CLS] are pieces of no text, whatever stands in it; <mask> is the only one that can be written out.
    """

    lossless = False
    aliases = "wordpiece, tokenizer_json, bert_tokenizer, roberta_tokenizer"

    def __init__(
        self, *, file: Annotated[Path | None, Doc("Path of the tokenizer.json of a BERT or RoBERTa; required.")] = None
    ) -> None:
        self.file = file

    def train(self, texts: Iterable[str]) -> Tokenizer:
        """Read the file. Raises PartError where there is none, CheckpointError for one that cannot be used."""
        if self.file is None:
            raise PartError("must be given", "file: tokenizer.json", setting="file")
        return read_tokenizer(self.file)

    @staticmethod
    def load(folder: Path) -> Tokenizer:
        return read_tokenizer(folder / TOKENIZER_FILE)


class HuggingFaceTokenizer(Tokenizer):
    """Pieces of a tokenizer.json. The specials are moved to where Regard has them, <mask> to the end.

    Pieces of bytes, as RoBERTa has, keep all of a text; others may lose capitals, accents and rare characters.
    """

    kind = "huggingface"

    def __init__(self, source: str, cutter: "Cutter", roles: Sequence[int]) -> None:
        """`roles` are the numbers of the specials and of the mask in the file."""
        self.source, self._cutter = source, cutter
        *specials, mask = roles
        vocabulary = cutter.get_vocab(with_added_tokens=True)
        others = sorted({*vocabulary.values()} - {*roles})
        self.order = [*specials, *others, mask]  # of each id here the one in the file
        self._here = {other: here for here, other in enumerate(self.order)}
        self.mask = self._last = len(self.order) - 1
        settings = parse_json(source)
        self.lossless = _has_bytes(settings, add_prefix_space=False) and settings.get("normalizer") is None
        self.lossless &= vocabulary.keys() >= _BYTES.keys()
        names, shown = {number: token for token, number in vocabulary.items()}, _spelling(settings)
        self._shown = [*SPECIALS, *(shown(names[number]) for number in others), MASK_PIECE]

    def __len__(self) -> int:
        return self._last + 1

    def encode(self, text: str) -> list[int]:
        """Clean, and cut as the file says; <mask> with the space before it where it is written out."""
        return [number for number, _ in self._cut(clean(text))]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Cut texts without masks in several threads."""
        rows = self._cutter.encode_batch_fast([*map(clean, texts)], add_special_tokens=False)
        return [
            [self._here[one] for one in row.ids] if row.ids and MASK_PIECE not in text else self.encode(text)
            for text, row in zip(texts, rows, strict=True)
        ]

    def offsets(self, text: str) -> list[TextPlace]:
        return given_places(text, [place for _, place in self._cut(clean(text))])

    def decode(self, ids: Sequence[int]) -> str:
        """Join pieces as the file says; what it lower-cased stays so."""
        kept = [self.order[one] for one in ids if UNK < one < self._last]
        text: str = self._cutter.decode(kept)
        return text

    def pieces(self, ids: Sequence[int]) -> list[str]:
        return [self._shown[one] if 0 <= one <= self._last else SPECIALS[UNK] for one in ids]

    def key(self) -> str:
        return hashlib.sha256(self.source.encode()).hexdigest()

    def files(self) -> dict[str, bytes]:
        return {TOKENIZER_FILE: self.source.encode()}

    def _cut(self, text: str) -> list[tuple[int, TextPlace]]:
        """Pieces of a clean text, and where each stands. A text of which nothing remains is unknown."""
        found, start = list[tuple[int, TextPlace]](), 0
        *before, last = text.split(MASK_PIECE)
        for part in before:
            found += self._cut_part(text, start, part.rstrip())
            start += len(part) + len(MASK_PIECE)
            found.append((self._last, (start - len(MASK_PIECE), start)))
        found += self._cut_part(text, start, last)
        return found or [(UNK, None)] * bool(text.strip())

    def _cut_part(self, text: str, start: int, part: str) -> list[tuple[int, TextPlace]]:
        made = self._cutter.encode(part, add_special_tokens=False)
        places = (trimmed(text, start + first, start + end) for first, end in made.offsets)
        return [(self._here[one], place) for one, place in zip(made.ids, places, strict=True)]


def read_tokenizer(file: Path) -> HuggingFaceTokenizer:
    """A tokenizer.json. Raises CheckpointError where it is damaged or lacks a special."""
    try:
        from tokenizers import Tokenizer as Cutter
    except ImportError as error:
        raise RegardError(f"{file}: reading it needs tokenizers: pip install -e '.[huggingface]'") from error
    try:
        source = file.read_bytes().decode()
    except (OSError, ValueError) as error:
        raise CheckpointError(file, f"cannot be read: {error}") from error
    try:
        cutter = Cutter.from_str(source)
    except Exception as error:  # the library raises no narrower one
        raise CheckpointError(file, f"is not a tokenizer of Hugging Face: {error}") from error
    cutter.no_truncation()
    cutter.no_padding()
    cutter.encode_special_tokens = True  # as any other text
    return HuggingFaceTokenizer(source, cutter, _roles(cutter.get_vocab(with_added_tokens=True), file))


def _roles(vocabulary: Mapping[str, int], file: Path) -> list[int]:
    """The numbers of the specials and of the mask."""
    names = max(ROLES, key=lambda row: len({*row} & vocabulary.keys()))
    missing = [name for name in names if name not in vocabulary]
    if missing:
        raise CheckpointError(file, f"has no piece {missing[0]}", "take the tokenizer of a BERT or a RoBERTa")
    return [vocabulary[name] for name in names]


def _spelling(settings: Mapping[str, Any]) -> Any:
    """Return what shows a piece, given as the file has it."""
    if _has_bytes(settings):
        return _of_bytes
    prefix = settings["model"].get("continuing_subword_prefix")
    return (lambda piece: _of_word(piece, prefix)) if prefix else str


def _has_bytes(settings: Mapping[str, Any], **options: Any) -> bool:
    """Return whether texts are cut into pieces of bytes, with these options."""
    first = settings.get("pre_tokenizer") or {}
    steps = [first, *first.get("pretokenizers", ())]
    return any({**step, **options, "type": "ByteLevel"} == step for step in steps)


def _of_word(piece: str, prefix: str) -> str:
    """'##s' → 's', 'dog' → '▁dog', ',' → ','."""
    if piece.startswith(prefix):
        return piece.removeprefix(prefix)
    return _SPACE + piece if piece[:1].isalnum() else piece


def _of_bytes(piece: str) -> str:
    """'Ġdog' → '▁dog', 'Ã' → '<0xC3>'."""
    if not all(character in _BYTES for character in piece):
        return piece  # an added one
    raw = bytes(_BYTES[character] for character in piece)
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return "".join(map(byte_piece, raw))
    return _SPACE + text[1:] if text.startswith(" ") else text
