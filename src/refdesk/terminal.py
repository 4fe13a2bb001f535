"""
Foreign text on a terminal: nothing of it moves the cursor, changes colours, or reads backwards.

Rich is imported when a console is made, so that help and pipes stay quick.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

# Controls but the line feed and the tab, what is invisible or turns the reading direction, tags,
# and halves of characters, which cannot be written at all.
_STEERING: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)


def harmless(text: str) -> str:
    """Return a text without what would steer a terminal; its lines and tabs stay."""
    if text.isprintable():
        return text
    return _STEERING.sub("", text)


def harmless_json(data: bytes) -> bytes:
    """Return JSON with the same characters written as escapes; it means the same."""
    if data.isascii():
        return data.replace(b"\x7f", b"\\u007f")
    return _STEERING.sub(_escaped, data.decode()).encode()


def _escaped(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def console(**options: Any) -> Console:
    """Return a console on which no text, and no link, steers the terminal."""
    return _kind()(**options)


@cache
def _kind() -> type[Console]:
    from rich.console import Console
    from rich.segment import Segment

    class Harmless(Console):
        """Writes each segment of text without what steers; its own controls stay."""

        def render(
            self, renderable: RenderableType, options: ConsoleOptions | None = None
        ) -> Iterable[Segment]:
            for text, style, control in super().render(renderable, options):
                if control:
                    yield Segment(text, style, control)
                    continue
                if style is not None and style.link and harmless(style.link) != style.link:
                    style = style.update_link(None)
                yield Segment(harmless(text), style)

    return Harmless
