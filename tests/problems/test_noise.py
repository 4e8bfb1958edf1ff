from __future__ import annotations

import math
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from kernelbandits.catalogue import NOISES
from kernelbandits.problems import (
    CustomNoise,
    EmpiricalNoise,
    GaussianNoise,
    ParetoNoise,
    RademacherNoise,
    StudentNoise,
    UniformNoise,
)

LIGHT = [
    GaussianNoise(0.7),
    RademacherNoise(0.7),
    UniformNoise(0.7),
    EmpiricalNoise((-1.0, 0.25, 0.75)),
    CustomNoise(stats.triang(0.5, -1.0, 2.0), sub_gaussian=1.0),
]
LAWS = [*LIGHT, StudentNoise(0.7, 5.0), ParetoNoise(0.7, 5.0), CustomNoise(stats.laplace())]
VARIANCES = [0.49, 0.49, 0.49 / 3, (1 + 0.25**2 + 0.75**2) / 3, 1 / 6, 0.49 * 5 / 3, 0.49 / 6, 2.0]


def test_the_laws_are_those_of_the_catalogue_and_more():
    assert {*NOISES.values()} < {type(law) for law in LAWS}


def midpoints(n: int) -> np.ndarray:
    return (np.arange(n) + 0.5) / n


@pytest.mark.parametrize(
    ("law", "variance"),
    list(zip(LAWS, VARIANCES, strict=True)),
    ids=lambda value: type(value).__name__,
)
def test_draws_have_mean_zero_and_the_stated_variance(law, variance):
    draws, n = law.draw(np.random.default_rng(7).random(200_000)), 200_000
    assert abs(draws.mean()) < 4 * math.sqrt(variance / n)
    if not isinstance(law, (StudentNoise, ParetoNoise)):
        assert abs((draws**2).mean() - variance) < 4 * (draws**2).std() / math.sqrt(n) + 1e-12


@pytest.mark.parametrize(
    ("law", "cdf"),
    [
        (GaussianNoise(2.0), stats.norm(scale=2.0).cdf),
        (UniformNoise(2.0), stats.uniform(-2.0, 4.0).cdf),
        (StudentNoise(2.0, 1.5), stats.t(1.5, scale=2.0).cdf),
        (
            ParetoNoise(2.0, 1.5),
            lambda x: 0.5 + np.sign(x) * stats.lomax(1.5, scale=2.0).cdf(np.abs(x)) / 2,
        ),
    ],
)
def test_the_distribution_function_of_a_draw_gives_the_uniform_back(law, cdf):
    u = np.random.default_rng(3).random(1000)
    np.testing.assert_allclose(cdf(law.draw(u)), u, rtol=1e-9)


@pytest.mark.parametrize("law", LIGHT, ids=lambda value: type(value).__name__)
def test_the_moment_generating_function_stays_below_the_gaussian_one(law):
    draws = law.draw(midpoints(1 << 18))
    for s in (
        np.concatenate([-np.geomspace(1e-2, 20, 40), np.geomspace(1e-2, 20, 40)])
        / law.sub_gaussian
        / 4
    ):
        log_mgf = math.log(np.exp(s * draws).mean())
        assert log_mgf <= (s * law.sub_gaussian) ** 2 / 2 * (1 + 1e-4) + 1e-9


@pytest.mark.parametrize(
    "law",
    [GaussianNoise(0.7), RademacherNoise(0.7), UniformNoise(0.7)],
    ids=lambda value: type(value).__name__,
)
def test_no_smaller_constant_would_do(law):
    draws, s = law.draw(midpoints(1 << 18)), 0.05 / law.sub_gaussian
    assert math.log(np.exp(s * draws).mean()) > (0.99 * s * law.sub_gaussian) ** 2 / 2


@pytest.mark.parametrize("law", LAWS, ids=lambda value: type(value).__name__)
def test_an_array_of_uniforms_gives_what_each_uniform_gives(law):
    u = np.concatenate([[0.0, 0.5, 1 - 2.0**-53], np.random.default_rng(1).random(20)])
    draws = law.draw(u)
    assert draws.shape == u.shape
    assert draws.dtype == np.float64
    assert all(type(law.draw(float(v))) is float for v in u)
    np.testing.assert_array_equal(draws, [law.draw(float(v)) for v in u])
    assert law.draw(u.reshape(-1, 1)).shape == (len(u), 1)
    assert law.draw(u[:0]).shape == (0,)


