//! Functions, classes and their comments in each language, one row each.

use super::*;

const BOTH: &[ChunkKind] = &[ChunkKind::Function, ChunkKind::Class];

/// Kind, name, lines and comment of every chunk.
fn outline(language: Language, source: &str) -> Vec<String> {
    let short = |chunk: Chunk| {
        let kind = if chunk.kind == ChunkKind::Function { "f" } else { "c" };
        format!("{kind} {} {}-{} {}", chunk.name, chunk.lines[0], chunk.lines[1], chunk.comment).trim_end().to_owned()
    };
    chunks(source, language, BOTH).unwrap().into_iter().map(short).collect()
}

#[test]
fn every_language_gives_functions_and_classes() {
    for (language, source, expected) in [
        (
            Language::Rust,
            "//! file\n\n/// A point.\n#[derive(Clone)]\nstruct P { x: i32 }\n\nimpl P {\n    // Adds.\n    #[inline]\n    fn add(&self) -> i32 { self.x }\n}\n",
            &["c P 4-5 A point.", "c P 7-11", "f add 9-10 Adds."][..],
        ),
        (
            Language::Python,
            "# above\n@wraps(f)\ndef a():\n    \"\"\"Doc.\"\"\"\n    def inner(): pass\n    return inner\n\nclass B(A):\n    def m(self):\n        return 1\n",
            &["f a 2-6 above", "c B 8-10", "f m 9-10"],
        ),
        (
            Language::Java,
            "/** A list. */\npublic class L {\n  /* no */ int x;\n  int size() { return x; }\n}\ninterface I { int f(); }\n",
            &["c L 2-5 A list.", "f size 4-4", "c I 6-6"],
        ),
        (
            Language::JavaScript,
            "// Greets.\nexport function hi(a) { return a }\nexport class C { m() { return 1 } }\n",
            &["f hi 2-2 Greets.", "c C 3-3", "f m 3-3"],
        ),
        (Language::TypeScript, "interface P { x: number }\nenum E { A }\n", &["c P 1-1", "c E 2-2"]),
        (
            Language::Go,
            "package a\n\n// T is.\ntype T struct { x int }\n\n// F does.\nfunc (t T) F() int { return t.x }\n",
            &["c T 4-4 T is.", "f F 7-7 F does."],
        ),
        (
            Language::Ruby,
            "module M\n  # Says.\n  class C\n    def hi\n      1\n    end\n  end\nend\n",
            &["c M 1-8", "c C 3-7 Says.", "f hi 4-6"],
        ),
        (Language::Php, "<?php\nclass A { function f() { return 1; } }\n", &["c A 2-2", "f f 2-2"]),
        (
            Language::C,
            "/* A pair. */\ntypedef struct { int a, b; } pair;\nstruct forward;\nint f(void) { return 0; }\n",
            &["c pair 2-2 A pair.", "f f 4-4"],
        ),
        (Language::Cpp, "template <class T>\nclass Box { T t; int n() { return 1; } };\n", &["c Box 1-2", "f n 2-2"]),
    ] {
        assert_eq!(outline(language, source), expected, "{language}");
    }
}

#[test]
fn text_stands_at_its_own_margin_and_only_what_is_asked_for_comes() {
    let source = "class A:\n    def m(self):\n        return 1\n\n    def broken(self:\n";
    let found =
        chunks("class A:\n    def m(self):\n        return 1\n", Language::Python, &[ChunkKind::Function]).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].text, "def m(self):\n    return 1");
    assert!(chunks(source, Language::Python, BOTH).unwrap().iter().all(|chunk| !chunk.text.contains("broken")));
    assert_eq!(chunks("", Language::Python, BOTH).unwrap(), []);
}

#[test]
fn hostile_sources_end() {
    let deep = format!("{}{}", "(".repeat(20_000), ")".repeat(20_000));
    for language in Language::ALL {
        for source in [deep.as_str(), "\u{0}\u{fffd}{{{{", "class class class def def fn fn"] {
            let _ = chunks(source, language, BOTH);
            let _ = strip_comments(source, language);
        }
    }
}

#[test]
fn comments_go_and_code_stays() {
    for (language, source, expected) in [
        (
            Language::Python,
            "# head\ndef f(a):  # why\n    \"\"\"Doc.\"\"\"\n    # more\n    return '# no'\n\ndef g():\n    \"\"\"Alone.\"\"\"\n",
            "def f(a):\n    return '# no'\n\ndef g():\n    \"\"\"Alone.\"\"\"\n",
        ),
        (Language::Rust, "/// d\nfn f() {\n    let a/* x */= 1; // y\n}\n", "fn f() {\n    let a = 1;\n}\n"),
        (Language::C, "int/**/f(void) { return 0; } /* a\nb */\n", "int f(void) { return 0; }\n"),
        (Language::Java, "int f() { // a\n  return 1; // b\n}", "int f() {\n  return 1;\n}"),
        (Language::Go, "// F\nfunc F() { a() /* b */ }", "func F() { a()  }"),
        (Language::Ruby, "# a\nputs \"#{x} # no\" # b\n", "puts \"#{x} # no\"\n"),
    ] {
        assert_eq!(strip_comments(source, language).unwrap(), expected, "{language}");
    }
}
