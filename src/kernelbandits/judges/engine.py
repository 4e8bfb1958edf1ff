"""Does the engine play what the paper writes? Index by index, round by round, on both engines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kernelbandits.checks import Array
from kernelbandits.experiment.engines import play, rounds
from kernelbandits.judges import oracle
from kernelbandits.judges.finding import Effort, Finding, counted, identity, verdict
from kernelbandits.judges.oracle import Moment
from kernelbandits.judges.stage import LAWS, Case, Stage, cases, defaults, engines, paced, stage
from kernelbandits.judges.states import state_findings
from kernelbandits.judges.weights import weight_findings

NAME = "engine"
EXACT = 1e-8
LOOKED_AT = (1, 2, 3, 10, 40)
TRIED = (1.0, 0.5, -1.0)
"""Weights for which the index is asked."""


def engine(effort: Effort) -> Iterator[Finding]:
    """The index, the arms played, the weights drawn and the state kept, against the definitions."""
    horizon = effort.runs(200, least=100)
    where = stage(effort.seed)
    played = (*cases(horizon), *defaults(horizon), *paced(where, horizon))
    for case in played:
        yield from index_findings(case, stage(effort.seed, case.kernel), horizon)
    for case in played:
        yield from run_findings(case, stage(effort.seed, case.kernel), horizon)
    yield table_finding(played, effort, horizon)
    yield recommendation_finding(where, horizon)
    yield from weight_findings(effort)
    yield from state_findings(effort)


@dataclass(frozen=True, eq=False)
class Seen:
    """Rounds played by ask and tell: notes, and the index of every arm where it was asked for."""

    arms: list[int]
    rewards: Array
    notes: list[Mapping[str, float]]
    indices: Mapping[int, list[Array]]
    width: float
    """Of the round after the last."""


def seen(case: Case, where: Stage, horizon: int) -> Seen:
    policy = case.policy(where)
    indices = {1: [policy.index(1, weight) for weight in TRIED]}
    played = []
    for now in rounds(policy, where.instance, horizon, where.streams):
        played.append(now)
        if now.t + 1 in (*LOOKED_AT, horizon):
            indices[now.t + 1] = [policy.index(now.t + 1, weight) for weight in TRIED]
    rewards, notes = np.array([now.reward for now in played]), [now.choice.note for now in played]
    return Seen(
        [int(now.choice.arm or 0) for now in played],
        rewards,
        notes,
        indices,
        policy.width_at(horizon + 1),
    )


def index_findings(case: Case, where: Stage, horizon: int) -> Iterator[Finding]:
    found = seen(case, where, horizon)
    uniforms = where.streams.uniforms("weight", horizon)
    moments = list(oracle.replay(case.rule, where.gram, found.arms, found.rewards, uniforms))
    asked = [off_index(moments[t - 1], indices) for t, indices in found.indices.items()]
    noted = list(map(off_note, moments, found.notes, found.arms))
    statement = f"{case.title}: index = mean + w width sd"
    asked_at = ", ".join(map(str, found.indices))
    detail = f"rounding; ridge {case.rule.ridge:g}, t = {asked_at}, w = 1, 1/2, -1, and the notes of {horizon} rounds"
    yield identity(NAME, statement, asked + noted, EXACT, detail)
    if case.rule.law(1) is LAWS["w = 1"][1]:
        yield width_finding(case, where, found)


def off_index(moment: Moment, indices: Sequence[Array]) -> float:
    return float(
        np.max(
            [np.abs(index - moment.index(w)).max() for w, index in zip(TRIED, indices, strict=True)]
        )
    )


def off_note(moment: Moment, note: Mapping[str, float], arm: int) -> float:
    """Weight, width, mean and sd of the choice."""
    known = moment.estimate
    right = {
        "weight": moment.weight,
        "width": moment.width,
        "mean": known.mean[arm],
        "sd": known.sd[arm],
    }
    return float(np.max([abs(note[name] - value) for name, value in right.items()]))


def width_finding(case: Case, where: Stage, found: Seen) -> Finding:
    """The one number that a wrong power of the determinant changes, where L is large."""
    log_det = oracle.log_det(where.gram, found.arms, case.rule.ridge)
    width = case.rule.width(len(found.arms) + 1, log_det)
    same = verdict(abs(found.width - width) <= EXACT * width)
    statement = f"{case.title}: its width where L = {log_det:.2f}"
    detail = "1e-8 of it; det instead of its root would double L under the root"
    return Finding(NAME, statement, f"{width:.9f}", f"{found.width:.9f}", same, detail=detail)


def run_findings(case: Case, where: Stage, horizon: int) -> Iterator[Finding]:
    """Every arm is the one the definition plays after the same history, hence the whole run is the definition's."""
    alike = {engine: agreement(case, where, horizon, engine) for engine in engines()}
    statement, detail = (
        f"{case.title}: each round plays the maximiser",
        f"exact; ties {case.ties}, within 1e-12",
    )
    all_right = {name: int(same.sum()) for name, (same, _) in alike.items()}
    yield counted(NAME, statement, dict.fromkeys(alike, horizon), all_right, detail)
    below = {name: int((weights < 0).sum()) for name, (_, weights) in alike.items()}
    if any(below.values()):
        right = {name: int(same[weights < 0].sum()) for name, (same, weights) in alike.items()}
        yield counted(
            NAME, f"{case.title}: w < 0 plays the greatest lower bound", below, right, detail
        )


