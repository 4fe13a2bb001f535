"""From a host name to a connected socket, past addresses that lead nowhere."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from typing import Final

HEAD_START_S: Final = 0.25
"""How long one address has before the next is tried beside it (RFC 8305, section 5)."""


async def resolve(host: str, port: int) -> list[str]:
    """
    Return the addresses of a host, the resolver's favourite first, families alternating.

    Raises:
        OSError: There are none.
    """
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
    if not addresses:
        raise OSError("the name has no address")
    first = ":" in addresses[0]
    same = [address for address in addresses if (":" in address) is first]
    other = [address for address in addresses if (":" in address) is not first]
    shorter = min(len(same), len(other))
    pairs = zip(same, other, strict=False)
    return [address for pair in pairs for address in pair] + same[shorter:] + other[shorter:]


async def connect(addresses: Sequence[str], port: int) -> socket.socket:
    """
    Return a socket connected to the first address that answers; the others are closed.

    Raises:
        OSError: None of them did; it is what the first one said.
    """
    if len(addresses) == 1:
        return await _connect_one(addresses[0], port)
    pending: set[asyncio.Task[socket.socket]] = set()
    failures: list[BaseException] = []
    waiting = list(addresses)
    winner: socket.socket | None = None
    try:
        while winner is None:
            if waiting:
                pending.add(asyncio.create_task(_connect_one(waiting.pop(0), port)))
            elif not pending:
                break
            done, pending = await asyncio.wait(
                pending,
                timeout=HEAD_START_S if waiting else None,
                return_when=asyncio.FIRST_COMPLETED,
            )
            for task in done:
                if (failure := task.exception()) is not None:
                    failures.append(failure)
                elif winner is None:
                    winner = task.result()
                else:
                    task.result().close()
        await _give_up(pending)
    except BaseException:
        if winner is not None:
            winner.close()
        await _give_up(pending)
        raise
    if winner is None:
        raise failures[0]
    return winner


async def _give_up(attempts: set[asyncio.Task[socket.socket]]) -> None:
    for task in attempts:
        task.cancel()
    for late in await asyncio.gather(*attempts, return_exceptions=True):
        if isinstance(late, socket.socket):
            late.close()


async def _connect_one(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await asyncio.get_running_loop().sock_connect(sock, (address, port))
    except BaseException:
        sock.close()
        raise
    return sock
