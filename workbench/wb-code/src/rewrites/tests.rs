//! Properties of every rewrite of every language, and one row of each by hand.

use super::*;
use std::collections::BTreeSet;

const PYTHON: &str = r#"def join(items, sep=", ", *rest, last=None):
    """Join items.

    Each as text.
    """
    # Nothing yet.
    text = ""
    count = 0
    for i, item in enumerate(items):  # one by one
        if i > 0:
            text += sep
        text = text + str(item)
        count += 1
    words = [w.strip() for w in text.split(sep) if w]
    for k in range(len(words)):
        words[k] = words[k].lower()
    while count > 10:
        count -= 1
    if last is None:
        total = count * 2 + len(words)
    else:
        total = count + len(last) - 1
    return total, words
"#;
const JAVASCRIPT: &str = "function pick(list, size) {\n  // The best.\n  let best = null;\n  let total = 0;\n  for (let i = 0; i < list.length; i++) {\n    const one = list[i];\n    total += one.weight * size; // so far\n    if (best === null || one.weight > best.weight) {\n      best = one;\n    } else {\n      total -= 1;\n    }\n  }\n  while (total > 100) {\n    total -= 10;\n  }\n  const share = total / list.length + size * 2;\n  return { best, total, share };\n}\n";
const JAVA: &str = "class A {\n    private int size;\n\n    public static int sum(int[] values, int from) {\n        int total = 0;\n        int count = 1;\n        // All of them.\n        for (int i = from; i < values.length; i++) {\n            total += values[i];\n            count++;\n        }\n        while (total > 100) {\n            total -= count; // less\n        }\n        if (total > 3) {\n            count = 2;\n        } else {\n            count = 3;\n        }\n        return total * count;\n    }\n}\n";
const GO: &str = "package a\n\n// Sum adds.\nfunc Sum(values []int, from int) int {\n\ttotal := 0\n\tcount := 1\n\tfor total < 100 {\n\t\ttotal += from // more\n\t}\n\tfor i, v := range values {\n\t\tif i > count {\n\t\t\ttotal += v\n\t\t} else {\n\t\t\ttotal -= v\n\t\t}\n\t}\n\treturn total\n}\n";
const RUBY: &str = "# Sums.\ndef sum(values, from)\n  total = 0\n  count = 1\n  while total > 100\n    total -= 10 # less\n  end\n  values.each do |value|\n    total += value if value > from\n  end\n  total + count\nend\n";
const RUST: &str = "/// Sums.\nfn sum(values: &[i32], from: i32) -> i32 {\n    let mut total = 0;\n    let count = 1;\n    for value in values {\n        total += value * count; // more\n    }\n    while total > 100 {\n        total -= from;\n    }\n    if total > 3 {\n        total + 1\n    } else {\n        total - 1\n    }\n}\n";
const PHP: &str = "<?php\nfunction total($values, $from) {\n    $sum = 0;\n    $count = 1;\n    // All.\n    for ($i = $from; $i < count($values); $i++) {\n        $sum += $values[$i]; // more\n    }\n    while ($sum > 100) {\n        $sum -= $count;\n    }\n    if ($sum > 3) {\n        $sum = 2;\n    } else {\n        $sum = 3;\n    }\n    return \"$sum of $count\";\n}\n";

const ALL: [(Language, &str); 7] = [
    (Language::Python, PYTHON),
    (Language::JavaScript, JAVASCRIPT),
    (Language::Java, JAVA),
    (Language::Go, GO),
    (Language::Ruby, RUBY),
    (Language::Rust, RUST),
    (Language::Php, PHP),
];

fn every(text: &str, language: Language, kind: RewriteKind) -> BTreeSet<String> {
    (0..60).filter_map(|seed| rewrite(text, language, kind, Seed(seed)).ok()).map(|one| one.text).collect()
}

#[test]
fn names_and_serde_agree() {
    for kind in RewriteKind::ALL {
        assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
    }
}

