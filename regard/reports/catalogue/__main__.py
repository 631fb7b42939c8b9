"""python -m regard.reports.catalogue ROOT: writes docs/catalogue.md and docs/settings.md anew."""

import sys
from pathlib import Path

from regard.reports.catalogue import page, settings

if len(sys.argv) != 2:
    sys.exit("python -m regard.reports.catalogue ROOT")
page.write_catalogue(Path(sys.argv[1]))
settings.write_settings_page(Path(sys.argv[1]))
