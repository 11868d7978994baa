"""Makes workbench/wb-sql/tests/golden/ for execution accuracy from the published evaluators, and checks real pairs.

Fetch them first, and give their folders; nothing of them is copied here:

    git clone https://github.com/taoyds/test-suite-sql-eval      (commit e97acc546ecb)
    git clone https://github.com/bird-bench/mini_dev
    python -m venv env && env/bin/pip install sqlparse==0.6.1 tqdm numpy func_timeout psycopg2-binary pymysql

Made-up rows, texts and queries with the evaluators' answers, which are kept:

    env/bin/python scripts/golden-sql-execution.py golden --suite DIR --bird DIR workbench/wb-sql/tests/golden

Mutated queries on Spider's databases with the evaluator's verdicts, which are not kept (its data has its own license);
the test `mutated_queries_get_the_published_verdicts` reads the file that WB_SQL_PAIRS names:

    env/bin/python scripts/golden-sql-execution.py pairs --suite DIR --spider DIR --count 5000 pairs.jsonl

Seconds of the evaluator for a file of predictions, without its imports, execution alone and with exact match (needs
nltk; its sentence splitter, which needs data, is left out):

    env/bin/python scripts/golden-sql-execution.py time --suite DIR --spider DIR predictions.txt
"""

import argparse
import io
import json
import os
import random
import sqlite3
import sys
import tempfile
import time
import types
from contextlib import redirect_stdout
from pathlib import Path

ABORT_SECONDS = 20


def suite(folder):
    """The test suite's modules, with an abort of long queries, which its own time-out does not bring about."""
    sys.path.insert(0, folder)
    import exec_eval
    import parse

    original = exec_eval.get_cursor_from_path

    def with_abort(path):
        cursor = original(path)
        end = time.monotonic() + ABORT_SECONDS
        cursor.connection.set_progress_handler(lambda: time.monotonic() > end, 10_000)
        return cursor

    exec_eval.get_cursor_from_path = with_abort
    return exec_eval, parse


# Values of made-up results by a letter each: what Python takes for equal, and what only looks so.
LETTERS = {
    "A": 1, "B": 1.0, "C": "1", "D": None, "E": b"1", "F": 1.5, "G": "1.0", "H": 0, "I": 0.0, "J": -0.0, "K": 2,
    "L": 2.0, "M": 10, "N": 1e16, "O": 10**16, "P": "", "Q": b"", "R": "a", "S": "None", "T": 2**53 + 1,
    "U": float(2**53), "V": 1e-5, "W": float("inf"), "X": -1, "Y": -1.0, "Z": "é", "a": "1<class 'int'>",
    "b": b"\x00\xff'", "c": 2**63 - 1, "d": float(2**63), "e": 10.0, "f": 1e22, "g": 100, "h": 100.0, "i": "10",
}


def made_up_results(draw):
    """Two results as letters, most of them nearly equal."""
    width = draw.choice([1, 1, 2, 2, 2, 3, 3, 4, 5])
    alphabet = draw.sample(sorted(LETTERS), draw.choice([2, 3, 4, 6]))
    if draw.random() < 0.5:
        alphabet = draw.choice(["AB", "ABF", "ABK", "KLAB", "AHBI", "HIJ", "ABCD", "ABCGE", "MNO", "ABMe", "ghABF", "TU"])
    rows = [[draw.choice(alphabet) for _ in range(width)] for _ in range(draw.choice([0, 1, 1, 2, 3, 4, 6]))]
    other = [list(row) for row in rows]
    for _ in range(draw.choice([0, 0, 1, 1, 2])):
        change = draw.randrange(7)
        if change == 0:
            draw.shuffle(other)
        elif change == 1 and other:
            turn = draw.sample(range(width), width)
            other = [[row[at] for at in turn] for row in other]
        elif change == 2 and other:
            same = {"A": "B", "B": "A", "H": "I", "I": "J", "J": "H", "K": "L", "L": "K", "M": "e", "e": "M", "N": "O",
                    "O": "N", "X": "Y", "Y": "X", "g": "h", "h": "g"}
            other = [[same.get(cell, cell) if draw.random() < 0.5 else cell for cell in row] for row in other]
        elif change == 3 and other:
            draw.choice(other)[draw.randrange(width)] = draw.choice(alphabet)
        elif change == 4 and other:
            other[draw.randrange(len(other))] = list(draw.choice(other))
        elif change == 5 and other:
            column = draw.randrange(width)
            cells = [row[column] for row in other]
            draw.shuffle(cells)
            for row, cell in zip(other, cells):
                row[column] = cell
        elif change == 6 and other and draw.random() < 0.3:
            other.pop() if draw.random() < 0.5 else [row.pop() for row in other if width > 1]
            break
    return ["".join(row) for row in rows], ["".join(row) for row in other]


