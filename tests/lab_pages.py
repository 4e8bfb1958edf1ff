"""A lab page for tests: an application in memory, a browser without script, and a program."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from kernelbandits.apps.web.access import READ, WRITE, Access
from kernelbandits.apps.web.app import build_app
from kernelbandits.apps.web.library import find_shelf

HOST = "127.0.0.1:8765"
ORIGIN = f"http://{HOST}"
FIELD = re.compile(r'<input type="hidden" name="(\w+)" value="([^"]*)">')


class Page:
    """The pages and the API of one place."""

    def __init__(self, place: Path, state: Path) -> None:
        self.access = Access(state)
        self.guard = build_app(find_shelf(str(place)), self.access, [HOST], port=8765)
        self.app: Any = self.guard.app

    @property
    def lab(self) -> Any:
        return self.app.state.lab

    def client(self, **options: Any) -> TestClient:
        return TestClient(
            self.guard,
            base_url=ORIGIN,
            follow_redirects=False,
            raise_server_exceptions=False,
            **options,
        )

    def browser(self, role: str = WRITE) -> Browser:
        """A browser that was let in by a link."""
        client = self.client(headers={"accept": "text/html"})
        code = self.access.make_link(role)
        assert client.get("/enter", params={"code": code}).status_code == 303
        return Browser(client)

    def program(self, role: str = WRITE) -> TestClient:
        """A client of the API with a token."""
        return self.client(headers={"authorization": f"Bearer {self.access.token(role)}"})

    def close(self) -> None:
        self.lab.library.close()


def open_page(tmp_path: Path) -> Iterator[Page]:
    """A page in a folder of its own, closed after the test: `page = pytest.fixture(open_page)`."""
    (tmp_path / "studies").mkdir()
    page = Page(tmp_path / "studies", tmp_path / "state")
    yield page
    page.close()


class Browser:
    """Forms are sent as a browser without script sends them: with all their hidden fields."""

    def __init__(self, client: TestClient) -> None:
        self.client = client

    def get(self, path: str, status: int = 200) -> str:
        answer = self.client.get(path)
        assert answer.status_code == status, answer.text
        return answer.text

    def send(
        self, page: str, address: str, status: int = 303, /, files: Any = None, **fields: Any
    ) -> Any:
        """Send the first form of a page with this address; return the answer."""
        hidden = find_form(self.get(page), address)
        answer = self.client.post(address, data=hidden | fields, files=files)
        assert answer.status_code == status, answer.text
        return answer

    def follow(self, answer: Any) -> str:
        return self.get(answer.headers["location"])


def find_form(text: str, action: str) -> dict[str, str]:
    """The hidden fields of the first form that is sent to this address."""
    for form in re.findall(r"<form.*?</form>", text, flags=re.DOTALL):
        if f'action="{action}"' in form:
            return dict(FIELD.findall(form))
    raise AssertionError(f"there is no form for {action}")


__all__ = ["HOST", "ORIGIN", "READ", "WRITE", "Browser", "Page", "find_form", "open_page"]
