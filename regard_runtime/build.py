"""Build the engine's libraries ahead, from a checkout of Regard: python -m regard_runtime.build

CXX names the compiler, c++ by default. Libraries for another machine need a compiler that has it as a target:
CXX="python -m ziglang c++ -target aarch64-linux-gnu" python -m regard_runtime.build --machine aarch64
"""

import argparse
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from regard_runtime.library import FOLDER, VARIANTS, Variant

SOURCE = Path(__file__).parents[1] / "regard" / "ops" / "kernels" / "engine.cpp"
FLAGS = ("-O3", "-std=c++17", "-fPIC", "-shared", "-fno-math-errno", "-fno-trapping-math", "-w")
ALONE = ("-static-libstdc++", "-static-libgcc", "-s")  # no C++ library of the machine is needed


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


def main() -> None:
    """Build all variants of a machine."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--machine", default=platform.machine(), choices=sorted({one.machine for one in VARIANTS}))
    given = parser.parse_args()
    try:
        for file in build([one for one in VARIANTS if one.machine == given.machine]):
            print(f"{file}: {file.stat().st_size / 1e6:.1f} MB")
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"the engine cannot be built: {error}")


if __name__ == "__main__":
    main()
