"""A model card: README.md with the metadata of the Hugging Face hub, of a run or of its export."""

from regard.exchange.certificate import Certificate
from regard.exchange.format import Format
from regard.exchange.import_run import imported_of
from regard.ops.modules import count_parameters
from regard.predictor import Predictor
from regard.runs.measurements import ADAPTATION


def model_card(
    predictor: Predictor,
    row: Format | type[Format] = Format,
    certificate: Certificate | None = None,
    license_name: str | None = None,
) -> str:
    """Return the card of a run, or of its export with a row of FORMATS, in Markdown.

    `license_name` stands in for the licence of an import, or of a student's teachers.
    """
    run, origin = predictor.run, imported_of(predictor.run)
    languages = [one for one in run.experiment.data.language_pair() if one]
    licensed = license_name or origin.get("license")
    head = ["---"]
    head += [f"language: [{', '.join(languages)}]"] if languages else []
    head += [f"license: [{licensed}]" if "," in licensed else f"license: {licensed}"] if licensed else []
    head += ["pipeline_tag: translation", f"library_name: {row.library}"]
    head += ["tags: [translation, regard]", "---", ""]
    count = count_parameters(predictor.model)
    sizes = {name: len(column) for name, column in predictor.task.vocabularies.items()}
    title = "-".join(languages) or run.path.name
    lines = [f"# Translator {title}", "", f"- Parameters: {count / 1e6:.1f} M"]
    lines += [f"- Pieces: {', '.join(f'{name} {size:,}' for name, size in sizes.items())}"]
    lines += [f"- SHA-256 of the weights: `{run.weights_digest}`"]
    lines += [f"- Licence: {licensed or 'not stated'}"]
    if origin:
        begun = "Imported from" if run.experiment.init is None else "Trained further, imported from"
        begun = "Made of" if origin["format"] == "runs" else begun
        lines += [f"- {begun} {origin['format']}: {origin['folder']} ({origin['architecture']})"]
    lines += [f"- Adapted: {line}" for line in _adaptation(predictor)]
    lines += [f"- Certificate: {str(certificate).removeprefix('certificate: ')}"] if certificate else []
    return "\n".join([*head, *lines, "", row.usage, ""])


def _adaptation(predictor: Predictor) -> list[str]:
    """Return a line for the new and the old text of a run that was trained further."""
    kept = predictor.run.measurements.kept(ADAPTATION) or {}
    lines = []
    for name in ("new", "old"):
        if (one := kept.get(name)) is not None:
            low, high = one["interval"]
            figures = f"{one['start']:.2f} → {one['selected']:.2f} (95 %: {low:+.2f} to {high:+.2f})"
            lines.append(f"{name} text {one['metric']} {figures} on {one['examples']:,} pairs")
    return lines
