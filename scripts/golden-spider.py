#!/usr/bin/env python3
"""Make the golden file of exact match from the published evaluator.

    python scripts/golden-spider.py EVALUATOR

Needs what scripts/spider-official.py needs. Run by hand; its output is committed.

Reads our own small schemas and queries, workbench/wb-sql/tests/golden/spider-tables.json and spider-gold.sql, changes the
queries by scripts/spider-mutations.py, and keeps some hundred pairs that are judged in as many different ways as possible,
the short ones first. Into spider-exact.jsonl there, one array for each pair:

  db_id, gold, prediction,
  hardness, whether the prediction cannot be read, whether the evaluator raises, em,
  the ten components as "f1:gold:prediction"

Also checks the cases by hand, spider-cases.txt, and says where the evaluator judges otherwise.
"""

import collections
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "workbench/wb-sql/tests/golden"


def run(*command, text=None):
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def check_cases(tables):
    pairs, expected = [], []
    for line in (GOLDEN / "spider-cases.txt").read_text().splitlines():
        if line.startswith("= "):
            _, database, hardness, gold = line.split(" ", 3)
            line = "= " + gold
        if line and line[0] in "=+-!":
            pairs.append(json.dumps({"db_id": database, "gold": gold, "prediction": line[2:]}))
            expected.append((line[0], hardness))
    verdicts = run(sys.executable, str(ROOT / "scripts/spider-official.py"), sys.argv[1], tables, text="\n".join(pairs))
    for pair, (sign, hardness), verdict in zip(pairs, expected, map(json.loads, verdicts.splitlines())):
        found = "!" if verdict["parse_error"] else "+" if verdict["em"] else "-"
        if sign not in ("=", found) or verdict["hardness"] != hardness:
            print("otherwise:", found, verdict["hardness"], pair)
    print(len(pairs), "cases by hand checked")


def main():
    tables = str(GOLDEN / "spider-tables.json")
    check_cases(tables)
    kept = collections.OrderedDict()
    for seed in (11, 12, 13):
        pairs = run(sys.executable, str(ROOT / "scripts/spider-mutations.py"), tables, str(GOLDEN / "spider-gold.sql"),
                    "--count", "12000", "--seed", str(seed))
        verdicts = run(sys.executable, str(ROOT / "scripts/spider-official.py"), sys.argv[1], tables, text=pairs)
        for pair, verdict in zip(map(json.loads, pairs.splitlines()), map(json.loads, verdicts.splitlines())):
            if "gold_error" in verdict:
                continue
            partial = verdict["partial"] and " ".join(":".join(map(str, part)) for part in verdict["partial"])
            row = [*pair.values(), verdict["hardness"], verdict["parse_error"], verdict["raises"], verdict["em"], partial]
            # A prediction that cannot be read differs from others by its text only; a match in spite of changes tells most.
            changed = " ".join(pair["gold"].lower().split()) != " ".join(pair["prediction"].lower().split())
            tells = pair["prediction"].lower().count("select") if verdict["em"] else ""
            key = (verdict["hardness"], verdict["parse_error"], verdict["raises"], verdict["em"], changed, tells,
                   None if verdict["parse_error"] else partial)
            kept.setdefault(json.dumps(key), []).append(row)
    rows = []
    for key, group in kept.items():
        group.sort(key=lambda row: (len(row[1]) + len(row[2]), row[1], row[2]))
        seen = set()
        matched, unread = group[0][6], group[0][4]
        for row in group:
            words = tuple(sorted(set(row[2].lower().split()) ^ set(row[1].lower().split())))
            if words not in seen and len(seen) < (8 if matched else 25 if unread else 1):
                seen.add(words)
                rows.append(row)
    rows.sort(key=lambda row: (row[0], row[1], row[2]))
    # Every fourth of those that differ in nothing but their counts.
    plain = [row for row in rows if not (row[4] or row[5] or row[6])]
    drop = {id(row) for place, row in enumerate(plain) if place % 4}
    rows = [row for row in rows if id(row) not in drop]
    with open(GOLDEN / "spider-exact.jsonl", "w") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    counts = collections.Counter((row[3], "unread" if row[4] else "raises" if row[5] else "match" if row[6] else "miss") for row in rows)
    print(len(rows), dict(counts))


if __name__ == "__main__":
    main()
