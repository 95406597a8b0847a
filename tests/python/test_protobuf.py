"""Our protobuf reader against libprotobuf: the same bytes accepted, the same fields found."""

import os
import pathlib
import random
import subprocess

import pytest
from google.protobuf import empty_pb2
from google.protobuf.message import DecodeError
from google.protobuf.unknown_fields import UnknownFieldSet

PROGRAM = pathlib.Path(os.environ["ULLAGE"]).parent / "release" / "tests" / "protobuf_fields"
GROUP, DELIMITED = 3, 2


def varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def random_message(random_source, depth=0):
    """A valid message of random fields, groups among them."""
    out = b""
    for _ in range(random_source.randrange(5)):
        number, wire = random_source.choice([1, 2, 15, 16, 2**29 - 1]), random_source.choice([0, 1, 2, 3, 5])
        tag = varint(number << 3 | wire)
        if wire == 0:
            out += tag + varint(random_source.getrandbits(random_source.choice([1, 7, 32, 64])))
        elif wire == 1:
            out += tag + random_source.randbytes(8)
        elif wire == 5:
            out += tag + random_source.randbytes(4)
        elif wire == 2:
            payload = random_source.randbytes(random_source.randrange(200))
            out += tag + varint(len(payload)) + payload
        elif depth < 5:
            out += tag + random_message(random_source, depth + 1) + varint(number << 3 | 4)
    return out


def mutated(random_source, message):
    """One to three bytes changed, removed or added."""
    data = bytearray(message)
    for _ in range(random_source.randrange(1, 4)):
        at = random_source.randrange(len(data) + 1)
        kind = random_source.randrange(3)
        if kind == 0 and at < len(data):
            data[at] = random_source.randrange(256)
        elif kind == 1:
            del data[at : at + 1]
        else:
            data.insert(at, random_source.randrange(256))
    return bytes(data)


def by_libprotobuf(data):
    message = empty_pb2.Empty()
    try:
        message.ParseFromString(data)
    except DecodeError:
        return "bad"
    out = ""
    for field in UnknownFieldSet(message):
        out += f"{field.field_number}:{field.wire_type}"
        if field.wire_type == DELIMITED:
            out += f":{len(field.data)}"
        elif field.wire_type != GROUP:
            out += f":{field.data}"
        out += " "
    return out


def by_ullage(messages):
    lines = "".join(message.hex() + "\n" for message in messages)
    return subprocess.run([PROGRAM], input=lines, capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.mark.parametrize("seed", range(4))
def test_same_as_libprotobuf(seed):
    random_source = random.Random(seed)
    valid = [random_message(random_source) for _ in range(2000)]
    broken = [mutated(random_source, message) for message in valid]
    messages = valid + broken
    expected = [by_libprotobuf(message) for message in messages]
    assert "bad" not in expected[: len(valid)]
    assert expected.count("bad") > 500, "the mutations must break something"
    differences = [
        (message.hex(), theirs, ours)
        for message, theirs, ours in zip(messages, expected, by_ullage(messages), strict=True)
        # The library behind Python takes a field numbered 0, which the format and the C++ library refuse.
        if theirs != ours and not (theirs == "bad" and ours.startswith("bad")) and "number 0" not in ours
    ]
    assert differences == []
