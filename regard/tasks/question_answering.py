"""Question answering: a story and a question → one answer of a closed set."""

from collections.abc import Mapping
from typing import Any, ClassVar, cast

from regard.attention import Recorded, recording
from regard.explain.maps import attention_maps
from regard.layers.by_sentence import SENTENCES
from regard.models.memory_network import MemoryNetwork
from regard.records import ANSWER, PASSAGE, QUESTION, Batch
from regard.results import ColumnLink, Explanation, Tokens
from regard.tasks.label_task import LabelTask
from regard.tasks.spec import Wording
from regard.tasks.text_predictions import rows_of

HOPS = "hops"


class QuestionAnsweringTask(LabelTask):
    """A story and a question → one of the answers seen in training."""

    columns: ClassVar[Mapping[str, str]] = {PASSAGE: "text", QUESTION: "text", ANSWER: "label"}
    spec = LabelTask.spec._replace(
        model="memory_network",
        contract=MemoryNetwork,
        wording=Wording("questions", "words of the story", "answer questions"),
        defaults={
            **LabelTask.spec.defaults,
            "text": {"tokenizer": {"name": "words"}, "shared": True},
            "model": {"dim": 20, "attention": {"score": "dot", "num_heads": 1}},
            "training": {"clip_norm": 40.0},
        },
    )

    def explain(self, model: Any, batch: Batch) -> list[Explanation]:
        """Return the attention of each hop: in `weights` one row per hop, one column per sentence in memory."""
        network = cast(MemoryNetwork, model)
        with recording(model) as records:
            network.log_probs(batch)
        (recorded,) = records.values()  # the hops share an attention, recorded once for each
        hops = {f"hop {number}": Recorded(recorded.role, [one]) for number, one in enumerate(recorded.answers, start=1)}
        stories, questions = (rows_of(batch.sequences(name)) for name in (PASSAGE, QUESTION))
        labels = self._answers(batch)
        sentences = network.sentences(batch)
        found = []
        for row, label in enumerate(labels):
            texts = {PASSAGE: stories[row][:-1], QUESTION: questions[row][:-1]}
            columns = self._columns(texts, {SENTENCES: sentences.of(row)}, label)
            maps = attention_maps(hops, row, {name: len(one.texts) for name, one in columns.items()}, pooled=True)
            columns[HOPS] = Tokens([one.name for one in maps])
            link = ColumnLink(SENTENCES, HOPS, [], [one.weights[0][0] for one in maps])
            found.append(Explanation(columns, [link], maps))
        return found
