"""Numbers, intervals, shares, times and addresses as text, and values as JSON."""

from __future__ import annotations

import doctest
import math

import numpy as np
import pytest

from kernelbandits import formatting
from kernelbandits.experiment import notices, results
from kernelbandits.formatting import (
    column_decimals,
    format_age,
    format_bounds,
    format_interval,
    format_near,
    format_number,
    format_share,
    mask_password,
)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("module", [formatting, notices, results])
def test_the_examples_of_the_docstrings_run(module):
    found = doctest.testmod(module)
    assert found.attempted > 0
    assert found.failed == 0


@pytest.mark.parametrize(
    ("value", "text"),
    [(12.3456, "12.35"), (999.96, "1000"), (9999.4, "9999"), (9999.6, "10\xa0000"), (12345.6, "12\xa0346"),
     (-2e6, "-2\xa0000\xa0000"), (3e12, "3e+12"), (0, "0"),
     (np.float64(1.5), "1.5"), (np.int64(7), "7"), (True, "True"), ("text", "text"), (None, "–"), (math.nan, "–"),
     (-math.inf, "-∞"), (np.float32("inf"), "∞")],
)  # fmt: skip
def test_numbers_have_four_digits_and_their_thousands_apart(value, text):
    assert format_number(value) == text


@pytest.mark.parametrize(
    ("values", "digits"), [([289.0, 3.0], 1), ([31_000.0], 1), ([5.0], 2), ([0.58], 3), ([0.0], 1)]
)
def test_a_column_has_three_digits_of_its_largest_number(values, digits):
    assert column_decimals(values) == digits


def test_an_interval_may_have_a_fixed_number_of_decimals():
    assert format_interval(1.0, 0.25, 1.5, decimals=2) == "1.00 [0.25, 1.50]"
    assert format_interval(1.0, 0.0, math.inf, decimals=2) == "1.00 –"
    assert format_interval(331.25, 300.0, 340.123) == "331 [300, 340]"
    assert format_bounds(-0.01, 0.04) == "[0.0, 0.0]"


def test_an_interval_shows_two_digits_of_its_half_width():
    assert format_interval(1000.0234, 999.987, 1000.0598) == "1000.023 [999.987, 1000.060]"
    assert format_interval(67973.1, 45464.2, 90483.4) == "67\xa0973 [45\xa0464, 90\xa0483]"
    assert format_interval(1e150, -1e150, 3e150) == "1e+150 [-1e+150, 3e+150]"
    assert format_interval(0.5, 0.5, 0.5) == "0.5 [0.5, 0.5]"
    assert format_interval(math.nan, math.nan, math.nan) == "–"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "just now"), (1, "1 second ago"), (90, "90 seconds ago"), (7200, "2 hours ago"), (86400, "1 day ago"),
     (100000, "28 hours ago"), (-5, "just now"), (3 * 86400, "3 days ago")],
)  # fmt: skip
def test_times_are_said_as_people_say_them(seconds, text):
    assert format_age(seconds) == text


@pytest.mark.parametrize(
    ("value", "size", "text"),
    [(0.8312, 0.05, "0.831"), (1e6 + 0.123, 0.01, "1000000.123"), (12345.6, 100, "12346"), (-0.0, 1, "0.0"),
     (5.0, 0.0, "5"), (float("nan"), 1.0, "–"), (1e300, 1e290, "1e+300"), (1e-30, 1e-31, "1e-30")],
)  # fmt: skip
def test_numbers_have_the_decimals_they_deserve(value, size, text):
    assert format_near(value, size) == text


@pytest.mark.parametrize(
    ("chance", "text"),
    [(0, "< 1 %"), (0.001, "< 1 %"), (0.61, "61 %"), (0.999, "> 99 %"), (1, "> 99 %")],
)
def test_chances_are_never_rounded_to_certainty(chance, text):
    assert format_share(chance) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [("postgresql://ann:secret@lab/db", "postgresql://ann:***@lab/db"),
     ("postgres://a:p@s/s@h/d x@y", "postgres://a:***@h/d x@y"),
     ("postgresql://a:***@s/s%40h/d", "postgresql://a:***@h/d"), ("postgresql://a%40b:c@h/d", "postgresql://a%40b:***@h/d"),
     ("postgresql://h/d?user=a&password=secret&study=b", "postgresql://h/d?***"),
     ("no study postgresql://ann:***@lab/db?study=films; there is", "no study postgresql://ann:***@lab/db?study=films; there is"),
     ("(postgresql://h/d?host=/tmp/a-b&study=films)", "(postgresql://h/d?host=/tmp/a-b&study=films)"),
     ("postgresql://ann:secret@lab/db?connect_timeout=secret", "postgresql://ann:***@lab/db?***"),
     ("postgresql://ann:se%63ret@lab/secret: secret", "postgresql://ann:***@lab/***: ***"),
     ("postgresql://lab/db?secret=1", "postgresql://lab/db?***"), ("postgresql://ann%3Asecret@lab", "postgresql://ann%3A***@lab"),
     ("postgres://lab/db?study=films&secret=1", "postgres://lab/db?***"), ("postgresql://lab/db#secret", "postgresql://lab/db?***"),
     ("mysql://ann@lab/db?x=secret", "mysql://ann@lab/db?***"), ("ann:secret@lab/db?x=secret", "ann:***@lab/db?***"),
     ("host=lab password='my word' user='my word'", "host=lab password=*** user='***'"),
     ("films.db at 10:30 by ann@lab", "films.db at 10:30 by ann@lab"), ("what is this?", "what is this?")],
)  # fmt: skip
def test_passwords_are_masked(text, shown):
    assert mask_password(text) == shown
