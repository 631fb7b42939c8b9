"""Pages made out of the code when the site is built: the command line, Python and HTTP."""

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from itertools import chain
from typing import Any

import typer

import regard
from regard.cli.app import app
from regard.cli.help_page import arguments_shown, text_and_examples
from regard.reports.table import cells, code, prose
from regard.serve.api import create_api
from regard.serve.engine.engines import Engines
from regard.serve.service import Service
from regard.serve.settings import Settings

FOLDER = "docs/reference"
_GENERAL = "Options and arguments"
_MODULE = re.compile(r"\b(?:regard|collections|pathlib|typing|numpy)(?:[.][a-z_]+)*[.](?=[A-Za-z])")
_DOCTEST = re.compile(r"^>>> ")
_FACTORY = re.compile(r"field\(default_factory=(\w+)\)")
_FIELD = re.compile(r"^    (\w+): ([^#=]+?)(?: = ([^#]+?))?(?:\s+# (.*))?$", re.MULTILINE)


def pages() -> dict[str, str]:
    """Return every page by its path from the root of the project."""
    made = {"command-line": _command_line(), "python": _python(), "http": _http()}
    return {f"{FOLDER}/{name}.md": "\n".join(lines).rstrip() + "\n" for name, lines in made.items()}


# The command line


def _command_line() -> Iterator[str]:
    group: Any = typer.main.get_command(app)
    yield "# Command line\n\n`regard COMMAND --help` prints the same.\n"
    for panel, names in _panels(group).items():
        yield f"**{panel}**: {' · '.join(f'[{name}](#regard-{name})' for name in names)}\n"
    for name in chain(*_panels(group).values()):
        yield from _command(f"regard {name}", group.commands[name])
    yield prose(group.epilog or "")


def _panels(group: Any) -> dict[str, list[str]]:
    """Return the names of commands by the panel in which `regard --help` shows them."""
    found: dict[str, list[str]] = {}
    for name, command in group.commands.items():
        if not command.hidden:
            panel = command.rich_help_panel
            found.setdefault(panel if isinstance(panel, str) else "Commands", []).append(name)
    return found


def _command(path: str, command: Any) -> Iterator[str]:
    inner: Mapping[str, Any] = getattr(command, "commands", {})
    usage = "COMMAND" if inner else " ".join([*arguments_shown(command.params), "[OPTIONS]"])
    yield f"{'###' if path.count(' ') > 1 else '##'} {path}\n"
    yield f"```text\n{path} {usage}".rstrip() + "\n```\n"
    yield from _help(command.help or "")
    panels: dict[str, list[Any]] = {}
    for one in command.params:
        if not one.hidden and one.name != "help":
            panels.setdefault(getattr(one, "rich_help_panel", None) or _GENERAL, []).append(one)
    for panel, found in panels.items():
        yield from (cells(panel, "meaning", "default"), "|---|---|---|")
        yield from map(_parameter, found)
        yield ""
    for name, one in inner.items():
        yield from _command(f"{path} {name}", one)


def _help(docstring: str) -> Iterator[str]:
    """Yield paragraphs, and the examples in one block, to be copied."""
    text, examples = text_and_examples(docstring)
    yield from (f"{prose(paragraph)}\n" for paragraph in text)
    if examples:
        yield "\n".join(["```bash", *examples, "```\n"])


def _parameter(one: Any) -> str:
    if one.param_type_name == "argument":
        name, default = one.metavar or one.name.upper(), "" if one.required else None
    else:
        word = "" if one.is_flag or one.is_bool_flag else f" {one.metavar or _kind(one)}"
        name, default = ", ".join([*one.opts, *one.secondary_opts]) + word, None
    if default is None:
        default = "" if one.default in (None, False, [], ()) or callable(one.default) else code(str(one.default))
    about = prose(one.help or "") + (f" Environment: {', '.join(map(code, one.envvar))}." if one.envvar else "")
    return cells(code(name), about.replace("\n", " "), default)


def _kind(one: Any) -> str:
    return str(getattr(one.type_descriptor.annotation, "__name__", "VALUE")).upper()


# Python


def _python() -> Iterator[str]:
    yield "# Python\n\n`import regard` loads no torch before one of these names is used."
    yield "[How to use it from Python](../how-to/python.md) has examples.\n"
    for name in regard.__all__:
        thing = getattr(regard, name)
        yield f"## regard.{name}\n"
        if not is_dataclass(thing):
            yield from _signature(name, thing)
        yield from _docstring(thing)
        if inspect.isclass(thing):
            yield from _fields(thing)
            yield from _members(thing)