def results_golden(exec_eval, count):
    draw = random.Random(17)
    lines = []
    while len(lines) < count:
        one, other = made_up_results(draw)
        order = draw.random() < 0.4
        rows = [[tuple(LETTERS[letter] for letter in row) for row in side] for side in (one, other)]
        equal = exec_eval.result_eq(rows[0], rows[1], order_matters=order)
        lines.append(f"{int(order)} {int(equal)} {','.join(one)}|{','.join(other)}")
    return lines


FRAGMENTS = [
    "select", "SELECT ", "DISTINCT", "distinct", " DISTINCT ", "Distinct", "'", "'", "''", "\\'", '"', '"', '""', "`", "--", "-- ", "# ",
    "#", "/*", "*/", "/*+", "\n", "\r\n", "\r", " ", " ", " ", "  ", "\t", ";", ";", "(", ")", "[", "]", ".", ".", ",", "*", "1", "12",
    "1.5", "1.", ".5", "-3", "-", "1e-3", "1E5", "0x1f", "_", "t1", "T2.", "T1.name", " T3 . x ", "T1.*", "a", "name ", "$", "$$",
    "@a1", "@", "%s", "%", "?", ":x", ":=", "::", "é", "Ü1", "´", " end", "case ", " in", " as ", "from", "x.", "count(",
    "distinct(", "distinct.", ".distinct", "distinct$", "GROUP  BY ", " not like ", "ORDER BY", "||", "->", "->>", "<=", "> =", "<>",
    "!=", "=", "+", "/", "&", "\\", "\\x", "~", "{", "join ", "join$", "desc", "= 'x'", " > 5 ", " = 3.5 ", "LIKE '%b%'", " \"q\" ",
    " and ", "limit 1", " between 1 and 2", "\u00a0", "\u3000", "日本",
]


def texts_golden(parse, count):
    draw = random.Random(23)
    lines = []
    while len(lines) < count:
        text = "".join(draw.choice(FRAGMENTS) for _ in range(draw.randrange(1, 14)))
        try:
            without = parse.remove_distinct(text)
        except IndexError:
            without = None
        lines.append(json.dumps({"text": text, "without": without}, ensure_ascii=False))
    return lines


def plugs_golden(parse, count):
    draw = random.Random(29)
    lines = []
    while len(lines) < count:
        pair = ["".join(draw.choice(FRAGMENTS) for _ in range(draw.randrange(3, 14))) for _ in range(2)]
        if draw.random() < 0.7:
            gold, _ = pair[0], pair[1]
            pair = [query(draw), query(draw)]
            if draw.random() < 0.3:
                pair[0] += gold
        try:
            number, plugged = parse.get_all_preds_for_execution(pair[0], pair[1])
        except IndexError:
            continue
        if number <= 64:
            line = {"gold": pair[0], "prediction": pair[1], "all": sorted(set(plugged))}
            lines.append(json.dumps(line, ensure_ascii=False))
    return lines


SCRIPT = """
CREATE TABLE shop (id INTEGER PRIMARY KEY, name TEXT, city TEXT, opened INTEGER, size REAL);
CREATE TABLE sale (id INTEGER PRIMARY KEY, shop_id INTEGER, item TEXT, price REAL, pieces INTEGER, note TEXT);
INSERT INTO shop VALUES (1,'Ash','Bonn',1999,10.0),(2,'Birch','Bonn',2001,10.5),(3,'Cedar','Köln',2001,NULL),
 (4,'Elm','Köln',2010,20.0),(5,'Fir',NULL,2010,20.0),(6,'Ash','Ulm',NULL,7.25);
INSERT INTO sale VALUES (1,1,'nail',1.0,1,'distinct'),(2,1,'bolt',2.0,2,NULL),(3,2,'nail',1.5,2,'a > = b'),(4,2,'nut',2.5,3,''),
 (5,3,'nail',1.0,1,'order by'),(6,3,'bolt',2.0,5,'value'),(7,4,'screw',0.5,10,NULL),(8,4,'nail',1.0,4,'x'),(9,4,'bolt',2.0,4,'x'),
 (10,5,'saw',19.5,1,NULL),(11,5,'saw',20.0,1,''),(12,NULL,'glue',3.0,0,'1');
"""

