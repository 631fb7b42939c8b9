"""What must be known to read the figures of a comparison."""

from regard.reports.compare.summary import Compared


def notes(compared: Compared) -> list[str]:
    """One sentence or two each."""
    return [
        f"{compared.sentences:,} sentences of the test part. Mean ± standard deviation over the seeds; 95 %: of that "
        "mean, over other sentences and other seeds (bootstrap).",
        f"p: how easily other sentences and other seeds would turn the difference to {compared.baseline} round, or "
        "make it vanish (paired bootstrap, two-sided). Each p is of one comparison, not corrected for their number.",
        *(f"{name}: {told}" for name, told in zip(compared.metrics, compared.signatures, strict=True)),
        "Tokens are the pieces that a system itself cuts the target into, with the end of each sentence; words are "
        "counted alike for all, at as many tokens each as they have in the test part.",
        "Minutes are of training, validation included; core minutes are processor time, all threads together.",
        *compared.about.get("notes", []),
    ]
