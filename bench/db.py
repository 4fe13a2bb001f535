"""
Measures database search: what the language can say, what is understood, what it costs.

The questions and databases of defog's sql-eval are read from the folder that REFDESK_BENCH_DATA
names, by default ``../shared/data``; they are loaded into databases of their own on the PostgreSQL
server of REFDESK_TEST_POSTGRES, which are dropped afterwards.  Exit status 1: a goal was missed.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import itertools
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
from db_share import Share, fill, measure
from ruamel.yaml import YAML
from sql_as_query import Unsaid, query_of
from sqlalchemy import make_url

from refdesk.config.library import DatabaseEntry, LibrarySection
from refdesk.db.databases import Databases
from refdesk.db.dsl import Query, QueryError
from refdesk.db.dsl.parse import parse
from refdesk.db.dsl.write import to_document
from refdesk.db.execute import ExecutionFailed
from refdesk.db.gate import Refused, write
from refdesk.db.generate import generate
from refdesk.db.handler import DatabaseHandler
from refdesk.db.reading import Scope, compile_for

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("REFDESK_BENCH_DATA", ROOT.parent / "shared" / "data"))
SERVER = make_url(
    os.environ.get("REFDESK_TEST_POSTGRES", "postgresql://root@127.0.0.1:5432/test")
).set(drivername="postgresql")
PREFIX = "refdesk_bench_"
GOLD = ("questions_gen_postgres", "instruct_basic_postgres", "instruct_advanced_postgres")
MANY = 100_000
BRACES = re.compile(r"\{([^{}]+)\}")
SHOP_NOW = datetime(2026, 3, 15, 12, tzinfo=UTC)

Table = Sequence[Sequence[Any]]


# --- gold answers


def variants(sql: str, most: int = 64) -> Iterator[str]:
    """Yield the queries that a gold text stands for: alternatives, and choices of columns."""
    for alternative in filter(None, (part.strip() for part in sql.split(";"))):
        found = BRACES.search(alternative)
        if not found:
            yield alternative
            continue
        columns = [part.strip() for part in found[1].split(",")]
        sizes = range(len(columns), 0, -1)
        chosen = (pick for size in sizes for pick in itertools.combinations(columns, size))
        for pick in itertools.islice(chosen, most):
            text = alternative.replace(found[0], ", ".join(pick), 1)
            yield BRACES.sub(r"\1", text.replace("{}", ", ".join(pick)))


def cell(value: Any) -> Any:
    """Return a value as it is compared: numbers at six digits, times as text."""
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, (int, float, Decimal)):
        return float(f"{float(value):.6g}")
    if isinstance(value, datetime):
        return value.isoformat().removesuffix("+00:00").removesuffix("T00:00:00")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, str):
        return value.removesuffix("+00:00").removesuffix("T00:00:00")
    return value if value is None or isinstance(value, timedelta) else str(value)


def key(row: Sequence[Any]) -> tuple[str, ...]:
    """Return what rows are sorted by."""
    return tuple(map(repr, row))


def same(ours: Table, gold: Table) -> bool:
    """Whether two results hold the same rows, whatever their order."""
    return sorted(ours, key=key) == sorted(gold, key=key)


def holds(ours: Table, gold: Table) -> bool:
    """Whether our columns hold those of the gold answer, row by row."""
    if len(ours) != len(gold):
        return False
    if not gold:
        return True
    columns = [sorted(map(repr, column)) for column in zip(*ours, strict=True)]
    wanted = [sorted(map(repr, column)) for column in zip(*gold, strict=True)]
    fits = [[at for at, column in enumerate(columns) if column == want] for want in wanted]
    for picks in itertools.islice(itertools.product(*fits), 200):
        if same([[row[at] for at in picks] for row in ours], gold):
            return True
    return False


# --- databases


def load(name: str) -> str:
    """Load one database of sql-eval, and return its URL."""
    base = f"{PREFIX}{name}"
    with psycopg.connect(SERVER.render_as_string(hide_password=False), autocommit=True) as server:
        server.execute(f"DROP DATABASE IF EXISTS {base} WITH (FORCE)")
        server.execute(f"CREATE DATABASE {base}")
    url = SERVER.set(database=base).render_as_string(hide_password=False)
    file = DATA / "defog-data" / f"{name}.sql"
    subprocess.run(["psql", "-q", "-X", "-f", file, url], check=True, capture_output=True)
    return url


def drop(names: Sequence[str]) -> None:
    """Drop what was loaded."""
    with psycopg.connect(SERVER.render_as_string(hide_password=False), autocommit=True) as server:
        for name in names:
            server.execute(f"DROP DATABASE IF EXISTS {PREFIX}{name} WITH (FORCE)")


def gold_rows(server: psycopg.Connection[Any], sql: str) -> Table | None:
    """Return what a gold query gives; None if it is an error."""
    try:
        with server.transaction(), server.cursor() as cursor:
            cursor.execute("SET TRANSACTION READ ONLY")
            cursor.execute(sql)
            return [[cell(value) for value in row] for row in cursor.fetchall()]
    except psycopg.Error:
        return None


async def our_rows(query: Query, scope: Scope) -> Table:
    """Return what a query gives, compiled, looked at again and run as a search does it."""
    statement = compile_for(query, scope, limit_cap=MANY)
    database = scope.database
    rows = await database.runner.run(write(statement, database.dialect), max_rows=MANY)
    return [[cell(value) for value in row.values()] for row in rows.rows]


def read(name: str) -> list[dict[str, str]]:
    """Return the rows of a file of sql-eval."""
    with (DATA / "sql-eval" / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


# --- what is measured


async def said(scopes: Mapping[str, Scope], servers: Mapping[str, Any]) -> Counter[str]:
    """Say every gold query in the language, and compare what it gives."""
    found: Counter[str] = Counter()
    for row in (row for name in GOLD for row in read(name)):
        sql = next(variants(row["query"], 1))
        server = servers[row["db_name"]]
        gold = gold_rows(server, sql)
        if gold is None:
            found["gold is an error"] += 1
            continue
        found["all"] += 1
        if any(isinstance(value, timedelta) for line in gold for value in line):
            # The language's difference of two times is a number of days.
            found["not said"] += 1
            continue
        try:
            document = to_document(query_of(sql))
            ours = await our_rows(parse(document), scopes[row["db_name"]])
        except (Unsaid, QueryError) as error:
            found["not said"] += 1
            note("not said", row["db_name"], error, sql)
            continue
        except (Refused, ExecutionFailed) as error:
            found["failed"] += 1
            note("failed", row["db_name"], error, sql)
            continue
        outcome = "same" if same(ours, gold) else "other rows"
        found[outcome] += 1
        if outcome != "same":
            note("other rows", row["db_name"], ours[:2], gold[:2], sql)
    return found


async def understood(
    scopes: Mapping[str, Scope], servers: Mapping[str, Any]
) -> dict[str, Counter[str]]:
    """Ask every question without a model, and compare what comes with the accepted answers."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for name, row in ((file, row) for file in GOLD for row in read(file)):
        scope = scopes[row["db_name"]]
        outcome = "refused"
        made = await asked(row["question"], scope, datetime.now(UTC))
        if made is not None:
            outcome = "wrong"
            try:
                ours = await our_rows(made, scope)
            except (QueryError, Refused, ExecutionFailed) as error:
                note("not run", row["db_name"], error, row["question"])
                ours = [["no rows"]]
            for sql in variants(row["query"]):
                gold = gold_rows(servers[row["db_name"]], sql)
                if gold is not None and holds(ours, gold):
                    outcome = "right"
                    break
            if outcome == "wrong":
                note("wrong", row["db_name"], row["question"], to_document(made))
        # The two smaller files have a category for every few questions.
        category = row["query_category"] if name == GOLD[0] else name.split("_")[1]
        found[category][outcome] += 1
    return found


