"""End-to-end memory networks (Sukhbaatar et al. 2015, https://arxiv.org/abs/1503.08895)."""

import warnings
from collections import Counter
from typing import Annotated, Literal, NamedTuple, cast

import torch
from torch import Tensor, nn

from regard.aliases import known_as
from regard.attention import Role, stamped
from regard.config import Doc
from regard.config.bounds import Fraction, Layers, Size
from regard.data.columns import Columns, TextColumn
from regard.data.columns.label import LabelColumn
from regard.errors import PartError
from regard.layers.by_sentence import SENTENCES, BySentence, Sentences
from regard.layers.memory_hop import MemoryHop
from regard.layers.sentence_table import STD, SentenceTable
from regard.models.build import build_attention
from regard.models.label_model import LabelModel
from regard.models.settings import AttentionChoice, AttentionSettings
from regard.ops.modules import module_list
from regard.records import ANSWER, EOS, PASSAGE, QUESTION, UNK, Batch
from regard.registry import Choice

FREE = -1  # a label that is not a single piece, or shares its piece with another label
DOT = AttentionSettings(score=Choice("dot"))


class _Tables(NamedTuple):
    """Embedding matrices of memory (m) and of output (c) per hop, and that of the question."""

    memory: tuple[int, ...]
    read: tuple[int, ...]
    question: int

    @classmethod
    def tied(cls, tying: str, num_hops: int) -> "_Tables":
        """A^(k+1) = C^k and B = A^1 ("adjacent"), or one A, one C and B of its own ("layerwise")."""
        hops = range(num_hops)
        if tying == "adjacent":
            return cls(tuple(hops), tuple(hop + 1 for hop in hops), 0)
        return cls((0,) * num_hops, (1,) * num_hops, 2)


class MemoryNetwork(LabelModel):
    """u^(k+1) = H u^k + sum_i p_i c_i, p = softmax(u^k · m_i), u^1 = B q; p(answer) = softmax(W u^(K+1)).

    m_i and c_i are sentences of the story, embedded by `SentenceTable` with their times; the latest has time 0. Of a
    longer story the last `memory_size` are kept. In training an empty sentence may follow a sentence (`noise`), which
    only shifts earlier times. Adjacent tying leaves H out, and W is the last table C: a label that is one piece of the
    text has the vector of that piece; other labels, and those with the same piece, have their own.
    """

    pieces: Tensor

    def __init__(
        self,
        by_sentence: BySentence,
        tables: list[SentenceTable],
        which: _Tables,
        hop: MemoryHop,
        pieces: Tensor,
        *,
        memory_size: int,
        noise: float = 0.0,
    ) -> None:
        """`pieces` (class,): the id of each label's only piece, whose vector is in the last table, or FREE."""
        super().__init__(ANSWER)
        self.by_sentence, self.tables, self.which, self.hop = by_sentence, module_list(tables), which, hop
        self.memory_size, self.noise = memory_size, noise
        self.register_buffer("pieces", pieces, persistent=False)
        self.to_class = nn.Linear(tables[0].words.embedding_dim, len(pieces), bias=False)
        for part in (self.to_class, *hop.modules()):
            for parameter in part.parameters(recurse=False):
                nn.init.normal_(parameter, std=STD)

    def log_probs(self, batch: Batch) -> Tensor:
        story, question = batch.sequences(PASSAGE), batch.sequences(QUESTION)
        sentences = self.sentences(batch)
        words, mask, shown = sentences.take(story.items), sentences.mask, sentences.shown
        times = self._times(shown)
        embedded = [self.tables[table](words, mask, times) for table in sorted({*self.which.memory, *self.which.read})]
        asked = self.tables[self.which.question](question.items, question.mask & (question.items != EOS))
        for memory, read in zip(self.which.memory, self.which.read, strict=True):
            asked = self.hop(asked, embedded[memory], embedded[read], shown)
        scores = asked @ self._class_vectors().T
        return scores.log_softmax(dim=-1)

    def sentences(self, batch: Batch) -> Sentences:
        """Return the places of the sentences in memory in each story, oldest first, without the end symbol.

        Warns of stories that are longer than the memory.
        """
        ids, mask = batch.sequences(PASSAGE)
        mask = mask & (ids != EOS)
        found: Sentences = self.by_sentence(ids, mask)
        if bool((found.mask.sum(dim=(1, 2)) < mask.sum(dim=1)).any()):
            problem = f"a story has more than {self.memory_size} sentences: the latest are kept"
            warnings.warn(f"model.memory_size: {problem} (a larger number keeps more)", stacklevel=2)
        return found

    def _times(self, shown: Tensor) -> Tensor:
        """Return the number of later sentences of shown (batch, sentence), with empty ones in training; 0 for none."""
        behind = shown.long()
        if self.training and self.noise:
            behind = behind + (shown & (torch.rand(shown.shape, device=shown.device) < self.noise))
        with_itself = behind.flip(-1).cumsum(dim=-1).flip(-1)
        return (with_itself - 1).clamp(min=0)

    def _class_vectors(self) -> Tensor:
        """Return W (class, dim)."""
        own = self.to_class.weight
        tied = (self.pieces != FREE).unsqueeze(-1)
        return torch.where(tied, self.tables[-1].words(self.pieces.clamp(min=0)), own)


