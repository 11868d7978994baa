#!/usr/bin/env bash
# Checks `wb shards` with the engines and the object storage of others; what is merged in the end has to be what one process
# makes, to the byte.
#
#   prepare     preparation in three passes, in a folder and over a server of S3 (moto): every shard is attempted by two
#               processes at once, half of which are killed
#   encode      vectors of 75,000 texts, made so
#   mine        hard negatives by vectors, mined so
#   synth       a synthesis whose questions are asked so, and annotations alone, of a server that always says the same; what a
#               dead attempt had of answers is not asked again
#   sweep       four runs made so
#   objects     pairs, corpora, vectors, encoders, benchmarks, exports and runs named by s3:// instead of by folders
#   away        a run whose folders are in a bucket, killed in its midst and gone on with by a machine that has nothing of it
#   slow-down   a server of S3 that asks every third request to come again later
#   slurm       a cluster of two nodes (scripts/slurm-nodes.sh), over a server of S3 (moto): arrays so short that a plan
#               takes several, an attempt that asks to be tried again, a node that is killed with what runs on it; nothing
#               may have been written over, and the key may be in no object
#   ray         a head and two raylets, one of which is taken away while it works
#   kubernetes  the Job's file against strict schemas, and each of its indexes in a container of podman, one of which is
#               killed; and `run_on: kubernetes` with a stand-in for kubectl that has Jobs run so
#
# Usage: scripts/check-shards.sh [WB [ENGINE ...]]
#
# WB is the program, else the one in the build's folder. What cannot be had is skipped with a line that says so. Takes five
# minutes, and three more once, when engines are fetched; podman is the one thing that is installed on the machine itself.
set -euo pipefail
cd "$(dirname "$0")/.."

case "${1:-}" in -h | --help) sed -n '2,24s/^# \{0,1\}//p' "$0"; exit 0 ;; esac

