"""Whose turn it is at the end of a conversation."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from refdesk.wires.turns import Author, Said, newest_words

AUTHORS: dict[str, Author] = {"aside": "aside", "client": "client", "lead": "lead"}


def author_of(texts: Sequence[str]) -> Author:
    """Texts say themselves who wrote them; any other is a user's."""
    return AUTHORS.get(texts[0], "user")


def conversation(*said: str) -> list[Said]:
    """
    Messages, the newest first.

    "u:text" is the user's role, "a" the assistant, "t" a tool; "u+t:text" a tool's output followed
    by text, "u:text+t" the reverse.
    """
    found = []
    for place, one in enumerate(said):
        role, _, text = one.partition(":")
        if role == "a":
            found.append(Said(place=place, role="assistant", texts=("Well.",)))
        elif role == "t":
            found.append(Said(place=place, role="tool", ends_in_tool_output=True))
        else:
            ends = text.endswith("+t") or (role == "u+t" and not text)
            holds = ends or role == "u+t"
            words = (text.removesuffix("+t"),) if text else ()
            found.append(
                Said(
                    place=place,
                    role="user",
                    texts=words,
                    holds_tool_output=holds,
                    ends_in_tool_output=ends,
                )
            )
    return found[::-1]


@pytest.mark.parametrize(
    ("said", "place", "after_tools", "unasked"),
    [
        (("u:q",), 0, False, ()),
        (("u:q", "a", "u:q2"), 2, False, ()),
        (("u:q", "a", "t"), 0, True, ()),
        (("u:q", "a", "u+t:"), 0, True, ()),
        (("u:q", "a"), 0, False, ()),
        (("u:q", "a", "u+t:new"), 2, False, ()),
        (("u:q", "a", "u:note+t"), 2, True, ()),
        # Reminders behind a tool's output say nothing, also in a message of their own.
        (("u:q", "a", "u+t:aside"), 0, True, ()),
        (("u:q", "a", "t", "u:aside"), 0, True, ()),
        (("u:q", "a", "t", "u:aside", "u:aside"), 0, True, ()),
        # Beside a question they are looked through.
        (("u:aside", "u:q"), 1, False, ()),
        (("u:q", "u:aside"), 0, False, ()),
        (("u:q", "u:aside", "u:aside"), 0, False, ()),
        (("u:q", "a", "u:q2", "u:aside"), 2, False, ()),
        # Behind an answer they ask nothing.
        (("u:q", "a", "u:aside"), 0, False, ("aside",)),
        (("u:aside",), -1, False, ("aside",)),
        # What a client writes in a user's stead.
        (("u:client",), -1, False, ("client",)),
        (("u:q", "a", "u:client"), 0, False, ("client",)),
        (("u:q", "u:client"), 0, False, ("client",)),
        (("u:q", "a", "t", "u:client"), 0, False, ("client",)),
        (("u:q", "a", "u+t:client"), 0, False, ("client",)),
        (("u:client", "u:q"), 1, False, ()),
        # A title is asked for of the message behind.
        (("u:lead", "u:q"), 1, False, ("lead",)),
        (("u:lead", "u:aside", "u:q"), 2, False, ("lead",)),
        (("u:lead", "a", "u:q"), 2, False, ()),
        (("u:lead",), -1, False, ("lead",)),
        ((), -1, False, ()),
    ],
)
def test_newest_words(
    said: tuple[str, ...], place: int, after_tools: bool, unasked: tuple[str, ...]
) -> None:
    """The newest words of a user are found, and what stands behind them is told."""
    newest = newest_words(conversation(*said), author_of)
    assert (newest.place, newest.ends_with_tool_output, newest.unasked) == (
        place,
        after_tools,
        unasked,
    )


def test_without_a_judge_all_text_is_a_users() -> None:
    """A caller that does not care reads no further than the newest text."""

    def messages() -> object:
        yield from conversation("u:client")
        raise AssertionError("read too far")

    newest = newest_words(messages())  # type: ignore[arg-type]
    assert newest.texts == ("client",)
    assert newest.unasked == ()
