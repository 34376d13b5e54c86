"""What a machine says of an outline: what it sends back, and what it must let through to a person."""

from __future__ import annotations

from typing import Any

import pytest

from grader.kit import Foreign, read_outline

KEYS = {"traffic": ("hbm", "read", "written"), "numbers": ("maximum", "rescal", "sum")}
GIVEN = ("Say which tensors are read from HBM, how often, and how many bytes that is for a head of 128.",)
TRAFFIC = "Q is read from HBM once and O written once, 2 MiB each, because the scores never leave the chip."
NUMBERS = "Maximum and sum are kept in fp32, so that 64 rescales of a row cost no more than rounding does."


def seen(**changes: Any) -> dict[str, list[str]]:
    """What is found wanting, by key."""
    report = read_outline({"traffic": TRAFFIC, "numbers": NUMBERS, **changes}, KEYS, GIVEN)
    wanting: dict[str, list[str]] = {}
    for mark in report.marks:
        if not mark.ok:
            wanting.setdefault(mark.group, []).append(mark.name)
    assert (
        report.accepted is (set().union(*wanting.values()) <= {"quantity"}) and report.by_person is report.accepted
    )
    return wanting


def test_an_outline_is_handed_to_a_person() -> None:
    report = read_outline({"traffic": TRAFFIC, "numbers": NUMBERS}, KEYS, GIVEN)
    assert report.accepted and report.by_person and "A person scores" in report.words
    assert [(mark.group, mark.name) for mark in report.marks][:3] == [
        ("traffic", part) for part in ("mechanism", "quantity", "decision")
    ]


@pytest.mark.parametrize(
    ("value", "wanting"),
    [
        ("", ["empty"]),
        ("  \n 128 · 64", ["empty"]),
        (None, ["missing"]),
        (True, ["missing"]),
        (Foreign("X"), ["missing"]),
        ({"a": Foreign("X")}, ["missing"]),
        ("HBM is read once.", ["short"]),
        ("HBM, SRAM, tiles, online softmax, bandwidth, 128 MiB, fp32, registers, occupancy", ["keywords"]),
        ("HBM, SRAM, 128 MiB, read once, written, never, because, instead, kept, as, L2", ["keywords"]),
        (["HBM", "read once", "128 MiB", "never written", "because", "instead of", "as is"], ["keywords"]),
        ("We keep HBM reads at 2 MiB. " * 8, ["repeated"]),
        ("Say which tensors are read from HBM, how often, and how many bytes: 128!", ["copied"]),
        ("Q is read from HBM and O is written to it, because the scores stay where they are.", ["quantity"]),
        ("HBM gives 2 TB/s in this machine, and 8 MiB of tensors belong to each of its heads.", ["decision"]),
        ("We choose 128 of them instead of 64, because that is better for everything.", ["mechanism"]),
        (
            "It is what it is, and that is as good as it can be for all of us.",
            ["mechanism", "quantity", "decision"],
        ),
        (NUMBERS, ["same"]),
    ],
)
def test_what_is_sent_back_and_why(value: object, wanting: list[str]) -> None:
    found = seen(traffic=value)
    assert found["traffic"] == wanting
    assert set(found) == ({"traffic", "numbers"} if wanting == ["same"] else {"traffic"})


@pytest.mark.parametrize(
    "value",
    [
        "Q in once, O out once: 4 MiB from HBM; K and V come 64 times, since scores stay on chip.",
        ["Q is read from HBM once", "O is written once, not once per key tile", 4 * 2**20],
        {"reads": "all of K and V per query tile", "bytes": 268_435_456, "instead of": "writing S to HBM and back"},
        "O(N²) bytes of scores are never written to HBM; each head costs O(N·d) of reads for every query tile.",
        "Each query tile reads K and V from HBM again; we accept that, because O is then written exactly once.",
    ],
)
def test_what_must_not_be_sent_back(value: object) -> None:
    assert seen(traffic=value) == {}


def test_further_keys_are_not_looked_at_and_missing_ones_are() -> None:
    assert seen(notes=Foreign("X")) == {}
    report = read_outline({"traffic": TRAFFIC}, KEYS, GIVEN)
    assert [(mark.group, mark.name) for mark in report.marks if not mark.ok] == [("numbers", "missing")]
    assert report.words == "Not yet for a person to score: something is missing in numbers."


@pytest.mark.parametrize("value", [None, "text", [TRAFFIC], Foreign("Outline"), {}])
def test_what_is_no_outline(value: object) -> None:
    report = read_outline(value, KEYS, GIVEN)
    assert not report.accepted and not report.by_person


def test_a_long_text_costs_little() -> None:
    long = " ".join(f"word{n}" for n in range(200_000))
    assert "traffic" in seen(traffic=long)
    assert "traffic" in seen(traffic=[["a " * 1000] * 100] * 100)
