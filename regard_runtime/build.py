"""Build the engine's libraries ahead, from a checkout of Regard: python -m regard_runtime.build

CXX names the compiler, c++ by default. Libraries for another machine need a compiler that has it as a target:
CXX="python -m ziglang c++ -target aarch64-linux-gnu" python -m regard_runtime.build --machine aarch64
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

from regard_runtime.library import FOLDER, VARIANTS, Variant

SOURCE = Path(__file__).parents[1] / "regard" / "ops" / "kernels" / "engine.cpp"
FLAGS = ("-O3", "-std=c++17", "-fno-math-errno", "-fno-trapping-math", "-w", "-s")
ALONE = ("-fPIC", "-shared", "-static-libstdc++", "-static-libgcc")  # no C++ library of the machine is needed
WASM_COMPILER = (sys.executable, "-m", "ziglang", "c++", "-target", "wasm32-wasi", "-mexec-model=reactor")
WASM_FLAGS = ("-msimd128", "-fno-exceptions")
_EXPORTS = ("open_engine", "close_engine", "translate", "force", "sizes", "take", "malloc", "free", "fault")


def build(variants: Sequence[Variant], folder: Path = FOLDER) -> list[Path]:
    """Compile variants of the engine into a folder. Raises CalledProcessError where the compiler fails."""
    compiler = shlex.split(os.environ.get("CXX") or "c++")
    folder.mkdir(parents=True, exist_ok=True)
    made = list[Path]()
    for one in variants:
        file = folder / one.file.name
        march = one.march.replace("-", "_") if "ziglang" in compiler else one.march  # as zig spells them
        subprocess.run([*compiler, *FLAGS, *ALONE, f"-march={march}", str(SOURCE), "-o", str(file)], check=True)
        made.append(file)
    return made


def wasm_name() -> str:
    """Return the name of the engine of a page, with a digest of its sources."""
    read = b"".join(file.read_bytes() for file in [SOURCE, *sorted(SOURCE.parent.glob("*.h"))])
    return f"engine-{hashlib.sha256(read).hexdigest()[:16]}.wasm"


def build_wasm(folder: Path = FOLDER) -> Path:
    """Compile the engine of a page into a folder, whole or not at all. Raises OSError without ziglang."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / wasm_name()
    made = file.with_suffix(f".{os.getpid()}")
    exports = [f"-Wl,--export={name}" for name in _EXPORTS]
    command = [*WASM_COMPILER, *FLAGS, *WASM_FLAGS, *exports, str(SOURCE), "-o", str(made)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        made.unlink(missing_ok=True)
        raise OSError(done.stderr.strip()[-500:])
    os.replace(made, file)
    return file


def main() -> None:
    """Build all variants of a machine."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    machines = [*sorted({one.machine for one in VARIANTS}), "wasm32"]
    parser.add_argument("--machine", default=platform.machine(), choices=machines)
    given = parser.parse_args()
    try:
        wanted = [one for one in VARIANTS if one.machine == given.machine]
        for file in build(wanted) if wanted else [build_wasm()]:
            print(f"{file}: {file.stat().st_size / 1e6:.1f} MB")
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"the engine cannot be built: {error}")


if __name__ == "__main__":
    main()
