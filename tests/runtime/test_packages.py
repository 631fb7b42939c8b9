"""Packages of regard_runtime: the source distribution has all that a wheel is built of."""

import platform
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

from regard.runtime.library import VARIANTS, sources_digest

ROOT = Path(__file__).parents[2]


def test_a_wheel_is_built_of_the_source_distribution_alone(tmp_path, monkeypatch):
    checkout = tmp_path / "checkout"
    for name in ("runtime", "regard/runtime", "regard/ops/kernels"):
        shutil.copytree(ROOT / name, checkout / name, ignore=shutil.ignore_patterns("*.egg-info", "build", "lib"))
    compiler = tmp_path / "compiler.py"  # writes its command into what it would make
    compiler.write_text("import sys\nopen(sys.argv[-1], 'w').write(' '.join(sys.argv[1:-1]))\n")
    monkeypatch.setenv("CXX", f"{sys.executable} {compiler}")

    def run(command, folder):
        subprocess.run([sys.executable, "setup.py", "-q", command, "-d", tmp_path], cwd=folder, check=True)

    run("sdist", checkout / "runtime")
    with tarfile.open(next(tmp_path.glob("*.tar.gz"))) as packed:
        assert not [one for one in packed.getnames() if ".." in Path(one).parts]
        packed.extractall(tmp_path, filter="data")
    shutil.rmtree(checkout)
    run("bdist_wheel", next(tmp_path.glob("regard_runtime-*/")))
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        inside = {one.partition("purelib/regard_runtime/")[2]: one for one in wheel.namelist() if "/purelib/" in one}
        digest = wheel.read(inside["lib/sources.sha256"]).decode()
    engines = {f"lib/{one.file_name}" for one in VARIANTS if one.machine == platform.machine()}
    modules = {one.name for one in (ROOT / "regard" / "runtime").glob("*.py")}
    assert inside.keys() == modules | engines | {"lib/sources.sha256"}
    assert digest == sources_digest()


def test_both_wheels_share_no_file():
    read = [tomllib.loads((ROOT / name / "pyproject.toml").read_text(encoding="utf-8")) for name in ("", "runtime")]
    scripts = [set(one["project"]["scripts"]) for one in read]
    assert not scripts[0] & scripts[1]
    found = read[0]["tool"]["setuptools"]["packages"]["find"]["include"]
    assert found == ["regard", "regard.*"] and not (ROOT / "regard_runtime").exists()
