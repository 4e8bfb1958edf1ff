"""How the estimate changes with one variable: averages with their intervals, and a map of two."""

from __future__ import annotations

import itertools
import json
import warnings

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import kernelbandits as kb
from kernelbandits.apps.cli import app
from kernelbandits.calibration import Standard
from kernelbandits.formatting import HALF_INTERVAL
from kernelbandits.insight import PartialDependence
from kernelbandits.insight.dependence import average_with_interval
from kernelbandits.insight.slices import ROWS, list_variables, slice_space

BREW = kb.MixedBox(
    {
        "heat": kb.Real(20, 90),
        "rate": kb.Real(1e-5, 0.1, log=True),
        "cups": kb.Integer(1, 8),
        "acid": kb.Category(("citric", "acetic", None)),
    }
)
WORTH = {"citric": 0.0, "acetic": 2.0, None: 1.0}
CONSTRAINED = {
    "mixture": kb.MixedBox(
        {name: kb.Real(0, 1) for name in "ABC"}, constraints=["A + B + C == 1", "A <= 0.7"]
    ),
    "mixture in steps": kb.MixedBox(
        {name: kb.Real(0, 1, step=0.05) for name in "ABC"}, constraints=["A + B + C == 1"]
    ),
    "logarithms and a choice": kb.MixedBox(
        {
            "x": kb.Real(1e-3, 1, log=True),
            "y": kb.Real(0, 1),
            "heat": kb.Real(20, 90),
            "solvent": kb.Category(("DMF", "water")),
        },
        constraints=["x + y <= 1.2", "not (solvent == 'DMF' and heat > 60)"],
    ),
}


def brew(x):
    """Additive: a maximum at 60, a slope of 1 for each power of ten, one value for each acid."""
    return 10 - ((x["heat"] - 60) / 20) ** 2 + np.log10(x["rate"]) + WORTH[x["acid"]]


@pytest.fixture(scope="module")
def brewed():
    auto = kb.Auto(BREW, noise=0.0)
    for row in BREW.cover(60).points:
        x = BREW.decode(row)
        auto.tell(kb.Choice(x), brew(x))
    return auto


# ---------------------------------------------------------------------- averages


def test_without_a_transformation_the_interval_is_that_of_a_normal_average():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(6, 6))
    mean, covariance = rng.normal(size=6), root @ root.T
    found = average_with_interval(mean, covariance, Standard(centre=5.0, spread=2.0))
    sd = np.sqrt(covariance.sum()) / 6
    expected = np.array(
        [mean.mean(), mean.mean() - HALF_INTERVAL * sd, mean.mean() + HALF_INTERVAL * sd]
    )
    np.testing.assert_allclose(found, 5.0 + 2.0 * expected, rtol=1e-12)


@pytest.mark.parametrize("shape", [0.0, 0.4, 1.6])
def test_with_a_transformation_one_point_has_the_interval_of_its_estimate(shape):
    units = Standard(centre=3.0, spread=2.0, shape=shape)
    found = average_with_interval(np.array([0.7]), np.array([[0.25]]), units)
    ends = [0.7, 0.7 - HALF_INTERVAL * 0.5, 0.7 + HALF_INTERVAL * 0.5]
    np.testing.assert_allclose(found, [float(units.original(z)) for z in ends], rtol=1e-9)


@pytest.mark.parametrize("shape", [0.2, 1.5])
def test_with_a_transformation_the_interval_holds_95_percent_of_drawn_averages(shape):
    """Against draws of the function itself, in the units of the rewards."""
    rng, units, n = np.random.default_rng(1), Standard(2.0, 3.0, shape), 40_000
    points = np.linspace(0, 1, 12)
    covariance = 0.2 * np.exp(-(((points[:, None] - points) / 0.4) ** 2)) + 1e-9 * np.eye(12)
    mean = np.sin(5 * points)
    average, low, high = average_with_interval(mean, covariance, units)
    draws = units.original(rng.multivariate_normal(mean, covariance, size=n)).mean(1)
    share = float(((draws >= low) & (draws <= high)).mean())
    # Four standard errors of a share, and half a percent because the ends are of first order.
    assert share == pytest.approx(0.95, abs=4 * np.sqrt(0.95 * 0.05 / n) + 0.005)
    assert low < average < high


# ---------------------------------------------------------------------- variables


