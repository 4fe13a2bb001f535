"""What holds for every test: no connection leaves this machine, and recordings are found."""

from __future__ import annotations

import ipaddress
import logging
import os
import socket
from collections.abc import Iterator
from typing import Any

import pytest
import structlog
from hypothesis import HealthCheck, settings

# Machines that run tests are busy; how long an example takes says nothing.  The same examples are
# tried each time; `make fuzz` tries others.
settings.register_profile(
    "same", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "explore",
    deadline=None,
    max_examples=1_000,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("REFDESK_EXAMPLES", "same"))


@pytest.fixture(autouse=True)
def _logs_as_they_were() -> Iterator[None]:
    """What a test sets up for logs, by running a command, ends with it."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


def _allowed(address: Any) -> bool:
    if not isinstance(address, tuple):
        return True  # a Unix socket
    host = address[0]
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@pytest.fixture(autouse=True)
def _only_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that would reach beyond loopback fails, and says where it wanted to go."""
    connect, connect_ex = socket.socket.connect, socket.socket.connect_ex

    def guarded(self: socket.socket, address: Any) -> None:
        if not _allowed(address):
            raise AssertionError(f"a test tried to connect to {address!r}")
        connect(self, address)

    def guarded_ex(self: socket.socket, address: Any) -> int:
        if not _allowed(address):
            raise AssertionError(f"a test tried to connect to {address!r}")
        return connect_ex(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)
    monkeypatch.setattr(socket.socket, "connect_ex", guarded_ex)
