"""Weblate's own machineries against a server: languages, the check of their settings, translations.

    pip install weblate==5.14.3, in an environment of its own
    regard serve runs/en-de --memory en-de.memory
    python benchmarks/weblate_machinery.py http://127.0.0.1:5000 [--text TEXT...]

The four classes that Weblate has for DeepL, LibreTranslate, Apertium APy and tmserver call the server by the addresses
of docs/how-to/cat.md. Requests and the reading of answers are Weblate's; its pages and its database are not run.
Weblate's check of DeepL and LibreTranslate translates from English into German, so the server needs this pair.
"""

import argparse
import os
import sys
import types
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

MACHINERIES = {  # class: its module, the path below the server's address, English and German as it names them
    "DeepLTranslation": ("deepl", "/v2/", ("EN", "DE")),
    "LibreTranslateTranslation": ("libretranslate", "/", ("en", "de")),
    "ApertiumAPYTranslation": ("apertium", "", ("eng", "deu")),
    "TMServerTranslation": ("tmserver", "/tmserver", ("en", "de")),
}
TEXTS = ["Two dogs play in the snow.", "A man sleeps."]


def start_weblate() -> None:
    """Start Weblate with its settings for tests, a cache in memory and an empty database, which is not queried."""
    here = Path(__file__).resolve().parent  # its translate.py is not the Translate Toolkit
    sys.path[:] = [place for place in sys.path if Path(place).resolve() != here]
    os.environ.setdefault("CI_DATABASE", "postgresql")  # its settings need a name
    settings = types.ModuleType("machinery_settings")
    import weblate.settings_test as test_settings

    vars(settings).update({name: value for name, value in vars(test_settings).items() if name.isupper()})
    vars(settings).update(
        CACHES={"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}},
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
    )
    sys.modules[settings.__name__] = settings
    os.environ["DJANGO_SETTINGS_MODULE"] = settings.__name__
    import django

    django.setup()


def machinery_results(server: str, texts: list[str]) -> Iterator[tuple[str, str]]:
    """Yield a machinery and a line of what it found. Raises its errors; SystemExit where it suggests nothing."""
    for name, (module, path, pair) in MACHINERIES.items():
        machinery = getattr(import_module(f"weblate.machinery.{module}"), name)({"url": server + path, "key": "key"})
        machinery.delete_cache()
        yield name, f"languages {[*machinery.supported_languages]}"
        machinery.validate_settings()
        found = machinery.download_multiple_translations(*pair, [(text, None) for text in texts], None)
        if not any(found.values()):
            raise SystemExit(f"{name}: no suggestion for any text")
        for text, suggestions in found.items():
            yield name, f"{text} → {[(one['text'], one['quality']) for one in suggestions]}"


def main() -> None:
    """Print the results of each machinery; the first error ends the program."""
    program = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    program.add_argument("server", metavar="URL", help="address of regard serve")
    program.add_argument("--text", nargs="+", default=TEXTS, help="texts to translate")
    given = program.parse_args()
    start_weblate()
    for name, line in machinery_results(given.server.rstrip("/"), given.text):
        print(f"{name}: {line}")


if __name__ == "__main__":
    main()
