"""YAML files: what is read, what is refused, and with which words."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.config.reading import MAX_BYTES, parse, read_yaml, write_yaml
from regard.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-4", 1e-4),
        ("10_000", 10_000),
        ("0123", 123),  # not octal
        ("0x1f", 31),
        ("-.5", -0.5),
        ("12:30", "12:30"),  # not a number to the base of sixty
        ("2024-01-01", "2024-01-01"),
        ("no", "no"),  # Norwegian
        ("on", "on"),
        ("true", True),
        ("", None),
        ("~", None),
        ("'12'", "12"),
        ("{name: window, size: 3}", {"name": "window", "size": 3}),
        ("a: &x {b: 1}\nc: *x", {"a": {"b": 1}, "c": {"b": 1}}),
    ],
)
def test_values_are_those_of_yaml_1_2(text, value):
    read = parse(text, "value")
    assert read == value
    assert type(read) is type(value)


BOMB = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + "".join(
    f"a{n + 1}: &a{n + 1} [{', '.join([f'*a{n}'] * 9)}]\n" for n in range(9)
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: 1\nb: 2\na: 3", ["file.yaml:3", "'a' stands twice"]),
        ("model:\n  dim: 1\n  dim: 2", ["file.yaml:3", "'dim' stands twice"]),
        ("true: 1", ["file.yaml:1", "name must be text"]),
        ("a: [1\nb: 2", ["file.yaml:2", "not YAML"]),
        ("- 1", ["groups of 'name: value'"]),
        ("hello", ["groups of 'name: value'"]),
        (BOMB, ["file.yaml:", "aliases"]),
        ("a: &a [*a]", ["aliases"]),
        ("a: " + "[" * 5000, ["nested too deeply"]),
        ("a: !!python/object/apply:os.system [echo]", ["not YAML", "os.system"]),
        ("a: !!int x", ["not YAML", "'x'"]),
        ("a: \x00", ["not YAML", "special characters"]),
        ("#" * (MAX_BYTES + 1), ["1,048,577 bytes", "at most 1,048,576"]),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else "",
)
def test_what_is_refused(tmp_path, text, words):
    file = tmp_path / "file.yaml"
    file.write_text(text, "utf-8")
    with pytest.raises(ConfigError) as caught:
        read_yaml(file)
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_a_missing_file_is_named_with_the_one_meant(tmp_path):
    (tmp_path / "small.yaml").write_text("a: 1")
    with pytest.raises(ConfigError, match=r"smal\.yaml: there is no such file \(did you mean '.*small\.yaml'\?\)"):
        read_yaml(tmp_path / "smal.yaml")


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(ConfigError, match="this is a folder"):
        read_yaml(tmp_path)


def test_a_file_that_is_not_utf8_is_told_by_line_and_byte(tmp_path):
    file = tmp_path / "latin.yaml"
    file.write_bytes("a: 1\nb: Grüße\n".encode("latin-1"))
    with pytest.raises(ConfigError, match=r"latin\.yaml:2: byte 10 is not UTF-8"):
        read_yaml(file)


def test_an_empty_file_changes_nothing(tmp_path):
    (tmp_path / "empty.yaml").write_text("# nothing yet\n")
    assert read_yaml(tmp_path / "empty.yaml") == {}


LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3))


@given(st.dictionaries(st.text(), VALUES, max_size=3))
def test_what_is_written_is_read_back(tmp_path_factory, settings):
    file = Path(tmp_path_factory.getbasetemp()) / "settings.yaml"
    write_yaml(file, settings)
    assert read_yaml(file) == settings