def _signature(name: str, thing: Any) -> Iterator[str]:
    try:
        found = inspect.signature(thing)
    except (TypeError, ValueError):
        return
    lines = [f"    {parameter}," for parameter in found.parameters.values() if parameter.name != "self"]
    answer = (
        ""
        if inspect.isclass(thing) or found.return_annotation is found.empty
        else f" -> {_annotation(found.return_annotation)}"
    )
    body = "\n".join(["(", *lines, ")"]) if lines else "()"
    yield f"```python\n{name}{_MODULE.sub('', body + answer)}\n```\n"


def _annotation(annotation: Any) -> str:
    return annotation.__name__ if isinstance(annotation, type) else str(annotation)


def _docstring(thing: Any) -> Iterator[str]:
    for paragraph in re.split(r"\n\s*\n", inspect.getdoc(thing) or ""):
        if _DOCTEST.match(paragraph):
            yield f"```pycon\n{paragraph}\n```\n"
        elif paragraph:
            yield f"{prose(paragraph)}\n"


def _fields(kind: type) -> Iterator[str]:
    """Yield a table of the fields of a record, with the comments behind them."""
    found = _FIELD.findall(inspect.getsource(kind)) if is_dataclass(kind) or hasattr(kind, "_fields") else []
    if found:
        yield from (cells("field", "type", "default", "meaning"), "|---|---|---|---|")
        for name, annotation, default, about in found:
            value = _FACTORY.sub(lambda made: {"list": "[]", "dict": "{}"}.get(made[1], f"{made[1]}()"), default)
            yield cells(code(name), code(annotation), code(value) if value else "", prose(about))
        yield ""


def _members(kind: type) -> Iterator[str]:
    """Yield the documented methods and properties of a class of ours."""
    for name, member in inspect.getmembers(kind):
        if name.startswith("_") or not (inspect.isfunction(member) or isinstance(member, property)):
            continue
        if inspect.getdoc(member) and name in dir(kind):
            yield f"### {kind.__name__}.{name}\n"
            if inspect.isfunction(member):
                yield from _signature(name, member)
            yield from _docstring(member)


# HTTP


def _http() -> Iterator[str]:
    spec = create_api(Service(Settings(), Engines([]), lambda error: None)).openapi()
    yield f"# HTTP\n\n{prose(spec['info'].get('description', ''))}\n"
    yield "A server has this page at `/docs`, and the description for programs at `/openapi.json`.\n"
    schemas = spec["components"]["schemas"]
    for path, methods in spec["paths"].items():
        for method, endpoint in methods.items():
            yield f"## {method.upper()} {path}\n"
            yield f"{prose(endpoint.get('description') or endpoint.get('summary', ''))}\n"
            yield from _request(endpoint, schemas)
            yield from (cells("status", "answer"), "|---|---|")
            yield from (cells(code(status), _answer(found)) for status, found in endpoint["responses"].items())
            yield ""
    yield "## Records\n"
    for name, schema in schemas.items():
        yield f"### {name}\n"
        yield f"{prose(schema.get('description', ''))}\n"
        yield from _properties(schema)


def _request(endpoint: Mapping[str, Any], schemas: Mapping[str, Any]) -> Iterator[str]:
    rows = [(one["name"], one["schema"], one.get("required", False)) for one in endpoint.get("parameters", ())]
    if rows:
        yield from (cells("parameter", "type", "meaning"), "|---|---|---|")
        yield from (cells(code(name), _type(schema), _about(schema, needed)) for name, schema, needed in rows)
        yield ""
    for kind, content in endpoint.get("requestBody", {}).get("content", {}).items():
        schema = content["schema"]
        if "$ref" in schema:
            schema = schemas[schema["$ref"].rpartition("/")[2]]
        yield f"{code(kind)}\n"
        yield from _properties(schema)
        break  # the other kinds of bodies have the same fields


def _properties(schema: Mapping[str, Any]) -> Iterator[str]:
    needed = schema.get("required", ())
    if rows := schema.get("properties"):
        yield from (cells("field", "type", "meaning"), "|---|---|---|")
        yield from (cells(code(name), _type(one), _about(one, name in needed)) for name, one in rows.items())
        yield ""


def _about(schema: Mapping[str, Any], needed: bool) -> str:
    parts = [prose(schema["description"]).rstrip(".") + "."] if "description" in schema else []
    parts += [f"Default: {code(str(schema['default']))}."] if schema.get("default") is not None else []
    return " ".join([*parts, "Required." if needed else ""]).strip()


def _type(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if options := schema.get("anyOf"):
        return " or ".join(map(_type, options))
    if "enum" in schema:
        return " or ".join(code(str(one)) for one in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return str(schema.get("type", "any"))


def _answer(response: Mapping[str, Any]) -> str:
    schema = next(iter(response.get("content", {}).values()), {}).get("schema")
    kind = _type(schema) if schema else ""
    about = prose(response.get("description", "")).replace("Successful Response", "done")
    return f"{about}: {kind}" if kind not in ("", "any", "object") else about
