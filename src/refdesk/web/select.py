"""
Which engines are asked for a search, and in what order.

First stands the one that the model or upstream names, else the default, else the one of highest
priority; behind it, to fall back on, every other enabled engine by priority.  Engines of equal
priority keep the order of the configuration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from refdesk.errors import SearchError
from refdesk.web.engines import BaseEngine


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """The engines to ask, first to last; never empty."""

    engines: tuple[BaseEngine, ...]
    resting: tuple[str, ...] = ()
    """Names of enabled engines that were passed over, because they rest."""
    notices: tuple[str, ...] = ()


def order(
    engines: Mapping[str, BaseEngine],
    *,
    named: str | None,
    default: str | None,
    ready: Callable[[str], bool],
    back_in_s: Callable[[str], float | None] = lambda _: None,
) -> Choice:
    """
    Put the engines of one search in order.

    Args:
        engines: All that are configured, in the order of the configuration.
        named: The engine that the model or upstream names, if it names one.
        default: The configured default engine, if there is one.
        ready: Whether an engine may be asked now; False while it rests.
        back_in_s: In how many seconds a resting engine is back; None if that is not known.

    Returns:
        The choice.  What was asked for and could not be had is a notice, no error.

    Raises:
        SearchError: ``no_engine`` if none is enabled, ``engine_resting`` if all of them rest.
    """
    enabled = [engine for engine in engines.values() if engine.options.enabled]
    if not enabled:
        what = "every configured engine is disabled" if engines else "no engine is configured"
        raise SearchError(f"{what}: enable or add one under engines:", reason="no_engine")
    enabled.sort(key=lambda engine: -engine.options.priority)  # stable: ties keep their order

    notices: list[str] = []
    preferred: list[str] = []
    for name, whose in ((named, "the model or upstream"), (default, "default_engine")):
        if name is None or (whose == "default_engine" and name == named):
            continue
        if name not in engines:
            close = get_close_matches(name, list(engines), n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            notices.append(f"no engine is called {name!r}, which {whose} names{hint}")
        elif not engines[name].options.enabled:
            notices.append(f"engine {name!r}, which {whose} names, is disabled")
        elif not ready(name):
            notices.append(f"engine {name!r}, which {whose} names, rests")
        else:
            preferred.append(name)
        if preferred:
            break  # the default matters only where the named one cannot be had

    rested = tuple(engine.name for engine in enabled if not ready(engine.name))
    able = [engine for engine in enabled if engine.name not in rested]
    if not able:
        raise SearchError(_all_rest(rested, back_in_s), reason="engine_resting")
    first = [engine for engine in able if engine.name in preferred]
    rest = [engine for engine in able if engine.name not in preferred]
    return Choice(engines=(*first, *rest), resting=rested, notices=tuple(notices))


def _all_rest(names: tuple[str, ...], back_in_s: Callable[[str], float | None]) -> str:
    known = [(wait, name) for name in names if (wait := back_in_s(name)) is not None]
    if not known:
        return (
            f"every engine rests ({', '.join(names)}) until the configuration changes: "
            "`refdesk engines list` says why"
        )
    wait, name = min(known)
    return (
        f"every engine rests; the first that is back is {name!r}, in {max(1, round(wait))} s: "
        "`refdesk engines list` says why"
    )
