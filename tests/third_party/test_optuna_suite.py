"""All cases that Optuna has for samplers of its own, and the dashboard over a real study."""

from __future__ import annotations

import io
import json

import optuna
import optuna_dashboard
import pytest
from optuna.testing.pytest_samplers import (
    BasicSamplerTestCase,
    MultiObjectiveSamplerTestCase,
    RelativeSamplerTestCase,
)

from kernelbandits.optuna import KernelBanditSampler


class TestKernelBanditSampler(
    BasicSamplerTestCase, RelativeSamplerTestCase, MultiObjectiveSamplerTestCase
):
    @pytest.fixture
    def sampler(self):
        return lambda: KernelBanditSampler(seed=0)


def get(app, path):
    """The answer of a WSGI application to GET."""
    seen = {}
    query = {"REQUEST_METHOD": "GET", "PATH_INFO": path, "SERVER_NAME": "test", "SERVER_PORT": "80"}
    rest = {"wsgi.input": io.BytesIO(), "wsgi.errors": io.StringIO(), "wsgi.url_scheme": "http"}

    def start(status, headers, *_):
        seen["status"] = status

    body = b"".join(app({**query, **rest}, start))
    return seen["status"], json.loads(body)


def test_the_dashboard_shows_a_study(tmp_path):
    url = f"sqlite:///{tmp_path}/study.db"
    study = optuna.create_study(storage=url, sampler=KernelBanditSampler(seed=1))
    study.optimize(
        lambda trial: trial.suggest_float("x", 0, 1) + trial.suggest_int("n", 1, 4), n_trials=8
    )
    app = optuna_dashboard.wsgi(study._storage)
    status, found = get(app, "/api/studies")
    assert status.startswith("200")
    (summary,) = found["study_summaries"]
    status, detail = get(app, f"/api/studies/{summary['study_id']}")
    assert status.startswith("200")
    assert len(detail["trials"]) == 8
    assert {one["name"] for one in detail["trials"][-1]["params"]} == {"x", "n"}
