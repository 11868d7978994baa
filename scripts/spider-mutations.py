#!/usr/bin/env python3
"""Pairs of gold query and changed query, to hold two judges of text-to-SQL against one another.

    scripts/spider-mutations.py tables.json gold.sql [gold.sql ...] --count 12000 --seed 1 > pairs.jsonl

A gold file has lines of SQL, a tab and the name of the database. Every pair is a gold query and the same, or another of
its database, with one to four changes: names, functions, operators, order, limits, connectors, values, quotes, aliases,
DISTINCT, nesting and set operations; clauses dropped and repeated; case and white space; text cut off and stuck
together; random tokens; dots and signs that English cares about.
"""

import argparse
import json
import random
import re

WORDS = re.compile(r"'[^']*'|\"[^\"]*\"|\w+\.\w+|\w+|[<>!]=|\S")
CLAUSE = re.compile(r"\b(where|group by|having|order by|limit|union|intersect|except|join|on|and|or)\b", re.I)
FUNCTIONS = ["max", "min", "count", "sum", "avg", "none"]
OPERATORS = ["=", "!=", ">", "<", ">=", "<=", "like", "in", "not in", "is", "between", "not like", "not", "exists", "<>"]
VALUES = ["1", "'x'", '"x y"', "-5", "3.5", "5.", ".5", "1e3", "nan", "inf", "1_000", "value", "'a''b'", "null", "(2)",
          "(select max(*) from t)", "'Tom''s'", "\"value\"", "٣", "5,3", "(", "1 and 2", "'It is. Good'"]
TOKENS = ["select", "from", "where", "group", "by", "order", "limit", "union", "intersect", "except", "join", "on", "as",
          "and", "or", "not", "in", "like", "between", "is", "null", "distinct", "desc", "asc", "having", "exists", "none",
          "(", ")", ",", ";", "*", "+", "-", "/", "=", "!=", ">", "<", ">=", "<=", "! =", "> =", "= =", ".", "..", "...",
          ". . .", "?", "!", "'", '"', "`", "--", "%", "@", "#", "&", "[", "]", "{", "}", ":", ",,", "“", "”", "‘", "’",
          "«", "—", "gonna", "cannot", "wanna", "t1", "t1.", ".a", "a.b.c", "5.", "b.", "no.", "co.", "inc.", "x. Limit",
          "3. AND", "b. Select", "é", "\u00a0", "\t", "\n", "value", "1", "all", "t1.*", "__val_0_3__", "! ) x", "a.) b"]


def pieces(sql):
    return WORDS.findall(sql)


def swap(random, words, is_one, others):
    places = [place for place, word in enumerate(words) if is_one(word)]
    if places:
        place = random.choice(places)
        words[place] = others() if callable(others) else random.choice(others)
    return words


def names_of(entry):
    tables = entry["table_names_original"]
    columns = [column for table, column in entry["column_names_original"] if table >= 0]
    dotted = [f"{tables[t]}.{c}" for t, c in entry["column_names_original"] if t >= 0]
    return tables, columns, dotted


