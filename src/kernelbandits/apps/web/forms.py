"""The forms of the pages: ask, tell, correct, undo, create. Each answers with a page to go to.

Every form has a key that was made when its page was shown, and the study stores it with what is
written: a form that is sent twice counts once.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from kernelbandits import checks
from kernelbandits.apps.web import views
from kernelbandits.apps.web.access import ROLES, Visitor
from kernelbandits.apps.web.creation import (
    Aims,
    Ranges,
    create_from_table,
    preview_table,
    read_lines,
)
from kernelbandits.apps.web.errors import describe_error
from kernelbandits.apps.web.example import create_example, find_answer
from kernelbandits.apps.web.inputs import (
    read_argument,
    read_arguments,
    read_result,
    read_setting,
    read_whole,
)
from kernelbandits.apps.web.lab import (
    StudyRoute,
    base_address,
    find_asker,
    find_lab,
    find_study,
    study_address,
)
from kernelbandits.apps.web.pages import (
    go_to,
    offer_settings,
    show_candidate,
    show_candidates,
    show_measure,
    show_new,
    show_preview,
    show_settings,
    show_share,
    show_trial,
    take_snapshot,
)
from kernelbandits.apps.web.snapshots import STATUS
from kernelbandits.apps.web.uploads import Upload
from kernelbandits.apps.web.visitors import (
    PageVisitor,
    SentForm,
    SubmittedForm,
    page_writer,
    read_form,
)
from kernelbandits.checks import StudyConflict
from kernelbandits.formatting import format_count
from kernelbandits.study import AlreadyTold, Study, operations, sheets
from kernelbandits.study.growing import remark_additions
from kernelbandits.study.words import (
    describe_correction,
    describe_event,
    describe_permission,
    describe_release,
    describe_results,
    describe_stored,
    describe_unchanged,
    describe_undos,
    describe_withdrawal,
    format_result,
)
from kernelbandits.tables.sources import read_table
from kernelbandits.tables.workbooks import SeveralSheets

router = APIRouter(
    dependencies=[Depends(page_writer), Depends(read_form)],
    include_in_schema=False,
    route_class=StudyRoute,
)


REPEATS = tuple(one.name for one in operations.TELL_ALL.arguments)
"""What is done with a value that differs from the stored one."""


def key_of(form: SubmittedForm) -> str | None:
    return form.optional("key")


# ---------------------------------------------------------------------- new studies


@router.post("/new/table")
def upload_table(request: Request, visitor: PageVisitor, form: SentForm) -> Response:
    """Keep a table that was dropped or pasted, and show what was understood."""
    lab = find_lab(request)
    try:
        upload = keep_table(request, form)
    except ValueError as error:
        return show_new(request, visitor, None, 422, table_problem=str(error), form=form)
    worksheet = form.optional("worksheet")
    try:
        preview_table(upload, None, worksheet=worksheet)
    except SeveralSheets as error:
        problem = f"{upload.path.name} has several sheets"
        found = {one: name_preview(upload, one) for one in error.sheets}
        return show_new(request, visitor, None, 422, table_problem=problem, sheets=found)
    except ValueError as error:
        lab.uploads.remove(upload)
        return show_new(request, visitor, None, 422, table_problem=str(error), form=form)
    return go_to(request, name_preview(upload, worksheet))


def name_preview(upload: Upload, worksheet: str | None) -> str:
    """Return the address of what was understood of a table."""
    query = f"?{urlencode({'worksheet': worksheet})}" if worksheet else ""
    return f"/new/{upload.number}{query}"


def keep_table(request: Request, form: SubmittedForm) -> Upload:
    """Keep the file, or the text that was pasted, among the uploads."""
    file = form.file("file")
    if file is None:
        return find_lab(request).uploads.add(form.raw("pasted").encode(), "pasted.csv")
    return find_lab(request).uploads.add(file.file.read(), file.filename or "")


@router.post("/new/ranges")
def create_by_ranges(request: Request, visitor: PageVisitor, form: SentForm) -> Response:
    lab = find_lab(request)
    ranges = Ranges.of(form)
    if form.text("action") == "more":
        return show_new(request, visitor, ranges)
    try:
        settings = ranges.aims.settings()
        space, remarks = ranges.space()
        lab.library.create(ranges.aims.name, space, **settings)
    except (ValueError, StudyConflict) as error:
        return show_new(request, visitor, ranges, 422, str(error))
    return go_to(request, study_address(ranges.aims.name), "The study was created.", *remarks)


@router.post("/new/example")
def create_by_example(request: Request, form: SentForm) -> Response:
    """Create a study to play with, whose results are known."""
    lab = find_lab(request)
    _, name = create_example(lab.library, {one.name for one in lab.library.entries()})
    said = 'Press "Suggest", and then "Show the measured value" in place of a measurement.'
    return go_to(request, study_address(name), said)


@router.post("/new/{number}")
def create_by_table(
    request: Request, visitor: PageVisitor, form: SentForm, number: str
) -> Response:
    """Create the study, or show the table again with other roles."""
    lab = find_lab(request)
    upload = lab.uploads.find(number)
    preview = preview_table(upload, form, lab.library.shelf.fixed_name)
    if form.text("action") != "create":
        return show_preview(request, visitor, number, form)
    typed = Aims.of(form).targets
    if problem := preview.describe_misplaced(typed):
        return show_preview(request, visitor, number, form, 422, problem)
    unseen = [one for one in preview.aims.targets if one not in typed]
    if preview.aims.more and unseen:
        problem = f"say below whether more or less of {', '.join(unseen)} is better"
        return show_preview(request, visitor, number, form, 422, problem)
    try:
        _, told = create_from_table(lab.library, upload, preview)
    except (ValueError, StudyConflict) as error:
        return show_preview(request, visitor, number, form, 422, str(error))
    lab.uploads.remove(upload)
    verb = "was" if told == 1 else "were"
    results = f" {format_count(told, 'result')} of the table {verb} told to it." if told else ""
    return go_to(request, study_address(preview.aims.name), f"The study was created.{results}")


# ---------------------------------------------------------------------- ask and tell


@router.post("/studies/{name}/ask")
def ask(request: Request, visitor: PageVisitor, name: str, form: SentForm) -> Response:
    study = find_asker(request, name)
    try:
        found = study.ask(**read_arguments(operations.ASK, form), key=key_of(form))
    except (ValueError, StudyConflict) as error:
        return show_problem(request, visitor, name, error, form)
    notices = found[0].notices if found else ()
    return go_to(request, study_address(name), *notices)


@router.post("/studies/{name}/tell")
def tell(request: Request, visitor: PageVisitor, name: str, form: SentForm) -> Response:
    """Record the result of a trial, of a row, or of a point of a space."""
    study = find_study(request, name)
    failed = form.has("failed")
    value: float | dict[str, float] | None = None
    try:
        given = read_arguments(operations.TELL, form)
        if "trial" in given:
            given.pop("row", None)
            # The fields of conditions that are empty are as asked for.
            if really := {name: text for name, text in form.starting_with("x-").items() if text}:
                given["x"] = really
        elif not study.candidates.row_columns:
            given["x"] = study.read_point(form.starting_with("x-"))
        check_empty(form, failed, form.has("missing"))
        if not (failed or form.has("missing")):
            value = read_values(study, form)
            needed = "the standard error of one target; a file of results has one for each"
            one_error = "sem" not in given or not isinstance(value, dict)
            checks.needs(one_error, "tell", needed, given.get("sem"))
        told = study.tell(**given, value=value, key=key_of(form))
    except AlreadyTold as late:
        nothing = "said that it failed" if failed else "said that there is no value"
        given = {
            "typed": form.text("value") if isinstance(value, float) else "",
            "said": nothing if value is None else f"typed {format_result(value)}",
            "stored": describe_stored(late.stored),
        }
        return show_trial(request, visitor, name, late.trial, 409, conflict=given)
    except (ValueError, StudyConflict) as error:
        if not form.text("trial"):
            return show_refused(request, visitor, name, error, form, "tell")
        return show_problem(request, visitor, name, error, form)
    return go_to(request, study_address(name), told.sentence, *told.notices)


@router.post("/studies/{name}/reveal")
def reveal(request: Request, name: str, form: SentForm) -> Response:
    """Tell a trial of the example what was measured there."""
    study, trial = find_study(request, name), read_argument(operations.TRIAL, form.text("trial"))
    waiting = next((one for one in study.waiting() if one.trial == trial), None)
    value = None if waiting is None else find_answer(study, waiting.x)
    checks.needs(value is not None, "reveal", "a pending trial of the example", trial)
    told = study.tell(trial, value, note="from the table of the example", key=key_of(form))
    return go_to(request, study_address(name), told.sentence, *told.notices)


def read_values(study: Study, form: SubmittedForm) -> float | dict[str, float]:
    """Read the results of those targets whose fields are filled; a single one has to be."""
    names = [one.name for one in study.targets]
    fields = name_fields(study)
    found = {
        name: read_result(f"the result ({name})", form.text(field))
        for name, field in zip(names, fields, strict=True)
        if form.text(field) or len(names) == 1
    }
    checks.needs(bool(found), "tell", f"a value of {' or '.join(names)}", "none")
    return found if study.several else found[names[0]]


def check_empty(form: SubmittedForm, failed: bool, missing: bool) -> None:
    """Refuse a result that was typed beside the words that there is none."""
    typed = form.text("value") or next(filter(None, form.starting_with("value-").values()), "")
    needed = f"an empty field of the result with {'Failed' if failed else 'No value'}"
    checks.needs(not (typed and (failed or missing)), "tell", needed, typed)


@router.post("/studies/{name}/batch")
def tell_batch(request: Request, visitor: PageVisitor, name: str, form: SentForm) -> Response:
    """Record the results of a batch: all lines that are filled, or none of them."""
    study, problem = find_study(request, name), Exception()
    lines, wrong = read_batch(study, form)
    try:
        checks.needs(bool(lines or wrong), "tell", "at least one result in the batch", "none")
        if not wrong:
            told = study.tell_all([*lines.values()], key=key_of(form))
            notices = told[0].notices
            return go_to(request, study_address(name), describe_results(told), *notices)
    except (ValueError, StudyConflict) as error:
        problem = error
    trials = [*lines]
    for i, refusal in study.check_results([*lines.values()]).items():
        wrong[find_field(study, lines[trials[i]], str(refusal))] = describe_refused(refusal)
    if not wrong:
        return show_problem(request, visitor, name, problem, form)
    cells = format_count(len(wrong), "cell")
    verb = "is" if len(wrong) == 1 else "are"
    answer = show_measure(
        request,
        visitor,
        name,
        take_snapshot(request, name),
        problem=f"nothing was stored: {cells} of the batch {verb} wrong, and marked below",
        wrong=wrong,
        typed=form.all_texts(),
    )
    answer.status_code = 422
    return answer


def read_batch(
    study: Study, form: SubmittedForm
) -> tuple[dict[int, dict[str, Any]], dict[str, str]]:
    """Read the lines of a batch that are filled: trial -> its result; and field -> what is wrong.

    Fields are named after what they hold and the trial: value-7, value-1-7 for the second target,
    failed-7, note-7. All that is wrong is said at once.
    """
    lines: dict[int, dict[str, Any]] = {}
    wrong: dict[str, str] = {}
    for number, note in form.starting_with("note-").items():
        trial = read_whole("the trial", number)
        failed = form.has(f"failed-{trial}")
        line: dict[str, Any] = {"failed": "yes"} if failed else {}
        for target, field in zip(study.targets, name_fields(study), strict=True):
            text = form.text(f"{field}-{trial}")
            if text and failed:
                wrong[f"{field}-{trial}"] = "a measurement that failed has no result"
            elif text:
                try:
                    line[target.name] = read_result(f"the result ({target.name})", text)
                except ValueError as error:
                    wrong[f"{field}-{trial}"] = str(error)
        if line:
            lines[trial] = {"trial": trial, **line, **({"note": note} if note else {})}
        elif note and not any(field.endswith(f"-{trial}") for field in wrong):
            wrong[f"note-{trial}"] = "a note needs a result beside it"
    return lines, wrong


def find_field(study: Study, line: Mapping[str, Any], sentence: str) -> str:
    """Return the field of a batch of which an error speaks, or else the first one of its line."""
    fields = dict(zip((one.name for one in study.targets), name_fields(study), strict=True))
    filled = [name for name in fields if name in line]
    named = [name for name in filled if f"needs {name} " in sentence]
    return f"{fields[(named or filled or [*fields])[0]]}-{line['trial']}"


def name_fields(study: Study) -> list[str]:
    """Return how forms call the field of each target."""
    return ["value", *(f"value-{i}" for i in range(1, len(study.targets)))]


def describe_refused(error: Exception) -> str:
    """Say why a line of a batch is refused: a line is judged alone, so its place is left out."""
    if isinstance(error, AlreadyTold):
        return f"somebody was faster: it {describe_stored(error.stored)}"
    return str(error).replace(" (results, item 0)", "")


def show_problem(
    request: Request, visitor: Visitor, name: str, error: Exception, form: SubmittedForm
) -> Response:
    """Show the page of the study again, with what is wrong and what was typed."""
    answer = show_measure(
        request,
        visitor,
        name,
        take_snapshot(request, name),
        problem=str(error),
        problem_trial=form.text("trial"),
        typed=form.all_texts(),
    )
    answer.status_code, _ = describe_error(error)
    return answer


@router.post("/studies/{name}/results")
def tell_file(request: Request, visitor: PageVisitor, name: str, form: SentForm) -> Response:
    """Record all results of a file, or of a sheet that was filled in, or none of them."""
    lab, study = find_lab(request), find_study(request, name)
    try:
        upload = keep_table(request, form)
        try:
            tell = study.tell_sheet if is_sheet(upload.path) else study.tell_all
            given = read_arguments(operations.TELL_ALL, form)
            if differing := form.text("differing"):
                given[checks.one_of("tell", "differing", differing, REPEATS)] = True
            told = tell(upload.path, **given)
        finally:
            lab.uploads.remove(upload)
    except (ValueError, StudyConflict) as error:
        return show_problem(request, visitor, name, error, form)
    notices = told[0].notices if told else ()
    return go_to(request, study_address(name), describe_results(told), *notices)


def is_sheet(path: Path) -> bool:
    """Tell whether a file is a sheet that a study wrote to be filled in."""
    table = read_table(path, preferred=(sheets.NAME, "trials", "results"))
    return table is not None and sheets.STUDY in table.columns


@router.post("/studies/{name}/correct")
def correct(request: Request, visitor: PageVisitor, name: str, form: SentForm) -> Response:
    given = read_arguments(operations.CORRECT, form)
    trial = given["trial"]
    try:
        study = find_study(request, name)
        value = None if form.has("failed") else read_values(study, form)
        # Events are numbered from 1 without gaps.
        key, count = key_of(form), len(study.history())
        event = study.correct(**given, value=value, key=key)
    except (ValueError, StudyConflict) as error:
        refused = {"problem": str(error), "typed": form.all_texts()}
        return show_trial(request, visitor, name, trial, 422, **refused)
    if event.seq <= count and event.key != f"correct:{key}":
        sentence = describe_unchanged(trial, value)
        return go_to(request, study_address(name), f"{sentence[0].upper()}{sentence[1:]}.")
    return go_to(request, study_address(name), f"{describe_correction(trial, value)}.")


@router.post("/studies/{name}/withdraw")
def withdraw(request: Request, visitor: PageVisitor, name: str, form: SentForm) -> Response:
    given = read_arguments(operations.WITHDRAW, form)
    trial = given["trial"]
    try:
        find_study(request, name).withdraw(**given, key=key_of(form))
    except (ValueError, StudyConflict) as error:
        refused = {"problem": str(error), "typed": form.all_texts()}
        return show_trial(request, visitor, name, trial, 422, **refused)
    return go_to(request, study_address(name), f"{describe_withdrawal(trial)}.")


@router.post("/studies/{name}/release")
def release(request: Request, name: str, form: SentForm) -> Response:
    trial = read_argument(operations.TRIAL, form.text("trial"))
    find_study(request, name).release(trial, key=key_of(form))
    return go_to(request, study_address(name), describe_release([trial]))


@router.post("/studies/{name}/undo")
def undo(request: Request, name: str, form: SentForm) -> Response:
    """Take back the step that the page showed; not one that somebody else made since."""
    study, given = find_study(request, name), read_arguments(operations.UNDO, form)
    checks.needs("event" in given, "undo", "the step that the page showed", "none")
    undone = [one.body["of"] for one in study.undo_all(**given, key=key_of(form))]
    # Events are numbered from 1 without gaps.
    events = study.history()
    sentences = describe_undos([events[one - 1] for one in undone], study.candidates.name)
    return go_to(request, study_address(name), *sentences)


# ---------------------------------------------------------------------- candidates


@router.post("/studies/{name}/permit")
def permit(request: Request, visitor: PageVisitor, name: str, form: SentForm) -> Response:
    """Forbid rows, or allow them again."""
    study = find_study(request, name)
    call = study.allow if form.text("permit") == "yes" else study.forbid
    try:
        given = read_arguments(operations.PERMIT, form)
        event = call(given.pop("rows", None), **given, key=key_of(form))
    except (ValueError, StudyConflict) as error:
        return show_refused(request, visitor, name, error, form, "permit")
    sentence = describe_permission(event, study.candidates.describe_candidate)
    address = study_address(name, "/candidates")
    return go_to(request, address, f"{sentence} Undo takes it back.", *study.notices_of(event))


def show_refused(
    request: Request, visitor: Visitor, name: str, error: Exception, form: SubmittedForm, which: str
) -> Response:
    """Show the candidates again, or the one of the form, with the reason and what was typed."""
    shown = {"problem": str(error), "problem_form": which, "typed": form.all_texts()}
    if form.text("of"):
        row = read_whole("the row", form.text("of"), 0)
        return show_candidate(request, visitor, name, row, describe_error(error)[0], **shown)
    snapshot = take_snapshot(request, name)
    return show_candidates(
        request,
        visitor,
        name,
        snapshot,
        snapshot.newest_with(STATUS) or snapshot,
        views.Query(descending=snapshot.study.direction != "minimize"),
        describe_error(error)[0],
        **shown,
    )


@router.post("/studies/{name}/add")
def add(request: Request, visitor: PageVisitor, name: str, form: SentForm) -> Response:
    """Add the rows of a file, or of what was pasted, to the table."""
    lab, study = find_lab(request), find_study(request, name)
    before = study.candidates.table
    try:
        upload = keep_table(request, form)
        try:
            event = study.add(upload.path, key=key_of(form))
        finally:
            lab.uploads.remove(upload)
    except (ValueError, StudyConflict) as error:
        return show_refused(request, visitor, name, error, form, "add")
    # The same form sent again finds its rows in the table.
    fresh = event.body["first"] == len(before)
    notices = remark_additions(before, event.body) if fresh else ()
    said = f"{describe_event(event, study.candidates.name)}. Undo takes it back."
    return go_to(request, study_address(name, "/candidates"), said, *notices)


# ---------------------------------------------------------------------- settings, sharing


@router.post("/studies/{name}/settings")
def change_settings(request: Request, visitor: PageVisitor, name: str, form: SentForm) -> Response:
    """Change the settings that differ from those of the study."""
    study = find_study(request, name)
    try:
        changed = read_changes(study.settings, form)
        known = study.targets if study.shows_targets else ()
        wanted = [line.read() for line in read_lines(form)] if known else []
        if fresh := [one for one in wanted if one not in known]:
            changed["targets"] = fresh
        event = study.change(key=key_of(form), **changed) if changed else None
    except (ValueError, StudyConflict) as error:
        code = describe_error(error)[0]
        said = form.all_texts()
        return show_settings(request, visitor, name, code, str(error), said, read_lines(form))
    if event is None:
        return go_to(request, study_address(name, "/settings"), "Nothing was changed.")
    sentence = describe_event(event)
    sentence = f"{sentence[0].upper()}{sentence[1:]}. Undo takes it back."
    # With several targets the page of the settings shows what has become of the front.
    after = "/settings" if "targets" in changed else ""
    return go_to(request, study_address(name, after), sentence)


def read_changes(known: Mapping[str, Any], form: SubmittedForm) -> dict[str, Any]:
    """Return the settings of the form that differ from those that are known."""
    sent = [one for one in offer_settings(known) if form.has(one.name)]
    wanted = {one.name: read_setting(one, form.text(one.name)) for one in sent}
    return {name: value for name, value in wanted.items() if value != known[name]}


@router.post("/studies/{name}/link")
def make_link(request: Request, visitor: PageVisitor, name: str, form: SentForm) -> Response:
    """Make a one-time link for a colleague; it is shown once."""
    role = checks.one_of("a link", "role", form.text("role"), ROLES)
    find_study(request, name)
    code = find_lab(request).access.make_link(role)
    return show_share(request, visitor, name, f"{base_address(request)}/enter?code={code}")


@router.post("/leave")
def leave(request: Request, form: SentForm) -> Response:
    """Let this browser forget its cookie."""
    lab = find_lab(request)
    answer = Response("You have left the lab page. Close this window.", 200, {}, "text/plain")
    answer.delete_cookie(lab.cookie, httponly=True, samesite="strict", secure=lab.secure)
    return answer
