"""What commands and requests answer, recorded: a change of any answer is seen in the diff.

    PYTHONPATH=src:tests python tests/contracts/recorded_calls.py

plays all calls of `CALLS` and writes `recorded_answers.json` anew. `test_recorded_answers.py` compares
it with what is answered now. Times, folders, versions, keys and checksums are replaced by words.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

RECORDING = Path(__file__).with_name("recorded_answers.json")
HEX = re.compile(r"\b[0-9a-f]{12,64}\b")
ISO = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d+)?)?( UTC|Z|\+00:00)?")
AGO = re.compile(r"just now|\d+(\.\d+)? (second|minute|hour)s? ago")
FREE = re.compile(r"[\d.]+ [kMGT]B")
VERSION = re.compile(r"\d+\.\d+\.\d+\S*")
CLOCK = 1_600_000_000
"""A greater number is a time."""
DIGITS = 6
"""Of a number in the recording."""
ROWS = [{"Cs": i / 10, "solvent": "DMF" if i % 2 else "DMSO"} for i in range(10)]
FILES = {
    "films.csv": "name,Cs,hours,solvent,cost\n"
    + "".join(
        f"A{i},{i / 12:.3f},{10 ** (i % 4 - 2)},{'DMF' if i % 3 else 'water'},{1 + i % 3}\n"
        for i in range(12)
    ),
    "komma.csv": "Probe;Temperatur [°C];pH\n"
    + "".join(f"P{i};{20 + i * 2},5;{3 + i / 2:.1f}".replace(".", ",") + "\n" for i in range(8)),
    "old.csv": "Cs,stability\n0.1,0.5\n0.2,\n0.3,0.7\n0.4,failed\n",
    "results.csv": "row,stability\n3,0.4\n4,0.6\n",
    "results2.csv": "row,stability\n3,0.4\n4,0.65\n5,0.1\n",
    "bad.csv": "Cs,stability\n0.1,abc\nx,0.2\n",
    "dup.csv": "Cs,Cs\n1,2\n",
    "ragged.csv": "a,b\n1,2\n1\n",
    "empty.csv": "",
    "allowed.csv": "x,ok\n1,yes\n2,no\n3,yes\n4,no\n",
    "more.csv": "name,Cs,hours,solvent,cost\nB1,0.95,1,DMF,2\nB2,0.97,1,water,2\n",
    "solvents.csv": "solvent,polarity,kind\nDMF,6.4,aprotic\nwater,10.2,protic\n",
    "space.toml": "[variables]\nheat = [20.0, 90.0]\n",
    "multi.csv": "trial,stab,eff\n2,0.6,9\n3,0.4,15\n",
}
CALLS = r"""
json create films.db --candidates films.csv --target stability --label name --cost cost --seed 3
json create films.db --candidates films.csv --target stability
json create films.db --candidates films.csv --target stability --label name --cost cost --seed 3 --or-open
json create films.db --candidates films.csv --target stability --seed 4 --or-open
json status films.db
json history films.db
json estimates films.db
json check films.db
json ask films.db
json ask films.db --n 3 --worker ann
json ask films.db --worker ann
json ask films.db --n 0
json ask films.db --n two
json ask films.db --n 2 --same solvent
json ask films.db --n 2 --spread
json ask films.db --lease 2h
json ask films.db --lease soon
json ask films.db --same nope --n 2
json status films.db
json tell films.db 1 0.5
json tell films.db 1 0.5
json tell films.db 1 0.6
json tell films.db 99 0.5
json tell films.db 2 1,700
json tell films.db 2 abc
json tell films.db 2 nan
json tell films.db 2 1e999
json tell films.db 2 1_000
json tell films.db 2 0.7 --sem 0.02 --note wet --by Ann
json tell films.db 3 --failed
json tell films.db 3 0.4
json tell films.db 4 --missing
json tell films.db 4 0.2
json tell films.db --row 7 0.61
json tell films.db --row 77 0.61
json tell films.db --label A9 0.35
json tell films.db --label Z9 0.35
json tell films.db --line 4 0.3
json tell films.db --line 1 0.3
json tell films.db --at Cs=0.5 --at hours=1 --at solvent=DMF 0.33
json tell films.db --row 1 --value 0.3 --value 0.32 --value 0.31
json tell films.db --row 1 0.3 --key k1
json tell films.db --row 1 0.3 --key k1
json tell films.db --row 1 0.9 --key k1
json tell films.db 5 0.2 --worker bob
json tell films.db
json tell films.db 5
json tell films.db 5 0.4 --failed
json tell films.db 5 0.4 --sem -1
json tell films.db -1 0.4
json tell films.db 5 -0.4
json tell films.db --file results.csv
json tell films.db --file results.csv
json tell films.db --file results2.csv
json tell films.db --file results2.csv --corrected
json tell films.db --file results.csv --replicates
json tell films.db --file nofile.csv
json tell films.db --file bad.csv
json status films.db
json estimates films.db
json check films.db
json explain films.db 1
json explain films.db 99
json explain films.db --label A9
json replay films.db 1
json replay films.db 77
json correct films.db 1 0.55 --reason slip
json correct films.db 1 0.55
json correct films.db 99 0.5
json correct films.db 3 0.44
json correct films.db 2 --failed
json correct films.db --label A9 0.36
json correct films.db 1 1,500
json correct films.db 1
json correct films.db 2 0.7 --sem 0.05
json withdraw films.db 1 --reason dirty
json withdraw films.db 1
json correct films.db 1 0.5
json withdraw films.db 99
json withdraw films.db --label A9
json undo films.db
json undo films.db
json undo films.db --n 2
json undo films.db --n 0
json undo films.db --n 500
json undo films.db --n x
json release films.db 6
json release films.db 6
json release films.db 99
json release films.db 5-7
json release films.db --all --worker ann
json release films.db --all
json release films.db
json tell films.db 6 0.2
json add films.db --candidates more.csv
json add films.db --candidates more.csv
json add films.db --candidates bad.csv
json forbid films.db --label B1 --reason gone
json forbid films.db --row 2 --row 3
json forbid films.db
json forbid films.db --row 999
json allow films.db --label B1
json allow films.db --line 4
json change films.db --tolerance 0.05
json change films.db --tolerance -1
json change films.db
json change films.db --rounds 30
json change films.db --policy simple-bernoulli:p=0.25 --kernel rbf:0.2 --noise-scale 0.1 --norm-bound 2
json change films.db --policy nonsense
json change films.db --goal earn
json change films.db --lease '3 days'
json change films.db --seed 1.5
json change films.db --delta 2
json change films.db --repeats
json ask films.db
json status films.db
json history films.db
json export films.db out.csv
json export films.db out.csv
json export films.db out.pdf
json doctor films.db
json list .
json backup films.db copy.db
json backup films.db copy.db
json status copy.db
json status none.db
json status films.csv
json sheet films.db plate.csv
json tell films.db --sheet plate.csv
json salvage films.db saved.db
json salvage films.db saved2.db
file out.csv
file plate.csv
text status films.db
text history films.db
text estimates films.db
text explain films.db 1
text check films.db
text list .
text undo films.db
text ask films.db --n 2
text tell films.db --row 5 0.5
text correct films.db 1 0.56
text withdraw films.db 1
text release films.db --all
json create t0.db --candidates komma.csv --target Ausbeute
json status t0.db
json create t1.db --candidates komma.csv --target Ausbeute --label Probe
json status t1.db
json create t2.db --candidates old.csv --target stability
json status t2.db
json create t3.db --candidates bad.csv --target stability
json status t3.db
json create t4.db --candidates dup.csv --target y
json status t4.db
json create t5.db --candidates ragged.csv --target y
json status t5.db
json create t6.db --candidates empty.csv --target y
json status t6.db
json create t7.db --candidates allowed.csv --target y --allowed ok
json status t7.db
json create t8.db --candidates allowed.csv --target y --direction min --policy ucb1
json status t8.db
json create t9.db --candidates films.csv --target y --columns Cs --columns hours --log hours
json status t9.db
json create t10.db --candidates films.csv --target y --columns Cs --linear solvent
json create described.db --candidates films.csv --target y --describe solvent=solvents.csv
text create refused.db --candidates films.csv --target y --describe hours=solvents.csv
json status t10.db
json create t11.db --candidates films.csv
json status t11.db
json create t12.db --candidates films.csv --target y --policy gp-ucb --noise 0.1
json status t12.db
json create t13.db --candidates films.csv --target y --centre 1
json status t13.db
json create t14.db --candidates films.csv --target y --centre 1 --spread 0.5 --horizon 50 --goal earn
json status t14.db
json create t15.db --candidates films.csv --target y --policy igp-ucb --kernel matern:0.3
json status t15.db
json ask t8.db
json tell t8.db 1 4
json ask t8.db
json create brew.db --real heat=20:90 --real 'rate=1e-5:1e-1 log' --integer cups=1:8 --choice solvent=DMF,DMSO --target yield
json create s2.db --real A=0:1 --real B=0:1 --real C=0:1 --constraint 'A + B + C == 1' --target y
json create s3.db --real A=1:0 --target y
json create s4.db --space space.toml --target y
json create s5.db --real A=0:1 --cost A --target y
json ask brew.db --n 2
json tell brew.db 1 0.4
json tell brew.db 2 0.6
json tell brew.db --at heat=30 --at rate=0.001 --at cups=2 --at solvent=DMF 0.7
json tell brew.db --at heat=30 --at rate=0.001 --at cups=2 0.7
json tell brew.db --at heat=30 --at rate=0.001 --at cups=2 --at solvent=x 0.7
json tell brew.db --at heat=200 --at rate=0.001 --at cups=2 --at solvent=DMF 0.7
json tell brew.db --row 1 0.3
json tell brew.db --label a 0.3
json ask brew.db
json status brew.db
json history brew.db
json estimates brew.db
json explain brew.db 4
json check brew.db
json withdraw brew.db 3
json undo brew.db
json release brew.db 4
json replay brew.db 1
json add brew.db --candidates more.csv
json forbid brew.db --row 1
json export brew.db brew.csv
json ask s2.db --n 3
json status s2.db
json create multi.db --candidates films.csv --label name --target stab:minimize,range=0..1 --target eff:maximize,range=0..20,limit=5,weight=2
json create m2.db --candidates films.csv --target pH:aim=7
json create m3.db --candidates films.csv --target a:what --target b
json create m4.db --candidates films.csv --target a --target a
json ask multi.db --n 5
json tell multi.db 1 --value stab=0.5 --value eff=10
json tell multi.db 2 --value stab=0.4
json tell multi.db 2 0.5
json tell multi.db 2 --value what=1
json tell multi.db 2 --value stab=0.41
json tell multi.db 2 --value eff=3 --sem eff=0.5
json tell multi.db --file multi.csv
json tell multi.db 4 --failed
json tell multi.db 5 --value eff=2 --missing
json tell multi.db --label A3 --value stab=0.2 --value eff=17
json correct multi.db 1 --value stab=0.45
json correct multi.db 1 0.5
json withdraw multi.db 2
json undo multi.db
json status multi.db
json history multi.db
json estimates multi.db
json check multi.db
json explain multi.db 1
json export multi.db multi_out.csv
json ask multi.db
json tell m2.db --row 2 6.5
json ask m2.db
json status m2.db
json create limited.db --candidates films.csv --label name --target eff --target 'haze:<=0.25'
json create l2.db --candidates films.csv --target 'haze:<=0.25'
json create l3.db --candidates films.csv --target eff --target 'haze<=0.25'
json create l4.db --candidates films.csv --target eff --target 'haze:<=0.25' --policy gp-ucb
json tell limited.db --label A1 --value eff=3 --value haze=0.1
json tell limited.db --label A4 --value eff=6 --value haze=0.5
json tell limited.db --label A7 --value haze=0.2
json change limited.db --target 'haze:<=0.3'
json change limited.db --target 'haze:minimize'
json ask limited.db
json status limited.db
json estimates limited.db
json history limited.db
text status limited.db
text tell limited.db --label A9 --value eff=7 --value haze=0.6
text status multi.db
text history multi.db
text ask multi.db
text tell multi.db --row 6 --value stab=0.3
file brew.csv
file multi_out.csv
post /api/studies {"name": "films", "target": "stability", "rows": $ROWS}
post /api/studies {"name": "films", "target": "stability", "rows": $ROWS}
post /api/studies {"name": "kom", "target": "y", "csv": "a;b\n1,5;2\n2,5;3\n"}
post /api/studies {"name": "sp", "target": "y:minimize", "space": {"variables": {"heat": [20.0, 90.0]}}}
post /api/studies {"name": "mt", "targets": ["haze:minimize,range=0..5", {"name": "gain", "low": 0, "high": 3}], "rows": $ROWS}
post /api/studies {"name": "lim", "targets": ["gain", "haze:<=0.25", {"name": "pH", "direction": "within", "low": 6}], "rows": $ROWS}
post /api/studies/lim/tell {"row": 1, "value": {"gain": 2, "haze": 0.5, "pH": 7}}
post /api/studies {"name": "../x", "target": "y", "rows": $ROWS}
post /api/studies {"name": "n2", "rows": $ROWS}
post /api/studies {"name": "n3", "target": "y", "rows": $ROWS, "tolerance": -1}
post /api/studies {"name": "n4", "target": "y", "rows": $ROWS, "goal": "win"}
post /api/studies {"name": "n5", "target": "y", "rows": $ROWS, "nonsense": 1}
post /api/studies/films/ask {"n": 3, "worker": "robot"}
post /api/studies/films/ask {"worker": "robot"}
post /api/studies/films/ask {"n": 0}
post /api/studies/films/ask {"n": "2"}
post /api/studies/films/ask {"same": ["solvent"], "n": 2}
post /api/studies/films/ask {"same": "solvent", "n": 2}
post /api/studies/films/ask {"lease": -1}
post /api/studies/films/tell {"trial": 1, "value": 0.5}
post /api/studies/films/tell {"trial": 1, "value": 0.6}
post /api/studies/films/tell {"trial": 2, "value": "0.5"}
post /api/studies/films/tell {"trial": 2, "value": [0.5, 0.6], "note": "x", "by": "Ann"}
post /api/studies/films/tell {"trial": 3, "failed": true}
post /api/studies/films/tell {"row": 4, "missing": true}
post /api/studies/films/tell {"row": 99, "value": 1}
post /api/studies/films/tell {"x": {"Cs": 0.25, "solvent": "DMF"}, "value": 0.3}
post /api/studies/films/tell {"value": 1}
post /api/studies/films/tell {}
post /api/studies/films/tell {"trial": 2, "value": 1e+300}
post /api/studies/films/tell-all {"results": [{"row": 3, "value": 0.5}, {"row": 8, "value": 0.7}]}
post /api/studies/films/tell-all {"results": [{"row": 3, "value": 0.6}]}
post /api/studies/films/tell-all {"results": [{"row": 3, "value": 0.6}], "corrected": true}
post /api/studies/films/tell-all {"results": []}
post /api/studies/films/correct {"trial": 1, "value": 0.55, "reason": "slip"}
post /api/studies/films/correct {"trial": 99, "value": 0.55}
post /api/studies/films/withdraw {"trial": 1}
post /api/studies/films/withdraw {"trial": 1}
post /api/studies/films/undo {}
post /api/studies/films/undo {"n": 2}
post /api/studies/films/undo {"n": 0}
post /api/studies/films/undo {"event": 1}
post /api/studies/films/release {"trials": [4]}
post /api/studies/films/release {"trials": []}
post /api/studies/films/release {"trials": [44]}
post /api/studies/films/permit {"rows": [1], "allowed": false}
post /api/studies/films/permit {"rows": [1], "allowed": true}
post /api/studies/films/permit {"allowed": true}
post /api/studies/films/add {"rows": [{"Cs": 2.0, "solvent": "DMF"}]}
post /api/studies/films/add {"rows": [{"Cs": 2.0}]}
post /api/studies/films/change {"tolerance": 0.1}
post /api/studies/films/change {"tolerance": null}
post /api/studies/films/change {}
post /api/studies/films/change {"seed": 3}
post /api/studies/films/change {"policy": "gp-ucb:oops=1"}
post /api/studies/films/nothing {}
get /api/studies/films
get /api/studies/films/candidates
get /api/studies/films/estimates
get /api/studies/films/trials
get /api/studies/films/check
get /api/studies/films/trials/2/why
get /api/studies/films/trials/99/why
get /api/studies/films/events
get /api/studies/films/events?after=3
get /api/studies/films/events?after=-1
post /api/studies/mt/ask {"n": 2}
post /api/studies/mt/tell {"trial": 1, "value": {"haze": 2.0}}
post /api/studies/mt/tell {"trial": 1, "value": 2.0}
post /api/studies/mt/tell {"trial": 1, "value": {"gain": 2.0}}
post /api/studies/mt/tell {"trial": 2, "value": {"gain": 2.0}, "missing": true}
post /api/studies/mt/correct {"trial": 1, "value": {"gain": 1.0}}
get /api/studies/mt
get /api/studies/mt/candidates
get /api/studies/mt/trials
get /api/studies/mt/events
get /api/studies/sp
get /api/studies/sp/candidates
get /api/studies/sp/trials
get /api/studies/sp/events
get /api/studies/kom
get /api/studies/kom/candidates
get /api/studies/kom/trials
get /api/studies/kom/events
post /api/studies/sp/ask {"n": 2}
post /api/studies/sp/tell {"trial": 1, "value": 3}
post /api/studies/sp/tell {"x": {"heat": 33}, "value": 2}
post /api/studies/sp/tell {"x": {"heat": 333}, "value": 2}
get /api/studies/sp/trials
get /api/studies
get /api/studies/none
"""
"""One in each line: `json` or `text` and a command of `study`, `file` and the name of a file that was
written, or `get` or `post` with the address and the body of a request."""


def record() -> list[dict[str, Any]]:
    """Play all calls in a new folder, and return what each answers."""
    from commands import study_with_warnings
    from lab_pages import Page

    os.environ |= {"COLUMNS": "200", "NO_COLOR": "1", "PYTHONWARNINGS": "ignore"}
    before, root = Path.cwd(), Path(tempfile.mkdtemp(prefix="recorded"))
    (root / "lab").mkdir()
    for name, text in FILES.items():
        (root / name).write_text(text, "cp1252" if name == "komma.csv" else "utf-8")
    os.chdir(root)
    page = Page(root / "lab", root / "state")
    program = page.program()

    def play(call: str) -> dict[str, Any]:
        kind, _, words = call.partition(" ")
        if kind == "file":
            return {"text": Path(words).read_text("utf-8")}
        if kind in ("get", "post"):
            path, _, body = words.partition(" ")
            sent = {"json": json.loads(body.replace("$ROWS", json.dumps(ROWS)))} if body else {}
            answer = getattr(program, kind)(path, **sent)
            return {"code": answer.status_code, "json": answer.json()}
        form = ["--format", "json"] if kind == "json" else []
        done = study_with_warnings(*shlex.split(words), *form)
        document: dict[str, Any] = {"text": done.out}
        if kind == "json" and done.out:
            document = {"json": json.loads(done.out)}
        errors = " ".join(done.err.split())
        return {"code": done.code, **document} | ({"err": errors} if errors else {})

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            calls = CALLS.strip().splitlines()
            return [{"call": call} | normalise(play(call), root) for call in calls]
    finally:
        page.close()
        os.chdir(before)


def normalise(value: Any, root: Path) -> Any:
    """Replace what differs from run to run."""
    if isinstance(value, dict):
        return {
            name: "SECONDS" if name == "since" and item else normalise(item, root)
            for name, item in value.items()
        }
    if isinstance(value, list):
        return [normalise(item, root) for item in value]
    if isinstance(value, str):
        text = value.replace(str(root), "ROOT")
        for pattern, word in ((HEX, "HEX"), (ISO, "TIME"), (AGO, "AGO"), (FREE, "SIZE")):
            text = pattern.sub(word, text)
        # A time ago is shorter or longer, and what fills the line behind it the other way round.
        text = "\n".join(line.rstrip() for line in text.split("\n"))
        return VERSION.sub("VERSION", text) if "SQLite" in text else text
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    if value > CLOCK:
        return "CLOCK"
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def write(answers: list[dict[str, Any]], path: Path) -> None:
    path.write_text(json.dumps(answers, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    write(record(), Path(sys.argv[1]) if len(sys.argv) > 1 else RECORDING)
