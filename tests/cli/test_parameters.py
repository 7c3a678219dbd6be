"""Options are the parameters of the library: none is missing, and a new one needs no line."""

import inspect
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any, Literal

import pytest
import typer.main

import fairridge
from fairridge import export, peers, rules
from fairridge.cli import parameters
from fairridge.cli.app import COMMANDS, application
from fairridge.cli.parameters import Parameters, Setting, options_of

# Public functions and classes that no command has options for, and why.
WITHOUT_OPTIONS = {
    **dict.fromkeys(peers.__all__, "compare has them as they are by default"),
    "FairStackingClassifier": "its learners are objects of Python",
    "FairStackingRegressor": "its learners are objects of Python",
    "FairnessPath": "path prints one",
    "attribution": "it is a table for Python, of one model",
    "cross_validate": "report has it for one model, and compare for several",
    "load": "--model names the file",
    "proxies": "it is a table for Python, of one set of rows",
    "row_products": "it is a message between parties that share no rows",
    "rows_needed": "it is about sizes of groups, and not about a file",
    "save": "--out names the file",
    "export.attribution": "it is a table for Python, of one model",
    "export.fingerprint": "fit --json has it",
    "export.linear_form": "it is an object of Python",
    "export.proxies": "it is a table for Python, of one set of rows",
}


def public():
    """Public models, functions, rules and exports, as commands name their owners."""
    named = {name for name in fairridge.__all__ if callable(getattr(fairridge, name))}
    asked = {f"rules.{kind.__name__}" for kind in vars(rules).values() if is_rule(kind)}
    written = {name for name in export.__all__ if inspect.isfunction(getattr(export, name))}
    return named | asked | {f"export.{name}" for name in written}


def is_rule(kind):
    return inspect.isclass(kind) and issubclass(kind, rules.Rule) and not inspect.isabstract(kind)


def options(name):
    """The options of a command, by the name of what they set."""
    group = typer.main.get_command(application(name))
    return {item.name: item for item in group.commands[name].params}


def declared(name):
    """What a command says of parameters."""
    (command,) = (each for each in COMMANDS if each.__name__ == name)
    hints = parameters.get_type_hints(command, include_extras=True)
    found = (options_of(hint) for hint in hints.values())
    return [group for group in found if isinstance(group, Parameters)]


NAMES = [command.__name__ for command in COMMANDS]
OWNERS = [(name, owner) for name in NAMES for group in declared(name) for owner in group.owners]


def test_every_public_name_has_options_or_a_reason():
    called = {owner for _, owner in OWNERS}
    assert called - public() == {"FairRidgeClassifier.path", "export.Reasons.sentences"}
    assert public() - called == WITHOUT_OPTIONS.keys()


@pytest.mark.parametrize(("name", "owner"), OWNERS)
def test_every_parameter_is_an_option_or_has_a_reason(name, owner):
    known, flags = options(name), {f for item in options(name).values() for f in item.opts}
    (group,) = (each for each in declared(name) if owner in each.owners)
    public = inspect.signature(attrgetter(owner)(fairridge)).parameters
    assert public.keys() - group.apart.keys() <= known.keys()
    for parameter in public.keys() & group.apart.keys():
        why = group.apart[parameter]
        assert why
        # A reason that begins with an option names one that the command has.
        assert not why.startswith("--") or why.split()[0] in flags, (parameter, why)


@pytest.mark.parametrize("name", NAMES)
def test_every_option_is_a_value_that_text_can_be(name):
    for group in declared(name):
        for parameter, setting in group.settings.items():
            plain = {str, bool, int, float} & {*setting.types}
            label = "label" in setting.kind  # of any type
            assert plain or label or setting.choices or setting.mapped or setting.items, parameter
            # Values of rows are columns of the data.
            assert "of shape" not in setting.kind, parameter


@pytest.mark.parametrize("name", NAMES)
def test_every_option_has_a_sentence(name):
    for group in declared(name):
        for parameter, setting in group.settings.items():
            assert setting.text.endswith("."), parameter
            assert "`" not in setting.text
            shown = options(name)[parameter].help.replace("\\[", "[")
            assert shown.startswith(setting.text.removesuffix("."))


@pytest.mark.parametrize(
    ("types", "given", "value"),
    [
        ((float, Mapping[str, float]), ["0.1"], 0.1),
        ((float, Mapping[str, float]), ["a=0.1, b = 2"], {"a": 0.1, "b": 2.0}),
        ((float, Literal["cv"]), "cv", "cv"),
        ((float, int), "500", 500),
        ((Literal["most"], Mapping[str, Any]), ["a=b,c", "d=e=f"], {"a": "b,c", "d": "e=f"}),
        ((Mapping[str, Sequence[float]],), ["age=18,25"], {"age": [18.0, 25.0]}),
        ((Sequence[float],), ["0,1"], [0.0, 1.0]),
        ((Sequence[str],), ["a,b", "c"], ["a", "b", "c"]),
        ((Any,), "yes", "yes"),
    ],
)
def test_texts_mean_what_the_types_say(types, given, value):
    assert Setting("x", ("--x",), types, "", None, "Some x.").read(given) == value