checkout="$PWD"
wb="$(realpath "${1:-${CARGO_TARGET_DIR:-target}/release/wb}")"
[ -x "$wb" ] || { echo "no program at $wb: cargo build --release -p wb" >&2; exit 2; }
shift || true
[ $# -gt 0 ] || set -- prepare encode mine synth sweep objects away slow-down slurm ray kubernetes
cache="${XDG_CACHE_HOME:-$HOME/.cache}/wb"

skipped() {
  echo "SKIPPED shards-$1: $2"
}

here="$(mktemp -d)"
server="" model=""
ended() {
  [ -z "$server$model" ] || kill $server $model 2>/dev/null || true
  rm -rf "$here"
}
trap ended EXIT

# Ray and the schemas of Kubernetes, once, in the cache folder.
engines="$cache/engines"
has_engines() {
  if ! cmp -s scripts/engines/requirements.txt "$engines/requirements.txt"; then
    [ -x "$engines/bin/python" ] || python3 -m venv "$engines" || return 1
    "$engines/bin/python" -m pip install --quiet --disable-pip-version-check --requirement scripts/engines/requirements.txt >&2 || return 1
    cp scripts/engines/requirements.txt "$engines/requirements.txt"
  fi
}

# Texts enough for nineteen shards, and an encoder of random weights.
python3 - "$here" <<'P'
import json, random, sys
random.seed(7)
words = "sort merge parse render rotate ledger packet matrix voucher planet recipe socket invoice melody cursor".split()
with open(sys.argv[1] + "/pairs.jsonl", "w") as out:
    for at in range(75_000):
        text = " ".join(random.choice(words) for _ in range(random.randint(6, 30)))
        out.write(json.dumps({"anchor": f"which of the texts is the one with number {at}", "positive": f"{text} {at}"}) + "\n")
P
cp -r workbench/wb-encoder/tests/golden/tiny-bert "$here/encoder"
cat > "$here/pairs.yaml" <<'Y'
name: pairs
data:
  sources: [{ jsonl: { path: pairs.jsonl } }]
  dedupe: { near: 0 }
  filter: { min_positive_chars: 20 }
  split: { by: pair, test: 0, validation: 0 }
Y
cd "$here"

# planned PLACE: the place of a plan, in $plan.
planned() {
  "$wb" shards plan pairs.yaml --stage encode --encoder ./encoder --work "$1" --rows-per-shard 4096 --device cpu | tee plan.txt
  plan="$(tail -n 1 plan.txt)"
}

# same_vectors FOLDER: those of one process are in it.
same_vectors() {
  [ -e plain.npy ] || "$wb" encode --encoder ./encoder --in datasets/prepared/*/train.parquet --field positive --out plain.npy --device cpu
  cmp "$1/documents.npy" plain.npy
  cmp "$1/documents.ids.txt" plain.ids.txt
}

# merged ENGINE: what the plan came to is what one process makes.
merged() {
  "$wb" shards status "$plan"
  "$wb" shards merge "$plan" --out "merged-$1"
  same_vectors "merged-$1"
  echo "--- $1: the bytes of one process, after $SECONDS s"
}

# A port of the loopback that nobody listens to, in $port.
free_port() {
  port="$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')"
}

# has_store WHO: a server of S3 whose bucket `code` keeps every version of an object.
has_store() {
  python="${WB_PYTHON:-$cache/peers/bin/python}"
  "$python" -c 'import moto, boto3' 2>/dev/null || { skipped "$1" "no Python with moto at $python: scripts/python.sh makes one"; return 1; }
  [ -z "$server" ] || return 0
  free_port
  export AWS_ENDPOINT_URL="http://127.0.0.1:$port" AWS_ACCESS_KEY_ID=AKIDEXAMPLE
  export AWS_SECRET_ACCESS_KEY=only-for-checks-s3cr3t AWS_DEFAULT_REGION=us-east-1
  "$python" -m moto.server -H 127.0.0.1 -p "$port" > moto.log 2>&1 &
  server=$!
  "$python" - <<'P'
import boto3, botocore.exceptions, os, time
s3 = boto3.client("s3", endpoint_url=os.environ["AWS_ENDPOINT_URL"])
for _ in range(200):
    try:
        s3.list_buckets()
        break
    except botocore.exceptions.EndpointConnectionError:
        time.sleep(0.1)
s3.create_bucket(Bucket="code")
s3.put_bucket_versioning(Bucket="code", VersioningConfiguration={"Status": "Enabled"})
P
}

# written_once: no object of the store has two versions, but words on progress and folders that one process works in (away),
# and none has the key in it.
written_once() {
  "$python" - <<'P'
import boto3, os
s3 = boto3.client("s3", endpoint_url=os.environ["AWS_ENDPOINT_URL"])
versions, marker = [], {}
while True:
    page = s3.list_object_versions(Bucket="code", **marker)
    versions += page.get("Versions", [])
    if not page["IsTruncated"]:
        break
    marker = {"KeyMarker": page["NextKeyMarker"], "VersionIdMarker": page["NextVersionIdMarker"]}
once = [v["Key"] for v in versions if "/progress/" not in v["Key"] and not v["Key"].startswith("away")]
assert len(once) == len(set(once)), "something was written over"
for version in versions:
    body = s3.get_object(Bucket="code", Key=version["Key"], VersionId=version["VersionId"])["Body"].read()
    assert os.environ["AWS_SECRET_ACCESS_KEY"].encode() not in body, version["Key"]
print(f"{len(once)} objects, each written once, none with the key in it")
P
}

# attempted PLAN [SECONDS]: each shard by two processes at once, half of them killed at a random moment of the first .7 s, or
# SECONDS, until nothing is missing.
attempted() {
  local missing shard twin children
  while missing="$("$wb" shards missing "$1")" && [ -n "$missing" ]; do
    for shard in $missing; do
      children=()
      for twin in 1 2; do
        attempts=$((attempts + 1))
        if [ $((RANDOM % 2)) -eq 0 ]; then
          doomed=$((doomed + 1))
          timeout --signal=KILL "$(awk -v at=$RANDOM -v all="${2:-0.7}" 'BEGIN { print 0.001 + all * at / 32768 }')" "$wb" shards run "$1" --shard "$shard" --scratch "$here/scratch-$twin" &
        else
          "$wb" shards run "$1" --shard "$shard" --scratch "$here/scratch-$twin" &
        fi
        children+=($!)
      done
      wait "${children[@]}" || true
    done
  done >> attempts.txt 2>&1
}

# downloaded PREFIX: what is below it in the bucket, in down/.
downloaded() {
  rm -rf "down/$1"
  "$python" - "$1" <<'P'
import boto3, os, sys
s3 = boto3.client("s3", endpoint_url=os.environ["AWS_ENDPOINT_URL"])
for page in s3.get_paginator("list_objects_v2").paginate(Bucket="code", Prefix=sys.argv[1] + "/"):
    for one in page["Contents"]:
        path = os.path.join("down", one["Key"])
        os.makedirs(os.path.dirname(path), exist_ok=True)
        s3.download_file("code", one["Key"], path)
P
}

# raced SECONDS: what $plan comes to by attempts of which half are killed, in merged-raced; $attempts and $doomed of them.
raced() {
  attempts=0 doomed=0
  attempted "$plan" "$1"
  rm -rf merged-raced
  "$wb" shards merge "$plan" --out merged-raced > merged.txt
}

# same_bytes NAME: told once that is seen.
same_bytes() {
  echo "--- $1 of one process in $plan: $attempts attempts, $doomed of them killed unless they were quicker, after $SECONDS s"
}

on_prepare() {
  local place plan pass attempts doomed
  has_store prepare || return 0
  mkdir -p functions
  python3 - <<'P'
import json, random
random.seed(11)
words = "sort merge parse render rotate ledger packet matrix voucher planet recipe socket invoice melody cursor".split()
made = []
for file in range(6):
    with open(f"functions/{file}.jsonl", "w") as out:
        for at in range(4_000):
            # A quarter are earlier ones with a word changed, and some are of one large family.
            kind = random.random()
            if made and kind < 0.25:
                text = list(random.choice(made))
            elif kind < 0.3:
                text = [f"same{word}" for word in range(150)]
            else:
                text = [random.choice(words) + str(random.randint(0, 30)) for _ in range(random.randint(80, 140))]
            text[random.randrange(len(text))] = f"other{at % 97}"
            made.append(text)
            anchor = f"which of the texts is the one with number {at} of {file}"
            positive = "fn f() { " + " ".join(text) + " }"
            pair = {"id": f"{file}:{at}", "anchor": anchor, "positive": positive, "group": f"crate{random.randint(0, 300)}"}
            out.write(json.dumps(pair) + "\n")
P
  cat > prepared.yaml <<'Y'
name: prepared
data:
  streaming: true
  sources: [{ jsonl: { path: functions } }]
  split: { max_test: 200, max_validation: 200 }
Y
  "$wb" data prepared.yaml --datasets plain
  for place in "$here/in-folder" s3://code/prepared; do
    attempts=0 doomed=0
    plan="$("$wb" shards plan prepared.yaml --stage prepare --shards 5 --work "$place" | tail -n 1)"
    for pass in 1 2; do
      attempted "$plan"
      plan="$("$wb" shards merge "$plan" | tail -n 1)"
    done
    attempted "$plan"
    rm -rf merged-pairs
    "$wb" shards merge "$plan" --out merged-pairs > merged.txt
    diff -r merged-pairs plain/pairs-*
    same_bytes "prepare: the bytes"
  done
  written_once
}

on_encode() {
  local place attempts doomed
  has_store encode || return 0
  for place in "$here/in-folder" s3://code/encoded; do
    planned "$place" > planned.txt
    raced 0.7
    same_vectors merged-raced
    same_bytes "encode: the bytes"
  done
  written_once
}

on_mine() {
  local place side attempts doomed
  has_store mine || return 0
  head -n 12000 pairs.jsonl > mined.jsonl
  cat > mined.yaml <<'Y'
name: mined
data: { sources: [{ jsonl: { path: mined.jsonl } }], dedupe: { near: 0 }, filter: { min_positive_chars: 20 }, split: { by: pair, test: 0, validation: 0 } }
negatives: { per_pair: 3, vectors: { queries: query.npy, query_ids: query.ids.txt, documents: document.npy, document_ids: document.ids.txt } }
device: cpu
Y
  "$wb" data mined.yaml --datasets mined-sets > mined.txt 2>&1 || { cat mined.txt; exit 1; }
  for side in query:anchor document:positive; do
    "$wb" encode --encoder ./encoder --in mined-sets/pairs-*/train.parquet --side "${side%:*}" --field "${side#*:}" --out "${side%:*}.npy" --device cpu > mined.txt
  done
  "$wb" mine-negatives mined.yaml --datasets mined-sets > mined.txt 2>&1 || { cat mined.txt; exit 1; }
  for place in "$here/in-folder" s3://code/mined; do
    plan="$("$wb" shards plan mined.yaml --datasets mined-sets --stage mine --rows-per-shard 2048 --work "$place" | tail -n 1)"
    raced 1
    diff -r merged-raced mined-sets/mined-*
    same_bytes "mine: the bytes"
  done
  written_once
}

on_synth() {
  local place plan next attempts doomed pass
  has_store synth || return 0
  free_port
  python3 "$checkout/scripts/engines/language_model.py" "$port" "$here/asked.txt" 0.02 &
  model=$!
  mkdir -p code
  python3 - <<'P'
for at in range(100):
    with open(f"code/file_{at:03}.py", "w") as out:
        out.write(f"def total_{at}(numbers):\n    result = {at}\n    for number in numbers:\n        result += number * {at}\n    return result\n")
P
  cat > made.yaml <<Y
name: made
llm: { engine: { http: { dialect: generic } }, model: made-up, base_url: "http://127.0.0.1:$port", parallel: 2, canaries: false }
snippets: { sources: [{ tree: { files: { path: code } } }], filters: { min_chars: 20 } }
synth: { items: 90, candidates: 2, snippet_chars: [20, 12000], select: { parses: false, near: 0 }, judge: {}, negatives: {} }
annotate: { keywords: 3, queries: 1 }
Y
  for _ in $(seq 100); do curl -s "http://127.0.0.1:$port/" > /dev/null && break || sleep 0.1; done
  "$wb" synth made.yaml --out plain-made
  local once="$(wc -l < asked.txt)"
  for place in "$here/in-folder" s3://code/made; do
    attempts=0 doomed=0 pass=0
    : > asked.txt
    plan="$("$wb" shards plan made.yaml --stage synth --shards 2 --work "$place" | tail -n 1)"
    rm -rf merged-made
    # One that dies for certain in the midst of its questions, as soon as it has kept some of their answers.
    if [ "$place" = "$here/in-folder" ]; then
      WB_KEEP_SECONDS=0.01 "$wb" shards run "$plan" --shard 0 --scratch "$here/scratch-1" > first.txt 2>&1 &
      local first=$!
      for _ in $(seq 600); do
        [ -z "$(ls "$plan/kept" 2>/dev/null)" ] || break
        sleep 0.05
      done
      kill -KILL $first 2>/dev/null || { echo "the first attempt was done before it was killed"; exit 1; }
      wait $first || true
    fi
    while [ -n "$plan" ]; do
      pass=$((pass + 1))
      WB_KEEP_SECONDS=0.2 attempted "$plan" 4
      "$wb" shards merge "$plan" --out merged-made > merged.txt
      if [ -d merged-made ]; then plan=""; else plan="$(tail -n 1 merged.txt)"; fi
    done
    for name in pairs.jsonl provenance.jsonl annotations.jsonl card.md account.json counts.json; do
      cmp "merged-made/$name" "plain-made/$name"
    done
    echo "--- synth: the bytes of one process after $pass passes in $place: $attempts attempts, $doomed of them killed unless they were quicker; $(wc -l < asked.txt) times asked, $(sort -u asked.txt | wc -l) questions of $once, after $SECONDS s"
  done
  # Annotations alone.
  sed 's/^name: made/name: said/; /^synth:/d' made.yaml > said.yaml
  "$wb" synth said.yaml --out plain-said > said.txt 2>&1 || { cat said.txt; exit 1; }
  for place in "$here/in-folder" s3://code/said; do
    plan="$("$wb" shards plan said.yaml --stage annotate --shards 3 --work "$place" | tail -n 1)"
    WB_KEEP_SECONDS=0.2 raced 2
    for name in annotations.jsonl pairs.jsonl provenance.jsonl card.md; do
      cmp "merged-raced/$name" "plain-said/$name"
    done
    same_bytes "annotate: the bytes"
  done
  # One process whose folder is in the bucket, killed in its midst, and gone on with by another machine.
  : > asked.txt
  XDG_CACHE_HOME="$here/machine-1" WB_KEEP_SECONDS=0.1 "$wb" synth made.yaml --out s3://code/away-made > away-1.txt 2>&1 &
  local away=$!
  until [ "$(wc -l < asked.txt)" -gt 150 ] || ! kill -0 $away 2>/dev/null; do sleep 0.05; done
  kill -KILL $away 2>/dev/null || { echo "the synthesis was done before it was killed"; exit 1; }
  wait $away || true
  XDG_CACHE_HOME="$here/machine-2" "$wb" synth made.yaml --out s3://code/away-made > away-2.txt 2>&1 || { cat away-2.txt; exit 1; }
  grep -q 's3://code/away-made/pairs.jsonl' away-2.txt || { cat away-2.txt; exit 1; }
  downloaded away-made
  for name in pairs.jsonl provenance.jsonl annotations.jsonl card.md account.json counts.json; do
    cmp "down/away-made/$name" "plain-made/$name"
  done
  [ "$(wc -l < asked.txt)" -lt $((once + 50)) ] || { echo "asked $(wc -l < asked.txt) times, expected little more than $once"; exit 1; }
  echo "--- synth: the bytes of one process in a bucket, by two machines, one of them killed: asked $(wc -l < asked.txt) times for $once questions, after $SECONDS s"
  cat "$here"/in-folder/synth-*/shards/*.json | grep -o '"found": [1-9][0-9]*' | sort -u > found.txt || true
  [ -s found.txt ] || { echo "no attempt began with answers of one that was killed"; exit 1; }
  written_once
}

on_away() {
  local away places machine
  has_store away || return 0
  head -n 1200 pairs.jsonl > few.jsonl
  cat > away.yaml <<'Y'
name: away
data: { sources: [{ jsonl: { path: few.jsonl } }], dedupe: { near: 0 }, filter: { min_positive_chars: 20 }, split: { by: pair, test: 0.1, validation: 0.1 } }
encoder: { tokenizer: { vocab_size: 500 }, model: { static_embedding: { dim: 32 } } }
negatives: { retriever: bm25, per_pair: 2 }
train: { epochs: 400, batch: { pairs: 64 }, validate: { every: { steps: 50 } } }
bench: { benchmarks: [{ benchmark: { pairs: {} } }] }
Y
  places=(--runs s3://code/away/runs --datasets s3://code/away/sets --reports s3://code/away/pages)
  "$wb" run away.yaml --runs away-runs --datasets away-sets --reports away-pages > away.txt 2>&1 || { cat away.txt; exit 1; }
  # Killed once a checkpoint of it is in the bucket, on a machine of which nothing stays.
  XDG_CACHE_HOME="$here/machine-1" WB_KEEP_SECONDS=0.1 "$wb" run away.yaml "${places[@]}" > away-1.txt 2>&1 &
  away=$!
  until ! kill -0 $away 2>/dev/null || "$python" -c '
import boto3, os, sys
s3 = boto3.client("s3", endpoint_url=os.environ["AWS_ENDPOINT_URL"])
found = s3.list_objects_v2(Bucket="code", Prefix="away/runs/").get("Contents", [])
sys.exit(not any("/checkpoints/step-" in one["Key"] for one in found))'; do sleep 0.05; done
  kill -KILL $away 2>/dev/null || { echo "the run was done before it was killed"; cat away-1.txt; exit 1; }
  wait $away || true
  rm -rf "$here/machine-1"
  for machine in 2 3; do
    XDG_CACHE_HOME="$here/machine-$machine" "$wb" run away.yaml "${places[@]}" > "away-$machine.txt" 2>&1 || { cat "away-$machine.txt"; exit 1; }
    grep -q 'data: unchanged, s3://code/away/sets/pairs-' "away-$machine.txt" || { cat "away-$machine.txt"; exit 1; }
    [ -z "$(find "$here/machine-$machine/wb/outgoing" -type f)" ] || { echo "something is left of the work"; exit 1; }
  done
  grep -q 'training: unchanged, s3://code/away/runs/' away-3.txt || { cat away-3.txt; exit 1; }
  downloaded away
  for name in encoder/model.safetensors encoder/tokenizer.json metrics.jsonl validation.jsonl verdict.json DONE; do
    cmp away-runs/*-away-*/"$name" down/away/runs/*-away-*/"$name"
  done
  cmp away-runs/latest down/away/runs/latest
  diff -r -x lock -x manifest.json away-runs down/away/runs
  cmp away-sets/pairs-*/train.parquet down/away/sets/pairs-*/train.parquet
  cmp away-sets/mined-*/negatives.parquet down/away/sets/mined-*/negatives.parquet
  ls down/away/pages/*.html > /dev/null
  "$wb" encode --encoder latest --runs s3://code/away/runs --in few.jsonl --field positive --out away-there.npy --device cpu
  "$wb" encode --encoder latest --runs away-runs --in few.jsonl --field positive --out away-here.npy --device cpu
  cmp away-there.npy away-here.npy
  ! grep -rl "$AWS_SECRET_ACCESS_KEY" down/away away*.txt || exit 1
  echo "--- away: the bytes of one machine by three, the first of them killed, after $SECONDS s"
}

on_sweep() {
  local place plan attempts doomed run id
  has_store sweep || return 0
  head -n 1200 pairs.jsonl > few.jsonl
  cat > swept.yaml <<'Y'
name: swept
data: { sources: [{ jsonl: { path: few.jsonl } }], dedupe: { near: 0 }, filter: { min_positive_chars: 20 }, split: { by: pair, test: 0.1, validation: 0.1 } }
encoder: { tokenizer: { vocab_size: 500 }, model: { static_embedding: { dim: 32 } } }
train: { epochs: 2, batch: { pairs: 64 } }
bench: { benchmarks: [{ benchmark: { pairs: {} } }] }
sweep: { seed: [1, 2], train.epochs: [1, 4] }
Y
  "$wb" run swept.yaml --runs plain-runs --reports plain-pages --datasets swept-pairs > swept.txt 2>&1 || { cat swept.txt; exit 1; }
  for place in "$here/in-folder" s3://code/swept; do
    plan="$("$wb" shards plan swept.yaml --stage sweep --work "$place" | tail -n 1)"
    raced 1
    for run in plain-runs/*-swept-*; do
      id="$(basename "$run")"
      for name in encoder/model.safetensors encoder/tokenizer.json metrics.jsonl validation.jsonl verdict.json; do
        cmp "$run/$name" "merged-raced/"*"${id#????-??-??}/$name"
      done
    done
    same_bytes "sweep: the weights"
  done
  "$wb" run swept.yaml --runs merged-raced --reports plain-pages --datasets swept-pairs 2>&1 | grep -c 'training: unchanged' | grep -x 4
  written_once
}

# Everything that a YAML and a command read, and everything that they write, first in a folder, then in a bucket.
on_objects() {
  local where at
  has_store objects || return 0
  mkdir -p objects/data objects/here objects/there objects/out
  python3 - <<'P'
import json, os, random, shutil, sqlite3
random.seed(11)
words = "sort merge parse render rotate ledger packet matrix voucher planet recipe socket invoice melody cursor".split()
text = lambda: " ".join(random.choice(words) for _ in range(random.randint(6, 30)))
data = "objects/data/"
def lines(name, rows):
    os.makedirs(os.path.dirname(data + name) or ".", exist_ok=True)
    with open(data + name, "w") as out:
        out.writelines(json.dumps(row) + "\n" for row in rows)
pair = lambda part, at: {"id": f"{part}-{at}", "anchor": f"which of the texts is the one with number {part}.{at}", "positive": f"{text()} {part} {at}"}
lines("pairs/a.jsonl", (pair("a", at) for at in range(400)))
lines("pairs/deep er/b#1.jsonl", (pair("b", at) for at in range(200)))
open(data + "pairs/notes.txt", "w").write("not a file of pairs\n")
lines("corpus.jsonl", ({"_id": f"c{at}", "title": "", "text": text() + f" corpus {at}"} for at in range(150)))
texts = [{"id": f"t{at}", "text": text()} for at in range(300)]
lines("texts.jsonl", texts)
lines("beir/corpus.jsonl", ({"_id": f"d{at}", "title": "", "text": row["text"]} for at, row in enumerate(texts)))
lines("beir/queries.jsonl", ({"_id": f"q{at}", "text": row["text"][:40]} for at, row in enumerate(texts[:60])))
os.makedirs(data + "beir/qrels")
open(data + "beir/qrels/test.tsv", "w").write("query-id\tcorpus-id\tscore\n" + "".join(f"q{at}\td{at}\t1\n" for at in range(60)))
shutil.copytree("encoder", data + "encoder")
# Questions to a project, and the ranking of another.
for path, text in {
    "repos.json": json.dumps([{"name": "zoo", "language": "rust"}]),
    "annotations/zoo.json": json.dumps([{"query": "feeds a lion", "relevant": ["a.rs"]}, {"query": "zebra", "relevant": ["b.rs"]}]),
    "corpora/zoo/a.rs": "/// Feeds a lion.\nfn lion() {}\n",
    "corpora/zoo/b.rs": "fn zebra() { lion() }\n",
}.items():
    os.makedirs(os.path.dirname(data + "search/" + path), exist_ok=True)
    open(data + "search/" + path, "w").write(text)
open(data + "other.trec", "w").write("zoo:0 Q0 b.rs:1-1 1 2.0 other\nzoo:1 Q0 b.rs:1-1 1 2.0 other\n")
# A text-to-SQL data set of one database.
os.makedirs(data + "sql/database/pets")
base = sqlite3.connect(data + "sql/database/pets/pets.sqlite")
base.executescript("create table pet (id integer primary key, name text, age int); insert into pet values (1, 'Rex', 3), (2, 'Tom', 5);")
base.close()
names = [[-1, "*"], [0, "id"], [0, "name"], [0, "age"]]
tables = [{"db_id": "pets", "table_names": ["pet"], "table_names_original": ["pet"], "column_names": names, "column_names_original": names,
           "column_types": ["text", "number", "text", "number"], "primary_keys": [1], "foreign_keys": []}]
json.dump(tables, open(data + "sql/tables.json", "w"))
asked = [("How old is the pet %s?" % name, "SELECT age FROM pet WHERE name = '%s'" % name) for name in ("Rex", "Tom", "Max", "Ida")]
rows = [{"db_id": "pets", "question": question, "query": query} for question, query in asked]
for name in ("train_spider.json", "train_others.json", "dev.json"):
    json.dump(rows, open(data + "sql/" + name, "w"))
open(data + "predicted.sql", "w").write("".join(query + "\n" for _, query in asked[:3]) + "SELECT name FROM pet\n")
P
  "$wb" search tune "semble=objects/data/search" --out objects/data/weights.yaml > objects/tuned.txt
  "$python" - <<'P'
import boto3, os
s3 = boto3.client("s3", endpoint_url=os.environ["AWS_ENDPOINT_URL"])
for folder, _, files in os.walk("objects/data"):
    for name in files:
        path = os.path.join(folder, name)
        s3.upload_file(path, "code", path)
P
  cat > objects/recipe.yaml <<'Y'
name: named
data:
  sources: [{ jsonl: { path: "AT/pairs" } }, { text_to_sql: { path: "AT/sql" } }]
  dedupe: { near: 0 }
  filter: { min_positive_chars: 20, min_anchor_chars: 10 }
encoder: { model: { pretrained: "AT/encoder" } }
negatives: { retriever: bm25, per_pair: 2, corpus: "AT/corpus.jsonl" }
train: { epochs: 1, batch: { pairs: 32 } }
bench: { benchmarks: [{ benchmark: { pairs: {} } }, { benchmark: { beir: {} }, dataset: "AT/beir" }] }
device: cpu
Y
  for where in here there; do
    (
      if [ "$where" = here ]; then at="$here/objects/data"; else at=s3://code/objects/data; fi
      out="${at%/data}/out-$where"
      cd "objects/$where"
      sed "s#AT#$at#g" ../recipe.yaml > named.yaml
      "$wb" check named.yaml > check.txt || { cat check.txt; exit 1; }
      "$wb" run named.yaml > run.txt 2>&1 || { cat run.txt; exit 1; }
      "$wb" encode --encoder "$at/encoder" --in "$at/texts.jsonl" --out "$out/texts.npy" --device cpu > encode.txt
      "$wb" export latest --out "$out/model" > export.txt
      "$wb" encode --encoder "$out/model" --in "$at/texts.jsonl" --out "$out/trained.parquet" --device cpu
      "$wb" encode --encoder "$at/encoder" --in datasets/prepared/pairs-*/train.parquet --field anchor --side query --out "$out/queries.npy" --device cpu
      "$wb" encode --encoder "$at/encoder" --in datasets/prepared/pairs-*/train.parquet --field positive --out "$out/documents.npy" --device cpu
      "$wb" mine-negatives named.yaml "negatives={vectors: {queries: '$out/queries.npy', query_ids: '$out/queries.ids.txt', documents: '$out/documents.npy', document_ids: '$out/documents.ids.txt'}, per_pair: 3}" --out "$out/mined.parquet" --candidates "$out/candidates.jsonl" > mined.txt
      "$wb" bench beir --encoder "$at/encoder" --dataset "$at/beir" --json "$out/beir.json" --trec "$out/beir.trec" --device cpu > bench.txt
      "$wb" bench spider --dataset "$at/sql" --predictions "$at/predicted.sql" --json "$out/spider.json" > spider.txt
      "$wb" bench search --set semble --dataset "$at/search" --weights "$at/weights.yaml" --against "$at/other.trec" --json "$out/search.json" > search.txt
      plan="$("$wb" shards plan --stage encode --encoder "$at/encoder" --in datasets/prepared/pairs-*/train.parquet --field positive --work "$out/work" --shards 3 --device cpu | tail -n 1)"
      "$wb" shards run "$plan" --all > all.txt
      "$wb" shards merge "$plan" --out "$out/merged" > merged.txt
    )
  done
  downloaded objects/out-there
  mv down/objects/out-there objects/out-there
  "$python" - <<'P'
import boto3, os
s3 = boto3.client("s3", endpoint_url=os.environ["AWS_ENDPOINT_URL"])
# The runs, as one who works on several machines gathers them.
for folder, _, files in os.walk("objects/there/runs"):
    for name in files:
        path = os.path.join(folder, name)
        s3.upload_file(path, "code", "objects/runs" + path[len("objects/there/runs"):])
P
  cd objects
  for name in texts.npy texts.ids.txt queries.npy documents.npy mined.parquet mined.scores.jsonl candidates.jsonl beir.trec \
    trained.parquet model/model.safetensors model/tokenizer.json merged/documents.npy merged/documents.ids.txt; do
    cmp "out-here/$name" "out-there/$name"
  done
  cmp <(sed "s# $here/# s3://code/#" here/search.txt) there/search.txt
  grep -q 'minus s3://code/objects/data/other.trec' there/search.txt || { cat there/search.txt; exit 1; }
  cmp here/datasets/prepared/pairs-*/train.parquet there/datasets/prepared/pairs-*/train.parquet
  cmp <(sha256sum here/datasets/prepared/mined-*/negatives.parquet | cut -c 1-64 | sort) <(sha256sum there/datasets/prepared/mined-*/negatives.parquet | cut -c 1-64 | sort)
  cmp here/runs/*-named-*/encoder/model.safetensors there/runs/*-named-*/encoder/model.safetensors
  python3 - <<'P'
import glob, json
# Every number of a benchmark, without what names places and times.
def numbers(value):
    if isinstance(value, dict):
        return {key: numbers(it) for key, it in value.items() if key not in ("fingerprint", "seconds", "dataset", "settings", "queries_per_second", "texts_per_second")}
    return [numbers(it) for it in value] if isinstance(value, list) else value
names = sorted(name[len("here/"):].split("/bench/")[1] for name in glob.glob("here/runs/*-named-*/bench/*.json"))
assert len(names) >= 4, names
for name in names:
    here, there = (json.load(open(glob.glob(f"{where}/runs/*-named-*/bench/{name}")[0])) for where in ("here", "there"))
    assert [p["value"] for p in here["protocols"]] == [p["value"] for p in there["protocols"]], name
here, there = (json.load(open(f"out-{where}/spider.json")) for where in ("here", "there"))
assert here["questions"] == there["questions"] and len(here["questions"]) == 4
print(f"{len(names)} records of benchmarks with the same numbers")
P
  cd ..
  # Records are fetched, and no weights with them.
  "$wb" ls --runs s3://code/objects/runs --leaderboard > objects/boards-there.txt
  "$wb" ls --runs objects/there/runs --leaderboard > objects/boards-here.txt
  cmp objects/boards-here.txt objects/boards-there.txt
  [ "$(wc -l < objects/boards-here.txt)" -gt 5 ] || { cat objects/boards-here.txt; exit 1; }
  "$wb" report latest --runs s3://code/objects/runs --reports objects/pages > objects/page.txt
  if WB_OFFLINE=1 "$wb" encode --encoder s3://code/objects/data/encoder --in objects/data/texts.jsonl --out no.npy 2> objects/offline.txt; then exit 1; fi
  grep -q 'WB_OFFLINE forbids the network' objects/offline.txt || { cat objects/offline.txt; exit 1; }
  if "$wb" encode --encoder encoder --in objects/data/texts.jsonl --out s3://code/objects/out-there/texts.npy --device cpu 2> objects/twice.txt; then exit 1; fi
  grep -q 'is there already, and nothing is written over' objects/twice.txt || { cat objects/twice.txt; exit 1; }
  if grep -r "$AWS_SECRET_ACCESS_KEY" objects > objects-secrets.txt; then cat objects-secrets.txt; exit 1; fi
  [ -z "$(find . -maxdepth 4 -name 's3:*')" ] || { echo "a folder is called s3:"; exit 1; }
  echo "--- objects: the bytes of folders, after $SECONDS s"
}

