"""`regard export`: a run → a folder of another program, checked beside that program while it is written."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from shlex import quote

from regard.data.sealed import making
from regard.errors import RegardError
from regard.exchange.card import model_card
from regard.exchange.certificate import Certificate, certify, sampled_texts
from regard.exchange.format import Format
from regard.predictor import Predictor
from regard.runs.measurements import CERTIFICATE
from regard.runs.texts import dev_examples


def export_folder(
    row: Format,
    predictor: Predictor,
    folder: Path,
    *,
    texts: Sequence[str] = (),
    count: int = 100,
    license_name: str | None = None,
    say: Callable[[str], None] = print,
) -> Certificate:
    """Write a run as a folder of a format, with a certificate and a model card in it.

    `count` texts are compared: the first of `texts`, of the dev set, or some made of pieces of the vocabulary. Raises
    RegardError for a run that the format cannot hold, and with the first difference where fewer texts are equal than
    the format's `min_equal`: then nothing is written.
    """
    if folder.exists():
        raise RegardError(f"{folder}: exists already; choose another -o FOLDER")
    asked = [text for text in texts if text.strip()][:count] or checked_texts(predictor, count)
    with making(folder) as made:
        row.write(predictor, made)
        certificate = certify(predictor, row.program(made, predictor) if count else None, asked)
        if certificate.program and certificate.equal < row.min_equal * certificate.texts:
            raise RegardError(f"{folder}: the export was not written, since texts differ; {certificate}")
        values = {"format": row.name, "sha256_of_weights": predictor.run.weights_digest, **certificate.values()}
        (made / CERTIFICATE).write_text(json.dumps(values, indent=1, ensure_ascii=False), encoding="utf-8")
        (made / "README.md").write_text(model_card(predictor, row.name, certificate, license_name), encoding="utf-8")
        made.rename(folder)
    say(f"wrote {quote(str(folder))}")
    say(str(certificate) if certificate.program or not row.program_hint else f"{certificate} ({row.program_hint})")
    return certificate


def checked_texts(predictor: Predictor, count: int) -> list[str]:
    """Return the first sources of the dev set of a run, or texts made of pieces where its files are gone."""
    try:
        found = dev_examples(predictor.run.experiment, predictor.task, lambda line: None)
    except (RegardError, OSError):
        found = None
    sources = [] if found is None else [text for text in found["source"] if text.strip()]
    return sources[:count] or sampled_texts(predictor, count)
