//! Whatever the source: no panic, and what comes out lies inside of it.

use proptest::prelude::*;
use wb_code::{Language, anchor_prose, documented_functions, items, strip_comments};

const SOURCES: [(Language, &str); 19] = [
    (
        Language::Rust,
        "mod a {\n    /// One [`x`] *b* <p>.\n    #[doc = \"two\"]\n    fn f() { /** in */ fn g() {} }\n}\n",
    ),
    (
        Language::Python,
        "@d\ndef f(x):\n    \"\"\"One :class:`x`.\n\n    Args:\n        x: y\n    \"\"\"\n    return 'x'\n",
    ),
    (Language::Java, "class A {\n  /** One {@code x} <pre>y</pre>. @param x */\n  @A void f() { }\n}\n"),
    (Language::JavaScript, "/** One [x](y).\n * @x */\nexport const f = () => { return 1; };\n"),
    (Language::TypeScript, "class A { /** One. */ @d() f<T>(x: T): void { } }\n"),
    (Language::Go, "package a\n\n// F is one.\n//\tcode\n//go:noinline\nfunc F() int { return 1 }\n"),
    (Language::Ruby, "class A\n  # One +x+ {A#b}.\n  #   code\n  private def f(x)\n    x\n  end\nend\n"),
    (
        Language::Php,
        "<?php\nclass A {\n  /**\n   * One.\n   * @return x\n   */\n  public function f() { return 1; }\n}\n",
    ),
    (Language::C, "/// One \\p x.\n/// \\code\nint *f(int (*g)(void)) { return 0; } ///< x\n"),
    (Language::Cpp, "/** @brief One. */\ntemplate <class T> T A<T>::f() try { return 1; } catch (...) { }\n"),
    (
        Language::CSharp,
        "class A {\n  /// <summary>One <see cref=\"T:x{y}\"/> &lt;p.</summary>\n  /// <code>z</code>\n  [A] int F() => 1;\n  /** Two. */ int P { get { return 1; } }\n}\n",
    ),
    (
        Language::Kotlin,
        "class A {\n  /** One [x]. @param y */\n  @A fun f() { }\n  /** Two. */\n  val x: Int\n    get() = 1\n}\n",
    ),
    (
        Language::Scala,
        "object A:\n  /** One '''x''' [[y z]] {{{w}}}.\n    * @param v */\n  def f(v: Int): Int =\n    v\n  // two\n  def g = 1\n",
    ),
    (
        Language::Swift,
        "struct A {\n  /// One ``x``.\n  /// - Parameter y: z\n  @A func f() -> Int { 1 }\n  /** Two. */ var p: Int { 1 }\n}\n",
    ),
    (
        Language::Lua,
        "--- One.\n-- @param x\nfunction M.f(x) return x end\n--[==[ Two. ]==]\nlocal g = function() end\n",
    ),
    (Language::Shell, "#!/bin/sh\n# One.\n# Globals:\n#   X\nf() {\n  cat <<E\n# x\nE\n}\n"),
    (
        Language::Haskell,
        "module A where\n-- | One 'x' @y@ /z/.\n-- >>> f 1\nf, g :: Int -- ^ w\nf = 1\ng | f = 1\n  where h _ = 2\n{-| Two. -}\nx <> y = x\n",
    ),
    (
        Language::Elixir,
        "defmodule A do\n  @doc \"\"\"\n  One `x`.\n  \"\"\"\n  @spec f(x) :: x\n  def f(0), do: 0\n  def f(x) when x do\n    x\n  end\n  @doc ~S|Two.|\n  def a <> b, do: a\nend\n",
    ),
    (
        Language::Zig,
        "/// One [x](y).\npub const A = struct {\n    /// Two.\n    fn f(a: u8) !u8 { return a; }\n};\ntest \"z\" {}\n",
    ),
];

/// Bits that begin or end something in one of the languages.
const BITS: [&str; 56] = [
    "/**",
    "*/",
    "///",
    "//!",
    "/*",
    "//",
    "#",
    "\"\"\"",
    "'''",
    "\"",
    "'",
    "`",
    "```",
    "[",
    "]",
    "](",
    "(",
    ")",
    "{",
    "}",
    "{@",
    "<",
    ">",
    "<pre>",
    "\\",
    "@",
    "\n",
    "\r\n",
    "\t",
    "    ",
    "def ",
    "fn ",
    "end",
    "=begin",
    "=end",
    ";",
    "é",
    "\u{1f600}",
    "\u{a0}",
    "\0",
    "--[[",
    "]]",
    "--",
    "{-",
    "-}",
    "{{{",
    "}}}",
    "[[",
    "<see cref=\"",
    "/>",
    "</",
    "- Note: ",
    "@doc ",
    "~S",
    "''",
    "::",
];