on_slow-down() {
  local behind
  has_store slow-down || return 0
  behind="$AWS_ENDPOINT_URL"
  free_port
  : > again.txt
  python3 "$checkout/scripts/engines/slow_down.py" "$port" "${behind#http://}" "$here/again.txt" &
  model="$model $!"
  AWS_ENDPOINT_URL="http://127.0.0.1:$port"
  for _ in $(seq 100); do curl -s "$AWS_ENDPOINT_URL/" > /dev/null && break || sleep 0.1; done
  planned s3://code/slow
  "$wb" shards run "$plan" --all --processes 2 --scratch "$here/scratch-slow"
  merged slow
  AWS_ENDPOINT_URL="$behind"
  echo "$(wc -l < again.txt) requests were asked to come again: $(cut -d ' ' -f 1 again.txt | sort | uniq -c | xargs)"
  [ "$(wc -l < again.txt)" -gt 20 ] || { echo "hardly any request was refused"; exit 1; }
}

on_slurm() {
  local started
  has_store slurm || return 0
  "$checkout/scripts/slurm-nodes.sh" true > slurm.txt 2>&1 || { skipped slurm "$(sed -n 's/^SKIPPED [^:]*: //p' slurm.txt | grep . || tail -n 1 slurm.txt)"; return; }

  planned s3://code/work

  # The program on the nodes: shard 3 asks once to be tried again, and the second node's first attempt is stopped in its
  # midst and stays so until the node dies.
  cat > on-node <<W
#!/usr/bin/env bash
if [ "\$((SLURM_ARRAY_TASK_ID + WB_SHARD_OFFSET))" -eq 3 ] && mkdir "$here/asked" 2>/dev/null; then exit 75; fi
if [ "\$SLURMD_NODENAME" = n2 ] && mkdir "$here/struck" 2>/dev/null; then
  "$wb" "\$@" &
  sleep 0.3
  kill -STOP \$! || true
  touch "$here/stopped"
  exec sleep 600
fi
exec "$wb" "\$@"
W
  chmod +x on-node
  cat > work.sh <<W
#!/usr/bin/env bash
set -euo pipefail
cd "$here"
"$wb" shards run "$plan" --all "run_on={slurm: {program: '$here/on-node', options: [--output=/dev/null]}}" --scratch "$here/scratch" &
wb=\$!
# The second node dies while something runs there.
for _ in \$(seq 300); do
  [ ! -e stopped ] || break
  sleep 0.1
done
squeue --noheader --format='%i %T %N' --states=RUNNING
"\$SLURM_NODES/kill-n2"
echo "n2 is dead"
# What it worked at is begun again elsewhere; Slurm would wait two minutes before that.
while kill -0 \$wb 2>/dev/null; do
  for job in \$(squeue --noheader --array --format='%i %r' --states=PENDING | awk '\$2 == "BeginTime" { print \$1 }'); do
    touch requeued
    scontrol update jobid="\$job" StartTime=now || true
  done
  sleep 1
done
wait \$wb
sinfo --Node
W
  started="$SECONDS"
  SLURM_ARRAY_LIMIT=5 timeout 300 bash "$checkout/scripts/slurm-nodes.sh" bash "$here/work.sh"
  echo "the cluster took $((SECONDS - started)) s"
  [ -d asked ] || { echo "no attempt asked to be tried again"; exit 1; }
  [ -e requeued ] || { echo "nothing was begun again after the node's death"; exit 1; }
  merged slurm
  written_once
}

