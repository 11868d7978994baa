#!/usr/bin/env python3
"""The published evaluator's verdict on pairs of gold query and prediction, one JSON line for each.

    git clone https://github.com/taoyds/test-suite-sql-eval EVALUATOR
    python3 -m venv PY && PY/bin/pip install nltk sqlparse && PY/bin/python -m nltk.downloader punkt_tab
    PY/bin/python scripts/spider-official.py EVALUATOR tables.json < pairs.jsonl > verdicts.jsonl

Pairs are lines {"db_id", "gold", "prediction"}, as scripts/spider-mutations.py makes them. A verdict has

    gold_error    the exception that reading the gold query raises; then nothing else is there
    hardness      easy, medium, hard or extra; null where counting raises
    parse_error   whether reading the prediction raises
    raises        the exception that counting or comparing raises, or null
    em            whether it is an exact match; null where comparing raises
    partial       for each of the ten components [f1, units of gold, units of the prediction]; null where comparing raises
    tokens        with --tokens: the tokens of the prediction, null where reading them raises

The steps are those of `evaluate` in evaluation.py, with its replacement of `value` by `1`. Tables and columns come from
tables.json instead of SQLite files; in Spider's data both agree. --seconds prints how long judging took, to stderr.
"""

import argparse
import json
import sys
import time

EMPTY = {
    "except": None, "from": {"conds": [], "table_units": []}, "groupBy": [], "having": [], "intersect": None,
    "limit": None, "orderBy": [], "select": [False, []], "union": None, "where": [],
}
PARTS = [
    "select", "select(no AGG)", "where", "where(no OP)", "group(no Having)", "group", "order", "and/or", "IUEN", "keywords",
]


def schema_of(entry):
    tables = {table.lower(): [] for table in entry["table_names_original"]}
    names = [table.lower() for table in entry["table_names_original"]]
    for table, column in entry["column_names_original"]:
        if table >= 0:
            tables[names[table]].append(column.lower())
    return tables


def judge(official, schema, keys, gold, prediction):
    from process_sql import get_sql

    evaluator = official.Evaluator()
    verdict = {"hardness": None, "parse_error": False, "raises": None, "em": None, "partial": None}
    try:
        gold = get_sql(schema, gold)
    except Exception as error:
        return {"gold_error": type(error).__name__}
    try:
        verdict["hardness"] = evaluator.eval_hardness(gold)
    except Exception as error:
        verdict["raises"] = type(error).__name__
    try:
        prediction = get_sql(schema, prediction)
    except Exception:
        verdict["parse_error"] = True
        prediction = json.loads(json.dumps(EMPTY))
    try:
        sides = []
        for side in (gold, prediction):
            valid = official.build_valid_col_units(side["from"]["table_units"], schema)
            sides.append(official.rebuild_sql_col(valid, official.rebuild_sql_val(side), keys))
        verdict["em"] = bool(evaluator.eval_exact_match(sides[1], sides[0]))
        scores = evaluator.partial_scores
        verdict["partial"] = [[scores[p]["f1"], scores[p]["label_total"], scores[p]["pred_total"]] for p in PARTS]
    except Exception as error:
        verdict["raises"] = verdict["raises"] or type(error).__name__
    return verdict


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("evaluator", help="the folder of evaluation.py")
    parser.add_argument("tables", help="tables.json")
    parser.add_argument("--tokens", action="store_true")
    parser.add_argument("--seconds", action="store_true")
    arguments = parser.parse_args()
    sys.path.insert(0, arguments.evaluator)
    import evaluation as official
    from process_sql import Schema, tokenize

    with open(arguments.tables) as file:
        entries = {entry["db_id"]: entry for entry in json.load(file)}
    schemas = {name: Schema(schema_of(entry)) for name, entry in entries.items()}
    keys = {name: official.build_foreign_key_map(entry) for name, entry in entries.items()}
    pairs = [json.loads(line) for line in sys.stdin]
    tokenize("SELECT 1")  # Loads the model of sentences.
    start = time.perf_counter()
    verdicts = []
    for pair in pairs:
        text = pair["prediction"].replace("value", "1")
        verdict = judge(official, schemas[pair["db_id"]], keys[pair["db_id"]], pair["gold"], text)
        if arguments.tokens:
            try:
                verdict["tokens"] = tokenize(text)
            except Exception:
                verdict["tokens"] = None
        verdicts.append(verdict)
    if arguments.seconds:
        print(f"{time.perf_counter() - start:.3f} s for {len(pairs)} pairs", file=sys.stderr)
    for verdict in verdicts:
        print(json.dumps(verdict))


if __name__ == "__main__":
    main()
