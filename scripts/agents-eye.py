"""What an agent reads and calls until it sees the lines that answer: by ripgrep, semble, `wb search`, and with graph.

    pip install semble==0.7.0 numpy     # and ripgrep, as `rg`
    python scripts/agents-eye.py --data DIR --wb target/release/wb --work WORK --set swe-qa --set cqs

DIR has the sets as `wb bench search` takes them, each in the folder of its name with its repositories unpacked. WORK
keeps the indexes and SET.jsonl, a line for every question. The four agents follow fixed rules, without a language
model; `--variants` measures the other rules that were tried. Prints tables in Markdown: the share of questions whose gold is
reached, tokens (characters / 4 of calls and of all that they print) and calls until then, with bootstrap intervals over
questions, and paired differences to `wb search`. An agent gives up at 50,000 tokens or 30 calls; a question that is not
reached counts as both, whichever of the two came first.

Gold is seen once a line of it was printed; the second half asks for ten lines of one place, or all where it has fewer.
Where a question's gold is a file, its lines are all lines of that file.

- ripgrep: the question's words without stop words, cut to stems; names first, then those that fewer files have (how
  many is known for nothing). For up to three names the lines that define them, by their form; then `rg -n -i --max-count 3`
  for the first four words; each answer cut at 100 lines and 2,000 tokens. Then windows of 100 lines are read: around
  the definitions, then those whose words are the rarest together, tests and prose after all others.
- semble: `search` with whole chunks, 5 results a call, without a model; every call asks for 5 more, and what was there
  before is not counted again.
- `wb search`: the tool's pages of 1,200 tokens and 5 answers, as the MCP server makes them: units, long ones as
  excerpts, while they fit, then the lines that define them; what room is left makes excerpts whole. The next page
  begins behind the answers that came with their text, from the first. It is
  asked once, with many answers, and paged here.
- `wb search` and graph: a page; then `wb related` for the best three answers not asked about yet, and the three places
  that these lists have in front are read, a call each; then the next page, and so on.
"""

import argparse
import collections
import functools
import itertools
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np

MOST_TOKENS, MOST_CALLS = 50_000, 30
CHARS = 4
LISTED_CHARS = 2_000 * CHARS
PAGE_TOKENS, PAGE_ANSWERS = 1_200, 5
ENOUGH = 10
ANSWERS = 400
RESAMPLES, SEED = 10_000, 17
STOP = set(
    """a about above across after all also am an and another any are as at be because been before being below between
    both but by can cannot could did do does doing down during each either enable enables ensure ensures etc every few
    for from further get gets given had has have having he her here how however i if in instead into is it its itself
    just let like make makes may me might more most must my no nor not of off on once one only or other our out over
    own rather same shall she should so some such than that the their them then there these they this those through to
    too two under until up upon use used uses using very via was way we were what when where whether which while who
    whom why will with within without would you your""".split()
)


DEFINES = "struct|enum|trait|fn|def|class|func|function|type|interface|const"


class Repository:
    """A folder with its index, its text, and what tools said of it."""

    def __init__(self, wb, name, root, work):
        self.wb, self.name, self.root = wb, name, root
        self.index = work / (name + ".index")
        self.known, self.texts, self.hits_of = {}, {}, {}
        if not self.index.exists():
            subprocess.run([wb, "index", root, "--index", self.index], check=True, capture_output=True)

    def ask(self, *command):
        if command not in self.known:
            place = ["--project", self.root, "--index", self.index, "--json"]
            asked = subprocess.run([self.wb, *command[:1], *place, *command[1:]], capture_output=True, text=True)
            self.known[command] = json.loads(asked.stdout) if asked.returncode == 0 else {"answers": []}
        return self.known[command]

    def lines(self, path):
        if path not in self.texts:
            file = self.root / path
            self.texts[path] = file.read_text(errors="replace").split("\n") if file.is_file() else []
        return self.texts[path]

    @functools.cached_property
    def items(self):
        """Functions and types by file."""
        asked = subprocess.run([self.wb, "outline", self.root, "--json"], capture_output=True, text=True, check=True)
        by_path = collections.defaultdict(list)
        for item in json.loads(asked.stdout):
            by_path[item["path"]].append(item["lines"])
        return by_path

    def extent(self, path, line):
        """Lines of the smallest item at a line; its line alone where none is."""
        around = [lines for lines in self.items.get(path, []) if lines[0] <= line <= lines[1]]
        return min(around, key=lambda lines: lines[1] - lines[0], default=[line, line])

    def hits(self, word):
        """All lines with a word, as ripgrep prints them, by file."""
        if word not in self.hits_of:
            command = ["rg", "-n", "-i", "-F", "--no-heading", "--with-filename", "--sort", "path", "-M", "300"]
            printed = subprocess.run([*command, "--", word, "."], cwd=self.root, capture_output=True).stdout
            by_path = {}
            for line in printed.decode(errors="replace").split("\n"):
                at = re.match(r"\./(.+?):(\d+):", line)
                if at:
                    by_path.setdefault(at[1], []).append((int(at[2]), line))
            self.hits_of[word] = by_path
        return self.hits_of[word]


