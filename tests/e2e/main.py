"""
Run the real clients against the gateway, and print what held.

Exit status 0 only if everything did.  The clients are those of ``package.json`` here and of
`talkers`; `run.sh` installs them.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

import claude_code
import codex
from checks import session_table, table
from sessions import sessions
from talkers import talkers

_BIN: Final = Path(__file__).parent / "node_modules" / ".bin"


def main() -> int:
    """Run all clients; return the exit status."""
    clients = {"claude": claude_code.run, "codex": codex.run}
    for name in clients:
        version = subprocess.run(
            [_BIN / name, "--version"], capture_output=True, text=True, check=True
        )
        print(f"{name}: {version.stdout.strip()}")
    checks = [check for name, run in clients.items() for check in run(_BIN / name)]
    print(table(checks))
    rows = list(sessions(talkers()))
    print(session_table(rows))
    held = [*(check.holds for check in checks), *(row.holds for row in rows)]
    print(f"{sum(held)} of {len(held)} hold")
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
