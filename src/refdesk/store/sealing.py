"""
Sealing: what leaves our hands, or lies in the store, and may be read by nobody else.

A token is ``rd1.`` and base64url of key id ‖ nonce ‖ ciphertext (AES-256-GCM).  Its purpose is
bound to it: a token sealed for one purpose does not open for another.  Keys never show in a repr.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from refdesk.errors import StoreError
from refdesk.ids import random_bytes

PREFIX: Final = "rd1."
KEY_BYTES: Final = 32
_ID_BYTES: Final = 4
_NONCE_BYTES: Final = 12
_TAG_BYTES: Final = 16
_HEX: Final = re.compile(r"[0-9a-fA-F]{64}")


def key_id(key: bytes) -> str:
    """Return the name of a key, 8 hex digits: safe to show, and no way back to the key."""
    return hashlib.blake2b(key, digest_size=_ID_BYTES, person=b"refdesk key id").hexdigest()


@dataclass(frozen=True, kw_only=True, slots=True)
class StoreKey:
    """The keys of a store, 32 bytes each.  The first seals; all open."""

    keys: tuple[bytes, ...] = field(repr=False)

    def __post_init__(self) -> None:
        if not self.keys:
            raise StoreError("the store key is empty; give 32 random bytes as base64 or hex")
        for key in self.keys:
            if len(key) != KEY_BYTES:
                raise StoreError(f"a store key has {len(key)} bytes; it must have {KEY_BYTES}")

    @property
    def ids(self) -> list[str]:
        """The keys' names, in order."""
        return [key_id(key) for key in self.keys]

    @classmethod
    def parse(cls, text: str | Sequence[str]) -> StoreKey:
        """
        Read keys as they are written down: base64 or hex, one a line or parted by commas.

        Raises:
            StoreError: One is not 32 bytes in either form; the message says which, not what it is.
        """
        joined = text if isinstance(text, str) else "\n".join(text)
        parts = [part for part in re.split(r"[\s,]+", joined) if part]
        return cls(keys=tuple(_decode(part, number) for number, part in enumerate(parts, 1)))

    @classmethod
    def generate(cls) -> StoreKey:
        """Return one new random key."""
        return cls(keys=(os.urandom(KEY_BYTES),))

    def text(self) -> str:
        """Return the keys as a key file holds them.  This is the secret itself."""
        return "".join(base64.b64encode(key).decode() + "\n" for key in self.keys)


def _decode(part: str, number: int) -> bytes:
    if _HEX.fullmatch(part):
        return bytes.fromhex(part)
    try:
        plain = part.rstrip("=").translate(str.maketrans("-_", "+/"))
        key = base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) != KEY_BYTES:
        raise StoreError(
            f"store key number {number} is not 32 bytes in base64 or hex;"
            " make one with: openssl rand -base64 32"
        )
    return key


_URL_SAFE: Final = bytes.maketrans(b"+/", b"-_")


def _derive(key: bytes, use: bytes) -> bytes:
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=b"refdesk " + use).derive(key)


class Sealer:
    """Seal with the first of the keys, open with any of them.  Safe to share between threads."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        if not keys:
            raise ValueError("a sealer needs a key")
        # Each use has a key of its own: a marker shown to models says nothing about sealing.
        self._first = bytes.fromhex(key_id(keys[0]))
        self._sealing = AESGCM(_derive(keys[0], b"seal"))
        self._opening: dict[bytes, list[AESGCM]] = {}
        for key in keys:
            same_id = self._opening.setdefault(bytes.fromhex(key_id(key)), [])
            same_id.append(AESGCM(_derive(key, b"seal")))
        self._mac_key = _derive(keys[0], b"mac")

    def __repr__(self) -> str:
        return f"Sealer({', '.join(key.hex() for key in self._opening)})"

    @property
    def key_id(self) -> str:
        """The id of the key that seals."""
        return self._first.hex()

    def seal(self, plaintext: bytes, *, purpose: bytes) -> str:
        """Return a token that `open` turns back into the plaintext, for that purpose alone."""
        nonce = random_bytes(_NONCE_BYTES)
        sealed = self._first + nonce + self._sealing.encrypt(nonce, plaintext, purpose)
        coded = binascii.b2a_base64(sealed, newline=False).translate(_URL_SAFE)
        return PREFIX + coded.decode("ascii").rstrip("=")

    def open(self, token: str, purpose: bytes) -> bytes | None:
        """Return what was sealed; None for whatever is foreign, damaged or for another purpose."""
        raw = _raw(token)
        if raw is None:
            return None
        head, rest = raw[:_ID_BYTES], raw[_ID_BYTES:]
        for cipher in self._opening.get(head, ()):
            try:
                return cipher.decrypt(rest[:_NONCE_BYTES], rest[_NONCE_BYTES:], purpose)
            except InvalidTag:
                continue
        return None

    def mac(self, data: bytes) -> bytes:
        """Return 32 bytes that repeat for the same data and that nobody without the key can say."""
        return hashlib.blake2b(data, key=self._mac_key, digest_size=32).digest()


def _raw(token: str) -> bytes | None:
    if not token.startswith(PREFIX):
        return None
    body = token[len(PREFIX) :]
    if "=" in body:
        return None  # tokens have one spelling
    try:
        raw = base64.b64decode(body + "=" * (-len(body) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
    return raw if len(raw) >= _ID_BYTES + _NONCE_BYTES + _TAG_BYTES else None


def token_key_id(token: str) -> str | None:
    """Return the id of the key that a token was sealed with; None if it is no token."""
    raw = _raw(token)
    return raw[:_ID_BYTES].hex() if raw else None
