"""Codes of a question that few passages have."""

from __future__ import annotations

import pytest

from refdesk.kb.exact import exact_scores

MANUAL = {
    "pump": "When the feed pump stops, the display shows a code. In 2026 it was replaced.",
    "sensor": "QX-7731: the pressure sensor reports a broken wire.",
    "parts": "Part 88412 is the gasket; part 88413 is the cloth. Ordered since 2026.",
    "start": "Press the green button. The display shows READY. Since 2026.",
    "version": "Version 4.10.4 mends it. Ask AT&T in 2026.",
} | {f"filler {at}": f"Page {at} of 30 on cleaning the filter." for at in range(12)}


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("What does error code QX-7731 mean?", {"sensor": 1.0}),
        ("error qx7731 on the display", {"sensor": 1.0}),
        ("型号QX-7731是什么意思", {"sensor": 1.0}),
        ("what is 7731", {"sensor": 0.6}),
        ("who makes part 88413", {"parts": 1.0}),
        ("does 4.10.4 mend the pump", {"version": 0.6}),
        ("the machine shows READY", {"start": 0.6}),
        ("THE MACHINE SHOWS READY", {}),
        ("READY", {"start": 0.6}),
        ("AT&T", {"version": 0.6}),
        ("is part 88413 or part 99999 right", {"parts": 1.0}),
        ("QX-7731 or 88412", {"sensor": 0.5, "parts": 0.5}),
        ("what was replaced in 2026", {}),
        ("is the filter of page 30 clean", {}),
        ("how do I clean the filter", {}),
        ("QX-77 or X-7731-9", {}),
    ],
)
def test_codes(question: str, found: dict[str, float]) -> None:
    """A code counts whole, in any spelling of its signs, where few passages have it."""
    assert exact_scores(question, MANUAL) == pytest.approx(found)


def test_nothing_to_look_in() -> None:
    """Without passages there is nothing to count."""
    assert exact_scores("QX-7731", {}) == {}