def change(random, sql, entry, golds):
    tables, columns, dotted = names_of(entry)
    lower_tables, lower_columns = {t.lower() for t in tables}, {c.lower() for c in columns}
    words = pieces(sql)
    aliases = [f"t{n}.{random.choice(columns)}" for n in (1, 2, 3)]
    is_column = lambda w: w.lower() in lower_columns or "." in w and w.lower().split(".")[1] in lower_columns
    is_string = lambda w: w[0] in "'\""
    clauses = [match.start() for match in CLAUSE.finditer(sql)]
    kind = random.randrange(34)
    if kind < 4:
        return " ".join(swap(random, words, is_column, lambda: random.choice(columns + dotted + aliases + ["*"])))
    if kind < 6:
        return " ".join(swap(random, words, lambda w: w.lower() in lower_tables, tables))
    if kind == 6:
        return " ".join(swap(random, words, lambda w: w.lower() in FUNCTIONS, FUNCTIONS))
    if kind == 7:
        column = random.choice(columns)
        return " ".join(swap(random, words, is_column, lambda: f"{random.choice(FUNCTIONS)}({random.choice(['', 'distinct '])}{column})"))
    if kind < 10:
        return " ".join(swap(random, words, lambda w: w.lower() in OPERATORS, OPERATORS))
    if kind == 10:
        return " ".join(swap(random, words, lambda w: w.lower() in ("asc", "desc"), ["asc", "desc", "", "ASC,"]))
    if kind == 11:
        return sql + random.choice([" limit 1", " LIMIT 3.", " limit", " order by " + random.choice(columns) + " desc",
                                    " group by " + random.choice(columns), ";", " ; ;", ".", " having count(*) > 1"])
    if kind < 14:
        return " ".join(swap(random, words, lambda w: w.lower() in ("and", "or"), ["and", "or", "OR", "", "and not"]))
    if kind < 16:
        return " ".join(swap(random, words, lambda w: is_string(w) or w[0].isdigit(), VALUES))
    if kind == 16:
        return sql.replace("'", '"') if random.random() < 0.5 else sql.replace('"', "'")
    if kind == 17:
        return re.sub(r"\bas t(\d)", lambda m: random.choice([f"as a{m[1]}", f"t{m[1]}", f"AS T{m[1]}", f"as {tables[0]}"]), sql, flags=re.I)
    if kind == 18:
        return re.sub(r"\bt1\b", "t9", sql, flags=re.I)
    if kind == 19:
        return re.sub("(?i)distinct ?", "", sql) if re.search("(?i)distinct", sql) else re.sub("(?i)select", "SELECT DISTINCT", sql, count=1)
    if kind == 20:
        return f"{sql} {random.choice(['union', 'intersect', 'except', 'UNION ALL'])} {random.choice(golds)}"
    if kind == 21:
        nested = f"(select {random.choice(columns)} from {random.choice(tables)})"
        return " ".join(swap(random, words, lambda w: is_string(w) or w[0].isdigit() or w.lower() in lower_tables, [nested, nested[1:], f"({nested})"]))
    if kind == 22:
        return f"{random.choice(['select * from (', 'select count(*) from (', '(', 'select max(*) from (('])} {sql} )"
    if kind < 25 and len(clauses) > 1:
        start, end = sorted(random.sample(clauses, 2))
        return sql[:start] + sql[end:] if kind == 23 else sql[:end] + " " + sql[start:end] + " " + sql[end:]
    if kind == 25:
        return random.choice([sql.upper, sql.lower, sql.swapcase])()
    if kind == 26:
        return random.choice(["", " ", "  ", "\t", "\n"]).join(words) if random.random() < 0.5 else sql.replace(" ", "  ")
    if kind == 27:
        place = random.randrange(len(sql) + 1)
        return random.choice([sql[:place], sql[place:], sql[:place] + sql[place + 1:]])
    if kind == 28:
        del words[random.randrange(len(words))]
        return " ".join(words) if words else "select"
    if kind < 31:
        words.insert(random.randrange(len(words) + 1), random.choice(TOKENS))
        return " ".join(words)
    if kind == 31:
        one, other = random.randrange(len(words)), random.randrange(len(words))
        words[one], words[other] = words[other], words[one]
        return " ".join(words)
    if kind == 32:
        column = random.choice(columns + dotted)
        where = f"{column} {random.choice(OPERATORS)} {random.choice(VALUES + columns)}"
        return re.sub("(?i)where", f"where {where} {random.choice(['and', 'or', ''])}", sql, count=1) if re.search("(?i)where", sql) else f"{sql} where {where}"
    return random.choice(golds)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", help="tables.json")
    parser.add_argument("gold", nargs="+", help="lines of SQL, tab, name of the database")
    parser.add_argument("--count", type=int, default=12000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    with open(arguments.tables) as file:
        entries = {entry["db_id"]: entry for entry in json.load(file)}
    golds = []
    for path in arguments.gold:
        with open(path) as file:
            golds.extend(line.strip().split("\t") for line in file if line.strip())
    by_database = {}
    for sql, database in golds:
        by_database.setdefault(database, []).append(sql)
    for number in range(arguments.count):
        gold, database = golds[number % len(golds)] if number < len(golds) else rng.choice(golds)
        # A changed gold query too, now and then: it may be odd in ways that data sets are not.
        rounds = [rng.choice([1, 1, 1, 2, 3, 4]), rng.choice([0, 0, 0, 0, 1, 2])]
        texts = []
        for count in rounds:
            text = gold
            for _ in range(count):
                text = change(rng, text, entries[database], by_database[database]) or gold
            texts.append(text)
        print(json.dumps({"db_id": database, "gold": texts[1], "prediction": texts[0]}, ensure_ascii=False))
    for _ in range(arguments.count // 40):
        gold, database = rng.choice(golds)
        soup = " ".join(rng.choice(TOKENS + pieces(gold)) for _ in range(rng.randrange(1, 40)))
        print(json.dumps({"db_id": database, "gold": gold, "prediction": soup}, ensure_ascii=False))


if __name__ == "__main__":
    main()