COLUMNS = {
    "shop": [("id", 1), ("name", "Ash"), ("city", "Köln"), ("opened", 2001), ("size", 10.5)],
    "sale": [("id", 3), ("shop_id", 2), ("item", "nail"), ("price", 1.5), ("pieces", 2), ("note", "x")],
}


def literal(draw, value):
    if isinstance(value, str):
        quote = draw.choice("''\"")
        return f"{quote}{value}{quote}"
    return str(value)


def condition(draw, columns):
    column, value = draw.choice(columns)
    form = draw.randrange(6)
    if form == 0:
        return f"{column} IS {draw.choice(['', 'NOT '])}NULL"
    if form == 1:
        return f"{column} LIKE '%{draw.choice(['a', 'o', 'n', 'x'])}%'"
    if form == 2:
        return f"{column} BETWEEN 1 AND {draw.choice([2, 10, 2005])}"
    return f"{column} {draw.choice(['=', '>', '<', '>=', '<=', '!=', '> =', '! ='])} {literal(draw, value)}"


def query(draw):
    table = draw.choice(sorted(COLUMNS))
    columns = [(f"T1.{name}", value) for name, value in COLUMNS[table]]
    source = f"{table} AS T1"
    if draw.random() < 0.35:
        other = "sale" if table == "shop" else "shop"
        keys = ("T1.id", "T2.shop_id") if table == "shop" else ("T1.shop_id", "T2.id")
        source += f" {draw.choice(['JOIN', 'JOIN', 'LEFT JOIN'])} {other} AS T2 ON {keys[0]} = {keys[1]}"
        columns += [(f"T2.{name}", value) for name, value in COLUMNS[other]]
    elif draw.random() < 0.5:
        source, columns = table, COLUMNS[table]
    names = [name for name, _ in columns]
    picked = [draw.choice(names) for _ in range(draw.choice([1, 1, 2, 2, 3, 4]))]
    wrap = ["{}", "{}", "{}", "{}", "DISTINCT {}" if len(picked) == 1 else "{}", "count({})", "count(DISTINCT {})",
            "max({})", "avg({})", "sum({})", "count(*)", "{} + 0.0", "CAST({} AS TEXT)", "upper({})", "{} * 1"]
    text = f"SELECT {' , '.join(draw.choice(wrap).format(name) for name in picked)} FROM {source}"
    if draw.random() < 0.5:
        text += f" WHERE {condition(draw, columns)}"
        if draw.random() < 0.3:
            text += f" {draw.choice(['AND', 'OR'])} {condition(draw, columns)}"
    if draw.random() < 0.25:
        text += f" GROUP BY {draw.choice(names)}"
        if draw.random() < 0.5:
            text += f" HAVING count(*) {draw.choice(['>', '>=', '='])} {draw.choice([1, 2])}"
    if draw.random() < 0.3:
        text += f" ORDER BY {draw.choice(names)} {draw.choice(['', 'ASC', 'DESC'])}"
        if draw.random() < 0.5:
            text += f" LIMIT {draw.choice([1, 3])}"
    if draw.random() < 0.08:
        text += f" {draw.choice(['UNION', 'UNION ALL', 'INTERSECT', 'EXCEPT'])} SELECT {draw.choice(names)} FROM {source}"
    return text


