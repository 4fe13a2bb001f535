"""
References to secrets, and how secrets are kept from sight.

``${env:NAME}``, ``${file:/path}`` and ``${data_dir}`` may stand anywhere in a string; ``$${`` is a
plain ``${``.  What a reference brings in is never read for references again, and never shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, InstanceOf, SecretStr, WithJsonSchema

from refdesk.masking import MASK

KEY_FILE: Final = "${data_dir}/store.key"
DEFAULT_KEY: Final = "${file:" + KEY_FILE + "}"

_ENV_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WHOLE_FILE: Final = re.compile(r"\$\{file:((?:[^{}$]|\$\{data_dir\})+)\}")
_TOKEN: Final = re.compile(r"\$\$\{|\$\{")
_SECRET_NAME: Final = re.compile(
    r"(^|[_-])(api[_-]?keys?|keys?|tokens?|secrets?|passwords?|passwd|authorization|cookie)$"
    r"|apikey|authorization",
    re.IGNORECASE,
)
_USERINFO: Final = re.compile(r"(?<=://)([^/@\s:]*):([^/\s]*)@")
_QUERY_NAME: Final = re.compile(r"(?<![^=&#\s])([^=&#\s]++)=")
_QUERY_VALUE: Final = re.compile(r"[^&#\s]++")
_IN_SECRET_NAME: Final = re.compile(r"key|token|secret|passw(?:or)?d", re.IGNORECASE)
_WEB_USER: Final = re.compile(r"(https?://)[^/\s?#@]+@", re.IGNORECASE)
_ANY_USER: Final = re.compile(r"(?<=://)[^/@\s:?#]+@")
_ANY_QUERY: Final = re.compile(r"([?&][^=&#\s?]{1,80}=)([^&#\s]+)")
_PLAIN_QUERY: Final = frozenset(
    {"sslmode", "ssl", "charset", "encoding", "timeout", "connect_timeout", "application_name"}
    | {"driver", "mode", "format", "lang", "language", "locale", "region", "version"}
)


@dataclass(frozen=True, kw_only=True, slots=True)
class KeyRef:
    """
    One key of the store: the file that holds it, or the key itself.

    The store reads the file, since the first start has yet to make it.
    """

    path: Path | None = None
    literal: SecretStr | None = None
    may_be_made: bool = False
    """Whether the store may make the file, where it is not there yet."""


def default_key(data_dir: str | None = None) -> KeyRef:
    """Return the key that is made on first start."""
    return KeyRef(path=Path(data_dir or "./refdesk-data") / "store.key", may_be_made=True)


def _key_refs(value: Any) -> Any:
    many = value if isinstance(value, (list, tuple)) else [value]
    if not many:
        raise ValueError("should name at least one key")
    refs = []
    for one in many:
        if isinstance(one, str):
            if not one.strip():
                raise ValueError("should not be empty")
            one = KeyRef(literal=SecretStr(one))
        refs.append(one)
    return tuple(refs)


StoreKeys = Annotated[
    tuple[InstanceOf[KeyRef], ...],
    BeforeValidator(_key_refs),
    WithJsonSchema(
        {
            "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
            "default": DEFAULT_KEY,
        }
    ),
]
"""One key or several; a string that is no reference to a file is the key itself."""


class UnresolvedError(ValueError):
    """A reference that cannot be resolved; the message holds no value."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Resolver:
    """
    What references are resolved by.

    Args:
        env: The environment.
        read: Reads a file as text; OSError or UnicodeDecodeError if it cannot.
        base: Where relative paths start.
        data_dir: The data directory, absolute; None while it is itself being resolved.
    """

    env: Mapping[str, str]
    read: Callable[[Path], str]
    base: Path
    data_dir: str | None

    def resolve(self, text: str) -> tuple[str, bool]:
        """Return the text with its references resolved, and whether it holds a secret now."""
        parts: list[str] = []
        secret = False
        at = 0
        while token := _TOKEN.search(text, at):
            parts.append(text[at : token.start()])
            if token.group() == "$${":
                parts.append("${")
                at = token.end()
                continue
            end = _closing(text, token.end())
            value, hides = self._reference(text[token.end() : end])
            parts.append(value)
            secret = secret or hides
            at = end + 1
        parts.append(text[at:])
        return "".join(parts), secret

    def key_file(self, text: str) -> Path | None:
        """Return the file that a text refers to and nothing else, unread; None if it does not."""
        match = _WHOLE_FILE.fullmatch(text)
        return self._path(match[1]) if match else None

    def _path(self, text: str) -> Path:
        return self.base / Path(self.resolve(text)[0]).expanduser()

    def _reference(self, body: str) -> tuple[str, bool]:
        kind, colon, rest = body.partition(":")
        if body == "data_dir":
            if self.data_dir is None:
                raise UnresolvedError("refers to ${data_dir} while saying what that is")
            return self.data_dir, False
        if kind == "env" and colon:
            return self._environment(rest), True
        if kind == "file" and colon:
            return self._file(rest), True
        # What stands in the braces may be a key that holds a dollar sign: it is not shown.
        raise UnresolvedError(
            "holds a reference that is none of ${env:NAME}, ${file:/path}, ${data_dir}; "
            "write $${ for a plain ${"
        )

    def _environment(self, name: str) -> str:
        if not _ENV_NAME.fullmatch(name):
            raise UnresolvedError(
                "holds ${env:…} with something that is no name of a variable; "
                "write ${env:NAME} with letters, digits and _"
            )
        value = self.env.get(name)
        if not value:
            state = "not set" if value is None else "empty"
            raise UnresolvedError(
                f"refers to the environment variable {name}, which is {state}; set it"
            )
        return value

    def _file(self, name: str) -> str:
        if not name.strip():
            raise UnresolvedError("holds ${file:} without a path; write ${file:/path}")
        path = self._path(name)
        try:
            text = self.read(path)
        except UnicodeDecodeError:
            raise UnresolvedError(f"refers to the file {path}, which is not UTF-8") from None
        except (OSError, ValueError) as exc:
            why = getattr(exc, "strerror", None) or "not a path"
            raise UnresolvedError(
                f"refers to the file {path}, which cannot be read ({why}); make it readable"
            ) from None
        return text.removesuffix("\n").removesuffix("\r")


