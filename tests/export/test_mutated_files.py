"""Model files with several random changes: a model that can be used, or one clear error."""

import copy
import json
import random
import re

import pytest

import fairridge
from fairridge.data.text_style import TextStyle

from .test_forged_files import FORGED, REMOVED, forge, loaded, places, use

CLEAR = re.compile(r"model\.json' (is not a fairridge model file, or it is damaged|has |holds )")


@pytest.fixture(scope="module", params=["gaussian", "binomial", "multinomial", "cox"])
def saved(request, fitted, workers, tmp_path_factory):
    """A saved model that also knows how its file was written."""
    model = copy.deepcopy(fitted(request.param))
    model._text_styles = (TextStyle("sex", "text"), TextStyle("skill", "number", decimal=","))
    path = tmp_path_factory.mktemp("mutated") / "model.json"
    fairridge.save(model, path)
    return json.loads(path.read_text()), path, workers.X.head(5)


def inside(document, place):
    for key in place:
        document = document[key]
    return document


def changed(document, chance):
    """Change up to three fields, to forged values or to those of other fields."""
    text = json.dumps(document)
    for _ in range(chance.choice([1, 2, 3])):
        current = json.loads(text)
        fields = [place for place in places(current) if place[0] != "checksum"]
        place, other = chance.choice(fields), chance.choice(fields)
        value = inside(current, other) if chance.random() < 0.5 else chance.choice(FORGED)
        text = forge(current, place, copy.deepcopy(value) if value is not REMOVED else value)
    return text.encode()


def damaged(document, chance):
    """Change, remove and repeat bytes."""
    content = bytearray(json.dumps(document).encode())
    for _ in range(chance.choice([1, 2, 10])):
        place = chance.randrange(len(content))
        part = slice(place, place + chance.randrange(1, 40))
        content[part] = chance.choice([b"", bytes([chance.randrange(256)]), content[:20]])
    return bytes(content)


@pytest.mark.parametrize("mutated", [changed, damaged])
def test_a_mutated_file_is_refused_or_harmless(saved, mutated):
    document, path, rows = saved
    chance, refused = random.Random(7), 0
    for _ in range(40):
        path.write_bytes(mutated(document, chance))
        model, message = loaded(path)
        if model is None:
            refused += 1
            assert CLEAR.search(message), message
        else:
            use(model, rows)
    assert refused > 20