on_ray() {
  (cd "$checkout" && has_engines) || { skipped ray "pip cannot fetch Ray"; return; }
  planned "$here/on-ray"
  # Counted with the process that began it; the first of each raylet stay at work until one raylet is gone.
  cat > on-raylet <<W
#!/usr/bin/env bash
case " \$* " in *" --all "*) exec "$wb" "\$@" ;; " shards run "*) ;; *) exec "$wb" "\$@" ;; esac
echo "\$5 \$PPID" >> "$here/begun"
while [ -e "$here/held" ]; do sleep 0.1; done
exec "$wb" "\$@"
W
  chmod +x on-raylet
  local rc=0
  timeout 300 "$engines/bin/python" "$checkout/scripts/engines/ray_nodes.py" "$here/on-raylet" "$plan" "$here" 2> ray.txt || rc=$?
  if [ "$rc" -eq 77 ]; then
    skipped ray "$(grep -m 1 'Ray does not start' ray.txt)"
    return
  elif [ "$rc" -ne 0 ]; then
    tail -n 100 ray.txt
    exit 1
  fi
  echo "$(wc -l < begun) attempts at $("$wb" shards status --json "$plan" | sed -n 's/^  "shards": \([0-9]*\),/\1/p') shards"
  [ "$(wc -l < begun)" -gt 19 ] || { echo "nothing was begun again after the raylet was gone"; exit 1; }
  merged ray
}