# Questions. Gold is a list of (path, lines or None).


def swe_qa(folder):
    for row in map(json.loads, (folder / "citations.jsonl").read_text().splitlines()):
        root = folder / "corpora" / row["repo"].split("/")[-1]
        if root.is_dir() and row["citations"]:
            lines_of = lambda one: one["start"] and [one["start"], one["end"] or one["start"]]
            gold = [(one["file"], lines_of(one)) for one in row["citations"]]
            with_lines = [one for one in gold if one[1]]
            kind = "swe-qa" if with_lines else "swe-qa, files"
            yield kind, root, row["id"], row["question"], with_lines or gold


def cqs(folder):
    for file in sorted(folder.glob("v3_*.json")):
        for at, row in enumerate(json.loads(file.read_text())["queries"]):
            gold = row["gold_chunk"]
            lines = sorted([gold["line_start"], gold["line_end"]])
            yield "cqs", folder / "corpus", f"{file.stem}:{at}", row["query"], [(gold["origin"], lines)]


def semble_files(folder):
    for one in json.loads((folder / "repos.json").read_text()):
        root = folder / "corpora" / one["name"] / (one.get("benchmark_root") or "")
        file = folder / "annotations" / (one["name"] + ".json")
        if root.is_dir() and file.exists():
            for at, row in enumerate(json.loads(file.read_text())):
                places = [place if isinstance(place, dict) else {"path": place} for place in row["relevant"]]
                gold = [
                    (place["path"], [place["start_line"], place["end_line"]] if place.get("start_line") else None)
                    for place in places
                ]
                yield "semble, files", root, f"{one['name']}:{at}", row["query"], gold


SETS = {"swe-qa": swe_qa, "cqs": cqs, "semble": semble_files}


def same_path(a, b):
    return a == b or a.endswith("/" + b) or b.endswith("/" + a)


# What an agent sees: a call is (characters, [(path, numbers of its lines that were printed)]).


def asked(tool, **arguments):
    return len(json.dumps({"tool": tool, **arguments}, ensure_ascii=False))


def read(repository, path, first, last):
    """The call that reads lines of a file, and their numbers."""
    lines = repository.lines(path)
    first, last = max(1, first), min(len(lines), last)
    printed = sum(len(f"{number}\t{lines[number - 1]}") + 1 for number in range(first, last + 1))
    return asked("read", path=path, offset=first, limit=last - first + 1) + printed, [(path, range(first, last + 1))]


def stem(word):
    for end in ("ations", "ation", "ings", "ing", "ers", "ies", "ied", "es", "ed", "er", "s", "e"):
        if word.endswith(end) and len(word) - len(end) >= 4:
            return word[: -len(end)]
    return word


def is_name(word, question):
    return bool(re.search(r"[a-z][A-Z]|\w_\w|[A-Z][A-Z]|\d", word)) or word == question.strip()


@functools.lru_cache(64)
def words_of(repository, question):
    """Words to look for: names first, then the rarest."""
    names, words = [], []
    for word in re.findall(r"[A-Za-z_][A-Za-z0-9_]*", question):
        if is_name(word, question):
            names.append(word)
        elif word.lower() not in STOP and len(word) > 2:
            words.append(stem(word.lower()))
    count = lambda word: len(repository.hits(word))
    found = lambda of: [word for word in dict.fromkeys(of) if count(word)]
    names = found(names)
    words = [word for word in found(words) if word not in {name.lower() for name in names}]
    return names + sorted(words, key=lambda word: (count(word), word))


