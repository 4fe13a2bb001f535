"""The kinds of value that the sections of the configuration are made of."""

from __future__ import annotations

import re
from typing import Annotated, Any, Final
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    StringConstraints,
    WithJsonSchema,
    model_validator,
)

MIN_CHUNK_CHARS: Final = 50
"""Characters of a collection's passages (`chunk_chars`); fewer are refused."""
MAX_CHUNK_CHARS: Final = 20_000
"""Characters of a collection's passages (`chunk_chars`); more are refused."""

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_HEADER_NAME: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


class Section(BaseModel):
    """
    A mapping of the file.  Unknown keys are refused.

    A key written as null is unset: it has its default, as if it were not there.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, hide_input_in_errors=True, protected_namespaces=()
    )

    @model_validator(mode="before")
    @classmethod
    def _null_is_unset(cls, data: Any) -> Any:
        if data is None:
            return {}
        if not isinstance(data, dict):
            return data
        return {k: v for k, v in data.items() if v is not None or k not in cls.model_fields}


class OpenSection(Section):
    """A mapping with a ``type`` (or another lead) whose further keys a plugin checks."""

    model_config = ConfigDict(extra="allow")

    @property
    def settings(self) -> dict[str, Any]:
        """The further keys, as they were written; they may hold keys to services."""
        return dict(self.model_extra or {})

    def __repr_args__(self) -> Any:
        # The further keys are not known to us, so any of them may be a secret.
        return [(name, getattr(self, name)) for name in type(self).model_fields]


def _no_bool(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("should be a number")  # noqa: TRY004 - pydantic gathers ValueError
    return value


def _known_bool(value: Any) -> Any:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        raise ValueError("should be true or false")  # noqa: TRY004 - pydantic gathers ValueError
    return value


def _switch(value: Any) -> Any:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, str):
        return {"true": "on", "yes": "on", "false": "off", "no": "off"}.get(
            value.lower(), value.lower()
        )
    return value


def _auto(value: Any) -> Any:
    if isinstance(value, str):
        known = {"true": True, "on": True, "yes": True, "false": False, "off": False, "no": False}
        return known.get(value.lower(), value.lower())
    return value


def _listed(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


def _web_url(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        parts = urlsplit(value)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise ValueError("is no URL that can be read; write https://host/path") from None
    if parts.scheme not in ("http", "https") or not host or re.search(r"[\s\x00-\x1f]", value):
        raise ValueError("should start with http:// or https:// and name a host")
    return value


def _host_name(value: Any) -> Any:
    if isinstance(value, str) and not re.fullmatch(r"[\w.-]{1,253}|[0-9A-Fa-f:.]+", value):
        raise ValueError("should be a host name such as refdesk.example.com, without port or path")
    return value.lower() if isinstance(value, str) else value


def _origin(value: Any) -> Any:
    if isinstance(value, str) and not re.fullmatch(
        r"https?://([\w.-]{1,253}|\[[0-9A-Fa-f:.]+\])(:\d{1,5})?/?", value, re.IGNORECASE
    ):
        raise ValueError("should be an origin such as https://chat.example.com, without a path")
    return value.lower().rstrip("/") if isinstance(value, str) else value


def _base_url(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    parts = urlsplit(_web_url(value))
    if parts.username is not None:
        raise ValueError("holds a user name or password; put the key into api_key or headers")
    if parts.query or parts.fragment:
        raise ValueError("should end with its path, without ? or #")
    return value.rstrip("/")


def _printable(value: Any) -> Any:
    text = value.get_secret_value() if isinstance(value, SecretStr) else value
    if isinstance(text, str) and (_CONTROL.search(text) or text != text.strip()):
        raise ValueError("holds a line break or white space at its ends; take it out")
    return value


def _for_a_header(value: Any) -> Any:
    text = value.get_secret_value() if isinstance(value, SecretStr) else value
    if isinstance(text, str) and not (text.isascii() and text.isprintable()):
        raise ValueError(
            "holds a character that no header can carry, such as a typographic quote, an ellipsis "
            "or a byte order mark; copy it again, in ASCII"
        )
    return value


def _header_names(value: Any) -> Any:
    for name in value if isinstance(value, dict) else ():
        if not (isinstance(name, str) and _HEADER_NAME.fullmatch(name)):
            raise ValueError(f"has {str(name)[:40]!r}, which is no name of a header")
    return value


def _ray_address(value: Any) -> Any:
    if isinstance(value, str) and not re.fullmatch(
        r"auto|local|(ray://)?([\w.-]+|\[[0-9A-Fa-f:.]+\]):\d{1,5}", value
    ):
        raise ValueError("should be auto, local, host:6379 or ray://host:10001")
    return value


def fitting_chunk_chars(chars: int) -> int:
    """Return a length of passages, or raise ValueError with the reason why it cannot be."""
    if chars < MIN_CHUNK_CHARS:
        raise ValueError(
            f"should be at least {MIN_CHUNK_CHARS}: a shorter passage says too little to be found;"
            " 1000 is usual"
        )
    if chars > MAX_CHUNK_CHARS:
        raise ValueError(
            f"should be at most {MAX_CHUNK_CHARS}: few embedders read more of a passage; 1000 is"
            " usual"
        )
    return chars


def _timezone(value: Any) -> Any:
    # The zone itself is looked up where it is used: a slim system may lack the tables.
    if isinstance(value, str) and not re.fullmatch(
        r"[+-]\d\d:\d\d|[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*", value
    ):
        raise ValueError("should be a zone such as Europe/Berlin or an offset such as +02:00")
    return value


Text = Annotated[str, StringConstraints(min_length=1)]
Count = Annotated[int, BeforeValidator(_no_bool), Field(ge=0)]
Positive = Annotated[int, BeforeValidator(_no_bool), Field(ge=1)]
ChunkChars = Annotated[
    int,
    BeforeValidator(_no_bool),
    AfterValidator(fitting_chunk_chars),
    Field(json_schema_extra={"minimum": MIN_CHUNK_CHARS, "maximum": MAX_CHUNK_CHARS}),
]
Share = Annotated[float, BeforeValidator(_no_bool), Field(ge=0, le=1, allow_inf_nan=False)]
Weight = Annotated[float, BeforeValidator(_no_bool), Field(ge=0, allow_inf_nan=False)]
Flag = Annotated[bool, BeforeValidator(_known_bool)]
HostName = Annotated[str, BeforeValidator(_host_name)]
Origin = Annotated[str, BeforeValidator(_origin)]
"""A web origin in lower case, without a slash at its end."""
WebUrl = Annotated[str, BeforeValidator(_web_url)]
BaseUrl = Annotated[str, BeforeValidator(_base_url)]
"""An address that paths are appended to; it comes without a slash at its end."""
Secret = Annotated[SecretStr, BeforeValidator(_printable)]
HeaderSecret = Annotated[SecretStr, BeforeValidator(_for_a_header), BeforeValidator(_printable)]
"""One that is sent as the value of a header: printable ASCII."""
Headers = Annotated[dict[str, HeaderSecret], BeforeValidator(_header_names)]
RayAddress = Annotated[str, BeforeValidator(_ray_address)]
Zone = Annotated[str, BeforeValidator(_timezone)]
Listed = BeforeValidator(_listed, json_schema_input_type=str | tuple[str, ...])
"""A string is a list of one."""

ON_OFF = BeforeValidator(_switch)
ON_OFF_SCHEMA = WithJsonSchema(
    {"enum": ["default", "on", "off", True, False], "default": "default"}
)
TRUE_FALSE_AUTO = BeforeValidator(_auto)
TRUE_FALSE_AUTO_SCHEMA = WithJsonSchema({"enum": ["auto", True, False], "default": "auto"})