#[test]
fn every_rule_does_something_in_every_language_that_it_knows() {
    for (language, text) in ALL {
        assert!(ParsedSource::parse(text, language).is_ok(), "{language} does not parse");
        for kind in RewriteKind::ALL {
            let results: Vec<_> = (0..40).map(|seed| rewrite(text, language, kind, Seed(seed))).collect();
            let broken = results.iter().any(|result| matches!(result, Err(Refusal::Broken)));
            assert!(!broken, "{language} {}: a broken result", kind.name());
            let unknown = matches!(results[0], Err(Refusal::UnknownLanguage));
            let knows =
                kind != RewriteKind::ExtractHelper || matches!(language, Language::Python | Language::JavaScript);
            assert_eq!(unknown, !knows, "{language} {}: {:?}", kind.name(), results[0]);
            // The branches of Ruby hold their keywords.
            let has_site = !(language == Language::Ruby && kind == RewriteKind::SwappedBranches);
            if knows && has_site {
                assert!(results.iter().any(Result::is_ok), "{language} {}: {:?}", kind.name(), results[0]);
            }
        }
    }
}

#[test]
fn rename_is_one_to_one_and_spares_what_others_see() {
    for seed in 0..50 {
        let new = rewrite(PYTHON, Language::Python, RewriteKind::Rename, Seed(seed)).unwrap().text;
        for kept in [
            "def join(",
            "sep=\", \"",
            "last=None",
            "enumerate(",
            "len(",
            ".strip()",
            ".split(sep)",
            "str(",
            ".lower()",
        ] {
            assert!(new.contains(kept), "{kept} is gone from\n{new}");
        }
        for (language, text) in ALL {
            let new = rewrite(text, language, RewriteKind::Rename, Seed(seed)).unwrap().text;
            let words = |text: &str| -> Vec<String> {
                text.split(|c: char| !c.is_alphanumeric() && c != '_').map(str::to_owned).collect()
            };
            let (old_words, new_words) = (words(text), words(&new));
            let shorthand = language == Language::JavaScript;
            assert!(shorthand || old_words.len() == new_words.len());
            let mut there = std::collections::BTreeMap::new();
            let mut back = std::collections::BTreeMap::new();
            if !shorthand {
                for (old, new) in old_words.iter().zip(&new_words) {
                    // A word keeps its name or has the one new one: text in comments and docstrings stays.
                    let given = there.entry(old.clone()).or_insert_with(BTreeSet::new);
                    given.insert(new.clone());
                    let from = back.entry(new.clone()).or_insert_with(BTreeSet::new);
                    from.insert(old.clone());
                }
                assert!(there.values().all(|new| new.len() <= 2), "{language}: {there:?}");
                assert!(back.values().all(|old| old.len() == 1), "{language}: two names became one: {back:?}");
            }
        }
    }
}

#[test]
fn rename_refuses_what_it_cannot_see_through() {
    for (text, kept) in [
        ("def f(a):\n    return eval('a')\n", "a"),
        ("def f():\n    x = 1\n    return locals()\n", "x"),
        ("def f():\n    global x\n    x = 1\n", "x"),
        ("def f():\n    import os\n    return os.getcwd()\n", "os"),
        ("def f(a=1, *, b):\n    return a + b\n", "b"),
        ("def f(x):\n    def g(y):\n        return y\n    return g\n", "y"),
        ("def f(x):\n    return f'{x=}'\n", "x"),
        ("def f():\n    class A:\n        y = 1\n    return A\n", "y"),
        ("def f(a):\n    return [x for a in x for x in a]\n", "x"),
        ("def f(a):\n    g(key=a)\n    return (lambda key: key)(key=1)\n", "key"),
        ("def f(frame, low):\n    return frame.query('a > @low')\n", "low"),
        ("def outer(f):\n    def wrapper(a):\n        return f(a)\n    return wrapper\n", "wrapper"),
    ] {
        for seed in 0..10 {
            if let Ok(new) = rewrite(text, Language::Python, RewriteKind::Rename, Seed(seed)) {
                let count =
                    |text: &str| text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|w| *w == kept).count();
                assert_eq!(count(&new.text), count(text), "{kept} in\n{}", new.text);
            }
        }
    }
}

