"""Published parallel texts of OPUS (https://opus.nlpl.eu), fetched and split into training, dev and test set."""

import gzip
import heapq
import re
import shutil
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from hashlib import blake2b
from http.client import HTTPException
from io import TextIOWrapper
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen
from zipfile import BadZipFile, LargeZipFile, ZipFile

from rich.console import Console
from rich.progress import Progress

from regard.errors import ConfigError, DataError, nearest
from regard.http_body import limited_body
from regard.text.language_codes import is_language_code

ADDRESS = "https://object.pouta.csc.fi"
_SHARE, _MOST = 0.05, 1_000  # dev and test set: fraction of the pairs, and maximum number, each
_PATIENCE = 30  # seconds without a byte
_MOST_BYTES, _MOST_SECONDS = 2**36, 24 * 3600.0  # of a download: the largest corpora of OPUS have 30 GB
DAMAGED = (  # errors of zipfile
    BadZipFile, LargeZipFile, NotImplementedError, EOFError, OSError, ValueError, RuntimeError, zlib.error,
)  # fmt: skip
_CODE = re.compile(r"[a-z]{2,3}(_[A-Za-z]{2,4})?")

_Progress = Callable[[int, int | None], None]  # bytes so far, and in total, where known


class Published(NamedTuple):
    """A corpus by its name in OPUS."""

    name: str
    version: str
    about: str


PUBLISHED = {
    "tatoeba": Published("Tatoeba", "v2023-04-12", "short everyday sentences, CC BY 2.0 FR"),
    "ted": Published("TED2020", "v1", "subtitles of talks, CC BY-NC-ND 4.0"),
    "news-commentary": Published("News-Commentary", "v16", "newspaper articles"),
    "opensubtitles": Published("OpenSubtitles", "v2018", "film subtitles; many gigabytes for large languages"),
}


def get(corpus: str, pair: str, to: Path, archive: Path | None = None) -> list[str]:
    """Fetch a corpus, unless an archive is given, and split it; return lines on its files and their use.

    Raises ConfigError for an unknown corpus or pair, and for an existing folder; DataError like `fetch` and `unpack`.
    """
    languages = languages_of(pair)
    address, folder = address_of(corpus, languages), to / f"{corpus}_{pair}"
    if folder.exists():
        raise ConfigError(str(folder), "is there already", "remove it, or choose another folder with --to")
    kept = archive or to / f"{folder.name}.zip"
    console = Console(stderr=True)
    if not kept.exists():
        if archive:
            raise ConfigError(f"--archive {archive}", "there is no such file", f"fetch {address}")
        console.print(f"fetching {address}: {PUBLISHED[corpus].about}", highlight=False)
        with Progress(console=console, transient=True) as bar:
            task = bar.add_task(folder.name, total=None)
            fetch(address, kept, lambda done, total: bar.update(task, completed=done, total=total))
    sizes = unpack(kept, languages, folder)
    if archive is None:
        kept.unlink()
    texts = [f"{folder}/{{}}.{code}.gz" for code in languages]
    train, dev, test = ([text.format(part) for text in texts] for part in ("train", "dev", "test"))
    run = f"runs/{pair}"
    return [
        f"{folder}: {', '.join(f'{count:,} {part}' for part, count in sizes.items())} pairs",
        f"train: regard train --source {train[0]} --target {train[1]} \\",
        f"         --dev-source {dev[0]} --dev-target {dev[1]} --run {run}",
        f"evaluate: regard evaluate {run} --source {test[0]} --target {test[1]}",
    ]


def address_of(corpus: str, pair: tuple[str, str]) -> str:
    """Return the address of the archive of a corpus; OPUS sorts the two languages. Raises ConfigError."""
    if corpus not in PUBLISHED:
        raise ConfigError(corpus, "is not a corpus that can be fetched", nearest(corpus, PUBLISHED))
    found = PUBLISHED[corpus]
    return f"{ADDRESS}/OPUS-{found.name}/{found.version}/moses/{'-'.join(sorted(pair))}.txt.zip"


def languages_of(pair: str) -> tuple[str, str]:
    """Return the two codes of `en-es`. Raises ConfigError."""
    codes = pair.split("-")
    if len(codes) != 2 or codes[0] == codes[1] or not all(map(_CODE.fullmatch, codes)):
        raise ConfigError(pair, "is not a pair of two languages", "two codes with a hyphen: en-es")
    for code in codes:
        if not is_language_code(code):
            raise ConfigError(pair, f"'{code}' is not a language code", "two codes of ISO 639: en-es")
    return codes[0], codes[1]


