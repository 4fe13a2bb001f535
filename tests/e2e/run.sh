#!/usr/bin/env bash
# Runs the real Claude Code and Codex against the gateway, on loopback, with a scripted upstream and
# the offline engine.  Needs Node 20+ and npm; installs the clients below this folder (0.7 GB).
set -euo pipefail
cd "$(dirname "$0")"
for command in node npm; do
  command -v "$command" >/dev/null || { echo "make e2e needs $command; install Node.js 20 or later" >&2; exit 1; }
done
stamp=node_modules/.refdesk-lock
if ! cmp -s package-lock.json "$stamp"; then
  npm ci --no-progress
  cp package-lock.json "$stamp"
fi
exec ../../.venv/bin/python main.py
