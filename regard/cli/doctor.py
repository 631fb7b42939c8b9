"""regard doctor"""

from typing import Annotated

import typer

from regard.cli.emit import emit
from regard.cli.options import JsonLines

MeasureOption = Annotated[bool, typer.Option("--measure", help="Measure anew, as after a change of the machine.")]


def doctor_command(as_json: JsonLines = False, measure: MeasureOption = False) -> None:
    """Tell what this machine does fast, and what Regard chooses for it.

    The first call measures for a moment; what it finds is kept and decides from then on. To choose otherwise, set
    training.products and training.threads in a config, or REGARD_PRODUCTS (auto, torch or onednn) and OMP_NUM_THREADS
    in the environment.
    """
    from regard.reports import doctor_report

    emit(doctor_report(anew=measure), as_json=as_json, indent=2)