async def asked(question: str, scope: Scope, now: datetime) -> Query | None:
    """Return the query made of a question; None where it is refused."""
    samples = await scope.database.samples.of(scope.models, scope.permission, None)
    return generate(question, scope.visible, now=now, samples=samples, limit=MANY).query


async def refused(scopes: Mapping[str, Scope]) -> Counter[str]:
    """Ask what cannot be answered."""
    found: Counter[str] = Counter()
    for row in read("idk"):
        made = await asked(row["question"], scopes[row["db_name"]], datetime.now(UTC))
        found["refused" if made is None else "answered"] += 1
        if made is not None:
            note("answered", row["db_name"], row["question"], to_document(made))
    return found


async def sixty(folder: Path) -> Counter[str]:
    """Ask the plain questions of our own shop."""
    path = folder / "shop.db"
    connection = sqlite3.connect(path)
    tests = ROOT / "tests" / "db"
    connection.executescript(f"BEGIN; {(tests / 'shop.sql').read_text()} COMMIT;")
    scope = await scope_of("shop", f"sqlite:///{path}")
    found: Counter[str] = Counter()
    for each in YAML(typ="safe").load((tests / "questions.yaml").read_text()):
        made = await asked(each["ask"], scope, SHOP_NOW)
        if made is None:
            found["refused"] += 1
            continue
        gold = [[cell(value) for value in row] for row in connection.execute(each["sql"])]
        ours = await our_rows(made, scope)
        found["right" if holds(ours, gold) else "wrong"] += 1
    connection.close()
    scope.database.close()
    return found


