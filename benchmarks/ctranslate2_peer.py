"""CTranslate2 with the weights of a Transformer of Regard: its export, and the contender that translates with it.

It needs no torch to translate, so nothing here imports it: its process is as small as a user's is.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from timing import Contender

EOS = "</s>"
LONGEST = 256  # pieces of a translation at most, in a server


class Model(NamedTuple):
    """What CTranslate2 translates with."""

    folder: Path  # that `convert` wrote
    source: Path  # models of sentencepiece
    target: Path
    compute_type: str  # float32, int8 …


def convert(run: Any, model: Any, folder: Path, compute_type: str = "float32") -> Model:
    """Export a translator with the settings and tokenizers of a run folder to CTranslate2, into a new folder."""
    from regard.decoding import BeamSearch
    from regard.exchange.ctranslate2 import CTranslate2Format
    from regard.exchange.vocabularies import SOURCE_MODEL, TARGET_MODEL
    from regard.predictor import Predictor
    from regard.runs import Run

    opened = Run.open(run)
    task = opened.task()
    folder.mkdir(parents=True)
    CTranslate2Format().write(Predictor(model, task, task.engine(model, BeamSearch()), run=opened), folder)
    return Model(folder, folder / SOURCE_MODEL, folder / TARGET_MODEL, compute_type)


def ctranslate2(
    model: Model, texts: Sequence[str], beam: int, length: int | None, threads: int, tokens: int
) -> Contender:
    """As many workers of one thread as there are threads, on batches of so many tokens; texts in, texts out.

    `length`: pieces of every translation; None: the model ends it.
    """
    from ctranslate2 import Translator

    translator = Translator(
        str(model.folder), device="cpu", compute_type=model.compute_type, inter_threads=threads, intra_threads=1
    )
    source, target, outputs = processor(model.source), processor(model.target), list[str]()
    settings = {"beam_size": beam, "max_batch_size": tokens, "batch_type": "tokens", "return_end_token": True}

    def turn() -> float:
        rows = source.encode(list(texts), out_type=str)
        longest = length or 2 * max(map(len, rows)) + 10  # it has one limit for all, the others one for each batch
        found = translator.translate_batch(
            rows, **settings, max_decoding_length=longest, min_decoding_length=length or 1
        )
        outputs[:] = [target.decode(_ended(one.hypotheses[0])) for one in found]
        return len(outputs)

    return Contender(turn, None, outputs)


def _ended(written: list[str]) -> list[str]:
    return written[:-1] if written and written[-1] == EOS else written


def processor(tokenizer: Path) -> Any:
    """The tokenizer of sentencepiece."""
    import sentencepiece

    return sentencepiece.SentencePieceProcessor(model_file=str(tokenizer))