def test_the_curve_of_an_additive_function_is_its_term(brewed):
    heat, rate = (
        kb.insight.partial_dependence(brewed, "heat"),
        kb.insight.partial_dependence(brewed, "rate"),
    )
    for curve, term in (
        (heat, lambda v: -(((v - 60) / 20) ** 2)),
        (rate, np.log10),
    ):
        expected = np.array([term(value) for value in curve.values])
        found = np.array(curve.mean)
        away = (found - found.mean()) - (expected - expected.mean())
        assert np.abs(away).max() < 0.1 * np.ptp(expected)
    assert (heat.log, rate.log) == (False, True)
    assert (rate.values[0], rate.values[-1]) == (1e-5, 0.1)
    acid = kb.insight.partial_dependence(brewed, "acid")
    assert acid.values == ("citric", "acetic", None)
    assert not acid.is_number
    np.testing.assert_allclose(np.diff(acid.mean), [2.0, -1.0], atol=0.2)
    flat = kb.insight.partial_dependence(brewed, "cups")
    assert flat.values == tuple(range(1, 9))
    assert np.ptp(flat.mean) < 0.1


def test_relevance_names_the_variables_that_matter(brewed):
    found = kb.insight.relevance(brewed)
    assert list(found) == ["heat", "rate", "cups", "acid"]
    assert found["cups"].high < 0.02 < found["acid"].share < found["heat"].share


def test_members_are_averaged(brewed):
    """The average and its variance are those of the mixture of all fits."""
    posterior, units = brewed.answer_model()
    assert len(posterior.kernels) > 1
    [variable] = [one for one in list_variables(BREW) if one.name == "acid"]
    curve = kb.insight.partial_dependence(brewed, "acid")
    for place, one in enumerate(variable.slices()):
        mean, covariance = posterior.at(one.rows)[0], posterior.covariance(one.rows)
        expected = average_with_interval(mean, covariance, units)
        found = curve.mean[place], curve.low[place], curve.high[place]
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_arms_and_boxes_have_variables_without_names():
    points = np.array(list(itertools.product(np.linspace(0, 1, 5), (0.0, 1.0))))
    auto = kb.Auto(points)
    for arm, x in enumerate(points):
        auto.tell(auto.choice(arm), float(x[0]))
    assert list(kb.insight.relevance(auto)) == ["x1", "x2"]
    assert kb.insight.partial_dependence(auto, "x2").values == (0.0, 1.0)
    assert [one.name for one in list_variables(kb.Box((0, 0), (1, 2)))] == ["x1", "x2"]


@pytest.mark.parametrize("wrong", ["pressure", 3, None])
def test_an_unknown_variable_and_no_reward_are_refused(brewed, wrong):
    with pytest.raises(ValueError, match=r"^partial_dependence needs a variable among \('heat'"):
        kb.insight.partial_dependence(brewed, wrong)
    with pytest.raises(ValueError, match="needs a policy with rewards"):
        kb.insight.partial_dependence(kb.Auto(BREW), "heat")


def test_ends_in_the_wrong_order_are_refused():
    with pytest.raises(ValueError, match="low <= mean <= high"):
        PartialDependence("x", (1.0,), (2.0,), (3.0,), (4.0,))


# ---------------------------------------------------------------------- constraints


@pytest.mark.parametrize("name", CONSTRAINED)
def test_slices_satisfy_the_constraints_and_have_the_value(name):
    space = CONSTRAINED[name]
    for number, (variable, place) in enumerate(space.blocks):
        slices = slice_space(space, number)
        assert len(slices) > 1
        for one in slices:
            assert variable.holds(one.value)
            assert 8 <= len(one.rows) <= ROWS
            np.testing.assert_allclose(
                one.rows[:, place],
                np.tile(variable.encode(one.value), (len(one.rows), 1)),
                atol=1e-9,
            )
            assert space.feasible.holds(one.rows).all()


def test_in_a_mixture_the_others_keep_their_variety():
    """At each value of A the points are spread over the possible values of B, not on one line."""
    space = CONSTRAINED["mixture"]
    for one in slice_space(space, 0):
        room = 1 - one.value
        assert np.std(one.rows[:, 1]) > 0.1 * room


# ---------------------------------------------------------------------- studies


def films(tmp_path, direction="maximize", sign=1.0, **settings):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "T (°C)": rng.uniform(20, 120, 40).round(1),
            "dose": 10.0 ** rng.integers(-3, 2, 40),
            "solvent": rng.choice(["DMF", "water"], 40),
        }
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        study = kb.Study.create(
            tmp_path / f"{direction}.db", table, target="yield", direction=direction, **settings
        )
        for row in range(24):
            x = study.candidates.x(row)
            value = 50 + x["T (°C)"] / 10 + 3 * np.log10(x["dose"]) + 5 * (x["solvent"] == "DMF")
            study.tell(row=row, value=sign * float(value))
    return study


