"""The bytes of a file as text; what is no text is refused with what it looks like."""

from __future__ import annotations

import codecs
import re
from os import PathLike
from pathlib import Path

from kernelbandits import checks
from kernelbandits.outputs import SQLITE, has_mark
from kernelbandits.tables.table import MOST_ROWS

MOST_BYTES = 2**29
MOST_LINES, LONGEST_LINE = 2 * MOST_ROWS, 2**22
"""Lines of a file, which may be blank or parts of one cell, and characters of a line."""
LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
SIGNATURES: dict[bytes, str] = {
    b"\xd0\xcf\x11\xe0": "an old workbook (.xls) or one with a password; save it as .xlsx or CSV",
    SQLITE: "an SQLite database, such as a study; export it as CSV",
    b"PAR1": "a Parquet file; save the table as CSV",
    b"ARROW1": "an Arrow file; save the table as CSV",
    b"\x89HDF": "an HDF5 file; save the table as CSV",
    b"\x93NUMPY": "a numpy file; pass the array itself, or save it as CSV",
    b"%PDF": "a PDF document; save the table as CSV",
    b"{\\rtf": "an RTF document; save the table as CSV",
    b"\x89PNG": "an image",
    b"\xff\xd8\xff": "an image",
    b"GIF8": "an image",
    b"II*\0": "an image",
    b"MM\0*": "an image",
    b"\x1f\x8b": "a compressed file; unpack it first",
    b"BZh": "a compressed file; unpack it first",
    b"\xfd7zXZ": "a compressed file; unpack it first",
    b"(\xb5/\xfd": "a compressed file; unpack it first",
    b"7z\xbc\xaf": "a compressed file; unpack it first",
    b"Rar!": "a compressed file; unpack it first",
}
"""How files of other kinds begin, what they are, and what to do."""
MARKS: dict[bytes, str] = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""Byte-order marks; those of UTF-32 begin like those of UTF-16 and are tried first."""
MARKUP = re.compile(r"\s*<(!doctype|html|head|body|table|\?xml|!--|svg|workbook)", re.IGNORECASE)
JSON = re.compile(r'\s*(\{\s*("|\}|\Z)|\[\s*([\[{"\d\]-]|\Z))')


def read_content(path: str | PathLike[str]) -> bytes:
    """Return the bytes of a file that can be read and is not too large to be a table."""
    try:
        return check_file(path).read_bytes()
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None


def check_file(path: str | PathLike[str]) -> Path:
    """Return the path of a file; refuse one that is missing or too large to be a table."""
    file = Path(path)
    if not file.exists():
        raise ValueError(f"No such file: {path}")
    if not file.is_file():
        kind = "a folder" if file.is_dir() else "no regular file"
        raise ValueError(f"a table needs a file, got {path}, which is {kind}")
    if has_mark(file):
        raise ValueError(f"{file.name} needs to be text, got {SIGNATURES[SQLITE]}")
    size = f"{path}, which has {file.stat().st_size}"
    checks.needs(file.stat().st_size <= MOST_BYTES, "a table", f"at most {MOST_BYTES} bytes", size)
    return file


def decode_text(file: str, raw: bytes) -> tuple[str, str]:
    """Return text and encoding: by the byte-order mark, else UTF-8, Windows-1252 or Latin-1."""
    kind = recognise_kind(raw)
    if kind:
        raise ValueError(f"{file} needs to be text, got {kind}")
    text, encoding = decode(file, raw)
    check_lines(file, text)
    before, nul, _ = text.partition("\0")
    if nul:
        line = len(LINE.findall(before + "."))
        advice = "; save it as UTF-8 text" if looks_like_utf_16(raw) else ""
        raise ValueError(f"{file} needs text, got a NUL character in line {line}{advice}")
    if MARKUP.match(text):
        raise ValueError(f"{file} needs a CSV table, got an HTML or XML page; save it as CSV")
    if JSON.match(text):
        raise ValueError(f"{file} needs a CSV table, got JSON; save the table as CSV")
    return text, encoding


def check_lines(file: str, text: str) -> None:
    """Refuse more or longer lines than any table has, before each becomes an object."""
    ends = max(text.count("\n"), text.count("\r"))
    checks.needs(ends <= MOST_LINES, file, f"at most {MOST_LINES} lines", ends)
    longest = max((found.end() - found.start() for found in LINE.finditer(text)), default=0)
    needed = f"lines of at most {LONGEST_LINE} characters"
    checks.needs(longest <= LONGEST_LINE, file, needed, longest)


def recognise_kind(raw: bytes) -> str:
    """Say what a file is that is no text, and what to do; "" if nothing is known of it."""
    if raw.startswith(b"PK\x03\x04"):
        parts = (b"xl/", b"[Content_Types].xml", b"content.xml", b"mimetype")
        archive = raw[:4096] + raw[-65536:]
        if len(raw) > 4096 and not any(part in archive for part in parts):
            return "a zip archive; unpack it first"
        if b"opendocument" in archive:
            return "an OpenDocument workbook; save it as .xlsx or CSV"
        return "a workbook; save the sheet as CSV"
    return next((kind for start, kind in SIGNATURES.items() if raw.startswith(start)), "")


def decode(file: str, raw: bytes) -> tuple[str, str]:
    marked = next((name for mark, name in MARKS.items() if raw.startswith(mark)), None)
    for encoding in (marked,) if marked else ("utf-8", "cp1252", "latin-1"):
        try:
            return raw.decode(encoding), encoding
        except UnicodeDecodeError:
            continue
    raise ValueError(
        f"{file} needs text in the encoding that its byte-order mark names, got other bytes"
    )


def looks_like_utf_16(raw: bytes) -> bool:
    """Tell whether about every second byte is 0, as in UTF-16 without a byte-order mark."""
    head = raw[:1000]
    return 4 * head.count(0) > len(head)


def describe_encoding(encoding: str) -> str:
    """Return a notice if the bytes of a file do not prove its encoding, else an empty text."""
    names = {"cp1252": "Windows-1252", "latin-1": "Latin-1"}
    if encoding not in names:
        return ""
    return (
        f"the file is not UTF-8 and is read as {names[encoding]}; if names or words look wrong, "
        "save it as UTF-8"
    )
