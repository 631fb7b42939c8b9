"""Iterative back-translation: pairs and monolingual text, with models of both directions in turn.

https://aclanthology.org/P16-1009; in rounds https://aclanthology.org/W18-2703; tagged https://aclanthology.org/W19-5206.
Round 0 trains both directions on the pairs. In each later round the reverse model translates text of the target
language, and a new forward model learns from the pairs and from the synthetic pairs. Texts are generated once and
written to files, so generation has no gradient. Every step ends with a file or a finished run: after an interruption at
any moment a call with `resume` continues, and gives the same weights.
"""

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from shlex import quote
from typing import Any, Literal

import numpy as np

from regard.config import as_values, read_checked, read_settings, staged
from regard.data.readers.lines import read_lines
from regard.errors import CheckpointError, ConfigError, RegardError
from regard.evaluation import METRICS
from regard.evaluation.metric import corpus_of
from regard.evaluation.significance import confidence_interval, paired_bootstrap
from regard.experiment import SETTINGS_FILE, Experiment, read_experiment
from regard.predictor import Predictor, load
from regard.recipes.one_language import (
    BASE_SETTINGS,
    ROUNDS_FILE,
    ROUNDS_FOLDER,
    TEXT_SIDES,
    BackTranslationRequest,
    BackTranslationSettings,
    in_rounds,
    prepare_rounds,
    write_sentences,
)
from regard.registry import Choice
from regard.runs import Run, RunFolder, train_run
from regard.runs.folder import link_or_copy
from regard.runs.texts import Say
from regard.statistical.kneser_ney import kneser_ney
from regard.tasks.unpaired_translation import copied_words
from regard.training.checkpoint import steps
from regard.training.interrupt import Interrupted

BACK_TAG, SELF_TAG, EMPTY_TRANSLATION = (
    "<bt>",
    "<st>",
    "<unk>",
)  # first word of a source; substitute for an empty translation
_CHUNK = 256  # lines that are translated at once; a resumed call starts at a whole chunk
_COPIED = 0.5  # fraction of copied words above which a model counts as copying
_ORDER = 3  # of the language model of a filter

ModelDirection = Literal["forward", "reverse"]


def back_translate(
    request: BackTranslationRequest, *, resume: bool = False, say: Say = lambda line: None, quiet: bool = True
) -> Path:
    """Train in rounds, and make `request.folder` the run of the best round on the dev set.

    With `resume` texts and settings are those saved in the folder. Raises RegardError for texts that do not match and
    for a model that copies its input, ConfigError for a folder of something else, Interrupted where training was
    interrupted.
    """
    if not resume:
        if in_rounds(request.folder):
            hint = f"resume with: regard train {quote(str(request.folder))} --resume; or choose another --run FOLDER"
            raise ConfigError("--run", f"'{request.folder}' has rounds that have begun", hint)
        RunFolder(request.folder).check_free()  # before it has a lock
        with RunFolder(request.folder).begun():
            prepare_rounds(request, say)
    elif not in_rounds(request.folder):
        raise ConfigError("--resume", f"'{request.folder}' has no rounds to resume", "--run FOLDER")
    with RunFolder(request.folder).held():
        return _Rounds(request.folder.absolute(), say, quiet).run()


def fraction_copied(given: Sequence[str], made: Sequence[str]) -> float:
    """Return the fraction of the words of translations that occur in their source line, with multiplicity."""
    return sum(map(copied_words, given, made)) / max(1, sum(len(one.split()) for one in made))


def kept_lines(scores: Sequence[float], likeness: Sequence[float], top_fraction: float, dropped: float) -> list[int]:
    """Return the places that a filter keeps: the fraction with the best scores, without the worst by likeness.

    Ties keep the first. Higher scores and likenesses are better.
    """
    count = int(np.ceil(top_fraction * len(scores)))
    best = np.argsort(-np.asarray(scores), kind="stable")[:count]
    best.sort()
    alike = np.argsort(-np.asarray(likeness)[best], kind="stable")
    return sorted(best[alike[: len(best) - int(dropped * len(best))]].tolist())