SWAPS = [
    (" DISTINCT ", " "), ("SELECT ", "SELECT DISTINCT "), ("count(*)", "count(DISTINCT id)"), ("ASC", "DESC"), ("DESC", ""),
    (" LIMIT 1", ""), (" LIMIT 1", " LIMIT 2"), (" >= ", " > = "), (" > ", " >= "), (" = ", " == "), ("max(", "min("), ("avg(", "sum("),
    ("JOIN", "LEFT JOIN"), ("UNION", "UNION ALL"), ("INTERSECT", "EXCEPT"), (" AND ", " OR "), (" FROM", " , 1 FROM"),
    ("SELECT ", "SELECT 1.0 * "), ("ORDER BY", "ORDER  BY"), ("ORDER BY", "GROUP BY"), ("'", '"'), (" WHERE ", " WHERE NOT "),
    ("count(", "COUNT ("), ("1", "2"), ("1", "1.0"), ("*", "id"), ("SELECT ", "select"), (" FROM ", " FROM distinct "),
]
TAILS = [";", " ;", "; SELECT 1", " -- order by 1", " /* distinct */", " LIMIT 1000000", "\n", " ORDER BY 1", " ORDER BY 1 DESC", " AND 'distinct' = 'distinct'"]


def mutated(draw, text, others):
    """A query changed a little, so that its result often stays as it was."""
    for _ in range(draw.choice([1, 1, 2])):
        form = draw.randrange(7)
        if form <= 2:
            old, new = draw.choice(SWAPS)
            text = text.replace(old, new, draw.choice([1, 1, 9]))
        elif form == 3:
            text += draw.choice(TAILS)
        elif form == 4:
            words = text.split(" ")
            at = draw.randrange(len(words))
            words[at:at + 1] = draw.choice([[], [words[at], words[at]], [words[at].swapcase()], [draw.choice(words)]])
            text = " ".join(words)
        elif form == 5 and " FROM " in text[7:] and text.upper().startswith("SELECT "):
            head, tail = text[7:].split(" FROM ", 1)
            parts = head.split(",")
            draw.shuffle(parts)
            text = f"SELECT {','.join(parts)} FROM {tail}"
        elif others:
            text = draw.choice(others)
    return text


def reads_only(text):
    """What only reads: other statements are run by the evaluator and refused here."""
    first = text.lstrip(" (;\n").lower()
    return first.startswith(("select", "with", "values")) and "random" not in first


def judged(exec_eval, path, case):
    """The evaluator's verdict, or why it has none."""
    with redirect_stdout(io.StringIO()):
        try:
            return exec_eval.eval_exec_match(path, case["prediction"], case["gold"], case["plug"], case["keep"], False)
        except AssertionError:
            return "gold"
        except IndexError:
            return "empty"


def queries_golden(exec_eval, count):
    draw = random.Random(31)
    lines = [json.dumps({"script": SCRIPT})]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "shop.sqlite")
        connection = sqlite3.connect(path)
        connection.executescript(SCRIPT)
        connection.close()
        while len(lines) <= count:
            gold = query(draw)
            case = {"gold": gold, "prediction": mutated(draw, gold, [query(draw)]), "plug": draw.random() < 0.2, "keep": draw.random() < 0.2}
            if not reads_only(case["prediction"]):
                continue
            case["verdict"] = judged(exec_eval, path, case)
            lines.append(json.dumps(case, ensure_ascii=False))
    return lines


def bird_golden(folder, count):
    """EX, Soft-F1 and R-VES of made-up results and times."""
    for absent in ("psycopg2", "pymysql"):
        sys.modules.setdefault(absent, types.ModuleType(absent))
    sys.path.insert(0, os.path.join(folder, "evaluation"))
    import evaluation_ex
    import evaluation_f1
    import evaluation_ves

    draw = random.Random(37)
    lines = []
    for _ in range(count):
        one, other = made_up_results(draw)
        gold, predicted = ([tuple(LETTERS[letter] for letter in row) for row in side] for side in (one, other))
        ex = evaluation_ex.calculate_ex(predicted, gold)
        f1 = evaluation_f1.calculate_f1_score(predicted, gold)
        lines.append(json.dumps({"gold": ",".join(one), "prediction": ",".join(other), "ex": ex, "f1": f1}))
    for _ in range(120):
        number = draw.choice([1, 2, 5, 20, 20, 140])
        speed = draw.choice([0.2, 0.25, 0.4, 0.5, 0.9, 1, 1.1, 1.9, 2, 3])
        predicted = [draw.choice([1, 1, 1, 2]) * draw.uniform(0.9, 1.1) * 1e-3 for _ in range(number)]
        gold = [speed * time * draw.uniform(0.95, 1.05) for time in predicted]
        if draw.random() < 0.2:
            gold, predicted = [speed] * number, [1.0] * number
        if number > 12 and draw.random() < 0.5:
            gold[draw.randrange(number)] *= 1000
        gold, predicted = ([float(f"{time:.5g}") for time in times] for times in (gold, predicted))
        clock = iter([time for pair in zip(predicted, gold) for time in pair])
        evaluation_ves.execute_sql = lambda *_, return_time=False: next(clock) if return_time else [(1,)]
        try:
            reward = evaluation_ves.iterated_execute_sql("", "", "", number, "SQLite")
        except ZeroDivisionError:
            reward = 0
        lines.append(json.dumps({"gold_times": gold, "predicted_times": predicted, "reward": reward}))
    rewards = [draw.choice([0, 0.25, 0.5, 0.75, 1, 1.25]) for _ in range(50)]
    ves = evaluation_ves.compute_ves([{"reward": reward} for reward in rewards])
    lines.append(json.dumps({"rewards": rewards, "ves": ves}))
    return lines


