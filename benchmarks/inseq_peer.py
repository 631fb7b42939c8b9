"""Gradients of the words of a Hugging Face translator by our methods and by Inseq's, which explains such models alone.

    python benchmarks/inseq_peer.py [--sentences 20] [--rounds 3]

    pip install --no-deps inseq captum "transformers<5" "huggingface_hub<1" tokenizers regex requests urllib3 idna \\
        certifi charset_normalizer jaxtyping wadler_lindig "typeguard<=2.13.3" treescope tqdm filelock fsspec

A Marian of two layers with drawn weights is asked for the log-probability of every word of a drawn translation: by
Inseq as it is, by ours inside a model that has the contract of `regard/models/model.py`. Told are the largest
difference of a word's relevance, as a share of the largest relevance of its sentence, and the median of the processor
time a sentence: ours ask for all words at once, Inseq for one after another, as it generates.
"""

import random
import statistics
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

import torch
from captum_peer import STEPS, compared
from captum_peer import ours as method_of
from program import head, need, options, row
from torch import Tensor, nn

from regard.explain.relevance import Question
from regard.explain.relevance.question import Baseline
from regard.layers.embedders.embedder import Embedder
from regard.models import Model
from regard.models.translator import shifted
from regard.pieces import BOS, EOS, PAD, SPECIALS, UNK
from regard.records import Batch, Sequences

WORDS, LENGTHS = 60, range(6, 13)  # of the vocabulary, and of a sentence
NETWORK = {
    "d_model": 64,
    **{f"{side}_{name}": value for side in ("encoder", "decoder")
       for name, value in (("layers", 2), ("attention_heads", 4), ("ffn_dim", 128))},
    "max_position_embeddings": 64,
    "init_std": 0.2,
    "dropout": 0.0,
}  # fmt: skip
NAMES = {
    "saliency": "saliency",
    "gradient_times_input": "input_x_gradient",
    "integrated_gradients": "integrated_gradients",
}

Pair = tuple[list[int], list[int]]  # ids of words, without the end symbol
Attribution = Callable[[Pair], list[Tensor]]  # → relevance (item, n) of the source and of the words before


class Words(nn.Module):
    """The table of words as an embedder: ids → vectors, and no state."""

    def __init__(self, table: nn.Module) -> None:
        super().__init__()
        self.table = table

    def forward(self, ids: Tensor) -> tuple[Tensor, None]:
        """ids (row, n) → (row, n, dim)."""
        return self.table(ids), None


class Brought(Model):
    """A translator of Hugging Face under our contract: what it reads, and what its losses are."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network
        self.source, self.target = (Words(cast(Any, network).get_input_embeddings()) for _ in range(2))

    def reads(self, batch: Batch) -> list[tuple[Embedder, Tensor]]:
        """Both sides."""
        source, target = (batch.sequences(name).items for name in ("source", "target"))
        return [(cast(Embedder, self.source), source), (cast(Embedder, self.target), shifted(target))]

    def counted(self, batch: Batch) -> Tensor:
        """(batch, target)."""
        return batch.sequences("target").mask

    def nll(self, batch: Batch, *, smoothing: float = 0.0) -> Tensor:
        """Losses (batch, target)."""
        target = batch.sequences("target")
        (source, _), (before, _) = (embedder(ids) for embedder, ids in self.reads(batch))
        logits = self.network(
            inputs_embeds=source, attention_mask=batch.sequences("source").mask.long(), decoder_inputs_embeds=before
        ).logits
        losses = -logits.log_softmax(dim=-1).gather(-1, target.items.unsqueeze(-1)).squeeze(-1)
        return losses.masked_fill(~target.mask, 0.0)


class FromWords(Question):
    """Begins integrals where Inseq does: words are unknown, the start and end symbols stay."""

    def baseline(self, kind: Baseline) -> list[Tensor]:
        """Vectors of <unk> in the place of words, whatever kind is asked for."""
        with torch.no_grad():
            return [embedder(torch.where(ids > EOS, UNK, ids))[0] for embedder, ids in self.reads]


def question_of(model: Model, pair: Pair) -> Question:
    """What is asked: the log-probability of every word of the target and of its end."""
    columns = {}
    for name, ids in zip(("source", "target"), pair, strict=True):
        items = torch.tensor([[*ids, EOS]])
        columns[name] = Sequences(items, items != PAD)
    return FromWords(model, Batch(columns, "", torch.arange(1), len(pair[1]) + 1), ("source", "target"))


def ours(model: Model) -> Mapping[str, Attribution]:
    """Return rows of RELEVANCES by name, integrated gradients with as many steps as Inseq's."""

    def by(name: str) -> Attribution:
        method = method_of(name)
        return lambda pair: method(question_of(model, pair))

    return {name: by(name) for name in NAMES}


