"""The pages that are read: studies, candidates, figures, history. Forms are sent to `forms`."""

from __future__ import annotations

import base64
import json
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, HTTPException, Request
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from kernelbandits.apps.web import views
from kernelbandits.apps.web.access import Visitor
from kernelbandits.apps.web.creation import (
    CHOICE_KINDS,
    NUMBER_KINDS,
    SCALES,
    SUMS,
    Ranges,
    TargetLine,
    preview_table,
)
from kernelbandits.apps.web.creation import ROLES as COLUMN_ROLES
from kernelbandits.apps.web.figures import MAP, FigureName, drawing_lock
from kernelbandits.apps.web.inputs import field_attributes
from kernelbandits.apps.web.lab import (
    Lab,
    StudyRoute,
    base_address,
    find_lab,
    find_study,
    study_address,
)
from kernelbandits.apps.web.library import Entry
from kernelbandits.apps.web.snapshots import ANSWERS, DRAWINGS, STATUS, Snapshot
from kernelbandits.apps.web.uploads import refuse_full_disk
from kernelbandits.apps.web.visitors import PageVisitor, SubmittedForm, page_visitor
from kernelbandits.checks import StorageError, StudyConflict
from kernelbandits.formatting import format_time
from kernelbandits.report.pages import render, template_text
from kernelbandits.report.studies.drawing import render_page
from kernelbandits.report.studies.methods import citations, describe_methods
from kernelbandits.study import Study
from kernelbandits.study.arguments import PAGE
from kernelbandits.study.operations import OPERATIONS, READ, WRITE
from kernelbandits.study.settings import AUTO, Setting, settings_of
from kernelbandits.study.stopping import TOLERANCE_HINT
from kernelbandits.study.targets import describe_aim
from kernelbandits.study.words import describe_step
from kernelbandits.tables.export import write_csv
from kernelbandits.tables.workbooks import WHICH_SHEET

router = APIRouter(
    dependencies=[Depends(page_visitor)], include_in_schema=False, route_class=StudyRoute
)

STATIC = Path(__file__).parent / "static"
STATIC_TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}
SVG_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"
"""A figure is an image without script; matplotlib writes its styles into the elements."""
NOTICE_SECONDS = 60
MOST_CARDS = 12
"""Studies of the list that are opened to say more of them."""
LONGEST_NOTICE = 1500
"""Letters that fit into a cookie."""


# ---------------------------------------------------------------------- the frame of a page


def show_page(
    request: Request, visitor: Visitor, template: str, code: int = 200, **values: Any
) -> Response:
    """Show a page with what all pages have: who reads, the form field, and what was said last.

    It names the key of the form that it answers, so that the script no longer keeps what was typed.
    """
    lab = find_lab(request)
    said, answered = read_notices(lab, request)
    page = render(
        f"lab/{template}",
        shelf=lab.library.shelf.title,
        single=lab.library.shelf.fixed_name is not None,
        may_write=visitor.may_write,
        csrf=lab.access.form_token(visitor),
        new_key=lambda: secrets.token_hex(8),
        said=said,
        answered=find_form_key(request) or answered,
        time=partial(format_time, utc=True),
        study_address=study_address,
        sentence=write_sentence,
        declared={one.name: {part.name: part for part in one.fields} for one in OPERATIONS},
        attributes=field_attributes,
        **values,
    )
    answer = HTMLResponse(page, code)
    if said or answered:
        answer.delete_cookie(
            notice_cookie(lab), httponly=True, samesite="strict", secure=lab.secure
        )
    return answer


def write_sentence(text: str) -> str:
    """Return a text of a study as a sentence of a page, which names no commands.

    >>> write_sentence("trial 4: 83 is odd. Correct it: study.correct(4, VALUE), or ...")
    'Trial 4: 83 is odd. Correct it.'
    >>> write_sentence("check it, and correct it if it is wrong (study correct).")
    'Check it, and correct it if it is wrong.'
    """
    said = text.partition(": study.correct(")[0].replace(" (study correct)", "")
    said = said.replace(WHICH_SHEET, "keep the one that is meant, or paste its cells")
    said = said.strip().rstrip(".")
    # A sentence that begins with the name of a file keeps it.
    name = "." in said.partition(" ")[0]
    return f"{said if name else said[:1].upper() + said[1:]}."


def find_form_key(request: Request) -> str:
    """Return the key of the form that a request brought; `visitors.read_form` has read it."""
    key: str = getattr(request.state, "form_key", "")
    return key


