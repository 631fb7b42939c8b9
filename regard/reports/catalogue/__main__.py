"""python -m regard.reports.catalogue ROOT: write the catalogue and the settings in docs/."""

import sys
from pathlib import Path

from regard.reports.catalogue import write_catalogue, write_settings_pages

if len(sys.argv) != 2:
    sys.exit("python -m regard.reports.catalogue ROOT")
write_catalogue(Path(sys.argv[1]))
write_settings_pages(Path(sys.argv[1]))
