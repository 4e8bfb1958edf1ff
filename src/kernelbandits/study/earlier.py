"""How much the studies that a study learns from count in its answers."""

from __future__ import annotations

from kernelbandits.insight import follow_earlier
from kernelbandits.study.answers import Answers
from kernelbandits.study.values import LearntFrom


def list_sources(answers: Answers) -> tuple[LearntFrom, ...]:
    """Return the studies that a study learns from, and how much each counts."""
    sources = answers.state.settings.sources
    followed = follow_earlier(answers.driver.policy) if sources else ()
    found = [vars(one) for one in followed] or [{}] * len(sources)
    return tuple(
        LearntFrom(
            name=one.name,
            target=one.target,
            direction=one.direction,
            results=len(one.values),
            columns=tuple(name for name, _ in one.columns),
            digest=one.digest,
            remarks=one.remarks,
            **counts,
        )
        for one, counts in zip(sources, found, strict=True)
    )