def round_trip_likeness(lines: Sequence[str], back: Sequence[str]) -> list[float]:
    """Return the likeness of each line to its round-trip translation: sentence BLEU."""
    statistics = METRICS.build(Choice("sentence_bleu")).statistics(corpus_of([*back], [*lines]))
    return [float(one) for one in statistics[:, 0]]


class _Rounds:
    """A prepared back-translation."""

    def __init__(self, folder: Path, say: Say, quiet: bool) -> None:
        self.folder, self.place, self.say, self.quiet = folder, folder / ROUNDS_FOLDER, say, quiet
        try:
            kept = read_checked(self.place / ROUNDS_FILE)
        except ValueError as error:
            raise CheckpointError(self.place / ROUNDS_FILE, f"cannot be read: {error}") from error
        self.settings = read_settings(BackTranslationSettings, kept["settings"])
        self.languages: list[str] | None = kept["languages"]
        self.text = {side: file for side in TEXT_SIDES if (file := self.place / "texts" / f"text.{side}").is_file()}

    def run(self) -> Path:
        """Run all rounds; finished steps are not repeated."""
        if (self.folder / SETTINGS_FILE).is_file():
            return self.folder
        self._round(0, {})
        for number in range(1, self.settings.rounds + 1):
            self._round(number, self._made(number, "forward"))
            if number < self.settings.rounds:
                self.train(f"reverse-{number}", "reverse", self._made(number, "reverse"))
        self._publish(self._best())
        return self.folder

    def _round(self, number: int, made: Mapping[str, Mapping[str, Path]]) -> None:
        if not number:
            self.train("reverse-0", "reverse", {})
        run = self.train(f"forward-{number}", "forward", made)
        if made:
            self.train(f"finished-{number}", "forward", {}, start=run)
        if self._dev:
            self.say(f"round {number}: dev {self._figure(number)}")

    def _made(self, number: int, direction: ModelDirection) -> dict[str, dict[str, Path]]:
        """Return synthetic pairs for a model: the other direction's translations, or, without text, its own."""
        read, written = TEXT_SIDES if direction == "forward" else TEXT_SIDES[::-1]
        before = {"forward": self._candidate(number - (direction == "forward")), "reverse": f"reverse-{number - 1}"}
        other = before["reverse" if direction == "forward" else "forward"]
        found = {}
        if written in self.text:  # text of the target side: back-translation
            name = f"{direction}-back-{number}"
            found["back"] = self.synthetic(name, other, before[direction], written, BACK_TAG, made_side=read)
        if read in self.text and (not found or (self.settings.self_training and direction == "forward")):
            name = f"{direction}-self-{number}"
            found["own"] = self.synthetic(name, before[direction], other, read, SELF_TAG, made_side=written)
        return found

    def _candidate(self, number: int) -> str:
        """Return the name of the forward run of a round."""
        return f"finished-{number}" if number else "forward-0"

    # Training

    def train(
        self, name: str, direction: ModelDirection, made: Mapping[str, Mapping[str, Path]], start: Path | None = None
    ) -> Path:
        """Train or resume a run on real and synthetic pairs; a finished one is kept. Raises Interrupted."""
        folder = RunFolder(self.place / name)
        if folder.finished:
            return folder.path
        self.say(f"{name}: training")
        resume = (folder.path / SETTINGS_FILE).is_file()
        experiment = Run.open(folder).experiment if resume else self._experiment(folder, direction, made, start)
        if not train_run(experiment, resume=resume, quiet=self.quiet, hints=False):
            raise Interrupted(f"stopped while {name} was trained")
        return folder.path

    def _experiment(
        self, folder: RunFolder, direction: ModelDirection, made: Mapping[str, Mapping[str, Path]], start: Path | None
    ) -> Experiment:
        turned = dict(zip(TEXT_SIDES, TEXT_SIDES if direction == "forward" else TEXT_SIDES[::-1], strict=True))
        data: dict[str, Any] = {"dev_fraction": 0, "test_fraction": 0}
        for part in ("train", "dev", "test"):
            files = {side: self.place / "texts" / f"{part}.{own}" for side, own in turned.items()}
            if files["source"].is_file():
                data[part] = {side: str(file) for side, file in files.items()}
        if self.languages:
            data["languages"] = self.languages if direction == "forward" else self.languages[::-1]
        if made:
            data["corpora"] = {
                name: {side: str(files[own]) for side, own in turned.items()} for name, files in made.items()
            }
            counts = {name: _count(files["source"]) for name, files in made.items()}
            all_made = sum(counts.values())
            share = min(self.settings.ratio, all_made / _count(self.place / "texts" / "train.source"))
            data["weights"] = {"train": 1.0, **{name: share * count / all_made for name, count in counts.items()}}
        base = self.place / BASE_SETTINGS
        changes = [f"{name}={json.dumps(value)}" for name, value in _changes(data)]
        changes.append(f"run={json.dumps(str(folder))}")
        if start is not None:
            return read_experiment(base, [*changes, *self._last_settings(start)], start=start)
        experiment = read_experiment(base, changes, say=self.say)
        if self.settings.tag and experiment.text.tokenizer.name == "subwords":
            reserved = json.dumps([BACK_TAG, SELF_TAG, EMPTY_TRANSLATION])
            experiment = read_experiment(base, [*changes, f"text.tokenizer.reserved={reserved}"], say=self.say)
        return experiment

    def _last_settings(self, start: Path) -> list[str]:
        """Return settings of a final training on the pairs: a tenth of the updates, a fifth of the rate, decaying."""
        before = Run.open(start).experiment.training
        updates = max(1, int(steps(start)[0].name.rpartition("-")[2]) // 10)
        limits = ("max_epochs", "max_minutes", "max_core_minutes")
        return [
            f"training.max_updates={updates}",
            *(f"training.{one}=null" for one in limits),
            f"training.learning_rate={before.learning_rate / 5}",
            "training.schedule=linear",
            f"training.validate_every={max(1, updates // 5)}",
        ]

    # Translating

    def synthetic(self, name: str, run: str, back_run: str, side: str, tag: str, *, made_side: str) -> dict[str, Path]:
        """Return the files, by side, of monolingual text and its translations by a run that passed the filters.

        The run `back_run` translates them back. Raises RegardError where the run copies its input.
        """
        files = {one: self.place / "made" / f"{name}.{one}" for one in TEXT_SIDES}
        if all(file.is_file() for file in files.values()):
            return files
        lines = [*read_lines(self.text[side])]
        writer = load(self.place / run, [f"decoding.search={json.dumps(as_values(self.settings.search))}"])
        made = self._translated(f"{name}.draft", writer, lines)
        copied = fraction_copied(lines, made)
        if copied > _COPIED:
            problem = f"{run} copies its input: {copied:.0%} of the words of its translations occur in the source line"
            raise RegardError(f"{problem}; give it more pairs or a longer training, or check that both texts differ")
        kept = self._filtered(name, writer, back_run, lines, made, made_side)
        empty = sum(not made[row] for row in kept)
        if tag == SELF_TAG:
            kept = [row for row in kept if made[row]]  # an empty target is useless
        made = [one or EMPTY_TRANSLATION for one in made]
        texts = {side: [lines[row] for row in kept], made_side: [made[row] for row in kept]}
        read = "target" if name.startswith("reverse") else "source"
        if self.settings.tag:
            texts[read] = [f"{tag} {text}" for text in texts[read]]
        for one, rows in texts.items():
            write_sentences(files[one], rows)
        self.say(
            f"{name}: {len(kept):,} of {len(lines):,} translations by {run} are kept, {empty:,} of them empty; "
            f"{copied:.1%} of their words are copied"
        )
        return files

    def _filtered(
        self, name: str, writer: Predictor, back_run: str, lines: Sequence[str], made: Sequence[str], made_side: str
    ) -> list[int]:
        """Return the places of the translations that are kept."""
        settings, scores, likeness = self.settings, np.zeros(len(lines)), [0.0] * len(lines)
        if settings.top_fraction < 1:
            known = [row for row, text in enumerate(made) if text]
            scores[:] = -np.inf
            forced = writer.score([lines[row] for row in known], [made[row] for row in known])
            scores[known] = [one.score for one in forced]
            if settings.lm_weight:
                texts = read_lines(self.place / "texts" / f"train.{made_side}")
                model = kneser_ney((line.split() for line in texts), _ORDER)
                logs = [float(np.mean(model.log_probs_of(made[row].split()))) for row in known]
                scores[known] += settings.lm_weight * np.array(logs)
        if settings.round_trip:
            back = self._translated(f"{name}.back", load(self.place / back_run, ["decoding.search=greedy"]), made)
            likeness = round_trip_likeness(lines, back)
        return kept_lines(scores.tolist(), likeness, settings.top_fraction, settings.round_trip)

    def _translated(self, name: str, predictor: Predictor, lines: Sequence[str]) -> list[str]:
        """Translate each line, saved chunk by chunk, so that a later call continues; "" for an empty line."""
        file = self.place / "made" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        whole = file.read_bytes().split(b"\n")[:-1] if file.is_file() else []
        whole = whole[: len(lines) if len(whole) >= len(lines) else len(whole) // _CHUNK * _CHUNK]
        with file.open("wb") as out:
            out.write(b"".join(line + b"\n" for line in whole))
            for first in range(len(whole), len(lines), _CHUNK):
                found = predictor.predict(lines[first : first + _CHUNK], safeguards=False)
                out.write("".join(f"{' '.join(one.text.split())}\n" for one in found).encode())
                out.flush()
                if first // _CHUNK % 20 == 0:
                    self.say(f"{name}: {first:,} of {len(lines):,} lines translated")
        return [*read_lines(file)]

    # Evaluation

    @cached_property
    def _dev(self) -> dict[str, list[str]]:
        """Return the dev set by side; {} for none."""
        files = {side: self.place / "texts" / f"dev.{side}" for side in TEXT_SIDES}
        return {side: [*read_lines(file)] for side, file in files.items() if file.is_file()}

    def _drafts(self, number: int) -> list[str]:
        name, lines = self._candidate(number), self._dev["source"]
        return self._translated(f"dev-{name}", load(self.place / name), lines)

    def _figure(self, number: int) -> str:
        """Return BLEU of a round on the dev set, with its interval, and the difference to the round before."""
        metric, found, references = METRICS.build(Choice("bleu")), self._drafts(number), self._dev["target"]
        value, (low, high) = metric.score(found, references).value, confidence_interval(metric, found, references)
        line = f"BLEU {value:.2f} [{low:.2f}, {high:.2f}]"
        if not number:
            return line
        test = paired_bootstrap(metric, self._drafts(number - 1), found, references)
        return f"{line}, {test.difference:+.2f} to round {number - 1} (p = {test.p_value:.3f})"

    def _best(self) -> str:
        """Return the candidate with the best dev BLEU; without a dev set that of the last round."""
        last = self.settings.rounds
        if not self._dev:
            return self._candidate(last)
        metric = METRICS.build(Choice("bleu"))
        values = [metric.score(self._drafts(number), self._dev["target"]).value for number in range(last + 1)]
        best = int(np.argmax(values))
        self.say(f"round {best} is the best on the dev set; {self.folder} translates with it")
        return self._candidate(best)

    def _publish(self, name: str) -> None:
        """Make the folder itself a run with the model of a candidate. Files are links, settings come last."""
        entries = [one for one in (self.place / name).iterdir() if one.name not in ("data", ".lock")]
        for entry in sorted(entries, key=lambda one: one.name == SETTINGS_FILE):
            new = self.folder / entry.name
            if new.is_dir():
                shutil.rmtree(new)
            new.unlink(missing_ok=True)
            if entry.is_dir():
                shutil.copytree(entry, new, copy_function=link_or_copy)
            else:
                shutil.copy2(entry, copy := staged(new))
                copy.replace(new)


def _changes(group: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    return ((f"data.{name}", value) for name, value in group.items())


def _count(file: Path) -> int:
    return sum(1 for _ in read_lines(file))
