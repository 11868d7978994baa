#!/usr/bin/env bash
# Makes the Python environment that wb is compared with, once, in the cache folder, and prints its interpreter.
# Made again when scripts/peers/requirements.txt changes; about four gigabytes, most of them torch.
set -euo pipefail
cd "$(dirname "$0")/.."

environment="${XDG_CACHE_HOME:-$HOME/.cache}/wb/peers"
stamp="$environment/requirements.txt"
mkdir -p "$environment"
exec 9>"$environment/lock"
flock 9
if ! cmp -s scripts/peers/requirements.txt "$stamp"; then
  [ -x "$environment/bin/python" ] || python3 -m venv "$environment"
  "$environment/bin/python" -m pip install --quiet --disable-pip-version-check --requirement scripts/peers/requirements.txt >&2
  cp scripts/peers/requirements.txt "$stamp"
fi
echo "$environment/bin/python"