def table_finding(played: Sequence[Case], effort: Effort, horizon: int) -> Finding:
    """a_t + sqrt(b_t + c_t L), as the compiled loop is given the three numbers, at L = 0, 2 and 20."""
    apart = [off_table(case, stage(effort.seed, case.kernel), horizon) for case in played]
    statement = f"the table of widths for the compiled loop, rounds 1 to {horizon}"
    return identity(
        NAME,
        statement,
        apart,
        1e-12,
        f"relative, rounding; {len(played)} policies, L = 0, 2 and 20",
    )


def off_table(case: Case, where: Stage, horizon: int) -> float:
    a, b, c = case.policy(where).tables(horizon, where.streams).widths.T
    given = {log_det: a + np.sqrt(b + c * log_det) for log_det in (0.0, 2.0, 20.0)}
    rights = {
        log_det: [case.rule.width(t, log_det) for t in range(1, horizon + 1)] for log_det in given
    }
    return float(
        np.max([np.abs(widths / rights[log_det] - 1).max() for log_det, widths in given.items()])
    )


def recommendation_finding(where: Stage, horizon: int) -> Finding:
    """After each round the arm of the greatest estimate is recommended."""
    case, right = cases(horizon)[1], {}
    for name in engines():
        played = play(case.policy(where), where.instance, horizon, where.streams, name)
        arms, rewards = played.arms.tolist(), where.rewards(played.arms)
        known = [
            oracle.collapsed(where.gram, arms[:t], rewards[:t], case.rule.ridge).mean
            for t in range(1, horizon + 1)
        ]
        right[name] = sum(
            oracle.best(mean) == arm
            for mean, arm in zip(known, played.recommended.tolist(), strict=True)
        )
    statement = f"{case.title}: recommends the arm of the greatest estimate"
    return counted(
        NAME, statement, dict.fromkeys(right, horizon), right, "exact; ties to the lowest arm"
    )


def agreement(case: Case, where: Stage, horizon: int, engine: str) -> tuple[Array, Array]:
    """For each round of one engine: is the arm the definition's, and the weight of the definition."""
    arms = play(case.policy(where), where.instance, horizon, where.streams, engine).arms.tolist()
    uniforms, ties = (where.streams.uniforms(purpose, horizon) for purpose in ("weight", "tie"))
    moments = oracle.replay(case.rule, where.gram, arms, where.rewards(arms), uniforms)
    settled = ties if case.ties == "random" else [None] * horizon
    chosen = [
        (oracle.best(moment.index(), u), moment.weight)
        for moment, u in zip(moments, settled, strict=True)
    ]
    return np.equal([arm for arm, _ in chosen], arms), np.array([weight for _, weight in chosen])