@known_as("memn2n, end_to_end_memory, end_to_end_memory_network, 端到端记忆网络")
def memory_network(
    columns: Columns,
    *,
    dim: Annotated[Size, Doc("Width of the embeddings of sentences and question.")] = 20,
    num_hops: Annotated[Layers, Doc("Number of hops over the memory.")] = 3,
    memory_size: Annotated[Size, Doc("Memory size, in sentences; only the latest of a longer story are kept.")] = 50,
    tying: Annotated[
        Literal["adjacent", "layerwise"],
        Doc("Weight tying: adjacent (output of a hop = input of the next) or layerwise (the same for all hops)."),
    ] = "adjacent",
    position_encoding: Annotated[bool, Doc("Position encoding within a sentence; without it a bag of words.")] = True,
    noise: Annotated[Fraction, Doc("Random noise: fraction of empty sentences, in training.")] = 0.1,
    attention: Annotated[AttentionChoice, Doc("Attention of the question over the memory, at each hop.")] = DOT,
) -> MemoryNetwork:
    """p(answer | story, question) by hops over the sentences of the story (MemN2N)."""
    text, answers = cast(TextColumn, columns[PASSAGE]), cast(LabelColumn, columns[ANSWER])
    if columns[QUESTION] is not text:
        raise PartError("needs one vocabulary for story and question", "set text.shared to true")
    which = _Tables.tied(tying, num_hops)
    stories = max(*which.memory, *which.read)
    tables = [
        SentenceTable(len(text), dim, memory_size if number <= stories else None, position_encoding=position_encoding)
        for number in range(max(stories, which.question) + 1)
    ]
    socket = stamped(build_attention(attention, dim, dim, place="model.attention"), Role(keys=SENTENCES))
    return MemoryNetwork(
        BySentence(text.pieces(range(len(text))), max_sentences=memory_size, latest=True),
        tables,
        which,
        MemoryHop(dim, socket, mapped=tying == "layerwise"),
        _single_pieces(text, answers) if tying == "adjacent" else torch.full((len(answers),), FREE),
        memory_size=memory_size,
        noise=noise,
    )


def _single_pieces(text: TextColumn, answers: LabelColumn) -> Tensor:
    """Return the piece id (class,) of each label that is exactly one known piece of the text, FREE for others."""
    encoded = text.encode_batch(answers.labels)
    times = Counter(map(tuple, encoded))
    single = (len(ids) == 1 and ids[0] != UNK and times[tuple(ids)] == 1 for ids in encoded)
    return torch.tensor([ids[0] if alone else FREE for ids, alone in zip(encoded, single, strict=True)])
