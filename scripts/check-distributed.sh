#!/usr/bin/env bash
# Checks `wb train --distributed` with the launchers of others: what several ranks train has to be what one process with as
# many devices trains, to the byte.
#
#   mpirun   MPICH's, two ranks and four: losses of every kind, late interaction, a cross-encoder, adapters, a teacher, a
#            curriculum with an average, parts and batches of a step; then one of four ranks is killed, and rank 0
#   slurm    srun on a cluster of two nodes (scripts/slurm-nodes.sh), a rank on each
#
# Usage: scripts/check-distributed.sh [WB [LAUNCHER ...]]
#
# WB is the program, else the one in the build's folder. What cannot be had is skipped with a line that says so. Takes a
# minute; MPICH is installed on the machine itself.
set -euo pipefail
cd "$(dirname "$0")/.."

case "${1:-}" in -h | --help) sed -n '2,13s/^# \{0,1\}//p' "$0"; exit 0 ;; esac

checkout="$PWD"
wb="$(realpath "${1:-${CARGO_TARGET_DIR:-target}/release/wb}")"
[ -x "$wb" ] || { echo "no program at $wb: cargo build --release -p wb" >&2; exit 2; }
shift || true
[ $# -gt 0 ] || set -- mpirun slurm

skipped() {
  echo "SKIPPED distributed-$1: $2"
}

here="$(mktemp -d)"
trap 'rm -rf "$here"' EXIT

# Pairs, two negatives each for the first half, an encoder of random weights and its adapters' target.
python3 - "$here" <<'P'
import json, random, sys
random.seed(7)
words = "sort merge parse render rotate ledger packet matrix voucher planet recipe socket invoice melody cursor".split()
def text():
    return " ".join(random.choice(words) for _ in range(random.randint(6, 30)))
with open(sys.argv[1] + "/pairs.jsonl", "w") as out:
    for at in range(600):
        negatives = [f"fn other_{at}_{k}() {{ {text()} }}" for k in range(2 if at < 300 else 0)]
        out.write(json.dumps({"id": str(at), "anchor": f"which of them is number {at}: {text()}", "positive": f"fn f{at}() {{ {text()} }}", "negatives": negatives}) + "\n")
P
cp -r workbench/wb-encoder/tests/golden/tiny-bert "$here/encoder"
cat > "$here/pairs.yaml" <<'Y'
name: pairs
seed: 3
data:
  sources: [{ jsonl: { path: pairs.jsonl } }]
  dedupe: { near: 0 }
  filter: { min_positive_chars: 10 }
  split: { by: pair, max_test: 20, max_validation: 40 }
encoder:
  model: { pretrained: ./encoder }
  max_tokens: { query: 24, document: 40 }
train:
  epochs: 1
  dropout: true
  keep: last
  batch: { pairs: 32 }
  validate: { every: { steps: 5 } }
Y
cd "$here"

# Kinds of training, a line each: a name, then what is set.
kinds() {
  cat <<'K'
batches|train.batch={pairs: 16, accumulate: 3}
parts|train.batch={pairs: 32, micro_texts: 11}|train.gradient_checkpointing=true
adapters|encoder.lora={rank: 4, alpha: 8, dropout: 0.1}|train.ema=0.9|train.interpolate=0.5
gist|train.loss={gist: {guide: ./encoder}}
teacher|train.loss={distill_embeddings: {teacher: ./encoder, by: cosine}}
tokens|encoder.late_interaction={dim: 12}|train.similarity=maxsim|train.batch={pairs: 16, micro_texts: 7}
cross|encoder={model: {pretrained: ./encoder}, cross_encoder: {max_tokens: 40}}|negatives={retriever: bm25, per_pair: 2, fill: true, mode: naive}|train.loss={binary_cross_entropy: {}}
stages|train.curriculum=[{name: easy, until: {share: 0.5}, negatives: 0}, {name: hard, negatives: 2, temperature: 0.1}]|train.refresh={every: {steps: 9}}|negatives={retriever: bm25, per_pair: 2, mode: naive, fill: true}
objectives|train.objectives={mlm: {}}
matryoshka|train.loss={matryoshka: {loss: {mnrl: {}}, dims: [32, 16]}}|encoder.lora={rank: 2, use_dora: true}
bag|encoder={model: {static_embedding: {dim: 32}}, tokenizer: {vocab_size: 500}, max_tokens: {query: 24, document: 48}}
K
}

# trained RUNS ARGUMENT ...: trains as the program alone does; says nothing unless it fails.
trained() {
  local runs="$1"
  shift
  "$@" --runs "$runs" > out.txt 2>&1 || { cat out.txt; exit 1; }
}

# same ONE OTHER: the weights of two runs, and what was noted at each step.
same() {
  cmp "$1"/2*/encoder/model.safetensors "$2"/2*/encoder/model.safetensors
  diff "$1"/2*/metrics.jsonl "$2"/2*/metrics.jsonl
}

on_mpirun() {
  if ! command -v mpirun.mpich > /dev/null; then
    apt-get install -y --no-install-recommends mpich > apt.txt 2>&1 || { skipped mpirun "apt-get cannot install mpich"; return; }
  fi
  local name set more kind=0
  while IFS='|' read -r name more; do
    IFS='|' read -r -a set <<< "$more"
    kind=$((kind + 1))
    trained "one-$name" "$wb" train pairs.yaml "name=$name" "${set[@]}" device='[cpu, cpu]'
    trained "two-$name" mpirun.mpich -np 2 "$wb" train pairs.yaml "name=$name" "${set[@]}" device=cpu --distributed < /dev/null
    same "one-$name" "two-$name"
    echo "$name: the bytes of one process ($(wc -l < two-"$name"/2*/metrics.jsonl) steps)"
  done < <(kinds)
  [ "$kind" -eq 11 ]

  # Three ranks of two devices each, and one process with six.
  trained one-six "$wb" train pairs.yaml name=six device='[cpu, cpu, cpu, cpu, cpu, cpu]'
  trained two-six mpirun.mpich -np 3 "$wb" train pairs.yaml name=six device='[cpu, cpu]' --distributed
  same one-six two-six
  echo "three ranks of two devices: the bytes of one process with six"

  # One of four ranks dies, then rank 0: all others end with 75, and the next time goes on.
  cat > rank.sh <<R
#!/usr/bin/env bash
"$wb" "\$@" &
echo \$! > "pid.\$PMI_RANK"
wait \$! && rc=0 || rc=\$?
echo "\$rc" > "code.\$PMI_RANK"
exit "\$rc"
R
  chmod +x rank.sh
  # A guide asks all ranks from a thread of its own in the first epoch: either may find out.
  local long=(pairs.yaml name=long train.epochs=30 'train.loss={gist: {guide: ./encoder}}') dies since running
  trained one-long "$wb" train "${long[@]}" device='[cpu, cpu, cpu, cpu]'
  for dies in 2 0; do
    rm -f pid.* code.*
    mpirun.mpich -disable-auto-cleanup -np 4 ./rank.sh train "${long[@]}" device=cpu --distributed --runs two-long > "dies-$dies.txt" 2>&1 &
    running=$!
    local wanted=$(($(cat two-long/2*/metrics.jsonl 2>/dev/null | wc -l) + 8))
    until [ "$(cat two-long/2*/metrics.jsonl 2>/dev/null | wc -l)" -ge "$wanted" ]; do
      kill -0 $running 2>/dev/null || { cat "dies-$dies.txt"; exit 1; }
      sleep 0.05
    done
    kill -9 "$(cat pid.$dies)"
    since=$SECONDS
    wait $running || true
    [ $((SECONDS - since)) -le 30 ] || { echo "took $((SECONDS - since)) s to end"; exit 1; }
    for rank in 0 1 2 3; do
      [ "$rank" -eq "$dies" ] || [ "$(cat code.$rank)" = 75 ] || { echo "rank $rank ended with $(cat code.$rank)"; cat "dies-$dies.txt"; exit 1; }
    done
    echo "rank $dies died after $(cat two-long/2*/metrics.jsonl | wc -l) steps: all others ended with 75 within $((SECONDS - since + 1)) s"
  done
  trained two-long mpirun.mpich -np 4 "$wb" train "${long[@]}" device=cpu --distributed
  same one-long two-long
  echo "four ranks, two of which died: the bytes of one process ($(wc -l < two-long/2*/metrics.jsonl) steps)"
}

on_slurm() {
  "$checkout/scripts/slurm-nodes.sh" true > slurm.txt 2>&1 || { skipped slurm "$(sed -n 's/^SKIPPED [^:]*: //p' slurm.txt | grep . || tail -n 1 slurm.txt)"; return; }
  trained one-srun "$wb" train pairs.yaml name=srun device='[cpu, cpu]'
  cat > work.sh <<W
set -euo pipefail
cd "$here"
srun --nodes=2 --ntasks=2 --label "$wb" train pairs.yaml name=srun device=cpu --distributed --runs two-srun
W
  timeout 300 bash "$checkout/scripts/slurm-nodes.sh" bash "$here/work.sh" > out.txt 2>&1 || { cat out.txt; exit 1; }
  grep '^1: rank 1 of 2: ' out.txt
  same one-srun two-srun
  echo "srun, a rank on each of two nodes: the bytes of one process"
}

for launcher; do
  echo "--- $launcher"
  "on_$launcher"
done