#[test]
fn renaming_in_braces_keeps_fields_and_outer_names() {
    let java = "class A { int n; int f(int k) { int m = n + k; { int n = 2; m += n; } return m + this.n; } }";
    let new = rewrite(java, Language::Java, RewriteKind::Rename, Seed(1)).unwrap().text;
    assert!(new.contains("int n;") && new.contains("= n + ") && new.contains("this.n"), "{new}");
    let js = "function f(a, { b }) { const c = { a, b }; return c.a + max(c); }";
    let new = rewrite(js, Language::JavaScript, RewriteKind::Rename, Seed(2)).unwrap().text;
    assert!(new.contains("{ b }") && new.contains("a: ") && new.contains(".a + max("), "{new}");
    let go = "package p\nfunc F(a int) T { x := a; if x > 1 { x := x + 1; _ = x }; return T{a: x} }\n";
    let new = rewrite(go, Language::Go, RewriteKind::Rename, Seed(3)).unwrap().text;
    assert!(new.contains("T{a: "), "{new}");
    assert!(new.contains("F(a int)"), "a field may be called so: {new}");
    let ruby = "def f(x, y)\n  z = x + y\n  g(z:, x: 1)\n  value = value()\n  z\nend\n";
    let new = rewrite(ruby, Language::Ruby, RewriteKind::Rename, Seed(5)).unwrap().text;
    assert!(new.contains("g(z:, x: 1)") && new.contains("  z\n") && !new.contains("f(x, y)"), "{new}");
    let php = "public function f($a, $b = 1) { $c = $a + $this->a; return compact($c) + self::$c; }";
    assert!(matches!(rewrite(php, Language::Php, RewriteKind::Rename, Seed(6)), Err(Refusal::Unsafe(_))));
    let php = "public function f($a, $b = 1) { $c = $a + $this->a; return \"$c\" . $b; }";
    let new = rewrite(php, Language::Php, RewriteKind::Rename, Seed(6)).unwrap().text;
    assert!(new.starts_with("public function f($") && new.contains("$this->a") && new.contains("$b = 1"), "{new}");
    assert!(!new.contains("$a") && !new.contains("$c"), "{new}");
    let rust = "fn f(x: u8, y: u8) -> S { let z = max(x, y); println!(\"{z}\"); S { x, y: z } }";
    let new = rewrite(rust, Language::Rust, RewriteKind::Rename, Seed(4)).unwrap().text;
    assert!(new.contains("{z}") && new.contains("x: ") && new.contains("let z") && new.contains("max("), "{new}");
}

#[test]
fn statements_that_depend_on_each_other_stay() {
    for text in [
        "def f(a):\n    x = a\n    y = x\n    return y\n",
        "def f(a):\n    x = g(a)\n    y = h(a)\n    return x, y\n",
        "def f(a):\n    x = a.b\n    y = a.c\n    return x, y\n",
        "def f(a):\n    try:\n        x = 1\n        y = 2\n    except E:\n        pass\n    return x, y\n",
        "def f(a, b):\n    x = a + 1\n    y = b + 1\n    return x, y\n",
        "def f(a):\n    x = 1\n    x = 2\n    return x\n",
        "def f(a):\n    global y\n    x = 1\n    y = 2\n    return x\n",
    ] {
        assert!(every(text, Language::Python, RewriteKind::ReorderStatements).is_empty(), "{text}");
    }
    let fine = every(
        "def f(a):\n    x = 1\n    y = a + 1\n    return x, y\n",
        Language::Python,
        RewriteKind::ReorderStatements,
    );
    assert_eq!(fine.into_iter().collect::<Vec<_>>(), ["def f(a):\n    y = a + 1\n    x = 1\n    return x, y\n"]);
}

#[test]
fn loops_take_their_other_forms() {
    let forms = every(PYTHON, Language::Python, RewriteKind::LoopForm);
    for part in [
        "    i = -1\n    for item in items:  # one by one\n        i += 1\n        if i > 0:",
        "    words = []\n    for w in text.split(sep):\n        if w:\n            words.append(w.strip())",
        "    stop = len(words)\n    k = 0\n    while k < stop:\n        words[k] = words[k].lower()\n        k += 1\n",
        "    while True:\n        if not (count > 10):\n            break\n        count -= 1",
        "        try:\n            k = next(iterator)\n        except StopIteration:\n            break\n",
    ] {
        assert!(
            forms.iter().any(|form| form.contains(part)),
            "no form has\n{part}\nin\n{}",
            forms.iter().cloned().collect::<String>()
        );
    }
    let back = every(
        "def f(xs):\n    out = []\n    for x in xs:\n        if x > 1:\n            out.append(x * 2)\n    return out\n",
        Language::Python,
        RewriteKind::LoopForm,
    );
    assert!(back.contains("def f(xs):\n    out = [x * 2 for x in xs if x > 1]\n    return out\n"), "{back:?}");
    let js = every(JAVASCRIPT, Language::JavaScript, RewriteKind::LoopForm);
    assert!(js.iter().any(|form| form.contains("  {\n    let i = 0;\n    while (i < list.length) {\n      const one = list[i];")), "{js:?}");
    assert!(
        js.iter()
            .any(|form| form
                .contains("while (true) {\n    if (!(total > 100)) {\n      break;\n    }\n    total -= 10;"))
    );
}