on_kubernetes() {
  (cd "$checkout" && has_engines) || { skipped kubernetes "pip cannot fetch the schemas of Kubernetes"; return; }
  if ! command -v podman > /dev/null || ! command -v runc > /dev/null; then
    { apt-get update -qq && apt-get install -y --no-install-recommends podman runc; } > podman.txt 2>&1 || { skipped kubernetes "podman cannot be had, which runs containers"; return; }
  fi
  # Of Debian's runtimes, the one that gets on with every layout of control groups.
  cat > containers.conf <<C
[containers]
default_ulimits = ["nofile=1024:$(ulimit -Hn)", "nproc=4096:4096"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
C
  export CONTAINERS_CONF="$here/containers.conf"
  # An image of the program and what it links to, without a base to fetch.
  mkdir -p image/tmp
  cp --parents "$(realpath "$wb")" $(ldd "$wb" | grep -o '/[^ ]*') image/
  (
    cd image
    mkdir -p usr/local/bin
    mv ".$(realpath "$wb")" usr/local/bin/wb
    tar -c .
  ) | podman import --quiet --change 'ENTRYPOINT ["/usr/local/bin/wb"]' - wb-checks > image.txt 2>&1 || { skipped kubernetes "podman makes no image here: $(tail -n 1 image.txt)"; return; }
  podman run --rm --network=none wb-checks --version || { skipped kubernetes "podman runs no container here"; return; }
  planned "$here/on-kubernetes"
  timeout 300 "$engines/bin/python" "$checkout/scripts/engines/kubernetes_job.py" wb-checks "$here" "$plan" "$("$wb" shards missing "$plan" | wc -l)"
  merged kubernetes
  # The same by `run_on`: three passes of a preparation, each a Job.
  mkdir -p stand-in/states stand-in/bin
  printf '#!/bin/sh\nexec "%s" "%s" "$@"\n' "$engines/bin/python" "$checkout/scripts/engines/kubectl.py" > stand-in/bin/kubectl
  chmod +x stand-in/bin/kubectl
  "$wb" data pairs.yaml data.streaming=true 'data.dedupe={near: 0.9}' --datasets alone > alone.txt 2>&1 || { cat alone.txt; exit 1; }
  STAND_IN="$here/stand-in/states" STAND_IN_VOLUME="$here" PATH="$here/stand-in/bin:$PATH" timeout 300 "$wb" data pairs.yaml data.streaming=true 'data.dedupe={near: 0.9}' \
    work="$here/by-pods" 'run_on={kubernetes: {image: wb-checks, at_once: 2, shards: 4}}' --datasets by-pods-pairs > by-pods.txt 2>&1 || { cat by-pods.txt stand-in/states/*.log; exit 1; }
  cmp alone/pairs-*/train.parquet by-pods-pairs/pairs-*/train.parquet
  [ "$(ls stand-in/states/*.json | wc -l)" -eq 3 ] || { ls stand-in/states; exit 1; }
  grep -h -o '"attempts": [0-9]*' stand-in/states/*.json | xargs
  echo "--- kubernetes: the pairs of one process by run_on, after $SECONDS s"
}

for engine in "$@"; do
  printf '\n--- %s\n' "$engine"
  "on_$engine"
done