@pytest.mark.parametrize(
    "law",
    [*LAWS, StudentNoise(1.0, 1.001), ParetoNoise(1.0, 1.001)],
    ids=lambda value: type(value).__name__,
)
def test_the_ends_of_the_unit_interval_give_finite_noise(law):
    low, high = law.draw(0.0), law.draw(1 - 2.0**-53)
    assert math.isfinite(low)
    assert math.isfinite(high)
    assert low < 0 < high


@pytest.mark.parametrize("u", [-1e-9, 1.0, 2.0, math.nan])
def test_what_is_no_uniform_is_refused(u):
    with pytest.raises(ValueError, match=r"needs a uniform u in \[0, 1\), got"):
        GaussianNoise(1.0).draw(u)
    with pytest.raises(ValueError, match=r"needs uniforms u in \[0, 1\), got"):
        GaussianNoise(1.0).draw(np.array([0.5, u]))


@pytest.mark.parametrize(
    "law",
    [
        GaussianNoise(0),
        RademacherNoise(0),
        UniformNoise(0),
        StudentNoise(0, 2),
        ParetoNoise(0, 2),
        EmpiricalNoise((0.0,)),
    ],
)
def test_scale_zero_means_no_noise(law):
    assert law.sub_gaussian == 0
    assert not law.draw(np.array([0.0, 0.3, 0.9])).any()
    assert [law.moment(order) for order in (0.5, 2.0, 9.0)] == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    "law",
    [
        GaussianNoise,
        RademacherNoise,
        UniformNoise,
        lambda s: StudentNoise(s, 3),
        lambda s: ParetoNoise(s, 3),
    ],
)
@pytest.mark.parametrize("scale", [-1.0, math.nan, math.inf, "1", None, True])
def test_a_bad_scale_is_refused(law, scale):
    with pytest.raises(ValueError, match="Noise needs scale >= 0, got"):
        law(scale)


@pytest.mark.parametrize("df", [1, 0.5, -3, math.nan, math.inf])
def test_student_needs_a_mean(df):
    with pytest.raises(ValueError, match="StudentNoise needs df > 1, got"):
        StudentNoise(1.0, df)


@pytest.mark.parametrize("tail", [1, 0.5, -3, math.nan, math.inf])
def test_pareto_needs_a_mean(tail):
    with pytest.raises(ValueError, match="ParetoNoise needs tail > 1, got"):
        ParetoNoise(1.0, tail)


def test_pareto_noise_is_symmetric_and_has_power_tails():
    law = ParetoNoise(2.0, 1.5)
    assert law.sub_gaussian == math.inf
    for u in (1e-9, 0.01, 0.3, 0.49):
        assert law.draw(u) == pytest.approx(-law.draw(1 - u), rel=1e-6)
        assert (1 - law.draw(u) / 2.0) ** -1.5 == pytest.approx(2 * u, rel=1e-12)


MOMENTS = {
    GaussianNoise(0.7): stats.norm(scale=0.7),
    UniformNoise(0.7): stats.uniform(-0.7, 1.4),
    StudentNoise(0.7, 5.0): stats.t(5.0, scale=0.7),
    ParetoNoise(0.7, 5.0): stats.lomax(5.0, scale=0.7),
    CustomNoise(stats.laplace()): stats.laplace(),
}


