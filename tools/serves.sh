#!/usr/bin/env bash
# Start a `refdesk` in an empty folder and see that it answers: serves.sh path/to/refdesk
set -euo pipefail
refdesk=$(realpath "$1")
folder=$(mktemp -d)
cd "$folder"
"$refdesk" --version
"$refdesk" check
"$refdesk" serve --port 0 > url 2> log &
pid=$!
trap 'kill $pid 2>/dev/null || true; wait $pid 2>/dev/null || true; rm -rf "$folder"' EXIT
for _ in $(seq 100); do [ -s url ] && break; sleep 0.2; done
url=$(cat url)
[ -n "$url" ] || { echo "it did not start:"; cat log; exit 1; }
python3 - "$url" <<'PY'
import sys, urllib.request
for path in ("/livez", "/readyz", "/metrics", "/v1/models"):
    with urllib.request.urlopen(sys.argv[1] + path, timeout=10) as answer:
        print(path, answer.status)
PY
kill -TERM $pid
wait $pid
echo "served, and stopped when told to"
