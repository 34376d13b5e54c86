"""How a number is printed: exactly when it is short, to four significant digits otherwise.

Every digit comes from whole-number arithmetic on the exact value, a float's included, so that
`app/static/js/arithmetic.js` prints the same ones when a reader changes an input.
"""

from __future__ import annotations

from fractions import Fraction

from app.course.expression import Exact, Quantity
from app.course.units import Unit

GAP = "\N{NARROW NO-BREAK SPACE}"
SIGNIFICANT = 4
LONGEST_EXACT = 6  # decimals that are still printed in full
SMALLEST, LARGEST = -4, 12  # powers of ten between which digits are easier to read than a power
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def quantity_text(quantity: Quantity, unit: Unit, decimals: int | None) -> str:
    """A quantity in a unit: `128 MiB`, `≈ 295.3 FLOP/B`. The sign ≈ marks every rounding."""
    value = (
        quantity.value / unit.factor
        if isinstance(quantity.value, Fraction)
        else quantity.value / float(unit.factor)
    )
    text = number_text(value, decimals)
    about = "" if is_exact(value, decimals) else f"≈{GAP}"
    gap = GAP if unit.name else ""
    return f"{about}{text}{gap}{unit.name}"


def is_exact(value: Exact, decimals: int | None) -> bool:
    """Whether `number_text` prints the whole value."""
    if isinstance(value, float):
        return False
    places = LONGEST_EXACT if decimals is None else decimals
    return (value * Fraction(10) ** places).denominator == 1


def number_text(value: Exact, decimals: int | None) -> str:
    """Digits with thousands separators; powers of ten beyond what is easy to read."""
    exact = Fraction(value)
    if decimals is not None:
        return _fixed(exact, decimals)
    if is_exact(value, None):
        return _fixed(exact, LONGEST_EXACT).rstrip("0").rstrip(".")
    size = _size(exact) if exact else 0
    if SMALLEST <= size < LARGEST:
        return _fixed(exact, max(SIGNIFICANT - 1 - size, 0))
    mantissa = _fixed(exact / Fraction(10) ** size, SIGNIFICANT - 1)
    return f"{mantissa} × 10{str(size).translate(SUPERSCRIPT)}"


def plain_text(value: Fraction) -> str:
    """A decimal fraction as it would be typed, every digit and no separators: `0.00012`, `8192`."""
    places = next(places for places in range(100) if (value * 10**places).denominator == 1)
    return _fixed(value, places).replace(",", "")


def _fixed(value: Fraction, decimals: int) -> str:
    """So many decimals, half away from zero."""
    scaled = int(abs(value) * 10**decimals + Fraction(1, 2))
    whole, rest = divmod(scaled, 10**decimals)
    sign = "-" if value < 0 and scaled else ""
    return f"{sign}{whole:,}" + (f".{rest:0{decimals}d}" if decimals else "")


def _size(value: Fraction) -> int:
    """The power of ten of the first digit: 3 for 8,192, -1 for 0.25."""
    size = len(str(abs(value.numerator))) - len(str(value.denominator))
    return size if abs(value) >= Fraction(10) ** size else size - 1