@pytest.mark.parametrize("law", MOMENTS, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("order", [0.5, 1, 1.5, 2.0, 3.3])
def test_absolute_moments_are_those_of_the_density(law, order):
    twin = MOMENTS[law]
    expected = quad(lambda x: abs(x) ** order * twin.pdf(x), twin.support()[0], 0.0)[0]
    expected += quad(lambda x: abs(x) ** order * twin.pdf(x), 0.0, twin.support()[1])[0]
    assert law.moment(order) == pytest.approx(
        expected, rel=1e-3 if isinstance(law, CustomNoise) else 1e-7
    )


def test_moments_of_two_values_and_of_residuals():
    assert RademacherNoise(0.5).moment(3) == 0.125
    assert EmpiricalNoise((-1.0, 0.25, 0.75)).moment(2) == pytest.approx(
        (1 + 0.25**2 + 0.75**2) / 3
    )


@pytest.mark.parametrize("law", [StudentNoise(1.0, 2.5), ParetoNoise(1.0, 2.5)])
def test_moments_that_do_not_exist_are_infinite(law):
    assert math.isfinite(law.moment(2.49))
    assert law.moment(2.5) == law.moment(4) == math.inf


@pytest.mark.parametrize("order", [0.0, -1.0, math.nan, "2"])
def test_the_order_of_a_moment_is_positive(order):
    with pytest.raises(ValueError, match="GaussianNoise needs order > 0, got"):
        GaussianNoise(1.0).moment(order)


def test_student_noise_has_no_sub_gaussian_constant_and_heavier_tails():
    assert StudentNoise(1.0, 3.0).sub_gaussian == math.inf
    assert StudentNoise(1.0, 3.0).draw(1e-6) < 10 * GaussianNoise(1.0).draw(1e-6)


def test_each_residual_is_drawn_equally_often():
    draws = EmpiricalNoise((0.75, -1.0, 0.25)).draw(midpoints(300))
    np.testing.assert_array_equal(
        np.unique(draws, return_counts=True), [[-1.0, 0.25, 0.75], [100, 100, 100]]
    )


@pytest.mark.parametrize("residuals", [(), (1.0,), (math.nan, 0.0), (1.0, -0.9)])
def test_residuals_need_mean_zero(residuals):
    with pytest.raises(ValueError, match="EmpiricalNoise needs"):
        EmpiricalNoise(residuals)


def test_laws_are_equal_by_value_and_cannot_be_changed():
    assert GaussianNoise(0.1) == GaussianNoise(0.1) != GaussianNoise(0.2)
    with pytest.raises(FrozenInstanceError):
        GaussianNoise(0.1).scale = 1.0


class Law:
    def __init__(self, ppf):
        self.ppf = ppf


@pytest.mark.parametrize(
    "law",
    [
        stats.norm(),
        stats.expon(-1.0),
        stats.lognorm(1.0, -math.exp(0.5)),
        stats.t(1.5),
        Law(lambda u: np.where(u < 0.7, -0.3, 0.7)),
        Law(lambda u: 0.0 * u),
    ],
)
def test_a_custom_law_of_mean_zero_is_accepted(law):
    noise = CustomNoise(law)
    assert noise.sub_gaussian == math.inf
    assert noise.draw(0.25) == law.ppf(0.25)


def test_a_custom_law_must_have_mean_zero_within_a_thousandth_of_its_size():
    CustomNoise(stats.norm(0.0005, 1.0))
    with pytest.raises(ValueError, match=r"CustomNoise needs a law of mean zero, got 0\.002"):
        CustomNoise(stats.norm(0.002, 1.0))


@pytest.mark.parametrize(
    ("law", "needed"),
    [
        (Law(None), "a law with ppf"),
        (object(), "a law with ppf"),
        (Law(lambda u: np.full_like(u, math.nan)), "a finite ppf"),
        (Law(lambda u: np.where(u > 0.9999, math.inf, -u)), "a finite ppf"),
        (Law(lambda u: np.zeros(3)), "ppf of shape"),
        (Law(lambda u: math.sqrt(u)), "a ppf that takes an array"),
        (Law(lambda u: np.random.default_rng().normal(size=np.shape(u))), "a reproducible ppf"),
    ],
)
def test_a_custom_law_that_misbehaves_is_refused(law, needed):
    with pytest.raises(ValueError, match=f"CustomNoise needs {needed}"):
        CustomNoise(law)


def test_a_sub_gaussian_constant_below_the_standard_deviation_is_refused():
    assert CustomNoise(stats.norm(), sub_gaussian=1.0).sub_gaussian == 1.0
    with pytest.raises(ValueError, match="needs sub_gaussian >= the standard deviation"):
        CustomNoise(stats.norm(), sub_gaussian=0.9)


@pytest.mark.parametrize("constant", [-1.0, math.nan, None])
def test_a_bad_sub_gaussian_constant_is_refused(constant):
    with pytest.raises(ValueError, match="CustomNoise needs sub_gaussian >= 0, got"):
        CustomNoise(stats.norm(), sub_gaussian=constant)


@pytest.mark.parametrize(
    "noise", [GaussianNoise(2.0), UniformNoise(2.0), RademacherNoise(2.0)], ids=str
)
def test_a_moment_too_large_for_a_number_is_infinite(noise):
    assert noise.moment(5000) == math.inf


SILENT = [GaussianNoise(0.0), UniformNoise(0.0), ParetoNoise(0.0, 3.0), StudentNoise(0.0, 3.0)]


@pytest.mark.parametrize("noise", SILENT, ids=str)
def test_without_noise_every_moment_is_zero(noise):
    assert noise.moment(2) == 0.0
    assert noise.moment(2.5) == 0.0


def test_light_tails_have_the_moments_of_their_limits():
    """A Student law of many degrees of freedom is Gaussian; a Pareto law of a large tail exponential: E X^2 = 2 s^2."""
    for many in (1e9, 1e15, 1e17):
        assert StudentNoise(1.0, many).moment(2) == pytest.approx(1.0, rel=1e-8)
        assert ParetoNoise(many, many).moment(2) == pytest.approx(2.0, rel=1e-6)