async def our_share(name: str) -> Share:
    """Return what we add to a query of a million rows."""
    url = SERVER.set(database=f"{PREFIX}{name}").render_as_string(hide_password=False)
    fill(url)
    scope = await scope_of("million", url)
    share = await measure(url, scope)
    scope.database.close()
    return share


async def scope_of(name: str, url: str) -> Scope:
    """Return what may be read of a database without rules."""
    limits = {"rows": MANY, "bytes": 2**28, "seconds": 20}
    entry = DatabaseEntry.model_validate({"url": url, "limits": limits})
    handler = DatabaseHandler(Databases({name: entry}), config=LibrarySection())
    scope, _ = await handler.scope(name, None, None)
    return replace(scope, now=None)  # the gold queries ask the server's clock


def note(what: str, *details: object) -> None:
    """Tell one case on stderr, where that is wanted."""
    if os.environ.get("REFDESK_BENCH_VERBOSE"):
        print(what, *details, sep=" | ", file=sys.stderr)


# --- the table


async def main(quick: bool) -> int:
    """Measure, print the table, and return the exit status."""
    names = sorted(path.stem for path in (DATA / "defog-data").glob("*.sql"))
    if not names:
        print(f"no databases in {DATA / 'defog-data'}; set REFDESK_BENCH_DATA", file=sys.stderr)
        return 1
    servers: dict[str, Any] = {}
    scopes: dict[str, Scope] = {}
    try:
        for name in names:
            url = load(name)
            servers[name] = psycopg.connect(url)
            scopes[name] = await scope_of(name, url)
        language = await said(scopes, servers)
        note("language", dict(language))
        answers = await understood(scopes, servers)
        unanswerable = await refused(scopes)
        with tempfile.TemporaryDirectory() as folder:
            plain = await sixty(Path(folder))
        share = None if quick else await our_share(names[0])
    finally:
        for server in servers.values():
            server.close()
        for scope in scopes.values():
            scope.database.close()
        drop(names)
    return report(language, answers, unanswerable, plain, share)


def report(
    language: Counter[str],
    answers: Mapping[str, Counter[str]],
    unanswerable: Counter[str],
    plain: Counter[str],
    share: Share | None,
) -> int:
    """Print the table; return 1 where a goal is missed."""
    total = language["all"]
    can = 1 - language["not said"] / total
    wrong = language["other rows"] + language["failed"]
    rows = [
        ("gold queries the language can say", f"{can:.1%} of {total}", ">= 80 %", can >= 0.8),
        (
            "... of them, with the same rows",
            f"{language['same']} of {total - language['not said']}",
            "all",
            wrong == 0,
        ),
    ]
    for category, each in sorted(answers.items()):
        shown = f"{each['right']} right, {each['wrong']} wrong, {each['refused']} refused"
        rows.append((f"questions without a model: {category}", shown, "", True))
    right = sum(each["right"] for each in answers.values())
    every = sum(sum(each.values()) for each in answers.values())
    rows.append(("questions without a model: all", f"{right / every:.1%} right", "", True))
    idk = unanswerable["refused"] / sum(unanswerable.values())
    rows.append(("questions with no answer, refused", f"{idk:.1%}", ">= 90 %", idk >= 0.9))
    good = plain["right"] / sum(plain.values())
    shown = f"{good:.1%} ({plain['wrong']} wrong, {plain['refused']} refused)"
    rows.append(("our sixty plain questions", shown, ">= 85 %", good >= 0.85))
    if share is not None:
        for name, ours, shown in (
            ("all are read", share.scanned, f"{share.scanned:.1f} ms of {share.whole:.0f} ms"),
            ("found by an index", share.found, f"{share.found:.1f} ms"),
        ):
            rows.append((f"our share of 1,000,000 rows, {name}", shown, "<= 5 ms", ours <= 5))
    widths = [max(len(row[at]) for row in rows) for at in range(3)]
    for name, value, goal, met in rows:
        mark = ("ok" if met else "MISSED") if goal else ""
        print(f"{name:<{widths[0]}}  {value:<{widths[1]}}  {goal:<{widths[2]}}  {mark}".rstrip())
    return 0 if all(row[3] for row in rows) else 1


if __name__ == "__main__":
    words = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    words.add_argument("--quick", action="store_true", help="without the million rows, untimed")
    sys.exit(asyncio.run(main(words.parse_args().quick)))
