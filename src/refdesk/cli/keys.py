"""``refdesk keys``: what clients show to be let in.  A running server knows of changes in 2 s."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from refdesk import clock
from refdesk.cli.options import ConfigOption, JsonOption, read_config
from refdesk.cli.output import print_json, put, say

if TYPE_CHECKING:
    from datetime import datetime

    from refdesk.store import ClientKey, Store

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Make, list and revoke keys.")


@app.command()
def create(
    name: Annotated[
        str | None, typer.Option(help="What to know it by.", show_default="today's date")
    ] = None,
    claims: Annotated[
        str | None,
        typer.Option(
            help=(
                'The identity of its requests, as JSON: {"team": "sales"}.  With "admin": true they'
                ' may make and change collections, with "admin": ["handbook"] change that one;'
                ' with "metrics": true they may read /metrics.'
            ),
            show_default=False,
        ),
    ] = None,
    searches_per_day: Annotated[
        int | None,
        typer.Option(min=0, help="Searches a day (UTC); beyond it 429.", show_default="no limit"),
    ] = None,
    requests_per_minute: Annotated[
        int | None,
        typer.Option(
            min=1, help="Requests of any kind a minute; beyond it 429.", show_default="no limit"
        ),
    ] = None,
    expires: Annotated[
        str | None,
        typer.Option(help="When it ends: 30d, a date or a time.", show_default="never"),
    ] = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Make a client key.  Its token is printed now, on stdout, and cannot be shown again."""
    given = _claims(claims)
    ends = _expires(expires)
    if name is None:
        name = f"key of {clock.now():%Y-%m-%d}"
    elif not name.strip():
        raise typer.BadParameter("it is empty; write a name to know it by", param_hint="--name")
    from refdesk.store.opening import open_store

    with open_store(read_config(config).config, upgrade=False) as store:
        token, key = store.keys.create(
            name,
            claims=given,
            daily_limit=searches_per_day,
            requests_per_minute=requests_per_minute,
            expires=ends,
        )
    if json:
        print_json({"token": token, **_shown(key)})
    else:
        put(token)
    say(f"the key {key.name!r} has the id {key.id} and {_until(key)}; its token is not shown again")


@app.command("list")
def list_(config: ConfigOption = None, json: JsonOption = False) -> None:
    """List the client keys, revoked and expired ones too; never the tokens."""
    from refdesk.cli._store import existing_store

    store = existing_store(read_config(config).config)
    rows: list[dict[str, Any]] = []
    if store is not None:
        with store:
            rows = _rows(store)
    if json:
        print_json(rows)
        return
    if not rows:
        say("there are no client keys; `refdesk keys create` makes one")
        return
    from refdesk.cli._table import print_columns

    print_columns(
        ("ID", "NAME", "STATE", "SEARCHES TODAY", "A MINUTE", "CREATED", "EXPIRES", "CLAIMS"),
        [
            (
                row["id"],
                row["name"],
                row["state"],
                f"{row['searches_today']}"
                + (f"/{row['searches_per_day']}" if row["searches_per_day"] is not None else ""),
                f"{row['requests_per_minute'] or 'any'}",
                f"{row['created']:%Y-%m-%d}",
                f"{row['expires']:%Y-%m-%d %H:%MZ}" if row["expires"] else "never",
                _compact(row["claims"]),
            )
            for row in rows
        ],
    )


@app.command()
def revoke(
    ident: Annotated[str, typer.Argument(metavar="ID", help="The key's id, as listed.")],
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """End a client key for good."""
    from refdesk.cli._store import existing_store
    from refdesk.errors import StoreError

    wanted = _id_in(ident)
    store = existing_store(read_config(config).config)
    if store is None:
        raise StoreError(f"no client key has the id {wanted[:40]!r}: there is no store yet")
    with store:
        key = store.keys.revoke(wanted)
    if json:
        print_json(_shown(key))
    say(f"the key {key.name!r} ({key.id}) is revoked; running servers refuse it within 2 seconds")


def _id_in(text: str) -> str:
    """Return the id, also where the whole token was pasted; the token is never shown again."""
    from refdesk.store.keys import PREFIX

    return text.strip().removeprefix(PREFIX).partition("_")[0]


def _claims(text: str | None) -> dict[str, Any]:
    import msgspec

    if text is None:
        return {}
    try:
        found = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError) as exc:
        raise typer.BadParameter(
            f"{text[:60]!r} is no JSON ({exc}); write an object such as "
            '\'{"id": 7, "team": "sales"}\'',
            param_hint="--claims",
        ) from None
    if not isinstance(found, dict):
        raise typer.BadParameter(
            f'{text[:60]!r} is no JSON object; write one such as \'{{"team": "sales"}}\'',
            param_hint="--claims",
        )
    return found


def _expires(text: str | None) -> datetime | None:
    from refdesk.cli._moment import moment

    if text is None:
        return None
    ends = moment(text, "--expires", ahead=True)
    if ends <= clock.now():
        raise typer.BadParameter(
            f"{text!r} is over already ({ends:%Y-%m-%d %H:%M} UTC); name a time to come",
            param_hint="--expires",
        )
    return ends


def _rows(store: Store) -> list[dict[str, Any]]:
    store.ledger.load()
    rows = []
    for key in store.keys.list():
        asked = store.ledger.today(key_id=key.id).asked
        rows.append(_shown(key) | {"searches_today": asked})
    return rows


def _shown(key: ClientKey) -> dict[str, Any]:
    return {
        "id": key.id,
        "name": key.name,
        "prefix": key.prefix,
        "state": _state(key),
        "claims": key.claims,
        "searches_per_day": key.daily_limit,
        "requests_per_minute": key.requests_per_minute,
        "created": key.created,
        "expires": key.expires,
        "revoked": key.revoked,
    }


def _state(key: ClientKey) -> str:
    from datetime import UTC, datetime

    if key.revoked is not None:
        return "revoked"
    return "valid" if key.is_valid(datetime.now(UTC)) else "expired"


def _until(key: ClientKey) -> str:
    return f"ends {key.expires:%Y-%m-%d %H:%M} UTC" if key.expires else "does not end"


def _compact(value: Any) -> str:
    import msgspec

    return msgspec.json.encode(value).decode() if value else "-"