def fetch(address: str, path: Path, progress: _Progress = lambda done, total: None) -> None:
    """Download an address to a file, in a folder that is made if the address is there.

    Raises DataError, and leaves no file, if it cannot be fetched completely.
    """
    part = path.with_name(f".{path.name}.part")
    try:
        with urlopen(Request(address, headers={"User-Agent": "regard"}), timeout=_PATIENCE) as answer:
            total = int(answer.headers.get("Content-Length") or 0) or None
            path.parent.mkdir(parents=True, exist_ok=True)
            with part.open("wb") as out:
                for block in limited_body(answer, most=_MOST_BYTES, seconds=_MOST_SECONDS):
                    out.write(block)
                    progress(out.tell(), total)
            if total is not None and part.stat().st_size != total:
                raise DataError(
                    address, f"broke off after {part.stat().st_size:,} of {total:,} bytes", hint="try again"
                )
        part.replace(path)
    except HTTPError as error:
        error.close()
        hint = "the pairs that there are: https://opus.nlpl.eu (Chinese is zh in most corpora, cmn in some)"
        raise DataError(address, f"is not there (HTTP status {error.code})", hint=hint) from error
    except (URLError, HTTPException, TimeoutError, ConnectionError) as error:
        hint = "without a network, fetch it elsewhere and name the file: --archive FILE.zip"
        raise DataError(address, f"cannot be reached: {getattr(error, 'reason', error)}", hint=hint) from error
    finally:
        part.unlink(missing_ok=True)


def unpack(archive: Path, pair: tuple[str, str], folder: Path) -> dict[str, int]:
    """Write `train`, `dev` and `test` of both languages as .gz into a new folder; return the number of their pairs.

    Dev and test are sampled by hash. Pairs that share a side with one of theirs are left out of train; pairs with an
    empty side are left out of all. Raises DataError for an archive that is damaged or has other languages.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    new = folder.with_name(f".{folder.name}.part")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir()
    try:
        sizes = _split(archive, pair, new)
        new.rename(folder)
    finally:
        shutil.rmtree(new, ignore_errors=True)
    return sizes


def _split(archive: Path, pair: tuple[str, str], folder: Path) -> dict[str, int]:
    total = sum(1 for _ in _pairs(archive, pair))
    size = min(int(total * _SHARE), _MOST)
    if not size:
        raise DataError(archive, f"{total:,} pairs are too few: some are held out for dev and test")
    chosen = heapq.nsmallest(4 * size, ((_hash(each), each) for each in _pairs(archive, pair)))
    held = [each for _, each in dict.fromkeys(chosen)][: 2 * size]
    parts = {"dev": held[::2], "test": held[1::2]}
    known = [set(side) for side in zip(*held, strict=True)]
    rest = (
        each for each in _pairs(archive, pair) if not any(one in side for one, side in zip(each, known, strict=True))
    )
    return {name: _write(folder, name, pair, some) for name, some in {"train": rest, **parts}.items()}


def _pairs(archive: Path, pair: tuple[str, str]) -> Iterator[tuple[str, str]]:
    """Yield sentence pairs without empty sides, read lazily: some archives do not fit into memory."""
    try:
        with ExitStack() as stack:
            packed = stack.enter_context(ZipFile(archive))
            names = [next((name for name in packed.namelist() if name.endswith(f".{code}")), "") for code in pair]
            if "" in names:
                listed = ", ".join(packed.namelist()[:5])
                raise DataError(archive, f"has no text in {pair[names.index('')]}: it holds {listed}")
            sides = [TextIOWrapper(stack.enter_context(packed.open(name)), "utf-8", newline="\n") for name in names]
            for line, found in enumerate(zip_longest(*sides), start=1):
                if None in found:
                    raise DataError(archive, "one language has fewer lines than the other", line=line)
                source, target = (text.strip() for text in found)
                if source and target:
                    yield source, target
    except UnicodeDecodeError as error:
        raise DataError(archive, "holds text that is not UTF-8") from error
    except DAMAGED as error:
        raise DataError(archive, f"is not a zip archive, or is damaged ({error})", hint="fetch it again") from error


def _write(folder: Path, part: str, pair: tuple[str, str], pairs: Iterable[tuple[str, str]]) -> int:
    """Write gzip files without name and time, so that the same pairs give the same bytes."""
    count = 0
    with ExitStack() as stack:
        files = [stack.enter_context((folder / f"{part}.{code}.gz").open("wb")) for code in pair]
        packed = [stack.enter_context(gzip.GzipFile("", "wb", fileobj=file, mtime=0)) for file in files]
        for texts in pairs:
            count += 1
            for out, text in zip(packed, texts, strict=True):
                out.write(f"{text}\n".encode())
    return count


def _hash(pair: tuple[str, str]) -> bytes:
    return blake2b("\t".join(pair).encode(), digest_size=8).digest()
