from __future__ import annotations

import hashlib
import importlib
import sys

import numpy as np
import platformdirs
import pooch
import pytest

from kernelbandits.problems import (
    DataUnavailable,
    GaussianNoise,
    UniformNoise,
    perovskite,
    perovskite_file,
)
from kernelbandits.streams import Streams

module = importlib.import_module("kernelbandits.problems.perovskite")

SMALL = (
    b"\xef\xbb\xbfCsPbI,FAPbI,MAPbI,Instability index\r\n"
    b"0,1,0,480185\r\n0,1,0,505657\r\n0.5,0.5,0,100000\r\n0.25,0.25,0.5,23707\r\n0,0,1,1755056"
)
FOUND = next((path for path in module.possible_files() if path.is_file()), None)
real_file = pytest.mark.skipif(
    FOUND is None, reason="the perovskite file is neither in KERNELBANDITS_DATA nor cached"
)


@pytest.fixture(autouse=True)
def no_network(monkeypatch, tmp_path):
    def refuse(*args, **kwargs):
        raise ConnectionError("no network")

    monkeypatch.setattr(pooch, "retrieve", refuse)
    monkeypatch.setattr(platformdirs, "user_cache_path", lambda name: tmp_path / "cache" / name)


@pytest.fixture
def real(monkeypatch):
    """The real file, wherever it was found."""
    monkeypatch.setenv(module.VARIABLE, str(FOUND.parent))


@pytest.fixture
def small(monkeypatch, tmp_path):
    """A folder with a file of the same traits, whose checksum is the expected one."""
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "perovskite.csv").write_bytes(SMALL)
    monkeypatch.setattr(module, "SHA256", hashlib.sha256(SMALL).hexdigest())
    monkeypatch.setenv(module.VARIABLE, str(folder))
    return folder


@real_file
def test_the_real_file_has_94_arms_in_3_dimensions_and_the_most_stable_one_is_best(real):
    problem = perovskite()
    rows = np.loadtxt(perovskite_file(), delimiter=",", skiprows=1, encoding="utf-8-sig")
    arms, which = np.unique(rows[:, :3], axis=0, return_inverse=True)
    means = np.array([rows[which.ravel() == i, 3].mean() for i in range(len(arms))])
    instance = problem.instance(Streams(0))
    assert instance.domain.points.shape == (94, 3)
    assert problem.title == "Perovskite (d = 3)"
    assert (instance.values.min(), instance.optimum) == (0.0, 1.0)
    np.testing.assert_array_equal(instance.domain.points[instance.best], arms[means.argmin()])
    order = [np.flatnonzero((arms == point).all(1))[0] for point in instance.domain.points]
    np.testing.assert_allclose(
        instance.values, ((means.max() - means) / np.ptp(means))[order], atol=1e-12
    )


@real_file
def test_the_real_file_keeps_all_its_measurements_as_replicates(real):
    replicates = perovskite(repeats="replicates").table.replicates
    lines = perovskite_file().read_text(encoding="utf-8-sig").split()
    assert sum(map(len, replicates)) == sum("," in line for line in lines) - 1 == 139


def test_repeats_are_averaged_and_the_reward_is_minus_the_index_scaled(small):
    problem = perovskite(noise=UniformNoise(0.1))
    np.testing.assert_array_equal(
        problem.table.domain.points, [[0, 1, 0], [0.5, 0.5, 0], [0.25, 0.25, 0.5], [0, 0, 1]]
    )
    index = np.array([492921, 100000, 23707, 1755056])
    np.testing.assert_allclose(
        problem.table.values, (1755056 - index) / (1755056 - 23707), atol=1e-15
    )
    assert (problem.name, problem.title, problem.dimension) == (
        "perovskite",
        "Perovskite (d = 3)",
        3,
    )
    assert problem.noise == UniformNoise(0.1)
    assert perovskite().noise == GaussianNoise(0.01)


def test_replicates_are_kept_on_request(small):
    assert [len(group) for group in perovskite(repeats="replicates").table.replicates] == [
        2,
        1,
        1,
        1,
    ]


def test_the_file_may_bear_the_name_it_has_at_its_origin(small):
    (small / "perovskite.csv").rename(small / "Perovskite_dataset.csv")
    assert perovskite_file() == small / "Perovskite_dataset.csv"


def test_the_cache_serves_where_the_folder_does_not(small, monkeypatch, tmp_path):
    cached = tmp_path / "cache" / "kernelbandits" / "perovskite.csv"
    cached.parent.mkdir(parents=True)
    (small / "perovskite.csv").rename(cached)
    assert perovskite_file() == cached
    monkeypatch.delenv(module.VARIABLE)
    assert perovskite_file() == cached


def test_a_damaged_file_in_the_cache_is_fetched_again(small, monkeypatch, tmp_path):
    good = (small / "perovskite.csv").rename(tmp_path / "good.csv")
    damaged = tmp_path / "cache/kernelbandits/perovskite.csv"
    damaged.parent.mkdir(parents=True)
    damaged.write_bytes(SMALL + b"\n")
    monkeypatch.setattr(pooch, "retrieve", lambda *args, **kwargs: str(good))
    assert perovskite_file() == good


def test_a_file_of_another_content_is_refused_with_both_checksums(small):
    wrong = small / "perovskite.csv"
    wrong.write_bytes(SMALL + b"\n")
    with pytest.raises(DataUnavailable, match=r"perovskite\.csv needs the sha256") as caught:
        perovskite()
    assert str(wrong) in str(caught.value)
    assert module.SHA256 in str(caught.value)
    assert hashlib.sha256(SMALL + b"\n").hexdigest() in str(caught.value)


def test_a_missing_file_is_downloaded_into_the_cache_by_its_checksum_without_hanging(
    small, monkeypatch, tmp_path
):
    (small / "perovskite.csv").unlink()

    def retrieve(url, known_hash, fname, path, downloader):
        assert url.startswith("https://raw.githubusercontent.com/PV-Lab/Benchmarking/b653ddabe53f")
        assert known_hash == "sha256:" + module.SHA256
        assert downloader.progressbar is False
        assert 0 < downloader.kwargs["timeout"] <= 10
        path.mkdir(parents=True)
        (path / fname).write_bytes(SMALL)
        return str(path / fname)

    monkeypatch.setattr(pooch, "retrieve", retrieve)
    assert perovskite_file() == tmp_path / "cache" / "kernelbandits" / "perovskite.csv"


@pytest.mark.parametrize("folder", ["", "nowhere"])
def test_without_file_and_network_the_data_are_unavailable_in_one_line(monkeypatch, folder):
    monkeypatch.setenv(module.VARIABLE, folder)
    with pytest.raises(
        DataUnavailable, match="got ConnectionError; set KERNELBANDITS_DATA"
    ) as caught:
        perovskite()
    assert isinstance(caught.value, FileNotFoundError)
    assert "\n" not in str(caught.value)


def test_without_pooch_the_error_says_how_to_get_it(monkeypatch):
    monkeypatch.delenv(module.VARIABLE, raising=False)
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(DataUnavailable, match=r'pip install "\.\[experiments\]"'):
        perovskite_file()
