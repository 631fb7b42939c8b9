"""BERT's two losses together by the whole table of torch."""

import torch
from torch.nn import functional

from regard.data.columns.label import LabelColumn
from regard.data.columns.masked_text import MaskedTextColumn
from regard.models import MODELS
from regard.models.next_sentence import masked_answers
from regard.models.pair_encoder import joined_pair
from regard.pieces import PAD
from regard.registry import Choice
from regard.tasks import TASKS

PAIRS = {"first": ["ab", "b", "aab"], "second": ["a", "abab", "b"], "label": ["next", "other", "next"]}
BLOCK = Choice("transformer", {"num_layers": 1, "feedforward_dim": 8})


def test_the_loss_is_that_of_masked_pieces_and_of_labels_which_weigh_as_much(assert_agrees):
    text, label = (
        MaskedTextColumn.learn(["ab ba"], Choice("characters")),
        LabelColumn.learn(["next", "other"], Choice("")),
    )
    task = TASKS.build(
        Choice("next_sentence", {"mask_probability": 0.5}), {"first": text, "second": text, "label": label}
    )
    torch.manual_seed(4)
    model = MODELS.build(Choice("next_sentence", {"dim": 8, "encoder": BLOCK}), task.vocabularies).double().eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    (batch,) = task.held(PAIRS, 100)
    both = joined_pair(batch.sequences("first"), batch.sequences("second"))
    encoded = model.pairs.encode(both)
    chosen = functional.cross_entropy(
        model.pairs.to_class(model.pairs.pooling(encoded.states)), batch.columns["label"], reduction="none"
    )
    hidden = model.head.norm(functional.gelu(model.head.dense(encoded.states)))
    logits = hidden @ model.pairs.embedder.table.T + model.head.words.bias
    filled = functional.cross_entropy(
        logits.flatten(0, 1), masked_answers(batch).flatten(), ignore_index=PAD, reduction="none"
    ).view(both.items.shape)
    holes = torch.stack([(one != PAD).sum() for one in masked_answers(batch)])
    expected = torch.cat([(chosen * holes).unsqueeze(-1), filled], dim=-1)
    assert_agrees("E05", model.nll(batch), expected)
    assert batch.count == int(model.counted(batch).sum()) == 3 + int((masked_answers(batch) != PAD).sum())
    masked = (both.items == text.tokenizer.mask).sum()
    assert 0 < masked <= (masked_answers(batch) != PAD).sum()
    whole = task.batch([{name: task.vocabularies[name].encode(PAIRS[name][0]) for name in PAIRS}])
    assert_agrees("E05", model.nll(whole).sum(), -model.log_probs(whole)[0, whole.columns["label"][0]])
