# SPDX-License-Identifier: Apache-2.0
"""The JSON Schema of the configuration, as an editor uses it: by a validator that is not ours."""

import copy
import json
import re

import jsonschema
import pytest
import yaml
from stage import ROOT

ROOM = {"url": "socketio+http://h/r"}
# Mappings whose keys have names of the operator's choice.
NAMED = {"parameters", "labels", "require", "prefer"}


@pytest.fixture(scope="module")
def validator():
    schema = json.loads((ROOT / "docs" / "tapedeck.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def full_example():
    """The example with every setting switched on."""
    head, body = (ROOT / "docs" / "tapedeck.example.yaml").read_text().split("\n\n", 1)
    return yaml.safe_load(re.sub(r"(?m)^( *)#([a-z]|  )", r"\1\2", body))


def test_the_example_is_valid(validator):
    text = (ROOT / "docs" / "tapedeck.example.yaml").read_text()
    assert [error.message for error in validator.iter_errors(yaml.safe_load(text))] == []
    assert [error.message for error in validator.iter_errors(full_example())] == []


@pytest.mark.parametrize("document", [
    {}, {"storage": None, "rooms": None}, {"rooms": {"r": ROOM}},
    {"rooms": {"r": {**ROOM, "join": "${JOIN}", "until_empty": "${X}", "send": {"fps": "${FPS}", "size": "${S}"}}}},
    {"api": {"listen": "[::1]:8330", "token": "${file:/run/token}"}},
    *({"rooms": {"r": {**ROOM, "send": {"capture": capture, "parameters": {"a": 1, "b": "x", "c": True}}}}}
      for capture in ("test", "screen", "screen::1", "mine", "mine:x", "image:/a", "rtsp://h/x", "v4l2:serial=1")),
    {"rooms": {"r": {**ROOM, "outputs": [{"pipeline": {"file": "hls", "parameters": {"folder": "/a", "bitrate": 900}}}]}}},
    {"pipelines": {"directory": "/etc/tapedeck/pipelines"}}, {"storage": {"keep": "forever", "minimum_free": "500MiB"}},
])
def test_right_documents_are_taken(validator, document):
    assert [error.message for error in validator.iter_errors(document)] == []


def keys_of(document, path=()):
    """The path of every key in the document."""
    if isinstance(document, dict):
        for key, value in document.items():
            yield (*path, key)
            yield from keys_of(value, (*path, key))
    elif isinstance(document, list):
        for index, value in enumerate(document):
            yield from keys_of(value, (*path, index))


def test_every_misspelt_key_of_the_example_is_refused(validator):
    example = full_example()
    # Rooms, parameters and labels have names of the operator's choice.
    paths = [path for path in keys_of(example) if path[:-1] != ("rooms",) and not NAMED & set(path[:-1])]
    assert len(paths) > 60
    for path in paths:
        broken = copy.deepcopy(example)
        node = broken
        for part in path[:-1]:
            node = node[part]
        node[f"{path[-1]}x"] = node.pop(path[-1])
        assert not validator.is_valid(broken), path


def test_every_value_of_a_wrong_type_is_refused(validator):
    example = full_example()
    # A parameter may be any single value, and its name any name, as that of a label.
    for path in (path for path in keys_of(example) if not NAMED & set(path)):
        for wrong in ({"no": "such"}, 7.5):
            broken = copy.deepcopy(example)
            node = broken
            for part in path[:-1]:
                node = node[part]
            node[path[-1]] = wrong
            assert not validator.is_valid(broken), (path, wrong)


@pytest.mark.parametrize("document", [
    {"storage": {"minimum_free": "2 GB"}}, {"storage": {"keep": "30"}}, {"storage": {"keep": 30}},
    {"storage": {"directory": "var"}}, {"ice": {"servers": [{"urls": []}]}}, {"ice": {"servers": [{}]}},
    {"ice": {"servers": [{"urls": ["http://h"]}]}}, {"ice": {"port_range": "40000"}}, {"api": {"listen": "8330"}},
    {"api": {"token": "short"}}, {"api": {"tokens": [{"name": "a", "scopes": ["read"]}]}},
    {"api": {"tokens": [{"name": "a", "value": "0123456789abcdef", "scopes": ["write"]}]}},
    {"api": {"tls": {"certificate": "/c"}}}, {"api": {"requests_per_second": 0}},
    {"webhooks": [{"url": "https://h/"}]}, {"webhooks": [{"url": "ftp://h", "secret": "0123456789abcdef"}]},
    {"webhooks": [{"url": "https://h/", "secret": "0123456789abcdef", "events": ["recording"]}]},
    {"workers": {"rooms_per_worker": 65}}, {"rooms": {"r": {}}}, {"rooms": {"../r": ROOM}}, {"rooms": {"r": None}},
    {"rooms": {"r": {**ROOM, "join": "sometimes"}}}, {"rooms": {"r": {**ROOM, "join": {"schedule": "* * * * *"}}}},
    {"rooms": {"r": {**ROOM, "record": {"segment": "30"}}}}, {"rooms": {"r": {**ROOM, "outputs": [{}]}}},
    {"rooms": {"r": {**ROOM, "outputs": [{"pipeline": {"file": "../hls"}}]}}},
    {"rooms": {"r": {**ROOM, "outputs": [{"rtp": {"host": "h", "video_port": 4}, "pipeline": {"file": "hls"}}]}}},
    {"rooms": {"r": {**ROOM, "record": {"preferred_codec": "av1"}}}},
    {"rooms": {"r": {**ROOM, "send": {"preferred_codec": "av1"}}}}, {"rooms": {"r": {**ROOM, "send": {"fps": 61}}}},
    *({"rooms": {"r": {**ROOM, "send": {"capture": capture}}}} for capture in (
        "file", "file:a", "image:a", "v4l2", "v4l2:video0", "v4l2:name=", "rtsp", "Test", "a b", "none:x", "test:")),
    {"rooms": {"r": {**ROOM, "send": {"parameters": {"a b": 1}}}}},
    {"rooms": {"r": {**ROOM, "send": {"parameters": {"a": [1]}}}}}, {"pipelines": {"directory": "etc"}},
    {"cluster": {"name": "c", "host": "a"}}, {"cluster": {"name": "c", "host": "a", "etcd": []}},
    {"cluster": {"name": "c", "host": "a", "etcd": ["h:2379"]}}, {"rooms": {"r": {**ROOM, "cost": 0}}},
    {"rooms": {"r": {**ROOM, "hosts": {"require": {"zone": 1}}}}}, {"rooms": {"r": {**ROOM, "when_cut_off": "stop"}}},
])
def test_wrong_documents_are_refused(validator, document):
    assert not validator.is_valid(document)
