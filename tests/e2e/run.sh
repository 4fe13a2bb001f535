#!/usr/bin/env bash
# Runs real clients against the gateway, on loopback, with a scripted upstream.  Needs Node 20+, npm
# and uv (`make e2e` brings it); installs the clients below this folder and in uv's cache (3 GB).
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
unlocked=unlocked/node_modules/.refdesk-package
if ! cmp -s unlocked/package.json "$unlocked"; then
  npm install --no-progress --no-audit --no-fund --no-package-lock --prefix unlocked
  cp unlocked/package.json "$unlocked"
fi
# Open WebUI with its slim requirements: no models, no torch.
uv=../../.tools/bin/uv
if [ ! -x .open-webui/bin/open-webui ]; then
  "$uv" venv --quiet --python ../../.venv/bin/python .open-webui
  "$uv" pip install --quiet --python .open-webui --no-deps open-webui==0.12.4
  "$uv" pip install --quiet --python .open-webui -r .open-webui/lib/python3*/site-packages/requirements-slim.txt
fi
exec ../../.venv/bin/python main.py