#[test]
fn loops_whose_counter_is_seen_stay() {
    for text in [
        "def f(xs):\n    for i in range(3):\n        pass\n    return i\n",
        "def f(xs):\n    for i in range(3):\n        i = 7\n        g(i)\n",
        "def f(xs):\n    return [lambda: i for i in xs]\n",
        "def f(xs):\n    fs = []\n    for i in range(3):\n        fs.append(lambda: i)\n    return fs\n",
        "def f(xs):\n    for i in range(3):\n        if xs[i]:\n            continue\n        g(i)\n",
        "def f(xs):\n    for i in range(xs):\n        g(i)\n",
    ] {
        let forms = every(text, Language::Python, RewriteKind::LoopForm);
        assert!(forms.iter().all(|form| !form.contains("while i <")), "{forms:?}");
    }
    for text in [
        "function f(a) { \n  for (let i = 0; i < a; i++) {\n    g(() => i);\n  }\n}",
        "function f(a) { \n  for (let i = 0; i < a; i++) {\n    if (i) continue;\n    g(i);\n  }\n}",
        "function f(a) { \n  for (let i = 0; i < a; i++) {\n    let i = 3;\n    g(i);\n  }\n}",
    ] {
        assert!(every(text, Language::JavaScript, RewriteKind::LoopForm).is_empty(), "{text}");
    }
}

#[test]
fn comments_go_or_move_and_directives_stay() {
    let text = "# -*- coding: utf-8 -*-\ndef f(a):\n    x = '# no comment'  # one\n    # two\n    y = (1,  # three\n         2)  # type: ignore\n    return x, y\n";
    let forms = every(text, Language::Python, RewriteKind::Comments);
    let stripped = "# -*- coding: utf-8 -*-\ndef f(a):\n    x = '# no comment'\n    y = (1,\n         2)  # type: ignore\n    return x, y\n";
    assert!(forms.contains(stripped), "{forms:?}");
    assert!(
        forms
            .iter()
            .any(|form| form.contains("    # one\n    x = '# no comment'\n    # two\n    # three\n    y = (1,\n")),
        "{forms:?}"
    );
    let docs = every(PYTHON, Language::Python, RewriteKind::Comments);
    assert!(docs.iter().any(|form| !form.contains("Join items") && form.contains("# Nothing yet")), "{docs:?}");
}

#[test]
fn helpers_get_the_variables_that_they_need() {
    let forms = every(PYTHON, Language::Python, RewriteKind::ExtractHelper);
    let wanted = "def join_helper(count, words):\n    return count * 2 + len(words)\n\n\ndef join(";
    assert!(
        forms.iter().any(|form| form.starts_with(wanted) && form.contains("total = join_helper(count, words)")),
        "{forms:?}"
    );
    for text in [
        "def f(a):\n    if a:\n        b = 1\n    return a and b + a * 2\n",
        "def f(a):\n    return [(yield x) for x in a + b]\n",
        "def f(a):\n    return (b := a * 2 + 3) + 12345\n",
        "def f(a):\n    def g():\n        nonlocal a\n        a += 1\n    return g() + a * 12345\n",
        "class A:\n    def f(self):\n        return super().f(1) + 12345\n",
    ] {
        assert!(every(text, Language::Python, RewriteKind::ExtractHelper).is_empty(), "{text}");
    }
}

#[test]
fn the_same_seed_gives_the_same_text_on_any_thread() {
    let all = || -> Vec<Result<Rewritten, Refusal>> {
        let mut results = Vec::new();
        for (language, text) in ALL {
            for kind in RewriteKind::ALL {
                results.extend((0..4).map(|seed| rewrite(text, language, kind, Seed(seed))));
            }
        }
        results
    };
    let here = all();
    let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(all)).collect();
    for thread in threads {
        assert_eq!(thread.join().unwrap(), here);
    }
}