def made_up() -> tuple[nn.Module, Any]:
    """Return a Marian with drawn weights, and a tokenizer whose first pieces are ours."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import MarianConfig, MarianMTModel, PreTrainedTokenizerFast

    pieces = [*SPECIALS, *(f"w{number}" for number in range(WORDS))]
    core = Tokenizer(models.WordLevel({piece: number for number, piece in enumerate(pieces)}, unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    core.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", EOS)])
    names = dict(zip(("pad_token", "bos_token", "eos_token", "unk_token"), SPECIALS, strict=True))
    ends = {"pad_token_id": PAD, "bos_token_id": BOS, "eos_token_id": EOS, "decoder_start_token_id": BOS}
    torch.manual_seed(1)
    config = MarianConfig(vocab_size=len(pieces), forced_eos_token_id=None, **ends, **NETWORK)
    return MarianMTModel(config).eval(), PreTrainedTokenizerFast(tokenizer_object=core, **names)


def inseqs(network: nn.Module, tokenizer: Any) -> Mapping[str, Attribution]:
    """Return Inseq's methods by the names of our rows."""
    import inseq

    def log_probability(args: Any) -> Tensor:
        logits = args.attribution_model.output2logits(args.forward_output)
        return logits.log_softmax(dim=-1).gather(-1, args.target_ids.reshape(len(logits), 1)).squeeze(-1)

    inseq.register_step_function(log_probability, "log_probability", overwrite=True)
    settings: Mapping[str, Mapping[str, Any]] = {
        "saliency": {"abs": False},
        "integrated_gradients": {"n_steps": STEPS},
    }

    def by(name: str) -> Attribution:
        explainer = inseq.load_model(network, NAMES[name], tokenizer=tokenizer)

        def attribute(pair: Pair) -> list[Tensor]:
            source, target = (" ".join(tokenizer.convert_ids_to_tokens(ids)) for ids in pair)
            more = {"attribute_target": True, "attributed_fn": "log_probability", "show_progress": False}
            found = explainer.attribute(source, target, **more, **settings.get(name, {})).sequence_attributions[0]
            words = norms if name == "saliency" else sums
            return [words(one) for one in (found.source_attributions, found.target_attributions[:-1])]

        return attribute

    return {name: by(name) for name in NAMES}


def norms(found: Tensor) -> Tensor:
    """(n, item, dim), NaN where a word is not read yet → (item, n)."""
    return found.nan_to_num().norm(dim=-1).T


def sums(found: Tensor) -> Tensor:
    """(n, item, dim), NaN where a word is not read yet → (item, n)."""
    return found.nan_to_num().sum(dim=-1).T


def drawn(count: int) -> list[Pair]:
    """Return pairs of drawn words."""
    draw = random.Random(1)
    return [
        cast(Pair, tuple(draw.choices(range(len(SPECIALS), len(SPECIALS) + WORDS), k=draw.choice(LENGTHS))
                         for _ in range(2)))
        for _ in range(count)
    ]  # fmt: skip


def report(sentences: int, rounds: int) -> Iterator[str]:
    """Markdown, a line for each method when it is done."""
    network, tokenizer = made_up()
    own, peer, pairs = ours(Brought(network).eval()), inseqs(network, tokenizer), drawn(sentences)
    yield head("", "largest difference", "ms a sentence, ours", "Inseq")
    for name in NAMES:
        rows = [compared(pair, (own[name], peer[name]), rounds) for pair in pairs]
        ms, others = (1e3 * statistics.median(seconds[number] for _, seconds in rows) for number in range(2))
        worst = max(difference for difference, _ in rows)
        yield row(name, f"{worst:.1e}", f"{ms:.0f}", f"{others:.0f} ({others / ms:.1f}×)")


if __name__ == "__main__":
    given = options(__doc__, sentences=20, rounds=3).parse_args()
    need("inseq", "(see the head of this file)")
    torch.set_num_threads(1)
    for line in report(given.sentences, given.rounds):
        print(line, flush=True)