@pytest.mark.thorough
def test_a_study_of_a_table_has_curves_in_the_units_of_table_and_target(tmp_path):
    study = films(tmp_path)
    heat, dose = study.partial_dependence("T (°C)"), study.partial_dependence("dose")
    solvent = study.partial_dependence("solvent")
    numbers = study.candidates.numbers("T (°C)")
    assert heat.values[0] == numbers.min()
    assert heat.values[-1] == numbers.max()
    slope = (heat.mean[-1] - heat.mean[0]) / (heat.values[-1] - heat.values[0])
    assert slope == pytest.approx(0.1, rel=0.1)
    assert (dose.log, dose.values) == (True, (0.001, 0.01, 0.1, 1.0, 10.0))
    np.testing.assert_allclose(np.diff(dose.mean), 3.0, atol=0.5)
    means = dict(zip(solvent.values, solvent.mean, strict=True))
    assert means["DMF"] - means["water"] == pytest.approx(5.0, abs=0.5)
    assert {one.column for one in study.relevance()} == {"T (°C)", "dose", "solvent"}


@pytest.mark.thorough
def test_a_minimised_study_has_the_mirrored_curves(tmp_path):
    up, down = films(tmp_path), films(tmp_path, "minimize", -1.0)
    for name in ("T (°C)", "solvent"):
        first, second = up.partial_dependence(name), down.partial_dependence(name)
        np.testing.assert_allclose(second.mean, np.negative(first.mean), rtol=1e-6)
        np.testing.assert_allclose(second.low, np.negative(first.high), rtol=1e-6)


def test_a_map_has_the_estimate_of_the_likely_best_and_keeps_sums(tmp_path):
    space = CONSTRAINED["mixture in steps"]
    study = kb.Study.create(tmp_path / "mix.db", space, target="strength")
    for row in space.cover(12).points:
        x = space.decode(row)
        study.tell(x=x, value=x["A"] - (x["B"] - 0.3) ** 2)
    best, found = study.best(), study.estimate_map("A", "B")
    i = found.up_values.index(best.x["B"])
    j = found.across_values.index(best.x["A"])
    assert found.mean[i, j] == pytest.approx(best.mean, rel=1e-9)
    assert found.shared == ("C",)
    sums = np.add.outer(found.up_values, found.across_values)
    assert (np.isfinite(found.mean) == (sums <= 1 + 1e-9)).all()


def test_of_one_variable_the_curve_is_the_estimate_also_of_skewed_results(tmp_path):
    """Results over three powers of ten are transformed; curve and band are in their own units."""
    study = kb.Study.create(tmp_path / "one.db", {"x": kb.Integer(0, 24)}, direction="minimize")
    for x in range(0, 25, 2):
        study.tell(x={"x": x}, value=float(np.exp(0.3 * x) * (1 + 0.1 * (-1) ** x)))
    _, units = study._session.driver.policy.answer_model() if study.best() else (None, None)
    assert not units.is_linear
    curve, known = study.partial_dependence("x"), study.estimates()
    places = [curve.values.index(x) for x in known["x"]]
    for name in ("mean", "low", "high"):
        found = np.array(getattr(curve, name))[places]
        np.testing.assert_allclose(found, known[name], rtol=1e-5)


@pytest.mark.parametrize("name", ["pressure", "target"])
def test_an_unknown_column_of_a_study_is_refused(tmp_path, name):
    study = films(tmp_path)
    with pytest.raises(ValueError, match=r"^partial_dependence needs a column among T"):
        study.partial_dependence(name)
    with pytest.raises(ValueError, match="two different columns"):
        study.estimate_map("dose", "dose")


def test_without_results_there_is_no_curve(tmp_path):
    study = kb.Study.create(tmp_path / "brew.db", BREW)
    for call in (
        study.relevance,
        lambda: study.partial_dependence("heat"),
        lambda: study.estimate_map("heat", "cups"),
    ):
        with pytest.raises(kb.StudyConflict, match=r"needs results, .*, got no result"):
            call()
    assert study.check().dependence == ()


@pytest.mark.thorough
def test_check_prints_the_curves_and_has_them_in_json(tmp_path):
    study = films(tmp_path)
    study.close()
    place = str(tmp_path / "maximize.db")
    text = CliRunner().invoke(app, ["study", "check", place], env={"COLUMNS": "120"}).stdout
    assert "lowest average" in text
    assert "not of one candidate and not of a new measurement" in text.replace("\n", " ")
    document = json.loads(
        CliRunner().invoke(app, ["study", "check", place, "--format", "json"]).stdout
    )
    curves = {one["name"]: one for one in document["dependence"]}
    assert set(curves) == {"T (°C)", "dose", "solvent"}
    assert curves["solvent"]["is_number"] is False
    assert len(curves["dose"]["low"]) == len(curves["dose"]["values"]) == 5