def is_aside(path):
    """True for tests and prose."""
    prose = r"\.(md|rst|txt|html|ipynb)$"
    test = r"(^|/)(tests?|testing|fixtures)(/|_)|_test\.|(^|/)test_|\.test\.|[a-z]Test\."
    return bool(re.search(f"{prose}|{test}", path))


def definitions(repository, name):
    """Lines that define a name, by their form."""
    form = re.compile(rf"\b({DEFINES})\s+{re.escape(name)}", re.I)
    hits = ((path, *hit) for path, of_path in repository.hits(name).items() for hit in of_path)
    return [hit for hit in hits if form.search(hit[2])]


def listing(pattern, rows):
    """The call that lists lines or files, cut as tools cut them."""
    size, seen = asked("rg", pattern=pattern), collections.defaultdict(list)
    for path, number, line in rows[:100]:
        if size + len(line) + 1 > LISTED_CHARS:
            break
        size += len(line) + 1
        if number:
            seen[path].append(number)
    return size, list(seen.items())


def ripgrep(repository, question, n_words=4, listed="lines", window=100, aside_last=True):
    words = words_of(repository, question)
    defined = []
    for name in [word for word in words if is_name(word, question)][:3]:
        rows = definitions(repository, name)
        defined += [(path, number) for path, number, _ in rows]
        yield listing(f"({DEFINES})\\s+{name}", rows)
    for word in words[:n_words]:
        rows = []
        for path, hits in repository.hits(word).items():
            rows += [(path, number, line) for number, line in hits[:3]] if listed == "lines" else [(path, None, path)]
        yield listing(word, rows)
    demote = aside_last and not re.search(r"\btest", question, re.I)
    is_late = functools.cache(lambda path: demote and is_aside(path))
    if window is None:
        for path in sorted(files_by_words(repository, tuple(words))[0], key=lambda path: is_late(path)):
            for first in range(1, len(repository.lines(path)) + 1, 2_000):
                yield read(repository, path, first, first + 1_999)
        return
    for path, number in defined[:5]:
        yield read(repository, path, number - window // 10, number - window // 10 + window - 1)
    windows = best_windows(repository, tuple(words), window)
    for _, _, path, first in sorted(windows, key=lambda one: (is_late(one[2]), *one)):
        yield read(repository, path, first, first + window - 1)


@functools.lru_cache(64)
def files_by_words(repository, words):
    """Files with the words: those with most of them first, those with the rarest first; the words' weights."""
    n_files = max(2, len({path for word in words for path in repository.hits(word)}))
    weight = {word: math.log(1 + n_files / len(repository.hits(word))) for word in words}
    number, worth = collections.Counter(), collections.Counter()
    for word in words:
        for path in repository.hits(word):
            number[path] += 1
            worth[path] += weight[word]
    by_number = sorted(number, key=lambda path: (-number[path], -worth[path], path))
    return by_number, sorted(number, key=lambda path: (-worth[path], path)), weight


@functools.lru_cache(64)
def best_windows(repository, words, window):
    """Windows of lines that do not overlap: what their words are worth, hits, path, first line."""
    windows = []
    _, by_worth, weight = files_by_words(repository, words)
    aside = [[path for path in by_worth if is_aside(path) == one][:60] for one in (False, True)]
    for path in aside[0] + aside[1]:
        of_word = {word: np.array([number for number, _ in repository.hits(word).get(path, [])]) for word in words}
        numbers = np.unique(np.concatenate(list(of_word.values()))).astype(int)
        first = np.maximum(1, numbers - window // 10)
        inside = lambda of: np.searchsorted(of, first + window) - np.searchsorted(of, first)
        worth = sum(weight[word] * (inside(of) > 0) for word, of in of_word.items())
        hits, taken = inside(numbers), []
        for at in np.lexsort((first, -hits, -worth)):
            if all(abs(first[at] - other) >= window for other in taken):
                taken.append(first[at])
                windows.append((-float(worth[at]), -int(hits[at]), path, int(first[at])))
                if len(taken) == MOST_CALLS:
                    break
    return windows


def semble(repository, question, step=5):
    index, told = repository.semble, set()
    for top in range(step, step * MOST_CALLS + 1, step):
        found = index.search(question, top_k=top, alpha=0.0)
        size, seen = asked("search", query=question, top_k=top), []
        for one in found:
            chunk = one.chunk
            place = (chunk.file_path, chunk.start_line, chunk.end_line)
            if place in told:
                continue
            told.add(place)
            row = {"file_path": place[0], "start_line": place[1], "end_line": place[2], "score": one.score}
            size += len(json.dumps({**row, "content": chunk.content})) + 2
            seen.append((place[0], range(place[1], place[2] + 1)))
        yield size, seen
        if not seen:
            return


def head_line(answer):
    """Position of the line that defines a unit, from 0."""
    name = answer["names"][0] if answer["names"] else None
    rows = answer["text"].split("\n")
    return next((at for at, row in enumerate(rows) if name and re.search(rf"\b{re.escape(name)}\b", row)), 0)


def numbers(first, last):
    """Lines by their numbers, as the MCP server writes them."""
    return f"{first}-{last}" if last > first else f"{first}"


def page_of(answers, skip, question, n_answers, tokens):
    """A page as the MCP server makes it: the call, and how many answers from the first came with their text."""
    left, size = tokens * CHARS - 100, asked("search", question=question, skip=skip) + 60
    page, with_text = [], 0
    for excerpt, whole in answers[skip : skip + n_answers]:
        first, last = excerpt["lines"]
        place = {"at": f"{excerpt['path']}:{numbers(first, last)}", "name": ", ".join(excerpt["names"][:8])}
        runs = excerpt.get("shown", [[first, last]])
        head = min(head_line(excerpt), runs[0][1] - runs[0][0])
        of_head = "\n".join(excerpt["text"].split("\n")[: head + 1])
        of_runs = ", ".join(numbers(*lines) for lines in runs)
        part = {} if excerpt["extent"] == "whole" else {"part": excerpt["extent"], "shown": of_runs}
        forms = [
            ({**part, "text": excerpt["text"]}, runs),
            ({"part": "head", "text": of_head}, [[runs[0][0], runs[0][0] + head]]),
            ({}, []),
        ]
        takes = lambda more: len(json.dumps({**place, **more}, ensure_ascii=False)) + 1
        form, (more, shown) = next(((n, one) for n, one in enumerate(forms) if takes(one[0]) <= left), (3, (None, [])))
        if form == 3:
            break
        left, size = left - takes(more), size + takes(more)
        wider = takes({"text": whole["text"]}) - takes(more) if form == 0 and whole is not excerpt else left + 1
        page.append([excerpt["path"], shown, wider, whole.get("shown", [[first, last]])])
        # What is too large for a whole page is not waited for.
        with_text += len(page) == with_text + 1 and (form == 0 or with_text == 0)
    for place in page:
        if place[2] <= left:
            left, size, place[1] = left - place[2], size + place[2], place[3]
    return (size, [(path, range(start, end + 1)) for path, shown, _, _ in page for start, end in shown]), with_text


def found_by(repository, question):
    """Answers with excerpts of long units, each beside all of its lines."""
    ask = lambda *options: repository.ask("search", "-n", str(ANSWERS), *options, "--", question)["answers"]
    return list(zip(ask(), ask("--whole"), strict=True))


def wb_search(repository, question, n_answers=PAGE_ANSWERS, tokens=PAGE_TOKENS, only=None):
    answers, skip = found_by(repository, question), 0
    if only is not None:
        answers = [(answer[only], answer[only]) for answer in answers]
    while skip < len(answers):
        call, with_text = page_of(answers, skip, question, n_answers, tokens)
        yield call
        skip += max(1, with_text)


def wb_graph(repository, question, seeds=3, reads=3, pages=1):
    answers, skip, asked_about, told = found_by(repository, question), 0, 0, collections.defaultdict(set)

    def keep(call):
        for path, numbers in call[1]:
            told[path].update(numbers)
        return call

    while skip < len(answers):
        for _ in range(pages):
            call, with_text = page_of(answers, skip, question, PAGE_ANSWERS, PAGE_TOKENS)
            yield keep(call)
            skip += max(1, with_text)
        votes = collections.Counter()
        for _, answer in answers[asked_about : min(skip, asked_about + seeds)]:
            place = f"{answer['path']}:{answer['lines'][0] + head_line(answer)}"
            found = repository.ask("related", "-n", "10", "--", place)["answers"]
            rows = [
                {"at": f"{one['path']}:{one['line']}", "name": one["name"], "kind": ", ".join(one["relations"])}
                for one in found
            ]
            yield asked("related", symbol=place) + len(json.dumps(rows, ensure_ascii=False)) + 60, []
            for rank, one in enumerate(found):
                votes[one["path"], one["line"]] += 1 / (rank + 1)
        asked_about = min(skip, asked_about + seeds)
        taken = 0
        for (path, line), _ in sorted(votes.items(), key=lambda vote: (-vote[1], vote[0])):
            first, last = repository.extent(path, line)
            last = min(last, first + 199)
            if taken == reads:
                break
            if not set(range(first, last + 1)) <= told[path]:
                taken += 1
                yield keep(read(repository, path, first, last))


AGENTS = {
    "ripgrep and reading": ripgrep,
    "semble": semble,
    "`wb search`": wb_search,
    "`wb search` and graph": wb_graph,
}
BASE = "`wb search`"
VARIANTS = {
    "ripgrep: 2 words": functools.partial(ripgrep, n_words=2),
    "ripgrep: 8 words": functools.partial(ripgrep, n_words=8),
    "ripgrep: names of files alone (`-l`)": functools.partial(ripgrep, listed="files"),
    "ripgrep: windows of 50 lines": functools.partial(ripgrep, window=50),
    "ripgrep: windows of 200 lines": functools.partial(ripgrep, window=200),
    "ripgrep: files whole": functools.partial(ripgrep, window=None),
    "ripgrep: tests and prose as all others": functools.partial(ripgrep, aside_last=False),
    "semble: 10 a call": functools.partial(semble, step=10),
    "`wb search`: 2,000 tokens": functools.partial(wb_search, tokens=2_000),
    "`wb search`: 2,000 tokens, 10 a page": functools.partial(wb_search, n_answers=10, tokens=2_000),
    "`wb search`: 2,000 tokens, whole": functools.partial(wb_search, tokens=2_000, only=1),
    "`wb search`: excerpts alone": functools.partial(wb_search, only=0),
    "graph: best 1, read 1": functools.partial(wb_graph, seeds=1, reads=1),
    "graph: best 1, read 3": functools.partial(wb_graph, seeds=1, reads=3),
    "graph: best 3, read 1": functools.partial(wb_graph, seeds=3, reads=1),
    "graph: after 2 pages, best 3, read 3": functools.partial(wb_graph, pages=2),
    "graph: after 4 pages, best 3, read 3": functools.partial(wb_graph, pages=4),
}


def follow(agent, repository, question, gold):
    """Tokens, calls and the number of the call when gold is seen, and when enough of it is; None if not."""
    wanted = []
    for path, lines in gold:
        last = lines[1] if lines else math.inf
        wanted.append((path, lines[0] if lines else 1, last, collections.defaultdict(set)))
    seen_at, tokens = [None, None], 0.0
    for calls, (size, seen) in enumerate(agent(repository, question), 1):
        tokens += size / CHARS
        if tokens > MOST_TOKENS or calls > MOST_CALLS:
            break
        for path, numbers in seen:
            for gold_path, first, last, got in wanted:
                if not same_path(path, gold_path):
                    continue
                got[path].update(number for number in numbers if first <= number <= last)
                n_lines = min(last, len(repository.lines(path))) - first + 1
                for at, enough in enumerate((1, max(1, min(ENOUGH, n_lines)))):
                    if seen_at[at] is None and len(got[path]) >= enough:
                        seen_at[at] = [round(tokens, 1), calls]
        if None not in seen_at:
            break
    return seen_at


class NoModel:
    """What semble asks for a model; its vectors count nothing."""

    dim = 8

    def encode(self, texts, **_):
        return np.ones((len(list(texts)), self.dim), dtype=np.float32)


def semble_index(repository, with_docs):
    os.environ.update(HF_HUB_OFFLINE="1", SEMBLE_MODEL_NAME="none")
    os.environ.setdefault("SEMBLE_CACHE_LOCATION", tempfile.mkdtemp())
    import semble as package
    import semble.index.index  # noqa: F401 - its modules have names of their own for the function below

    for module in [one for name, one in sys.modules.items() if name.startswith("semble")]:
        if hasattr(module, "load_model"):
            module.load_model = lambda _=None: (NoModel(), "none")
    content = [package.ContentType.CODE] + [package.ContentType.DOCS] * with_docs
    return package.SembleIndex.from_path(str(repository.root), content=content)


def interval(values):
    if len(values) == 0:
        return math.nan, math.nan, math.nan
    drawn = np.random.default_rng(SEED).integers(0, len(values), (RESAMPLES, len(values)))
    low, high = np.percentile(values[drawn].mean(axis=1), [2.5, 97.5])
    return values.mean(), low, high


def told(values, form):
    mean, low, high = interval(values)
    return f"{mean:{form}} ({low:{form}} to {high:{form}})"


def table(rows, agents, at):
    """The table of some questions: those that have answers of every agent."""
    values = {}
    for agent in agents:
        seen = [row["agents"][agent][at] for row in rows]
        values[agent] = (
            np.array([one is not None for one in seen], float),
            np.array([one[0] if one else MOST_TOKENS for one in seen], float),
            np.array([one[1] if one else MOST_CALLS for one in seen], float),
        )
    main = [agent for agent in agents if agent in AGENTS] or agents
    by_all = np.all([values[agent][0] > 0 for agent in main], axis=0)
    print(f"\n| {len(rows)} questions; {int(by_all.sum())} reached by all | reached | tokens, mean | median "
          "| calls, mean | median | tokens, calls: medians where all reach |")
    print("|---|---|---|---|---|---|---|")
    for agent in agents:
        reached, tokens, calls = values[agent]
        common = f"{np.median(tokens[by_all]):,.0f}, {np.median(calls[by_all]):.0f}" if by_all.any() else "–"
        print(f"| {agent} | {told(reached, '.3f')} | {told(tokens, ',.0f')} | {np.median(tokens):,.0f} "
              f"| {told(calls, '.1f')} | {np.median(calls):.0f} | {common} |")
    print(f"\n| less {BASE} | reached | tokens | calls |\n|---|---|---|---|")
    for agent in agents:
        if agent != BASE:
            less = [mine - base for mine, base in zip(values[agent], values[BASE])]
            print(f"| {agent} | {told(less[0], '+.3f')} | {told(less[1], '+,.0f')} | {told(less[2], '+.1f')} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("data", "wb", "work"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--set", action="append", choices=SETS, required=True)
    parser.add_argument("--variants", action="store_true")
    parser.add_argument("--tables", action="store_true", help="asks nothing: the tables of what WORK has")
    parser.add_argument("--agents", help="only those whose name this regular expression finds, and `wb search`")
    given = parser.parse_args()
    data, work = pathlib.Path(given.data), pathlib.Path(given.work)
    work.mkdir(parents=True, exist_ok=True)
    if not given.tables:
        for name in given.set:
            rows = ask(data, work, name, given)
            (work / (name + ".jsonl")).write_text("".join(json.dumps(row) + "\n" for row in rows))
    files = [work / (name + ".jsonl") for name in given.set]
    print_tables([json.loads(row) for file in files for row in file.read_text().splitlines()])


def ask(data, work, name, given):
    agents = {**AGENTS, **(VARIANTS if given.variants else {})}
    if given.agents:
        agents = {name: one for name, one in agents.items() if name == BASE or re.search(given.agents, name)}
    questions = list(SETS[name](data / name))
    rows = []
    for root, of_root in itertools.groupby(questions, key=lambda one: one[1]):
        of_root = list(of_root)
        repository = Repository(given.wb, str(root.relative_to(data)).replace("/", "+"), root, work)
        if any("semble" in one for one in agents):
            repository.semble = semble_index(repository, with_docs=name == "cqs")
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda one: found_by(repository, one[3]), of_root))
        for kind, _, key, question, gold in of_root:
            seen = {agent: follow(run, repository, question, gold) for agent, run in agents.items()}
            rows.append({"set": kind, "id": key, "question": question, "gold": gold, "agents": seen})
        print(f"{repository.name}: {len(of_root)} questions", file=sys.stderr, flush=True)
    return rows


def print_tables(rows):
    agents = list(rows[0]["agents"])
    kinds = list(dict.fromkeys(row["set"] for row in rows))
    for at, what in enumerate(("a line of the gold", f"{ENOUGH} lines of the gold, or all of it")):
        print(f"\n## Until {what} is read")
        with_lines = [kind for kind in kinds if not kind.endswith("files")]
        for kind in kinds + [" and ".join(with_lines)] * (len(with_lines) > 1):
            print(f"\n### {kind}")
            of_kind = [row for row in rows if row["set"] == kind or (kind not in kinds and row["set"] in with_lines)]
            table(of_kind, agents, at)


if __name__ == "__main__":
    main()
