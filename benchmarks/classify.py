"""Training speed of classifiers: Regard's updates against Keras 3 on torch, the same networks and the same batches.

    REGARD_DATA=PATH python benchmarks/classify.py [--rounds 5] [--json FILE]        (needs: pip install keras)

IMDB reviews cut at 400 words of a vocabulary of 20,000, embeddings of 128. One update is forward, backward, clipping
at norm 1 and a step of Adam, float32. The unit is words of reviews a second, padding not counted.
  cnn          windows of 3, 4 and 5 words, 100 maps each, the best match of each (https://arxiv.org/abs/1408.5882)
  bilstm       64 states in each direction, their mean
  transformer  two blocks of four heads, normalised behind, their mean, no positions
"""

import os
from pathlib import Path
from typing import Any

import torch
from timing import Contender, race_against, turns
from training_runs import batches_of, prepare_run, regard

from regard.records import Batch
from regard.runs import Run, RunFolder

os.environ.setdefault("KERAS_BACKEND", "torch")  # before keras is imported, in every process

RATE, DIM, HIDDEN, HEADS, INNER, WORDS, DROPOUT = 1e-3, 128, 64, 4, 256, 400, 0.3
SETTINGS = {
    "cnn": [
        "model.encoder=embeddings",
        "model.pooling={name: convolutional, kernel_sizes: [3, 4, 5], num_filters: 100}",
    ],
    "bilstm": [
        f"model.encoder={{name: recurrent, cell: lstm, hidden_dim: {HIDDEN}, bidirectional: true}}",
        "model.pooling=mean",
    ],
    "transformer": [
        f"model.encoder={{name: transformer, num_layers: 2, feedforward_dim: {INNER}}}",
        f"model.self_attention={{num_heads: {HEADS}, dropout: {DROPOUT}}}",
        "model.pooling=mean",
    ],
}
COMMON = [
    f"task={{name: classification, max_pieces: {WORDS}}}",
    "data.train={name: tsv, file: imdb/train.tsv.gz, fields: {label: 2, text: 4}}",
    "text.tokenizer={name: words, size: 20000}",
    f"model.dim={DIM}",
    f"model.dropout={DROPOUT}",
    "model.position=null",
    "training.batch_sentences=32",
]


def words_of(batch: Batch) -> int:
    """The words that are read."""
    return int(batch.sequences("text").mask.sum())


def keras(run: RunFolder, network: str, words: int) -> Contender:
    """The same network out of Keras's layers, compiled and trained as its guide does, batch by batch."""
    import keras as peer

    columns = Run.open(run).columns
    model = NETWORKS[network](peer, len(columns["text"]), len(columns["label"]))
    model.compile(
        optimizer=peer.optimizers.Adam(RATE, global_clipnorm=1.0),
        loss=peer.losses.SparseCategoricalCrossentropy(from_logits=True),
    )

    def update(batch: Batch) -> None:
        model.train_on_batch(batch.sequences("text").items, torch.as_tensor(batch.columns["label"]))

    counted = torch.nn.ParameterList(variable.value for variable in model.trainable_variables)
    return Contender(turns(batches_of(run), update, words_of, words), counted, [])


def _cnn(peer: Any, vocabulary: int, classes: int) -> Any:
    layers, words = peer.layers, peer.Input((None,), dtype="int64")
    vectors = layers.Dropout(DROPOUT)(layers.Embedding(vocabulary, DIM)(words))
    best = [layers.GlobalMaxPooling1D()(layers.Conv1D(100, width, activation="relu")(vectors)) for width in (3, 4, 5)]
    return peer.Model(words, layers.Dense(classes)(layers.Dropout(0.5)(layers.Concatenate()(best))))


def _bilstm(peer: Any, vocabulary: int, classes: int) -> Any:
    layers, words = peer.layers, peer.Input((None,), dtype="int64")
    vectors = layers.Dropout(DROPOUT)(layers.Embedding(vocabulary, DIM, mask_zero=True)(words))
    states = layers.Bidirectional(layers.LSTM(HIDDEN, return_sequences=True))(vectors)
    return peer.Model(words, layers.Dense(classes)(layers.Dropout(DROPOUT)(layers.GlobalAveragePooling1D()(states))))


def _transformer(peer: Any, vocabulary: int, classes: int) -> Any:
    layers, words = peer.layers, peer.Input((None,), dtype="int64")
    states = layers.Dropout(DROPOUT)(layers.Embedding(vocabulary, DIM, mask_zero=True)(words))
    for _ in range(2):
        seen = layers.MultiHeadAttention(HEADS, DIM // HEADS, dropout=DROPOUT)(states, states)
        states = layers.LayerNormalization()(states + layers.Dropout(DROPOUT)(seen))
        inner = layers.Dense(DIM)(layers.Dropout(DROPOUT)(layers.Dense(INNER, activation="relu")(states)))
        states = layers.LayerNormalization()(states + layers.Dropout(DROPOUT)(inner))
    return peer.Model(words, layers.Dense(classes)(layers.Dropout(DROPOUT)(layers.GlobalAveragePooling1D()(states))))


NETWORKS = {"cnn": _cnn, "bilstm": _bilstm, "transformer": _transformer}


def contenders(folder: Path, network: str, words: int) -> dict[str, Any]:
    """Regard and Keras, which learn from the same batches."""
    run = prepare_run(folder / network, [*COMMON, *SETTINGS[network]])
    return {"regard": (regard, (run, RATE, words_of, words)), "keras": (keras, (run, network, words))}


def main() -> None:
    """Prints a table of speeds for each network."""
    race_against("keras", __doc__, contenders, kinds=list(SETTINGS), words=60000)


if __name__ == "__main__":
    main()
