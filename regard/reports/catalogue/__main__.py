"""python -m regard.reports.catalogue ROOT: writes docs/catalogue.md anew."""

import sys
from pathlib import Path

from regard.reports.catalogue.page import write

if len(sys.argv) != 2:
    sys.exit("python -m regard.reports.catalogue ROOT")
write(Path(sys.argv[1]))
