"""Options that set parameters of the library, made from the parameters and their descriptions."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from itertools import chain
from operator import attrgetter
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import typer
from rich.markup import escape

from fairridge.arguments import check_option
from fairridge.cli.errors import BadInputError, as_options
from fairridge.cli.inputs import names

# Values by the names of parameters: those that the user gave.
Settings = dict[str, Any]

FIRST_SENTENCE = re.compile(r"""(.*?\.)(?=\s+["'`(A-Zα-ω]|$)""", re.DOTALL)
# What messages say of a form that users may write.
MEANT = {
    "N": "a whole number",
    "NUMBER": "a number, such as 0.05,",
    "NUMBER,…": "numbers with commas between them, such as 0,0.05,1",
    "NAME=NUMBER": "names and numbers, such as NAME=0.1,NAME=2",
    "NAME=NUMBER,…": "a name and numbers, such as NAME=18,25,40",
    "NAME=VALUE": "a name and a value, NAME=VALUE",
}
# Choices that are longer are a part of the text, not of the column beside it.
WIDEST = 26
QUOTED = re.compile(r'"([\w-]+)"')


@dataclass(frozen=True)
class Setting:
    """A parameter of the library, and its option."""

    name: str
    flags: tuple[str, ...]
    types: tuple[Any, ...]  # that a value may have
    kind: str  # its type in the docstring
    default: Any
    text: str  # the first sentence about it

    @property
    def flag(self) -> str:
        """How messages name the option."""
        return self.flags[0].partition("/")[0]

    @cached_property
    def choices(self) -> tuple[str, ...]:
        """Words that a value may be."""
        words = (get_args(part) for part in self.types if get_origin(part) is Literal)
        return tuple(chain.from_iterable(words)) or tuple(QUOTED.findall(self.kind))

    @cached_property
    def mapped(self) -> Any:
        """The type of the values by name, if there may be some."""
        return next((get_args(t)[1] for t in self.types if get_origin(t) is Mapping), None)

    @cached_property
    def items(self) -> Any:
        """The type of the items, if a value must be a list."""
        found = (get_args(t)[0] for t in self.types if get_origin(t) is Sequence)
        return None if str in self.types else next(found, None)

    @cached_property
    def number(self) -> type | None:
        """The type of a number, if a value may be one."""
        return next((kind for kind in (float, int) if kind in self.types), None)

    @cached_property
    def metavar(self) -> str:
        """What users may write, in capitals where it stands for something."""
        forms = list(self.choices)
        if "label" in self.kind:
            forms.insert(0, "LABEL")
        if self.items is not None:
            forms.append("NUMBER,…" if self.items is float else "NAME")
            return "|".join(forms)
        if self.number is not None:
            forms.append("N" if self.number is int else "NUMBER")
        if self.mapped is not None:
            numbers = {float: "NUMBER", Sequence[float]: "NUMBER,…"}
            forms.append(f"NAME={numbers.get(self.mapped, 'VALUE')}")
        return "|".join(forms or ["NAME" if "object" in self.kind else "TEXT"])

    @cached_property
    def parsed(self) -> Any:
        """The type that the parser of the command line gives a value."""
        if len(self.types) == 1 and self.types[0] in (bool, int, float):
            return self.types[0]
        return str if self.mapped is self.items is None else list[str]

    def parameter(self, name: str, panel: str | None) -> inspect.Parameter:
        """Return the option, as a parameter of a command."""
        flags, metavar, text = self.flags, self.metavar, self.text
        if len(metavar) > WIDEST:
            metavar = "NAME"
            if not all(choice in text for choice in self.choices):
                text = f"{text.removesuffix('.')}: {', '.join(self.choices)}."
        if self.parsed is bool:
            metavar = ""
        text = escape(text)
        if isinstance(self.default, str | int | float) and self.parsed is not bool:
            shown = self.default if isinstance(self.default, str) else f"{self.default:g}"
            text += rf" [dim]\[default: {shown}][/dim]"
        made = typer.Option(*flags, metavar=metavar, help=text, rich_help_panel=panel)
        kind: Any = self.parsed | None
        hint: Any = Annotated[kind, made]
        return inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=hint
        )

    def read(self, given: Any) -> Any:
        """Return the value that texts mean; others are what they are."""
        if isinstance(given, bool):
            return given is not self.flag.startswith("--no-")
        texts = [given] if isinstance(given, str) else given
        if not isinstance(texts, list):
            return given
        if self.mapped is not None and any("=" in text for text in texts):
            numbers = self.mapped is float
            return self._by_name(names(texts, self.flag) if numbers else texts)
        if self.items is float:
            return [self._number(one, float, text) for text in texts for one in text.split(",")]
        if self.items is not None:
            return list(names(texts, self.flag))
        text = texts[-1].strip()
        if all(get_origin(part) is Literal for part in self.types):
            check_option(self.name, text, self.choices)
        if text in self.choices or (self.number is None and self.mapped is None):
            return text
        whole = int in self.types and text.isdigit()
        return self._number(text, int if whole else float)

    def _by_name(self, parts: Sequence[str]) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for part in parts:
            # A label may have an equals sign in it, a number has none.
            numeric = self.mapped in (float, Sequence[float])
            name, _, value = part.rpartition("=") if numeric else part.partition("=")
            name = name.strip()
            if not name:
                raise self._refusal(part)
            if name in values:
                raise BadInputError(f"{self.flag} names {name!r} twice; leave one out.")
            if self.mapped is float:
                values[name] = self._number(value, float, part)
            elif numeric:
                values[name] = [self._number(end, float, part) for end in value.split(",")]
            else:
                values[name] = value.strip()
        return values

    def _number(self, text: str, kind: type, whole: str | None = None) -> Any:
        try:
            return kind(text)
        except ValueError:
            raise self._refusal(text if whole is None else whole) from None

    def _refusal(self, text: str) -> BadInputError:
        forms = " or ".join(MEANT.get(form, form) for form in self.metavar.split("|"))
        return BadInputError(f"{self.flag} {text} must be {forms.removesuffix(',')}: {self.text}")


