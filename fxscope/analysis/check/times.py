"""Times of two places, compared by their repeats."""

from collections.abc import Iterator

from fxscope.analysis.check import quantity
from fxscope.analysis.check.context import Context, NotRecorded, Row, a_list, a_table, keys_of
from fxscope.errors import PassError
from fxscope.text import microseconds


def faster(context: Context, value: object) -> Iterator[Row]:
    places = a_list(value, "faster", least=2)
    if len(places) != 2:
        raise PassError('faster takes two places, such as ["compiled:triton*", "eager:gelu + eager:mul"].')
    first, second = places
    time = context.compared(second, first)
    expected = f"{first} faster than {second}"
    found = f"{first} {microseconds(time.b_us)}, {second} {microseconds(time.a_us)}"
    if time.verdict in ("not measured", "cannot tell"):
        raise NotRecorded(time.reason, expected, found)
    yield Row(time.verdict == "faster", expected, found, f"{time.verdict}: {time.reason}")


def ratio(context: Context, value: object) -> Iterator[Row]:
    """Hold the ratio of two places' times; where only its interval reaches the expected one, nothing can be said."""
    table = a_table(value, "ratio", '{ of = "compiled:mm#3", to = "eager:mm#3", is = "0.85..0.95" }')
    keys_of(table, "ratio", ["of", "to", "is"])
    wanted = quantity.parse(table["is"])
    time = context.compared(table["to"], table["of"])
    if time.ratio is None:
        raise NotRecorded(time.reason)
    expected = f"{table['of']} : {table['to']} {wanted.text}"
    found = f"{microseconds(time.a_us)} → {microseconds(time.b_us)}, {time.reason}"
    if time.verdict == "cannot tell":
        raise NotRecorded(time.reason, expected, found)
    low, high = time.ratio_low or time.ratio, time.ratio_high or time.ratio
    if not wanted.holds(time.ratio) and low < high and wanted.overlaps(low, high):
        raise NotRecorded("the repeats scatter too much to say", expected, found)
    yield Row(wanted.holds(time.ratio), expected, found, time.verdict)
