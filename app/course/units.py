"""Units of the napkin: bytes, FLOPs, seconds, tokens and their multiples, exact.

A unit is a rational factor times a product of base units. Binary and decimal prefixes are different units: a KiB is
1,024 B and a kB is 1,000 B, and the compiler never swaps one for the other.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

BASES = ("B", "FLOP", "s", "token")
Powers = tuple[int, ...]  # exponents of BASES
PURE: Powers = (0,) * len(BASES)

DECIMAL = {"k": 3, "M": 6, "G": 9, "T": 12, "P": 15}
BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40}
SMALL = {"m": 3, "µ": 6, "n": 9}


@dataclass(frozen=True, slots=True)
class Unit:
    """`name` as shown; one of it is `factor` base units raised to `powers`."""

    name: str
    factor: Fraction
    powers: Powers


class UnitError(ValueError):
    """A unit that is not known, or two that do not fit. The message says which."""


def _base(name: str) -> Powers:
    return tuple(int(base == name) for base in BASES)


def _table() -> dict[str, Unit]:
    units = {
        "": Unit("", Fraction(1), PURE),
        "%": Unit("%", Fraction(1, 100), PURE),
        "×": Unit("×", Fraction(1), PURE),
    }
    for base in BASES:
        units[base] = Unit(base, Fraction(1), _base(base))
    for prefix, power in DECIMAL.items():
        for base in ("B", "FLOP"):
            units[prefix + base] = Unit(prefix + base, Fraction(10) ** power, _base(base))
    for prefix, power in BINARY.items():
        units[prefix + "B"] = Unit(prefix + "B", Fraction(2) ** power, _base("B"))
    for prefix, power in SMALL.items():
        units[prefix + "s"] = Unit(prefix + "s", Fraction(1, 10**power), _base("s"))
    for prefix, power in ({"": 0} | DECIMAL).items():
        units[prefix + "Hz"] = Unit(prefix + "Hz", Fraction(10) ** power, tuple(-each for each in _base("s")))
    units["bit"] = Unit("bit", Fraction(1, 8), _base("B"))
    return units


SIMPLE = _table()


def parse_unit(text: str) -> Unit:
    """A unit such as `MiB`, `FLOP/B`, `TB/s`, `KiB/token`. Raises `UnitError` for what is not known."""
    name = text.strip()
    parts = [part.strip() for part in name.split("/")]
    if len(parts) > 2 or (len(parts) == 2 and not all(parts)):
        raise UnitError(f"'{name}' is not a unit of the form a or a/b")
    for part in parts:
        if part not in SIMPLE:
            raise UnitError(f"the unit '{part}' is not known")
    top = SIMPLE[parts[0]]
    if len(parts) == 1:
        return top
    below = SIMPLE[parts[1]]
    powers = tuple(a - b for a, b in zip(top.powers, below.powers, strict=True))
    return Unit(name, top.factor / below.factor, powers)


def describe(powers: Powers) -> str:
    """Base units in words, for messages: `B/token`, `a pure number`."""
    above = [base for base, power in zip(BASES, powers, strict=True) for _ in range(max(power, 0))]
    below = [base for base, power in zip(BASES, powers, strict=True) for _ in range(max(-power, 0))]
    if not above and not below:
        return "a pure number"
    return "·".join(above or ["1"]) + "".join(f"/{base}" for base in below)


def _measured() -> str:
    names = sorted((name for name in SIMPLE if name not in ("", "token", "×", "B", "s")), key=len, reverse=True)
    return "|".join(re.escape(name) for name in names)


# A number that carries a unit, as prose would write it: "128 MiB", "3.35 TB/s", "30 %". Format names such as
# "16-bit", model names such as "8B", decades and plain counts are not meant. `\s` covers the no-break spaces.
NUMBER_WITH_UNIT = re.compile(
    rf"(?<![\w.,/-])\d[\d.,]*(?:\s?(?:{_measured()})|\s[Bs])(?:/(?:{_measured()}|[Bs]))?(?![\w-])"
)