@dataclass(frozen=True)
class Parameters:
    """Parameters of functions and classes that a command has options for."""

    # Names in `fairridge`, and what they are for; the first that describes a parameter counts.
    owners: Mapping[str, str]
    apart: Mapping[str, str]  # parameters without an option of their name, and why
    # Options that have another name than their parameter.
    flags: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    panel: str | None = None

    def without(self, **more: str) -> Parameters:
        """Return the same without some, and why."""
        return replace(self, apart={**self.apart, **more})

    @cached_property
    def by_owner(self) -> dict[str, dict[str, inspect.Parameter]]:
        """Parameters by function or class."""
        return {owner: signature_of(member(owner)) for owner in self.owners}

    @cached_property
    def names(self) -> dict[str, str]:
        """How messages name parameters that have an option, here or elsewhere."""
        every = {
            name: f"--{'no-' if parameter.default is True else ''}{name.replace('_', '-')}"
            for known in self.by_owner.values()
            for name, parameter in known.items()
        }
        every |= {name: why.split()[0] for name, why in self.apart.items()}
        every |= {name: flags[0].partition("/")[0] for name, flags in self.flags.items()}
        return {name: flag for name, flag in every.items() if flag.startswith("--")}

    @cached_property
    def settings(self) -> dict[str, Setting]:
        """The parameters that have options."""
        found: dict[str, Setting] = {}
        for owner, known in self.by_owner.items():
            described = descriptions(member(owner))
            for name, parameter in known.items():
                kind, text = described.get(name, ("", ""))
                if name in self.apart or (name in found and found[name].text):
                    continue
                found[name] = Setting(
                    name,
                    self.flags.get(name, (self.names[name],)),
                    _types(parameter.annotation),
                    kind,
                    parameter.default,
                    self._worded(name, parameter.default, _plain(text, self.names)),
                )
        return found

    def _worded(self, name: str, default: Any, text: str) -> str:
        """Say what an option does, and for whom if not for all."""
        found = re.match(r"Whether to (\w)", text)
        if found is not None:
            off = default is True and self.names[name].startswith("--no-")
            text = ("Do not " + found[1] if off else found[1].upper()) + text[found.end() :]
        every = len(self.owners_of(name)) == len(self.owners)
        return text if every else f"{text.removesuffix('.')} (for {self.whom(name)})."

    def options(self) -> list[inspect.Parameter]:
        """Return the options, as parameters of a command."""
        return [setting.parameter(name, self.panel) for name, setting in self.settings.items()]

    def read(self, given: Mapping[str, Any]) -> Settings:
        """Return the values of the parameters that were given."""
        chosen = {name: value for name, value in given.items() if value not in (None, [])}
        return {name: self.settings[name].read(value) for name, value in chosen.items()}

    def whom(self, name: str) -> str:
        """Say what has a parameter."""
        *first, last = (self.owners[owner] for owner in self.owners_of(name))
        return f"{', '.join(first)} and {last}" if first else last

    def owners_of(self, name: str) -> list[str]:
        """Return the functions or classes that have a parameter."""
        return [owner for owner, known in self.by_owner.items() if name in known]


