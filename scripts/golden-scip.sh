#!/usr/bin/env bash
# Makes workbench/wb-search/tests/golden/scip/index.scip: a small project of Python as scip-python sees it.
#
# Needs Node.js with @sourcegraph/scip-python and a Python; run by hand after the project was changed:
#     npm install --prefix "$TMPDIR/scip" @sourcegraph/scip-python@0.6.6
#     PATH="$TMPDIR/scip/node_modules/.bin:$PATH" scripts/golden-scip.sh
set -euo pipefail

golden=$(cd "$(dirname "$0")/../workbench/wb-search/tests/golden/scip" && pwd)
# The index names the folder that it was made in.
folder=/tmp/golden-scip
rm -rf "$folder"
mkdir "$folder"
cp -r "$golden"/order.py "$golden"/shop "$folder"
cd "$folder"
# Of other packages nothing is asked.
echo '[]' >packages.json
scip-python index . --project-name golden --project-version 1 --environment packages.json --output index.scip
cp index.scip "$golden"
