"""BERT's embedder by a loop over places."""

import torch
from torch import nn
from torch.testing import assert_close

from regard.layers.embedders.segments import SegmentEmbedder
from regard.layers.positions.learned import LearnedPosition
from regard.records import BOS, EOS, PAD

IDS = torch.tensor([[BOS, 7, 8, EOS, 9, EOS], [BOS, 9, EOS, PAD, PAD, PAD]])
SEGMENTS = [[0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 1, 1]]  # an end symbol belongs to the text that it ends


def test_words_places_and_texts_are_added_and_normalised():
    embedder = SegmentEmbedder(10, 4, LearnedPosition(4, max_length=6), dropout=0.0).double()
    found, _ = embedder(IDS)
    norm = nn.LayerNorm(4, eps=1e-12).double()
    for row, texts in enumerate(SEGMENTS):
        for place, text in enumerate(texts):
            whole = embedder.table[IDS[row, place]] + embedder.position.table[place] + embedder.segments[text]
            assert_close(found[row, place], norm(whole))


def test_the_last_segment_serves_every_text_after_it():
    embedder = SegmentEmbedder(10, 4, num_segments=1, dropout=0.0).double()
    found, _ = embedder(IDS)
    assert_close(found, embedder.norm(embedder.table[IDS] + embedder.segments[0]))
    assert embedder.output_weight() is embedder.table
