"""The summary of games with results that are limits."""

from __future__ import annotations

from benchmarks import censored


def test_only_games_played_in_every_way_are_summarised():
    rows = [
        {
            "table": table,
            "end": censored.LOW,
            "way": way,
            "seed": 0,
            "regret": 0.1 * (way == censored.DROPPED),
            "coverage": 0.9,
            "coverage beyond": 0.5,
            "width beyond": 0.2,
        }
        for table in ("one", "two", "unfinished")
        for way in censored.WAYS[: 2 if table == "unfinished" else 4]
    ]
    text = censored.summarise(rows)
    assert "(2 tables, 2 games)" in text
    assert "| dropped | 0.100 | +0.100 ± 0.000 | 90 % | 50 % | 0.20 |" in text
    assert censored.HIGH not in text