def _closing(text: str, start: int) -> int:
    depth = 1
    for at in range(start, len(text)):
        if text[at] == "{":
            depth += 1
        elif text[at] == "}":
            depth -= 1
            if not depth:
                return at
    raise UnresolvedError("holds ${ without its }; write $${ for a plain ${")


def is_secret_name(key: str) -> bool:
    """Whether a key of that name holds a secret, as far as its name tells."""
    return bool(_SECRET_NAME.search(key))


def mask(secret: str) -> str:
    """Return what may be shown of a secret: its last four characters, where that gives away few."""
    return MASK + (secret[-4:] if len(secret) >= 16 else "")


def hide_url(text: str) -> str:
    """
    Return a text without the credentials of URLs in it, known by their names or not.

    A web address's user, and any without a password, may be a token; so may any value in a query
    that is not on a list of plain ones.
    """
    text = _ANY_USER.sub(MASK + "@", mask_url(_WEB_USER.sub(rf"\g<1>{MASK}@", text)))
    return _ANY_QUERY.sub(_hidden_value, text)


def _hidden_value(match: re.Match[str]) -> str:
    name, value = match.groups()
    return match[0] if name[1:-1].lower() in _PLAIN_QUERY or value == MASK else name + MASK


def mask_url(text: str) -> str:
    """Return a text in which passwords and keys inside of URLs are masked."""
    text = _USERINFO.sub(rf"\g<1>:{MASK}@", text)
    shown: list[str] = []
    at = 0
    for named in _QUERY_NAME.finditer(text):
        first = text[max(0, named.start() - 1) : named.start()] == "&"
        name = named[1] if first else named[1].partition("?")[2]
        if named.start() < at or not _IN_SECRET_NAME.search(name):
            continue
        if value := _QUERY_VALUE.match(text, named.end()):
            shown += (text[at : value.start()], MASK)
            at = value.end()
    return "".join((*shown, text[at:]))
