"""
Texts that make a regular expression try more than once what it has read.

A pattern is made an automaton whose every path is a way to read a text.  Two shapes of it can cost
more than one step per character (Weideman et al., "Analyzing matching time behavior of backtracking
regular expression matchers", CIAA 2016): a loop that reads one word in two ways (exponential), and
a word that both keeps a loop, or the search for a place to begin, where it is and leads on to a
later loop (polynomial).  `attacks` returns such words, to be repeated.

The automaton takes more for possible than the engine does: look-around, word boundaries and atomic
groups do not bind here.  So an attack is a candidate; whether it works is seen by running it.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from re import _compiler, _parser  # type: ignore[attr-defined]
from typing import Any

ANY_TEXT = "a0 _-.\n\t<>[](){}`\"'/\\:;,=*#|&~+é中请٣!"
"""Characters to try where a pattern takes a class of them."""
_LOOP_FROM = 8
"""A repeat of more than this counts as a loop: what it costs is seen by running it."""
_COPIES = 2
_MOST_CHARS = 48
_MOST_STEPS = 300_000
"""Pairs of places looked at in one pattern before the rest is left to chance."""


@dataclass(frozen=True)
class Attack:
    """A text of any length: ``lead``, then ``pump`` repeated, then ``tail``."""

    lead: str
    pump: str
    tail: str

    def text(self, chars: int) -> str:
        """Return the attack at about this length."""
        times = max(1, (chars - len(self.lead) - len(self.tail)) // len(self.pump))
        return self.lead + self.pump * times + self.tail


@dataclass
class _Automaton:
    """States by number; each reads a character (``reads``), or leads on without (``free``)."""

    alphabet: str
    reads: list[int] = field(default_factory=list)
    """By state: which characters of the alphabet it takes, as bits; 0 for none."""
    free: list[list[int]] = field(default_factory=list)
    after: list[int] = field(default_factory=list)
    begins: set[int] = field(default_factory=set)
    """States that are only passed at the beginning of the text."""

    def state(self, *free: int) -> int:
        self.reads.append(0)
        self.free.append(list(free))
        self.after.append(-1)
        return len(self.reads) - 1


def attacks(pattern: re.Pattern[Any], *, search: bool) -> list[Attack]:
    """
    Return texts that might make this pattern slow.

    Args:
        pattern: Of text or of bytes.
        search: Whether it is looked for anywhere, and not only matched at one place.
    """
    tree = _parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)
    builder = _Builder(pattern, tree)
    start = builder.sequence(tree.data, builder.auto.state())
    words = _Words(builder.auto, start, search=search)
    return [*words.attacks(), *words.runs(builder.runs)]


class _Builder:
    """Builds states from the end: a node is given where it leads, and returns its first state."""

    def __init__(self, pattern: re.Pattern[Any], tree: Any) -> None:
        self.flags = pattern.flags & ~re.DEBUG
        self.bytes = isinstance(pattern.pattern, bytes)
        self.tree = tree
        self.runs: dict[int, int] = {}
        """What is repeated at least so often: a run shorter by one costs as much, and fails."""
        self.auto = _Automaton(_alphabet(tree.data, binary=self.bytes))
        self._known: dict[str, int] = {}

    def sequence(self, nodes: Sequence[Any], end: int) -> int:
        for node in reversed(list(nodes)):
            end = self.node(node, end)
        return end

    def node(self, node: Any, end: int) -> int:
        op, value = node
        match str(op):
            case "LITERAL" | "NOT_LITERAL" | "ANY" | "IN" | "RANGE" | "CATEGORY":
                return self.character(node, end)
            case "BRANCH":
                return self.auto.state(*(self.sequence(each, end) for each in value[1]))
            case "SUBPATTERN":
                return self.sequence(value[-1], end)
            case "ATOMIC_GROUP":
                return self.sequence(value, end)
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                return self.repeat(*value, end)
            case "ASSERT" | "ASSERT_NOT" if value[0] > 0:
                # What is looked at ahead is read, and comes to nothing.
                return self.auto.state(end, self.sequence(value[1], self.auto.state()))
            case "GROUPREF":
                return self.loop(lambda end: self.any_character(end), end)
            case "GROUPREF_EXISTS":
                parts = [self.sequence(each, end) for each in value[1:] if each is not None]
                return self.auto.state(end, *parts)
            case "AT" if str(value) in ("AT_BEGINNING", "AT_BEGINNING_STRING"):
                if str(value) == "AT_BEGINNING" and self.flags & re.MULTILINE:
                    return end
                state = self.auto.state(end)
                self.auto.begins.add(state)
                return state
        return end

    def repeat(self, low: Any, high: Any, body: Any, end: int) -> int:
        def once(end: int) -> int:
            return self.sequence(body, end)

        if low > _LOOP_FROM:
            bits = self.auto.reads[once(self.auto.state())]
            self.runs[bits] = max(low, self.runs.get(bits, 0))
        if high is _parser.MAXREPEAT or high > _LOOP_FROM:
            end = self.loop(once, end)
            for _ in range(min(low, _COPIES) - 1):
                end = once(end)
            return once(end) if low else end
        for _ in range(min(high, low + _COPIES) - low):
            end = self.auto.state(once(end), end)
        for _ in range(min(low, _COPIES)):
            end = once(end)
        return end

    def loop(self, once: Any, end: int) -> int:
        back = self.auto.state()
        self.auto.free[back] = [once(back), end]
        return back

    def character(self, node: Any, end: int) -> int:
        key = repr(node)
        if key not in self._known:
            one = _parser.SubPattern(self.tree.state, [node])
            accepts = _compiler.compile(one, self.flags).fullmatch
            bits = 0
            for place, char in enumerate(self.auto.alphabet):
                if accepts(char.encode("latin-1", "replace") if self.bytes else char):
                    bits |= 1 << place
            self._known[key] = bits
        return self._reading(self._known[key], end)

    def any_character(self, end: int) -> int:
        return self._reading((1 << len(self.auto.alphabet)) - 1, end)

    def _reading(self, bits: int, end: int) -> int:
        state = self.auto.state()
        self.auto.reads[state] = bits
        self.auto.after[state] = end
        return state


def _alphabet(nodes: Sequence[Any], *, binary: bool) -> str:
    """Return what the pattern names itself, then one of each kind."""
    found: dict[str, None] = {}

    def visit(value: Any) -> None:
        if isinstance(value, (list, tuple, _parser.SubPattern)):
            parts = list(value)
            if len(parts) == 2 and str(parts[0]) in ("LITERAL", "NOT_LITERAL"):
                found[chr(parts[1])] = None
            elif len(parts) == 2 and str(parts[0]) == "RANGE":
                found.update(dict.fromkeys(map(chr, parts[1])))
            else:
                for each in parts:
                    visit(each)

    visit(list(nodes))
    own = [char for char in found if not 0xD800 <= ord(char) < 0xE000]
    text = "".join(dict.fromkeys(own[:_MOST_CHARS] + list(ANY_TEXT)))
    return "".join(char for char in text if ord(char) < 256) if binary else text


class _Words:
    """Finds the words, once the automaton stands."""

    def __init__(self, auto: _Automaton, start: int, *, search: bool) -> None:
        self.auto = auto
        self.all = (1 << len(auto.alphabet)) - 1
        # Two places before the first character: at the beginning of the text, and anywhere in it.
        self.follow: dict[int, dict[int, int]] = {}
        self.reads = {state: bits for state, bits in enumerate(auto.reads) if bits}
        for state in self.reads:
            self.follow[state] = self._reachable(auto.after[state], begin=False)
        self.anywhere, self.beginning = -1, -2
        self.reads[self.anywhere] = self.all
        self.follow[self.anywhere] = self._reachable(start, begin=False) if search else {}
        if search:
            self.follow[self.anywhere][self.anywhere] = 1
        self.follow[self.beginning] = self._reachable(start, begin=True)
        if search:
            self.follow[self.beginning][self.anywhere] = 1
        self.steps = 0

    def _reachable(self, state: int, *, begin: bool) -> dict[int, int]:
        """Return the reading states that lie ahead, and in how many ways (2 stands for more)."""
        found: dict[int, int] = {}
        passed: Counter[int] = Counter()

        def walk(state: int) -> None:
            # Twice, since a loop in a loop reads nothing once and goes round again.
            if passed[state] == 2 or (state in self.auto.begins and not begin):
                return
            if self.auto.reads[state]:
                found[state] = min(2, found.get(state, 0) + 1)
                return
            passed[state] += 1
            for ahead in self.auto.free[state]:
                walk(ahead)
            passed[state] -= 1

        walk(state)
        return found

    def attacks(self) -> list[Attack]:
        found: dict[Attack, None] = {}
        leads = self._leads()
        loops = [each for each in self._components() if each & leads.keys()]
        for loop in loops:
            for place in sorted(loop - {self.anywhere}):
                for pump in self._twice(place, loop):
                    self._add(found, leads[place], pump)
                    break
        for first in loops:
            for second in loops:
                if first is second:
                    continue
                places = [self.anywhere] if self.anywhere in first else sorted(first)
                for place in places:
                    targets = sorted(second)[:1] if place == self.anywhere else sorted(second)
                    for target in targets:
                        for pump in self._onward(place, target, first, second):
                            self._add(found, leads[place], pump)
        for loop in loops:
            for place in sorted(loop - {self.anywhere})[:1]:
                for pump in self._paths((place,), (place,), [loop]):
                    self._add(found, leads[place], pump)
        return list(found)

    def runs(self, repeated: Mapping[int, int]) -> Iterator[Attack]:
        for bits, times in repeated.items():
            for taste in range(len(_TASTES)) if bits else ():
                yield Attack("", self._char(bits, taste) * (times - 1) + "\x00", "")

    def _add(self, found: dict[Attack, None], lead: str, pump: str) -> None:
        unread = next((c for c in "\x00\x01" if c not in self.auto.alphabet), "\x00")
        pump = pump[: (pump + pump).find(pump, 1)]  # "aa" repeated is "a" repeated
        for tail in ("", unread, "\n!"):
            found[Attack(lead, pump, tail)] = None

    def _components(self) -> list[frozenset[int]]:
        """Return the loops: sets of places each of which leads to every other (Tarjan)."""
        index: dict[int, int] = {}
        low: dict[int, int] = {}
        stack: list[int] = []
        done: list[frozenset[int]] = []
        for root in self.follow:
            if root in index:
                continue
            work = [(root, iter(self.follow[root]))]
            index[root] = low[root] = len(index)
            stack.append(root)
            while work:
                place, ahead = work[-1]
                for each in ahead:
                    if each not in index:
                        index[each] = low[each] = len(index)
                        stack.append(each)
                        work.append((each, iter(self.follow[each])))
                        break
                    if each in stack:
                        low[place] = min(low[place], index[each])
                else:
                    work.pop()
                    if work:
                        low[work[-1][0]] = min(low[work[-1][0]], low[place])
                    if low[place] == index[place]:
                        at = stack.index(place)
                        part, stack = frozenset(stack[at:]), stack[:at]
                        if len(part) > 1 or place in self.follow[place]:
                            done.append(part)
        return done

    def _leads(self) -> dict[int, str]:
        """Return a shortest text that leads to each place."""
        leads = {self.beginning: ""}
        queue = deque([self.beginning])
        while queue:
            place = queue.popleft()
            for each in self.follow[place]:
                if each not in leads and each != self.anywhere:
                    leads[each] = leads[place] + self._char(self.reads[each], 0)
                    queue.append(each)
        leads[self.anywhere] = ""
        return leads

    def _char(self, bits: int, taste: int) -> str:
        order = _TASTES[taste]
        chars = [c for place, c in enumerate(self.auto.alphabet) if bits >> place & 1]
        return min(chars, key=lambda c: order(c))

    def _twice(self, place: int, loop: frozenset[int]) -> Iterator[str]:
        """Yield words by which a loop leads from a place to itself in two ways."""
        inside = {
            (each, ahead): ways
            for each in loop
            for ahead, ways in self.follow[each].items()
            if ahead in loop
        }
        for (each, ahead), ways in inside.items():
            if ways > 1:
                to = list(self._paths((place,), (each,), [loop], empty=True))[:1]
                back = list(self._paths((ahead,), (place,), [loop], empty=True))[:1]
                for first in to:
                    for last in back:
                        yield first + self._char(self.reads[ahead], 0) + last
        apart = [(r, s) for r in sorted(loop) for s in sorted(loop) if r < s]
        for pair in apart:
            if not self.reads[pair[0]] & self.reads[pair[1]]:
                continue
            for first in self._paths((place, place), pair, [loop, loop]):
                for last in self._paths(pair, (place, place), [loop, loop]):
                    yield first + last
                break

    def _onward(
        self, place: int, target: int, first: frozenset[int], second: frozenset[int]
    ) -> Iterator[str]:
        """Yield words that lead a loop to itself, it to a later loop, and that one to itself."""
        if place == self.anywhere:
            yield from self._paths((place, target), (target, target), [None, second])
        else:
            yield from self._paths(
                (place, place, target), (place, target, target), [first, None, second]
            )

    def _paths(
        self,
        start: tuple[int, ...],
        end: tuple[int, ...],
        within: Sequence[frozenset[int] | None],
        *,
        empty: bool = False,
    ) -> Iterator[str]:
        """Yield words, one to each taste, that lead all starts to their ends at once."""
        if empty and start == end:
            yield ""
            return
        came: dict[tuple[int, ...], tuple[tuple[int, ...], int]] = {}
        queue = deque([start])
        while queue and end not in came:
            places = queue.popleft()
            options: list[tuple[tuple[int, ...], int]] = [((), self.all)]
            for place, bound in zip(places, within, strict=True):
                options = [
                    ((*before, each), bits & self.reads[each])
                    for before, bits in options
                    for each in self.follow[place]
                    if (bound is None or each in bound) and bits & self.reads[each]
                ]
                self.steps += len(options)
            if self.steps > _MOST_STEPS:
                return
            for each, bits in options:
                if each not in came:
                    came[each] = (places, bits)
                    queue.append(each)
        if end not in came:
            return
        bits_back: list[int] = []
        at = end
        while True:
            at, bits = came[at]
            bits_back.append(bits)
            if at == start:
                break
        for taste in range(len(_TASTES)):
            yield "".join(self._char(bits, taste) for bits in reversed(bits_back))


_TASTES = (
    lambda char: 0,
    lambda char: (char.isalnum() or char == "_", char.isspace()),
    lambda char: (not char.isspace(),),
    lambda char: (not char.isdigit(), not char.isalpha()),
    lambda char: (char.isascii(), not char.isalpha()),
)
"""Which character to take where several fit: any, a mark, a space, a digit, another script."""
