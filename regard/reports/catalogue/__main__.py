"""python -m regard.reports.catalogue ROOT: writes docs/catalogue.md and docs/settings.md anew."""

import sys
from pathlib import Path

from regard.reports.catalogue import write_catalogue, write_settings_page

if len(sys.argv) != 2:
    sys.exit("python -m regard.reports.catalogue ROOT")
write_catalogue(Path(sys.argv[1]))
write_settings_page(Path(sys.argv[1]))
