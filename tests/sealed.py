"""A sealer for tests of the gateway that keep nothing."""

from __future__ import annotations

import hashlib


class FakeSealer:
    """Seals by writing down; good enough to see what was sealed."""

    def seal(self, plaintext: bytes, *, purpose: bytes) -> str:
        return "rd1." + hashlib.sha256(purpose + plaintext).hexdigest()[:12]

    def open(self, token: str, *, purpose: bytes) -> bytes | None:
        return None

    def mac(self, data: bytes) -> bytes:
        return hashlib.sha256(data).digest()