#[test]
fn what_is_broken_or_unknown_is_refused() {
    let of = |text, language, kind| rewrite(text, language, kind, Seed(0)).unwrap_err();
    assert_eq!(of("def f(:\n", Language::Python, RewriteKind::Rename), Refusal::DoesNotParse);
    assert_eq!(of("int f(int a) { return a; }", Language::C, RewriteKind::Rename), Refusal::UnknownLanguage);
    assert_eq!(of("x = 1\n", Language::Python, RewriteKind::Rename), Refusal::NoSite);
    assert_eq!(of("", Language::Python, RewriteKind::DeadCode), Refusal::NoSite);
    let nested = format!("def f(a):\n    return {}a{}\n", "(".repeat(5_000), ")".repeat(5_000));
    for kind in RewriteKind::ALL {
        let _ = rewrite(&nested, Language::Python, kind, Seed(0));
    }
}

/// Lines that change what a rule sees: scopes, jumps, remarks, texts.
const LINES: [&str; 16] = [
    "    # a remark",
    "    // a remark",
    "    total = 1",
    "    int other = 2;",
    "    let other = 2;",
    "    other := 2",
    "    x = [y for y in total if y]  # why",
    "    f = lambda count: count",
    "    continue",
    "    /* a */ /* b\n */",
    "    '''text\n  more'''",
    "    return total",
    "    for i in range(3): total += i",
    "    while count: count -= 1",
    "\t\ttotal += 1;",
    "    $sum = $count + 1; // so",
];

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 400, ..Default::default() })]

    #[test]
    fn whatever_the_source_the_result_parses(
        which in 0..ALL.len(),
        cuts in proptest::collection::vec((0..30_usize, 0..LINES.len(), 0..3_u8), 0..4),
        seed in 0..1000_u64,
    ) {
        let (language, text) = ALL[which];
        let mut lines: Vec<&str> = text.lines().collect();
        for (at, line, what) in cuts {
            let at = at % lines.len();
            match what {
                0 => { lines.remove(at); }
                1 => lines.insert(at, LINES[line]),
                _ => lines.swap(at, 0),
            }
            if lines.is_empty() {
                break;
            }
        }
        let text = lines.join("\n");
        for kind in RewriteKind::ALL {
            let result = rewrite(&text, language, kind, Seed(seed));
            proptest::prop_assert_ne!(&result, &Err(Refusal::Broken), "{} of\n{}", kind.name(), text);
            if let Ok(new) = result {
                let framed = frame(language).map(|(open, close)| format!("{open}{}{close}", new.text));
                let parses = |text: &str| ParsedSource::parse(text, language).is_ok();
                proptest::prop_assert!(parses(&new.text) || framed.as_deref().is_some_and(parses));
                proptest::prop_assert_ne!(new.text, text.clone());
            }
        }
    }

    #[test]
    fn edits_are_made_or_refused_and_never_overlap(
        ranges in proptest::collection::vec((0..24_usize, 0..5_usize), 0..6),
    ) {
        let text = "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz";
        let mut edits = Edits::new();
        for (start, length) in &ranges {
            edits.replace(*start..start + length, "-");
        }
        let overlap = ranges.iter().enumerate().any(|(index, (a, m))| {
            ranges[..index].iter().any(|(b, n)| {
                if *m == 0 && *n == 0 { a == b } else if *m == 0 { b < a && *a < b + n } else if *n == 0 { a < b && *b < a + m } else { *a < b + n && *b < a + m }
            })
        });
        let result = edits.apply(text);
        proptest::prop_assert_eq!(result.is_err(), overlap);
        if let Ok(new) = result {
            let removed: usize = ranges.iter().map(|(_, length)| length).sum();
            proptest::prop_assert_eq!(new.len(), text.len() - removed + ranges.len());
        }
    }
}

#[test]
fn languages_without_rules_are_refused() {
    let unknown: Vec<Language> =
        Language::ALL.into_iter().filter(|language| source::function_kinds(*language).is_empty()).collect();
    assert_eq!(unknown.len(), 9);
    for (language, kind) in unknown.into_iter().flat_map(|language| RewriteKind::ALL.map(|kind| (language, kind))) {
        assert_eq!(rewrite("x = 1 + 2", language, kind, Seed(1)), Err(Refusal::UnknownLanguage), "{language}");
    }
}
