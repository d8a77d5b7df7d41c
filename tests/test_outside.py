"""JSON from outside: exactly what is within the limits is read."""

import json

import pytest

from tacit.errors import UsageError
from tacit.outside import is_loopback, read_json, read_json_file, read_own


def nested(levels):
    return "[" * (levels - 1) + "1" + "]" * (levels - 1)


def test_two_hundred_levels_are_read_and_no_more():
    found = read_json(nested(200))
    for _ in range(199):
        (found,) = found
    assert found == 1
    for text in (nested(201), '{"a":' * 200 + "1" + "}" * 200, nested(100_000)):
        with pytest.raises(UsageError, match="200 nested levels"):
            read_json(text)


def test_many_brackets_side_by_side_are_no_levels():
    assert read_json("[" + ",".join(["[{}]"] * 500) + "]") == [[{}]] * 500
    assert read_json('["' + "[{" * 500 + '"]') == ["[{" * 500]


def test_a_thousand_digits_are_read_and_no_more():
    digits = "7" * 1000
    assert read_json(f"[{digits}, 1]") == [int(digits), 1]
    assert read_json(f"[0.{'7' * 2000}]") == [float("0." + "7" * 2000)]
    for long in (digits + "7", "-" + digits):
        with pytest.raises(UsageError, match="1001 digits"):
            read_json(f'{{"a": {long}}}')


@pytest.mark.parametrize(
    "text",
    ['{"a": 1, "a": 1}', '[{"b": {"a": 1, "\\u0061": 2}}]'],
)
def test_a_name_that_stands_twice_is_refused(text):
    with pytest.raises(UsageError, match="is given twice"):
        read_json(text)


@pytest.mark.parametrize("text", ['"\\ud800"', '{"\\udfff": 1}', '[["a\\udc00b"]]'])
def test_half_of_a_character_is_refused_in_names_and_values(text):
    with pytest.raises(UsageError, match="half of a character"):
        read_json(text)
    assert read_json('"\\ud83d\\ude00"') == "\U0001f600"


@pytest.mark.parametrize("data", ["", "{", "\ufeff1", "01", b"\xff", b"\xed\xa0\x80", "1 2"])
def test_what_is_no_json_is_refused(data):
    with pytest.raises(UsageError, match="is not JSON"):
        read_json(data)


def test_a_file_is_read_by_its_bytes_and_named_in_errors(tmp_path):
    path = tmp_path / "a.json"
    path.write_bytes('{"näme": [1, 2.5, null]}'.encode())
    assert read_json_file(path, "the plan") == {"näme": [1, 2.5, None]}
    for wrong in (tmp_path, tmp_path / "none.json"):
        with pytest.raises(UsageError, match="the plan cannot be read"):
            read_json_file(wrong, "the plan")


@pytest.mark.parametrize(
    "value",
    [
        {"a": [1, 0.5, None, True], "b": {"c": "d"}},
        {"pair": (1, 2)},  # is read as a list
        {"nan": float("nan")},
        {"umlaut": "\u00fc", "emoji": "\U0001f600"},
        {"many": [[i] for i in range(500)]},
    ],
    ids=lambda value: next(iter(value)),
)
def test_what_was_just_written_is_read_as_by_others(value):
    text = json.dumps(value)
    found = read_own(text, value)
    assert repr(found) == repr(read_json(text))
    assert found is not value


@pytest.mark.parametrize(
    "value",
    [
        {1: "a", "1": "b"},  # one name in JSON
        {"digits": int("9" * 1001)},
        {"half": "\ud800"},
        json.loads("[" * 201 + "]" * 201),
    ],
    ids=["twice", "digits", "half", "deep"],
)
def test_what_others_would_refuse_is_refused_when_it_was_just_written(value):
    with pytest.raises(UsageError):
        read_own(json.dumps(value), value)


def test_this_machine_by_its_name_or_number():
    assert is_loopback("127.8.9.1")
    assert is_loopback("Localhost")
    assert not is_loopback("::ffff:10.0.0.1")