def go_to(request: Request, address: str, *sentences: str) -> Response:
    """Send the browser to a page, which says these sentences once and names the form it answers."""
    lab, answer = find_lab(request), RedirectResponse(address, 303)
    said = [one[: LONGEST_NOTICE // len(sentences)] for one in sentences]
    text = json.dumps({"said": said, "key": find_form_key(request)})
    value = base64.urlsafe_b64encode(text.encode()).decode()
    answer.set_cookie(
        notice_cookie(lab),
        lab.access.sign("notice", value),
        max_age=NOTICE_SECONDS,
        secure=lab.secure,
        httponly=True,
        samesite="strict",
    )
    return answer


def notice_cookie(lab: Lab) -> str:
    return f"{lab.cookie}-said"


def read_notices(lab: Lab, request: Request) -> tuple[list[str], str]:
    """Return what the last form has to say, and its key."""
    value = lab.access.unsign("notice", request.cookies.get(notice_cookie(lab), ""))
    if value is None:
        return [], ""
    found = json.loads(base64.urlsafe_b64decode(value))
    return found["said"], found["key"]


def study_values(request: Request, name: str, snapshot: Snapshot) -> dict[str, Any]:
    """Return what all pages of a study show; none of it needs a model."""
    at, path, query = study_address(name), request.scope["path"], request.scope["query_string"]
    asked = f"{quote(path)}?{query.decode('latin-1')}".rstrip("?")
    return {
        "name": name,
        # Where the script finds news of the page: that of a refused form has another address.
        "page": asked if request.method == "GET" else at,
        "at": at,
        "event": snapshot.number,
        "direction": snapshot.study.direction,
        "counts": snapshot.counts,
        "target": snapshot.study.target,
        "targets": [one.name for one in snapshot.study.targets],
        # What is measured beside the target, or combined to it: mostly nothing.
        "others": list_others(snapshot.study),
        "aim": describe_aim(snapshot.study.targets),
        "several": snapshot.study.shows_targets,
        "noun": snapshot.study.candidates.noun,
        "heading": snapshot.study.candidates.heading,
        "columns": snapshot.columns,
        # The answer that is being computed: the script loads the page again when it is known.
        "waiting": "",
    }


def list_others(study: Study) -> list[str]:
    """List the targets that are shown beside the number that the policy sees."""
    known = study.targets if study.shows_targets else ()
    return [one.name for one in known if one.name != study.target]


def take_snapshot(request: Request, name: str) -> Snapshot:
    return find_lab(request).snapshot(name)


# ---------------------------------------------------------------------- studies


@router.get("/")
def home(request: Request, visitor: PageVisitor) -> Response:
    """Show the list of studies, or the only one."""
    lab = find_lab(request)
    entries = lab.library.entries()
    fixed = lab.library.shelf.fixed_name
    if fixed is not None and any(one.name == fixed for one in entries):
        return RedirectResponse(study_address(fixed), 303)
    return show_page(request, visitor, "home.html", entries=entries, cards=make_cards(lab, entries))


def make_cards(lab: Lab, entries: Sequence[Entry]) -> dict[str, views.StudyCard]:
    """Return more of the first studies that can be read: each has to be opened for it."""
    cards = {}
    for one in [entry for entry in entries if not entry.problem][:MOST_CARDS]:
        with suppress(StorageError, StudyConflict):
            cards[one.name] = views.make_card(lab.snapshot(one.name))
    return cards


@router.get("/new")
def new_study(request: Request, visitor: PageVisitor) -> Response:
    """Show the page on which a table is dropped or pasted, or ranges are typed."""
    return show_new(request, visitor, None)


def show_new(
    request: Request,
    visitor: Visitor,
    ranges: Ranges | None,
    status: int = 200,
    problem: str = "",
    table_problem: str = "",
    form: SubmittedForm | None = None,
    sheets: Mapping[str, str] | None = None,
) -> Response:
    """Show the page for new studies; a problem stands at its form, which keeps what was typed."""
    fixed = find_lab(request).library.shelf.fixed_name
    shown = Ranges.of(None, fixed) if ranges is None else ranges
    return show_page(
        request,
        visitor,
        "new.html",
        status,
        ranges=shown,
        number_kinds=NUMBER_KINDS,
        choice_kinds=CHOICE_KINDS,
        sums=SUMS,
        fixed=fixed,
        problem=problem,
        table_problem=table_problem,
        pasted="" if form is None else form.raw("pasted"),
        sheets=sheets or {},
    )


@router.get("/new/{number}")
def new_from_table(
    request: Request,
    visitor: PageVisitor,
    number: str,
    worksheet: str | None = None,
) -> Response:
    """Show what was understood of a table, with guesses that can be changed."""
    return show_preview(request, visitor, number, worksheet=worksheet)


def show_preview(
    request: Request,
    visitor: Visitor,
    number: str,
    form: SubmittedForm | None = None,
    status: int = 200,
    problem: str = "",
    worksheet: str | None = None,
) -> Response:
    lab = find_lab(request)
    upload, fixed = lab.uploads.find(number), lab.library.shelf.fixed_name
    return show_page(
        request,
        visitor,
        "table.html",
        status,
        upload=upload,
        preview=preview_table(upload, form, fixed, worksheet, lab.library.shelf.names()),
        problem=problem,
        roles=COLUMN_ROLES,
        scales=SCALES,
        fixed=fixed,
    )


@router.get("/studies/{name}")
def measure(request: Request, visitor: PageVisitor, name: str) -> Response:
    """Show what to measure next, the likely best, and whether to stop."""
    snapshot = take_snapshot(request, name)
    return show_measure(request, visitor, name, snapshot)


def show_measure(
    request: Request,
    visitor: Visitor,
    name: str,
    snapshot: Snapshot,
    wrong: Mapping[str, str] | None = None,
    **more: Any,
) -> Response:
    """Show what to measure next; `wrong` says of fields of a batch what is wrong with them."""
    # Who has just told a result wants the next candidate, and not to wait for the model.
    shown = snapshot.newest_with(STATUS, in_turn=False)
    status = None if shown is None else shown.status
    stop = "" if status is None else status.stop.sentence
    best = None if status is None else status.best
    headline = None if best is None else views.make_headline(shown or snapshot, best)
    return show_page(
        request,
        visitor,
        "study.html",
        **study_values(request, name, snapshot) | wait_for(snapshot, shown, STATUS),
        status=status,
        pending=views.pending_trials(snapshot, [number_in(field) for field in wrong or ()]),
        wrong=wrong or {},
        recent=views.recent_results(snapshot),
        headline=headline,
        stop=stop.replace(TOLERANCE_HINT, "").strip(),
        ask_tolerance=stop.endswith(TOLERANCE_HINT),
        last_step=snapshot.last_step,
        describe_step=partial(describe_step, name=snapshot.study.candidates.name),
        **more,
    )


def number_in(field: str) -> int:
    """Return the trial whose line of a batch has this field."""
    return int(field.rpartition("-")[2])


def wait_for(snapshot: Snapshot, shown: Snapshot | None, what: str) -> dict[str, str]:
    """Return what a page waits for if it shows an earlier snapshot, or none."""
    return {"waiting": "" if shown is snapshot else what}


def show_waiting(
    request: Request, visitor: Visitor, name: str, snapshot: Snapshot, what: str, here: str
) -> Response:
    """Show a page of a study with a sentence that stands until its answers are computed."""
    values = study_values(request, name, snapshot) | {"waiting": what}
    return show_page(request, visitor, "waiting.html", **values, here=here)


@router.get("/studies/{name}/news")
def news(request: Request, name: str, after: int = 0, waiting: str = "") -> Response:
    """Return the number of the last event; a page that knows an earlier one loads its parts again.

    A page that is waiting for an answer of the model also hears whether it is known.
    """
    snapshot = take_snapshot(request, name)
    what = waiting if waiting in ANSWERS else STATUS
    if waiting and not snapshot.is_ready(what):
        snapshot.background.begin(snapshot, what)
    number, ready = snapshot.number, snapshot.is_ready(what)
    return JSONResponse({"event": number, "changed": number > after, "ready": ready})


@router.get("/studies/{name}/candidates")
def candidates(
    request: Request,
    visitor: PageVisitor,
    name: str,
    sort: str = "mean",
    order: str = "",
    search: str = "",
    show: str = "all",
    page: int = 1,
) -> Response:
    minimize = find_study(request, name).direction == "minimize"
    descending = order == "down" or (order == "" and sort == "mean" and not minimize)
    chosen = show if show in views.SHOWS else "all"
    query = views.Query(sort, descending, search[:200], chosen, page)
    snapshot = take_snapshot(request, name)
    shown = snapshot.newest_with(STATUS)
    if shown is None:
        return show_waiting(request, visitor, name, snapshot, STATUS, "/candidates")
    return show_candidates(request, visitor, name, snapshot, shown, query)


def show_candidates(
    request: Request,
    visitor: Visitor,
    name: str,
    snapshot: Snapshot,
    shown: Snapshot,
    query: views.Query,
    code: int = 200,
    **more: Any,
) -> Response:
    """Show the table of candidates; after a refused form with the problem and what was typed."""
    place = snapshot.study.candidates
    values = study_values(request, name, snapshot) | wait_for(snapshot, shown, STATUS)
    if request.method != "GET":
        values["page"] = study_address(name, "/candidates")
    return show_page(
        request,
        visitor,
        "candidates.html",
        code,
        **values,
        table=views.candidate_table(shown, query, shown.status.best),
        variables=() if place.lists_all else place.chosen,
        examples=[place.name(row) for row in (0, 1)] if place.lists_all else (),
        space="" if place.lists_all else place.introduce(),
        **{"typed": {}, "problem": "", "problem_form": "", **more},
    )


@router.get("/studies/{name}/candidates/{row}")
def candidate(request: Request, visitor: PageVisitor, name: str, row: int) -> Response:
    """Show what is known of a row, with forms to tell a result of it and to forbid it."""
    return show_candidate(request, visitor, name, row)


def show_candidate(
    request: Request, visitor: Visitor, name: str, row: int, code: int = 200, **more: Any
) -> Response:
    """Show a row; after a refused form with the problem and what was typed."""
    snapshot, here = take_snapshot(request, name), f"/candidates/{row}"
    shown = snapshot.newest_with(STATUS)
    if shown is None:
        return show_waiting(request, visitor, name, snapshot, STATUS, here)
    found = views.find_candidate(shown, row, shown.status.best)
    if found is None:
        raise HTTPException(404, f"there is no row {row} in this study")
    values = study_values(request, name, snapshot) | wait_for(snapshot, shown, STATUS)
    return show_page(
        request,
        visitor,
        "candidate.html",
        code,
        **values | {"page": study_address(name, here)},
        row=found,
        trials=views.trials_of(snapshot, row),
        why_not=shown.compare(row).sentence,
        **{"typed": {}, "problem": "", "problem_form": "", **more},
    )


@router.get("/studies/{name}/trials/{trial}")
def trial_page(request: Request, visitor: PageVisitor, name: str, trial: int) -> Response:
    return show_trial(request, visitor, name, trial)


def show_trial(
    request: Request, visitor: Visitor, name: str, trial: int, status: int = 200, **more: Any
) -> Response:
    """Show a trial: its candidate, its result, why it was suggested, and what happened to it."""
    snapshot = take_snapshot(request, name)
    found = views.find_trial(snapshot, trial)
    if found is None:
        raise HTTPException(404, f"there is no trial {trial} in this study")
    sentence: str = ""
    rows: list[tuple[str, str]] = []
    # After the status the model is there, and an explanation takes a moment.
    explained = trial in snapshot.asks
    waiting = "" if not explained or snapshot.newest_with(STATUS) is snapshot else STATUS
    if explained and not waiting:
        sentence, rows = views.explanation_rows(snapshot.explain(trial))
    events = [one for one in views.event_lines(snapshot) if one.trial == trial]
    values = {"conflict": None, "typed": {}, **more}
    return show_page(
        request,
        visitor,
        "trial.html",
        status,
        **study_values(request, name, snapshot)
        | {"page": study_address(name, f"/trials/{trial}"), "waiting": waiting},
        trial=found,
        why=sentence,
        numbers=rows,
        events=events,
        **values,
    )


@router.get("/studies/{name}/figures")
def figures(
    request: Request, visitor: PageVisitor, name: str, across: str = "", up: str = ""
) -> Response:
    snapshot = take_snapshot(request, name)
    shown = snapshot.newest_with(DRAWINGS)
    if shown is None:
        return show_waiting(request, visitor, name, snapshot, DRAWINGS, "/figures")
    columns, usual = shown.columns, shown.view.map
    if across in columns and up in columns and across != up:
        chosen: tuple[str, str] | None = (across, up)
    else:
        chosen = None if usual is None else (usual.across, usual.up)
    caption = ""
    if chosen is not None:
        caption = shown.find_drawing(FigureName(MAP, 0, *chosen)).caption
    captions = {
        kind: [(one.title, one.caption) for one in drawings]
        for kind, drawings in shown.drawings.items()
    }
    return show_page(
        request,
        visitor,
        "figures.html",
        **study_values(request, name, snapshot) | wait_for(snapshot, shown, DRAWINGS),
        figures=captions,
        # The event of the figures: a browser keeps an image under its address.
        drawn=shown.number,
        chosen=chosen,
        map_caption=caption,
        check=shown.check,
    )


WantedFigure = Annotated[FigureName, Depends(FigureName)]


@router.get("/studies/{name}/figure.svg")
def figure(request: Request, name: str, wanted: WantedFigure) -> Response:
    drawn = find_drawn_snapshot(request, name).draw(wanted)
    return Response(drawn.svg, 200, {"content-security-policy": SVG_POLICY}, "image/svg+xml")


@router.get("/studies/{name}/marks.json")
def marks(request: Request, name: str, wanted: WantedFigure) -> Response:
    """Return place and text of each mark of a figure, which the page shows under the pointer."""
    return Response(
        find_drawn_snapshot(request, name).draw(wanted).marks, 200, {}, "application/json"
    )


def find_drawn_snapshot(request: Request, name: str) -> Snapshot:
    """Return the snapshot whose figures the page shows."""
    snapshot = take_snapshot(request, name)
    return snapshot.newest_with(DRAWINGS) or snapshot


@router.get("/studies/{name}/history")
def history(
    request: Request, visitor: PageVisitor, name: str, before: int | None = None
) -> Response:
    snapshot = take_snapshot(request, name)
    return show_page(
        request,
        visitor,
        "history.html",
        **study_values(request, name, snapshot),
        events=views.event_lines(snapshot, before),
        last_step=snapshot.last_step,
        describe_step=partial(describe_step, name=snapshot.study.candidates.name),
    )


@router.get("/studies/{name}/settings")
def settings(request: Request, visitor: PageVisitor, name: str) -> Response:
    return show_settings(request, visitor, name)


def show_settings(
    request: Request,
    visitor: Visitor,
    name: str,
    code: int = 200,
    problem: str = "",
    typed: Mapping[str, str] | None = None,
    lines: Sequence[TargetLine] = (),
) -> Response:
    """Show the settings; after a refused change with the problem and what was typed."""
    snapshot = take_snapshot(request, name)
    shown, known = snapshot.newest_with(STATUS), snapshot.study.settings
    values = study_values(request, name, snapshot) | wait_for(snapshot, shown, STATUS)
    stored = {one: "" if value is None else value for one, value in known.items()}
    texts = {**stored, **(typed or {})}
    several = snapshot.study.shows_targets
    measured = [TargetLine.of(one) for one in snapshot.study.targets] if several else []
    return show_page(
        request,
        visitor,
        "settings.html",
        code,
        **values | {"page": study_address(name, "/settings")},
        fields=[(one, texts[one.name]) for one in offer_settings(known)],
        lines=(lines or measured) if several else [],
        # The figure is computed when it is loaded; before the first result there is none.
        has_front=len(measured) > 1 and snapshot.counts.told > 0,
        status=None if shown is None else shown.status,
        problem=problem,
    )


def offer_settings(known: Mapping[str, Any]) -> list[Setting]:
    """Return the settings that the page has fields for; those of auto only where auto plays."""
    return [one for one in settings_of(PAGE) if known["policy"] == AUTO or not one.refused]


@router.get("/studies/{name}/share")
def share(request: Request, visitor: PageVisitor, name: str) -> Response:
    return show_share(request, visitor, name)


def show_share(request: Request, visitor: Visitor, name: str, link: str = "") -> Response:
    """Show downloads, the paragraph for a paper, and who else may come in; a new link once."""
    lab, snapshot = find_lab(request), take_snapshot(request, name)
    shown = snapshot.newest_with(STATUS)
    tokens = {READ: lab.access.token(READ), WRITE: lab.access.token(WRITE)}
    return show_page(
        request,
        visitor,
        "share.html",
        **study_values(request, name, snapshot)
        | wait_for(snapshot, shown, STATUS)
        | {"page": study_address(name, "/share")},
        methods="" if shown is None else describe_methods(snapshot.study, shown.status),
        citations=citations(),
        # Whoever may only read sees the token that may only read.
        tokens=tokens if visitor.may_write else {READ: tokens[READ]},
        base=base_address(request),
        link=link,
    )


@router.get("/studies/{name}/sheet")
def sheet(request: Request, visitor: PageVisitor, name: str) -> Response:
    """Show the pending trials, to print and fill in."""
    snapshot = take_snapshot(request, name)
    values = study_values(request, name, snapshot)
    pending = views.pending_trials(snapshot)
    return show_page(request, visitor, "sheet.html", **values, pending=pending)


# ---------------------------------------------------------------------- files


@router.get("/studies/{name}/download/{what}")
def download(request: Request, name: str, what: str) -> Response:
    """Send a file: trials, estimates, all in a workbook, a sheet to fill in, a page to send."""
    snapshot = take_snapshot(request, name)
    if what not in DOWNLOADS:
        raise HTTPException(404, f"there is no download {what[:80]!r}")
    with refuse_full_disk(), TemporaryDirectory() as folder:
        path = Path(folder) / what
        DOWNLOADS[what](snapshot, path)
        content = path.read_bytes()
    kind = DOWNLOAD_TYPES[path.suffix]
    heading = {
        "content-disposition": name_file(f"{name}-{what}"),
        "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    }
    return Response(content, 200, heading, kind)


def name_file(name: str) -> str:
    """Return the header by which a browser names a file that it keeps (RFC 6266).

    A header has Latin letters only, so a name with others comes twice: as its UTF-8 codes, and with
    _ in their place for programs that do not read these.

    >>> name_file("films-trials.csv")
    'attachment; filename="films-trials.csv"'
    >>> print(name_file("Röhre 1.csv"))
    attachment; filename="R_hre 1.csv"; filename*=UTF-8''R%C3%B6hre%201.csv
    """
    plain = re.sub(r"[^A-Za-z0-9_. -]", "_", name)
    coded = "" if plain == name else f"; filename*=UTF-8''{quote(name, safe='')}"
    return f'attachment; filename="{plain}"{coded}'


def export_study(snapshot: Snapshot, path: Path) -> None:
    """Write all trials as CSV, or a workbook with trials, candidates and estimates."""
    snapshot.study.export(path)


def write_sheet(snapshot: Snapshot, path: Path) -> None:
    """Write the pending trials, to fill in and to tell back."""
    snapshot.study.write_sheet(path)


def estimates_csv(snapshot: Snapshot, path: Path) -> None:
    frame = snapshot.estimates
    write_csv(path, list(frame.columns), frame.itertuples(index=False))


def page_html(snapshot: Snapshot, path: Path) -> None:
    """Write the page of `study plot`: everything in one file, without script."""
    view = snapshot.view
    with drawing_lock:
        path.write_bytes(render_page(view))


DOWNLOADS: dict[str, Callable[[Snapshot, Path], None]] = {
    "trials.csv": export_study,
    "study.xlsx": export_study,
    "estimates.csv": estimates_csv,
    "sheet.xlsx": write_sheet,
    "page.html": page_html,
}
DOWNLOAD_TYPES = {
    ".csv": "text/csv; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}


@router.get("/static/{file}")
def static(file: str) -> Response:
    """Send the style or the script of the pages, each known by its name."""
    found = static_files().get(file)
    if found is None:
        raise HTTPException(404, "there is no such file")
    return Response(
        found, 200, {"cache-control": "private, max-age=60"}, STATIC_TYPES[Path(file).suffix]
    )


def static_files() -> dict[str, str]:
    own = {
        path.name: path.read_text("utf-8")
        for path in STATIC.iterdir()
        if path.suffix in STATIC_TYPES
    }
    return {**own, "style.css": template_text("style.css")}


@router.get("/help/api")
def api_help(request: Request, visitor: PageVisitor) -> Response:
    """Show the operations of the API, from its OpenAPI description."""
    document = request.app.openapi()
    operations = [
        {
            "method": method.upper(),
            "path": path,
            "summary": one["summary"],
            "description": one.get("description", ""),
            "fields": body_fields(one),
        }
        for path, methods in document["paths"].items()
        for method, one in methods.items()
    ]
    base = base_address(request)
    return show_page(request, visitor, "api.html", operations=operations, base=base)


def body_fields(operation: Mapping[str, Any]) -> list[str]:
    """Return the names of the fields that the body of a request may have."""
    content = operation.get("requestBody", {}).get("content", {})
    return list(content.get("application/json", {}).get("schema", {}).get("properties", ()))


@router.get("/help/openapi.json")
def api_description(request: Request) -> Response:
    """Send the same description that the API has, for a browser."""
    return JSONResponse(request.app.openapi())
