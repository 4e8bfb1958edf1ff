"""The only routes without a token: a one-time link is exchanged for a cookie, and who is here."""

from __future__ import annotations

import re

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from kernelbandits.apps.web.access import COOKIE_SECONDS, HERE
from kernelbandits.apps.web.lab import find_lab
from kernelbandits.report.pages import render

router = APIRouter(include_in_schema=False)
ASKED = re.compile("[A-Za-z0-9_-]{16,64}")
"""What may be asked to be signed."""
USED = "this link was used already or is too old; `kernelbandits lab --link` prints a new one"


@router.get("/here")
def answer_here(request: Request, asked: str = "") -> Response:
    """Show a command on this machine which place is served here, by signing what it asks."""
    if not ASKED.fullmatch(asked):
        raise HTTPException(401, "this address answers `kernelbandits lab` on the same machine")
    return Response(find_lab(request).access.sign(HERE, asked), media_type="text/plain")


@router.get("/enter")
def enter(request: Request, code: str = "") -> Response:
    """Let a browser in.

    A browser that follows a link of another site, such as a mail, would not send the cookie with
    the next page, because it is SameSite=Strict. It gets a page with a button, whose request comes
    from our own site. Programs that look at links in mails do not use the link up either.
    """
    if request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        if not find_lab(request).access.is_link(code):
            raise HTTPException(401, USED)
        return HTMLResponse(render("lab/enter.html", code=code))
    return let_in(request, code)


@router.post("/enter")
async def enter_by_button(request: Request) -> Response:
    """Let a browser in that pressed the button; the code itself is the permission."""
    form = await request.form(max_files=0, max_fields=10, max_part_size=1000)
    return let_in(request, str(form.get("code", "")))


def let_in(request: Request, code: str) -> Response:
    lab = find_lab(request)
    role = lab.access.use_link(code)
    if role is None:
        raise HTTPException(401, USED)
    answer = RedirectResponse("/", 303, headers={"referrer-policy": "no-referrer"})
    answer.set_cookie(
        lab.cookie,
        lab.access.make_cookie(role),
        max_age=int(COOKIE_SECONDS),
        secure=lab.secure,
        httponly=True,
        samesite="strict",
    )
    return answer