def spider_pairs(exec_eval, spider, count, seed):
    """Mutated gold queries, and predictions of other questions on the same database."""
    draw = random.Random(seed)
    spider = Path(spider)
    gold = [line.strip().split("\t") for name in ("dev_gold.sql", "train/train_gold.sql") for line in open(spider / name)]
    gold = [(sql, name) for sql, name in gold if (spider / "database" / name / f"{name}.sqlite").is_file()]
    by_name = {}
    for sql, name in gold:
        by_name.setdefault(name, []).append(sql)
    dev = [line.strip().split("\t") for line in open(spider / "dev_gold.sql")]
    for file in sorted((spider / "predictions").glob("*.txt")):
        for line, (_, name) in zip(open(file), dev):
            by_name[name].append(line.strip())
    names = sorted(by_name)
    with tempfile.TemporaryDirectory() as folder:
        made = 0
        while made < count:
            # Half of the pairs from the development set, whose databases are few and full.
            sql, name = draw.choice(dev) if draw.random() < 0.5 else draw.choice(gold)
            case = {"db_id": name, "gold": sql, "plug": draw.random() < 0.1, "keep": draw.random() < 0.2}
            case["prediction"] = mutated(draw, sql, by_name[name])
            if not reads_only(case["prediction"]):
                continue
            copy = os.path.join(folder, name, f"{name}.sqlite")
            if not os.path.exists(copy):
                os.makedirs(os.path.dirname(copy))
                Path(copy).write_bytes((spider / "database" / name / f"{name}.sqlite").read_bytes())
            case["verdict"] = judged(exec_eval, copy, case)
            made += 1
            yield json.dumps(case, ensure_ascii=False)


def seconds(given):
    """How long the evaluator takes for a file of predictions, by what it is asked for."""
    import nltk

    nltk.word_tokenize = nltk.NLTKWordTokenizer().tokenize
    import evaluation

    gold = Path(given.spider) / "dev_gold.sql"
    kmaps = evaluation.build_foreign_key_map_from_json(Path(given.spider) / "tables.json")
    found = {}
    for etype in ("exec", "all"):
        begin = time.monotonic()
        with redirect_stdout(io.StringIO()):
            evaluation.evaluate(gold, given.out, os.path.join(given.spider, "database"), etype, kmaps, False, False, False)
        found[etype] = time.monotonic() - begin
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["golden", "pairs", "time"])
    parser.add_argument("--suite", required=True)
    parser.add_argument("--bird")
    parser.add_argument("--spider")
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=41)
    parser.add_argument("out", type=Path)
    given = parser.parse_args()
    exec_eval, parse = suite(given.suite)
    if given.what == "time":
        print(json.dumps(seconds(given)))
        return
    if given.what == "pairs":
        with open(given.out, "w") as out:
            for line in spider_pairs(exec_eval, given.spider, given.count, given.seed):
                out.write(line + "\n")
        return
    files = {
        "execution-results.txt": results_golden(exec_eval, 12_000),
        "execution-texts.jsonl": texts_golden(parse, 3000),
        "execution-plugs.jsonl": plugs_golden(parse, 600),
        "execution-queries.jsonl": queries_golden(exec_eval, 2500),
    }
    if given.bird:
        files["bird.jsonl"] = bird_golden(given.bird, 1500)
    for name, lines in files.items():
        (given.out / name).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
