"""Raw text in, raw text out: cleaning, tokenizers, vocabularies. One file a row."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from regard.errors import CheckpointError, PartError, nearest
from regard.registry import Choice, Registry
from regard.text.characters import CharactersRecipe
from regard.text.clean import clean
from regard.text.huggingface import HuggingFaceRecipe
from regard.text.mask_piece import MASK_FILE as MASK_FILE
from regard.text.mask_piece import MaskedTokenizer
from regard.text.sentencepiece import SentencePieceRecipe
from regard.text.subwords import SubwordsRecipe
from regard.text.tokenizer import KIND_FILE, Recipe, Tokenizer
from regard.text.uncased_words import UncasedWordsRecipe
from regard.text.words import WordsRecipe

TOKENIZERS: Registry[Recipe] = Registry(
    "text.tokenizer",
    {
        "characters": CharactersRecipe,
        "huggingface": HuggingFaceRecipe,
        "sentencepiece_file": SentencePieceRecipe,
        "subwords": SubwordsRecipe,
        "uncased_words": UncasedWordsRecipe,
        "words": WordsRecipe,
    },
)


def train_tokenizer(choice: Choice, texts: Iterable[str], *, masked: bool = False) -> Tokenizer:
    """A tokenizer of a kind, learnt from sentences, with <mask> as its last piece where it is `masked`.

    Raises ConfigError where texts are too few for its settings, and for a kind that cannot have <mask>.
    """
    try:
        made = TOKENIZERS.build(choice).train(texts)
        return MaskedTokenizer(made) if masked and made.mask is None else made
    except PartError as error:
        raise error.inside(TOKENIZERS.place) from error


def load_tokenizer(folder: Path) -> Tokenizer:
    """Load what `Tokenizer.save` wrote. Raises CheckpointError where that is not what is there."""
    try:
        kind = (folder / KIND_FILE).read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        raise CheckpointError(folder, f"is not a saved tokenizer: {error}") from error
    if kind not in TOKENIZERS:
        raise CheckpointError(folder, f"holds a tokenizer of an unknown kind '{kind}'", nearest(kind, TOKENIZERS))
    recipe: Any = TOKENIZERS[kind]
    made: Tokenizer = recipe.load(folder)
    return MaskedTokenizer(made) if (folder / MASK_FILE).exists() else made


__all__ = ["TOKENIZERS", "Tokenizer", "clean", "load_tokenizer", "train_tokenizer"]
