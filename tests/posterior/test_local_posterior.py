"""A view of a posterior at some points can be copied."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import kernelbandits as kb
from kernelbandits.policies.index import LocalPosterior


def surveyed():
    posterior = kb.posterior.PointPosterior(kb.RBF(0.3), 2, 0.1)
    posterior.update([0.2, 0.4], 1.0)
    return LocalPosterior(posterior, np.random.default_rng(0).random((4, 2)))


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda view: pickle.loads(pickle.dumps(view))]
)
def test_a_view_of_a_posterior_can_be_copied(again):
    view, other = surveyed(), again(surveyed())
    np.testing.assert_array_equal(other.mean, view.mean)
    assert (other.events, other.log_det) == (view.events, view.log_det)


def test_a_view_without_its_posterior_has_no_attributes_and_says_so():
    with pytest.raises(AttributeError, match="LocalPosterior has no _posterior"):
        _ = object.__new__(LocalPosterior).events
