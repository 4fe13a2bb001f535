#!/usr/bin/env bash
# Install what the benchmark needs, build its upstream, and run it:
#
#     bash bench/run.sh [--quick] [--gate bench/goals.json] [--without litellm]
#
# wrk and nginx are unpacked below .cache/bench-tools where the system has none, and LiteLLM goes
# into .cache/bench-venv: nothing is installed into the system, but a C compiler if there is none.
# About five minutes; --quick, about one.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
tools=$root/.cache/bench-tools
litellm_version=1.108.7
python=$root/.venv/bin/python

say() { echo "bench: $*" >&2; }

[ -x "$python" ] || { say "needs .venv; run it with: make bench"; exit 2; }
command -v taskset >/dev/null || { say "needs taskset (Debian: util-linux)"; exit 2; }
[ "$(nproc)" -ge 2 ] || { say "needs two cores: one for the server, one for the load"; exit 2; }

apt_ready=
apt_update() {
  [ -z "$apt_ready" ] || return 0
  [ "$(id -u)" != 0 ] || apt-get update -q >/dev/null
  apt_ready=yes
}

# Unpack Debian packages without installing them: nginx would start as a service.
unpack() {
  command -v apt-get >/dev/null || { say "needs $1; install it"; exit 2; }
  local folder
  folder=$(mktemp -d)
  (cd "$folder" && apt-get download -q "$@" >/dev/null 2>&1) || {
    apt_update
    (cd "$folder" && apt-get download -q "$@" >/dev/null 2>&1)
  } || { say "cannot get $* from the system's packages"; exit 2; }
  mkdir -p "$tools"
  for package in "$folder"/*.deb; do dpkg -x "$package" "$tools"; done
  rm -r "$folder"
}

if ! command -v cc >/dev/null; then
  [ "$(id -u)" = 0 ] || { say "needs a C compiler (Debian: gcc libc6-dev)"; exit 2; }
  apt_update
  apt-get install -q -y --no-install-recommends gcc libc6-dev >/dev/null
fi
export LD_LIBRARY_PATH=${LD_LIBRARY_PATH-}
wrk=$(command -v wrk || true)
if [ -z "$wrk" ]; then
  wrk=$tools/usr/bin/wrk
  [ -x "$wrk" ] || { say "unpacking wrk"; unpack wrk libluajit-5.1-2; }
  LD_LIBRARY_PATH=$(dirname "$(find "$tools" -name 'libluajit-5.1.so.2' | head -n 1)"):$LD_LIBRARY_PATH
fi
nginx=$(command -v nginx || true)
if [ -z "$nginx" ]; then
  nginx=$tools/usr/sbin/nginx
  [ -x "$nginx" ] || { say "unpacking nginx"; unpack nginx; }
fi

options=()
litellm=$root/.cache/bench-venv/bin/litellm
while [ $# -gt 0 ]; do
  case $1 in
    --without) [ "${2-}" = litellm ] || { say "only litellm can be left out"; exit 2; }; litellm=; shift 2 ;;
    *) options+=("$1"); shift ;;
  esac
done
if [ -n "$litellm" ] && [ ! -x "$litellm" ]; then
  say "installing LiteLLM $litellm_version into .cache/bench-venv"
  .tools/bin/uv venv --quiet --allow-existing --python "$python" .cache/bench-venv
  .tools/bin/uv pip install --quiet --python .cache/bench-venv/bin/python \
    "litellm[proxy]==$litellm_version"
fi

mkdir -p bench/build
cc -O2 -Wall -Wextra -o bench/build/upstream bench/upstream.c
[ -z "$litellm" ] || options+=(--litellm "$litellm")
WRK=$wrk exec "$python" bench/compare.py --nginx "$nginx" ${options[@]+"${options[@]}"}
