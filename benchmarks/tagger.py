"""Training speed of taggers: Regard's updates against flair's SequenceTagger, the same networks and the same batches.

    REGARD_DATA=PATH python benchmarks/tagger.py [--rounds 5] [--json FILE]         (needs: pip install flair)

Universal Dependencies, English Web Treebank, in batches of 32 sentences: embeddings of 128 for every word, an LSTM of
128 in each direction, and a tag for each word by a softmax (linear) or by a conditional random field (crf). One update
is forward, backward, clipping at norm 1 and a step of Adam, float32. The unit is words a second. flair reads sentences
that are ready: they are cut, tagged and sorted by length into batches before the clock starts.
"""

import logging
from pathlib import Path
from typing import Any

import torch
from timing import Contender, race_against, turns
from training_runs import batches_of, prepare_run, regard

from regard.records import TAGS, TEXT, Batch
from regard.runs import Run, RunFolder
from regard.runs.texts import training_readers

RATE, DIM, HIDDEN, DROPOUT, NORM = 1e-3, 128, 128, 0.5, 1.0
HEADS = ("linear", "crf")
COMMON = [
    "task=tagging",
    "data.train={name: conll, file: ud_en_ewt/train.tsv.gz}",
    "data.max_length=100000",
    "text.tokenizer={name: words, size: 30000}",
    f"model.dim={DIM}",
    f"model.dropout={DROPOUT}",
    f"model.encoder={{name: recurrent, cell: lstm, hidden_dim: {HIDDEN}, bidirectional: true}}",
    "training.batch_sentences=32",
]


def words_of(batch: Batch) -> int:
    """The words that are read."""
    return batch.count


def flair(run: RunFolder, head: str, words: int) -> Contender:
    """The same network as flair builds it, trained as its trainer does."""
    import flair as peer
    from flair.data import Dictionary, Sentence
    from flair.embeddings import OneHotEmbeddings
    from flair.models import SequenceTagger
    from flair.training_utils import store_embeddings

    logging.getLogger("flair").setLevel(logging.ERROR)  # it tells the whole vocabulary
    peer.device = torch.device("cpu")
    known, labels, sentences = Dictionary(add_unk=True), Dictionary(add_unk=False), []
    for example in training_readers(Run.open(run).experiment)["train"]:
        sentence = Sentence(example.texts[TEXT].split(), use_tokenizer=False)
        for token, tag in zip(sentence, example.texts[TAGS].split(), strict=True):
            token.add_label("tag", tag)
            known.add_item(token.text)
            labels.add_item(tag)
        sentences.append(sentence)
    model = SequenceTagger(
        OneHotEmbeddings(known, embedding_length=DIM),
        labels,
        "tag",
        hidden_size=HIDDEN,
        use_crf=head == "crf",
        reproject_embeddings=False,
        dropout=DROPOUT,
        word_dropout=0.0,
        locked_dropout=0.0,
    ).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)

    def update(batch: Batch) -> None:
        some = [sentences[line] for line in batch.lines.tolist()]
        optimizer.zero_grad()
        loss, count = model.forward_loss(some)
        (loss / count).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), NORM)
        optimizer.step()
        store_embeddings(some, "none")

    return Contender(turns(batches_of(run), update, words_of, words), model, [])


def contenders(folder: Path, head: str, words: int) -> dict[str, Any]:
    """Regard and Flair, which learn from the same batches."""
    run = prepare_run(folder / head, [*COMMON, f"model.head={head}"])
    return {"regard": (regard, (run, RATE, words_of, words)), "flair": (flair, (run, head, words))}


def main() -> None:
    """Prints a table of speeds for each head."""
    race_against("flair", __doc__, contenders, kinds=list(HEADS), words=40000)


if __name__ == "__main__":
    main()
