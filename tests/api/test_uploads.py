"""Files as clients send them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refdesk.api.uploads import Form, Upload, read_upload
from refdesk.errors import WireError

BOUNDARY = "xxBOUNDARYxx"
KIND = f"multipart/form-data; boundary={BOUNDARY}"


def form(*parts: tuple[str, bytes]) -> bytes:
    """A form of parts: what their content-disposition says besides, and their bytes."""
    lines = b"".join(
        f"--{BOUNDARY}\r\ncontent-disposition: form-data; {told}\r\n\r\n".encode() + data + b"\r\n"
        for told, data in parts
    )
    return lines + f"--{BOUNDARY}--\r\n".encode()


def test_form() -> None:
    """All files of a form are read, byte for byte, and its other fields."""
    body = form(
        ('name="file"; filename="a.md"', b"# A\r\n\0"),
        ('name="metadata"', b'{"team": "x"}'),
        ('name="file"; filename="../../b.txt"', b""),
        ('name="file"; filename="x"; filename*=UTF-8\'\'na%C3%AFve.md', b"n"),
    )
    assert read_upload(KIND, "", "", body) == Form(
        files=(
            Upload(name="a.md", body=b"# A\r\n\0"),
            Upload(name="../../b.txt", body=b""),
            Upload(name="naïve.md", body=b"n"),
        ),
        fields={"metadata": '{"team": "x"}'},
    )


@pytest.mark.parametrize("name", ["手册.md", "Übersicht.md", "a\u202etxt.md", "отчёт 2026.md"])
def test_names_beyond_latin(name: str) -> None:
    """A file name is raw UTF-8 in a form and in a header, as browsers and curl send it."""
    body = form((f'name="file"; filename="{name}"', b"x"), (f'name="{name}"', b"1"))
    assert read_upload(KIND, "", "", body) == Form(
        files=(Upload(name=name, body=b"x"),), fields={name: "1"}
    )
    told = f'attachment; filename="{name}"'.encode().decode("latin-1")
    assert read_upload("text/markdown", told, "", b"x").files[0].name == name


def test_whole_body() -> None:
    """One file is the whole body, named by the query or by content-disposition."""
    file = Upload(name="a b.pdf", body=b"%PDF")
    assert read_upload("application/pdf", "", "name=a%20b.pdf", b"%PDF").files == (file,)
    told = 'attachment; filename="a b.pdf"'
    assert read_upload("application/pdf", told, "", b"%PDF").files == (file,)
    assert read_upload("", "", "name=a&metadata=%7B%7D", b"x").fields == {"metadata": "{}"}


@pytest.mark.parametrize(
    ("kind", "query", "body", "message"),
    [
        ("text/markdown", "", b"x", r"no name; send \?name=notes\.md"),
        ("text/plain", "name=a.txt", b"", "'a.txt' is empty"),
        ("multipart/form-data", "", b"x", "no boundary"),
        ("multipart/mixed; boundary=x", "", b"x", "multipart/mixed; send multipart/form-data"),
        (KIND, "", form(('name="x"', b"1")), "has no file"),
        (KIND, "", form(('name="f"; filename="a"', b"1"))[:-20], "breaks off"),
        (KIND, "", b"nonsense", "cannot be read"),
        (KIND, "", form(('name="metadata"', b"1" * 65_537)), "'metadata' has 65537 bytes; send up"),
        (KIND, "", form(*[('name="f"; filename="a"', b"1")] * 1001), "more than 1000 parts"),
    ],
)
def test_refused(kind: str, query: str, body: bytes, message: str) -> None:
    """What is no file, or has no name, is refused; the message says what to send."""
    with pytest.raises(WireError, match=message):
        read_upload(kind, "", query, body)


@settings(max_examples=60)
@given(st.binary(max_size=300))
def test_any_body(body: bytes) -> None:
    """Whatever comes as a form is read, or refused as one."""
    try:
        read_upload(KIND, "", "", b"--" + BOUNDARY.encode() + b"\r\n" + body)
    except WireError:
        return


@settings(max_examples=60)
@given(st.binary(max_size=300).filter(lambda data: b"--" + BOUNDARY.encode() not in data))
def test_any_file(data: bytes) -> None:
    """A file comes out as it went in, whatever its bytes."""
    body = form(('name="f"; filename="a"', data))
    assert read_upload(KIND, "", "", body).files[0].body == data