@dataclass(frozen=True)
class Record:
    """A dataclass whose fields are options."""

    kind: Any

    def options(self) -> list[inspect.Parameter]:
        """Return the options, as parameters of a command."""
        hints = get_type_hints(self.kind, include_extras=True)
        return [
            inspect.Parameter(
                item.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=item.default,
                annotation=hints[item.name],
            )
            for item in fields(self.kind)
        ]

    def read(self, given: Mapping[str, Any]) -> Any:
        """Return the record of what was given."""
        return self.kind(**given)


def options_of(hint: Any) -> Parameters | Record | None:
    """Return the options that stand for a parameter of a command, if it has several."""
    if is_dataclass(hint):
        return Record(hint)
    return next((item for item in get_args(hint)[1:] if isinstance(item, Parameters)), None)


def member(owner: str) -> Any:
    """Return a function or class of the library."""
    import fairridge

    return attrgetter(owner)(fairridge)


def signature_of(owner: Any) -> dict[str, inspect.Parameter]:
    """Return the parameters of a function or class, with their types."""
    plain = isinstance(owner, type) and not is_dataclass(owner)
    hints = get_type_hints(owner.__init__ if plain else owner)
    known = inspect.signature(owner).parameters
    return {name: p.replace(annotation=hints.get(name, Any)) for name, p in known.items()}


def descriptions(owner: Any) -> dict[str, tuple[str, str]]:
    """Return the type and the first sentence of every parameter that a docstring describes."""
    from fairridge.estimators._docstrings import parameter_entries

    found: dict[str, tuple[str, str]] = {}
    for cls in owner.__mro__ if isinstance(owner, type) else (owner,):
        for own, entry in parameter_entries(cls.__doc__ or "").items():
            head, _, body = entry.partition("\n")
            first = FIRST_SENTENCE.match(inspect.cleandoc(body))
            if first is not None and not body.strip().startswith("As in"):
                kind = head.partition(" : ")[2].partition(", default")[0]
                found |= {name: (kind, first.group()) for name in own if name not in found}
    return found


def _types(hint: Any) -> tuple[Any, ...]:
    parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    return tuple(part for part in parts if part is not NoneType)


def _plain(text: str, flags: Mapping[str, str]) -> str:
    """Write a sentence of a docstring for the command line."""
    text = as_options(" ".join(text.split()).replace("``", "`"), flags)
    text = text.replace("fairridge.", "fairridge ")
    text = re.sub(r"`(\w+)`", lambda found: flags.get(found[1], found[1]), text)
    return QUOTED.sub(r"\1", text.replace("`", ""))
