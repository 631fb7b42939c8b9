"""Build the engine's libraries ahead, from a checkout of Regard: python -m regard.runtime.build

CXX names the compiler, c++ by default. Libraries for another machine need a compiler that has it as a target:
CXX="python -m ziglang c++ -target aarch64-linux-gnu" python -m regard.runtime.build --machine aarch64
The machine wasm32 is a page; ziglang builds it.
"""

import argparse
import hashlib
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from .library import DIGEST_NAME, FOLDER, SOURCE, VARIANTS, Variant, sources_digest

FLAGS = ("-O3", "-std=c++17", "-fno-math-errno", "-fno-trapping-math", "-w", "-s")
ALONE = ("-fPIC", "-shared", "-static-libstdc++", "-static-libgcc")  # no C++ library of the machine is needed
WASM_COMPILER = (sys.executable, "-m", "ziglang", "c++", "-target", "wasm32-wasi", "-mexec-model=reactor")
WASM_FLAGS = ("-msimd128", "-fno-exceptions")
_EXPORTS = ("open_engine", "close_engine", "translate", "force", "sizes", "take", "malloc", "free", "fault")


def build(variants: Sequence[Variant], folder: Path = FOLDER) -> list[Path]:
    """Compile variants of the engine into a folder, each whole or not at all. Raises OSError where that fails."""
    compiler = shlex.split(os.environ.get("CXX") or "c++")
    folder.mkdir(parents=True, exist_ok=True)
    made = list[Path]()
    for one in variants:
        name, processor = one.option.split("=")
        processor = processor.replace("-", "_") if "ziglang" in compiler else processor  # as zig spells them
        made.append(_compiled([*compiler, *FLAGS, *ALONE, f"{name}={processor}"], folder / one.file_name))
    (folder / DIGEST_NAME).write_text(sources_digest(), encoding="ascii")
    return made


def _compiled(command: Sequence[str], file: Path) -> Path:
    half = file.with_suffix(f".{os.getpid()}")
    done = subprocess.run([*command, str(SOURCE), "-o", str(half)], capture_output=True, text=True, check=False)
    if done.returncode:
        half.unlink(missing_ok=True)
        raise OSError(f"{shlex.join(command[:2])}: {done.stderr.strip()[-500:]}")
    os.replace(half, file)
    return file


def wasm_name() -> str:
    """Return the name of the engine of a page, with a digest of its sources and of the command."""
    key = f"{sources_digest()} {WASM_COMPILER[1:]} {FLAGS} {WASM_FLAGS} {_EXPORTS}"
    return f"engine-{hashlib.sha256(key.encode()).hexdigest()[:16]}.wasm"


def build_wasm(folder: Path = FOLDER) -> Path:
    """Compile the engine of a page into a folder, whole or not at all. Raises OSError without ziglang."""
    folder.mkdir(parents=True, exist_ok=True)
    exports = [f"-Wl,--export={name}" for name in _EXPORTS]
    return _compiled([*WASM_COMPILER, *FLAGS, *WASM_FLAGS, *exports], folder / wasm_name())


def main() -> None:
    """Build all variants of a machine."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    machines = [*sorted({one.machine for one in VARIANTS}), "wasm32"]
    parser.add_argument("--machine", default=platform.machine(), choices=machines)
    given = parser.parse_args()
    try:
        wanted = [one for one in VARIANTS if one.machine == given.machine]
        if not wanted and given.machine != "wasm32":
            sys.exit(f"there is no engine for {given.machine}; there is one for {', '.join(machines)}")
        for file in build(wanted) if wanted else [build_wasm()]:
            print(f"{file}: {file.stat().st_size / 1e6:.1f} MB")
    except OSError as error:
        sys.exit(f"the engine cannot be built: {error}")


if __name__ == "__main__":
    main()
