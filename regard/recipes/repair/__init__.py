"""`regard repair RUN repairs.tsv`: wrong sentences with their right translations → a run that has them right.

The vectors of the words that are translated wrongly are trained, and all weights only where that is not enough, beside
the Kullback-Leibler divergence from the old model on old texts (https://arxiv.org/abs/1606.09282). The proof: other
answers that changed, and the dev set.
"""

from collections.abc import Sequence
from functools import partial

from regard.errors import ConfigError
from regard.exchange.import_run import run_of_weights
from regard.pieces import SPECIALS
from regard.predictor import Predictor, load
from regard.recipes.repair.faults import FaultLinks, OldAnswers, is_related, replaced, stand_ins, word_set, wrong_links
from regard.recipes.repair.proof import Repaired, proved
from regard.recipes.repair.texts import RepairRequest, RepairTexts, repair_texts
from regard.recipes.repair.training import Lesson, RepairTrainer, Transfer, answers
from regard.runs import RunFolder
from regard.runs.texts import Say

_ANCHORS, _NEAR = 2_000, 30  # old texts that are held, and those with a word of the repairs, for each of these words
_ENCODED, _SHARING = 20_000, 500  # old texts that are searched for pieces of faulty words, and those that are held


def repair(request: RepairRequest, say: Say) -> Repaired:
    """Repair a translator, and write a run unless other answers or the dev set suffer.

    Raises ConfigError for more than 50 repairs, for texts that are all translated right, without a dev set, and for an
    output that exists; DataError for a file without pairs.
    """
    RunFolder(request.output).check_free(resumed=False)
    before, after = load(request.run), load(request.run)
    texts = repair_texts(request, before, say)
    given = answers(before, [source for source, _ in texts.repairs])
    if all(answer == right for answer, (_, right) in zip(given, texts.repairs, strict=True)):
        raise ConfigError(str(request.file), "all its texts are translated right already", "texts with wrong answers")
    lesson, links = _lesson(before, texts, given, say)
    updates = RepairTrainer(before, after, lesson, request.seed, say).train()
    result = proved(before, after, texts, links, request)
    values = {**result.report.values, **updates._asdict()}
    if result.kept:
        weights = {name: value.detach() for name, value in after.model.state_dict().items()}
        named = f"{request.run} {before.run.weights_digest[:12]}"
        made_by = f"repaired with {request.file.name}"
        run_of_weights([before.run], weights, request.output, folder=named, architecture=made_by)
    return result._replace(report=result.report._replace(values=values))


def _lesson(before: Predictor, texts: RepairTexts, given: Sequence[str], say: Say) -> tuple[Lesson, FaultLinks]:
    """Return what is trained and what is held, and which words are translated wrongly."""
    chosen = _near(texts)
    old = [*zip(chosen, answers(before, chosen), strict=True)]
    counts = OldAnswers(old)
    links = wrong_links(texts.repairs, given, counts)
    others, faulty = stand_ins(texts.repairs, given, links, counts, partial(answers, before), partial(_scores, before))
    links = {link for link in links if link[0] in faulty}
    held = [pair for pair in old if not is_related(pair, links)]
    wrong = [source for source, answer in old if is_related((source, answer), links)]
    wrong = [source for source in wrong if word_set(source) & faulty <= others.keys()]
    read = [replaced(source, others) for source in wrong]
    transfers = [Transfer(*one) for one in zip(wrong, read, answers(before, read), strict=True)]
    say(f"words that are translated wrongly: {len(faulty)}; with another word that can stand in: {len(others)}"
        f" ({len(transfers)} texts)")  # fmt: skip
    pieces = frozenset[int]().union(*_pieces(before, [form for word in faulty for form in (word, word.capitalize())]))
    shared = _sharing(before, texts.old, faulty, pieces)
    held_words = [pair for pair in held if word_set(pair[0]) & faulty]
    held_words += zip(shared, answers(before, shared), strict=True)
    return Lesson(texts.repairs, texts.trained, transfers, held, held_words, pieces), links


def _scores(predictor: Predictor, texts: Sequence[str], given: Sequence[str]) -> list[float]:
    return [one.score for one in predictor.score(texts, given)]


def _pieces(predictor: Predictor, texts: Sequence[str]) -> list[set[int]]:
    """Return the pieces of each text, without those that every vocabulary has."""
    rows = predictor.task.encode([{"source": text} for text in texts])
    return [{piece for piece in row["source"] if piece >= len(SPECIALS)} for row in rows]


def _sharing(predictor: Predictor, old: Sequence[str], faulty: set[str], pieces: frozenset[int]) -> list[str]:
    """Return texts without a faulty word that have pieces of one."""
    some = [text for text in old[:_ENCODED] if faulty.isdisjoint(word_set(text))]
    found = [text for text, own in zip(some, _pieces(predictor, some), strict=True) if own & pieces]
    return found[:_SHARING]


def _near(texts: RepairTexts) -> list[str]:
    """Return old texts: some with each word of the repairs, and others."""
    left = dict.fromkeys((word for source, _ in texts.repairs for word in word_set(source)), _NEAR)
    near, rest = list[str](), list[str]()
    for text in texts.old:
        found = [word for word in word_set(text) if left.get(word)]
        (near if found else rest).append(text)
        for word in found:
            left[word] -= 1
    return near + rest[:_ANCHORS]


__all__ = ["RepairRequest", "repair"]