fn survives(source: &str, language: Language) {
    let lines = source.matches('\n').count() as u32 + 1;
    for function in documented_functions(source, language) {
        assert!(function.lines[0] >= 1 && function.lines[0] <= function.lines[1] && function.lines[1] <= lines);
        assert!(!function.code.trim().is_empty(), "{language}: empty code in {source:?}");
        let prose = anchor_prose(&function.doc, language, 40);
        assert!(prose.chars().count() <= 40 && !prose.contains('\n'), "{prose}");
    }
    for item in items(source, language).unwrap_or_default() {
        assert!(
            item.lines[0] >= 1 && item.lines[0] <= item.lines[1] && item.lines[1] <= lines,
            "{language}: {source:?}"
        );
        assert!((item.lines[0]..=item.lines[1]).contains(&item.code_line), "{language}: {item:?} in {source:?}");
    }
    let _ = strip_comments(source, language);
}

#[test]
fn letters_of_every_plane_behind_every_bit() {
    for language in Language::ALL {
        for plane in 0..=0x10 {
            let letter = char::from_u32(plane << 16 | 0xfffd).expect("each plane has it");
            for bit in BITS {
                survives(&format!("{bit}{letter}"), language);
                survives(&format!("{bit}1..{letter}"), language);
            }
        }
    }
}

fn boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn mutated_sources_do_not_panic(
        which in 0..SOURCES.len(),
        edits in prop::collection::vec((0_usize..300, 0_usize..6, 0..BITS.len()), 1..8),
    ) {
        let (language, source) = SOURCES[which];
        let mut text = source.to_owned();
        for (at, length, bit) in edits {
            let start = boundary(&text, at % (text.len() + 1));
            let end = boundary(&text, start + length).max(start);
            text.replace_range(start..end, BITS[bit]);
        }
        survives(&text, language);
    }

    #[test]
    fn any_text_in_any_language(text in "\\PC{0,120}", which in 0..Language::ALL.len()) {
        survives(&text, Language::ALL[which]);
    }

    #[test]
    fn prose_of_random_markup(bits in prop::collection::vec(0..BITS.len(), 0..30), which in 0..Language::ALL.len(), max in 20_usize..60) {
        let doc: String = bits.iter().flat_map(|bit| [BITS[*bit], "ab "]).collect();
        let prose = anchor_prose(&doc, Language::ALL[which], max);
        prop_assert!(prose.chars().count() <= max);
        prop_assert_eq!(prose.trim(), &prose);
    }
}

#[test]
fn deep_nesting_and_endless_openings() {
    for (language, doc, open) in [
        (Language::Rust, "/// Doc.\nfn f() ", "{"),
        (Language::JavaScript, "/** Doc. */\nfunction f() ", "{["),
        (Language::C, "/** Doc. */\nint f() ", "{("),
        (Language::Python, "def f():\n  \"\"\"Doc.\"\"\"\n  ", "("),
        (Language::Ruby, "# Doc.\ndef f\n", "[{"),
        (Language::CSharp, "/// Doc.\nint F() ", "{("),
        (Language::Kotlin, "/** Doc. */\nfun f() ", "{("),
        (Language::Scala, "/** Doc. */\ndef f = ", "{("),
        (Language::Swift, "/// Doc.\nfunc f() ", "{("),
        (Language::Lua, "-- Doc.\nfunction f() ", "({"),
        (Language::Shell, "# Doc.\nf() ", "{ $("),
        (Language::Haskell, "-- | Doc.\nf = ", "(["),
        (Language::Elixir, "@doc \"Doc.\"\ndef f do ", "[("),
        (Language::Zig, "/// Doc.\nfn f() void ", "{("),
    ] {
        survives(&format!("{doc}{}", open.repeat(20_000)), language);
    }
    for bit in BITS {
        for language in Language::ALL {
            anchor_prose(&bit.repeat(3_000), language, 600);
        }
    }
}
