"""regard doctor"""

from typing import Annotated

import typer

from regard.cli.emit import emit
from regard.cli.options import Json

MeasureOption = Annotated[bool, typer.Option("--measure", help="Measure again, after a change of the machine.")]


def doctor_command(as_json: Json = False, measure: MeasureOption = False) -> None:
    """Show this machine's fastest backend and thread count.

    The first call measures for a moment; its result is cached and decides the defaults. Override it with
    training.products and training.threads, or with REGARD_PRODUCTS (auto, torch or onednn) and OMP_NUM_THREADS in the
    environment.

    regard doctor --measure
    """
    from regard.reports.doctor import doctor_report

    emit(doctor_report(again=measure), as_json=as_json, indent=2)
