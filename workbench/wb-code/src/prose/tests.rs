//! Doc comments and the prose that is left of them, by language.

use super::{MAX_ANCHOR_CHARS, anchor_prose};
use crate::Language;

fn check(language: Language, rows: &[(&str, &str)]) {
    for (doc, expected) in rows {
        assert_eq!(anchor_prose(doc, language, MAX_ANCHOR_CHARS), *expected, "{language}: {doc}");
    }
}

#[test]
fn markdown() {
    check(
        Language::Rust,
        &[
            ("Adds one.", "Adds one."),
            ("Adds\none.\n\nThen   two.", "Adds one. Then two."),
            ("A [link](https://a.b/c_(d)) here.", "A link here."),
            ("A [text][ref] and [`Vec::push`] and [Option].\n\n[ref]: https://x.y", "A text and Vec::push and Option."),
            ("See [the docs] now.\n\n[the docs]: https://x.y", "See the docs now."),
            ("See [the `Iterator`\ndocs] now.\n[the `Iterator` docs]: x", "See the Iterator docs now."),
            ("The range [0, 1] stays, [struct@Foo] and [`fn@bar`] too.", "The range [0, 1] stays, Foo and bar too."),
            ("Takes `Vec<b>` and ``a ` b``.", "Takes Vec<b> and a ` b."),
            ("Before.\n```rust\nlet x = 1;\n# hidden\n```\nAfter.", "Before. After."),
            ("Before.\n~~~\ncode\n~~~", "Before."),
            ("Never closed.\n```\ncode", "Never closed."),
            ("Indented:\n\n    let x = 1;\n    x\n\nEnd.", "Indented: End."),
            ("- one\n- two\n\n    more of two", "one two more of two"),
            ("Text.\n\n# Panics\n\nNever.", "Text."),
            ("# Title\n\nText.\n\n# Examples\nx", "Text."),
            ("# Safety\n\nBe careful.", ""),
            ("Head\n====\n\nText.", "Text."),
            ("| a | b |\n|---|---|\n| 1 | 2 |\nText.", "Text."),
            ("**Bold** and *slanted*, 2 * 3 * 4, `*const T`.", "Bold and slanted, 2 * 3 * 4, *const T."),
            ("![badge](https://a.b/c.svg) Text <br> more<!-- no -->.", "Text more."),
            ("Sorts. See <https://a.b/c>.", "Sorts."),
            ("Sorts (see https://a.b/c). See also: https://d.e/f", "Sorts."),
            ("Sorts as https://d.e/f does.", "Sorts as does."),
            ("A &lt; B &amp; C, Vec<T>, 1 < 2 > 0", "A < B & C, Vec<T>, 1 < 2 > 0"),
            ("Escaped \\[x\\] and \\*.", "Escaped [x] and *."),
            ("> A quote.", "A quote."),
            ("Footnote[^1].\n\n[^1]: Not here.", "Footnote."),
            ("---", ""),
            ("", ""),
        ],
    );
}

#[test]
fn go_comments() {
    check(
        Language::Go,
        &[
            ("Parse parses.\n\n\tx := Parse()\n\nIt never fails.", "Parse parses. It never fails."),
            ("F is [pkg.Name].\n\n# Details\n\nMore.", "F is pkg.Name."),
            ("F does:\n  - this\n  - that", "F does: this that"),
        ],
    );
}

#[test]
fn javadoc_and_relatives() {
    check(
        Language::Java,
        &[
            ("Gets it.\n\n@return it\n@throws X if\n  not", "Gets it."),
            ("{@inheritDoc}", ""),
            ("Calls {@link Foo#bar(int, int) the bar} and {@link #baz}.", "Calls the bar and baz."),
            ("A {@code List<String>} of <i>things</i>.<p>More&nbsp;text.", "A List<String> of things. More text."),
            ("Uses:\n<pre>\n x = 1;\n</pre>\nDone.", "Uses: Done."),
            ("<ul>\n<li>one\n<li>two\n</ul>", "one two"),
            ("Write to a@b.c.", "Write to a@b.c."),
            ("Text.\n* @param x one", "Text."),
            ("Text.\n\nExample:\n$a = 1;", "Text."),
        ],
    );
    check(
        Language::JavaScript,
        &[
            ("Get it.\n\n@example\n\nget();\n\n@description Later text.", "Get it. Later text."),
            ("@param {x} y\n@return {z}", ""),
            ("See [label]{@link Foo}.", "See label."),
        ],
    );
}

#[test]
fn doxygen() {
    check(
        Language::Cpp,
        &[
            ("@brief Short one.\n\nLong one.\n@param x y\n  goes on\n\nLast.", "Short one. Long one. Last."),
            ("Uses \\p x and @c y of \\ref z.", "Uses x and y of z."),
            ("Text.\n@code\nx();\n\ny();\n@endcode\nEnd.", "Text. End."),
            ("\\param x only", ""),
        ],
    );
}

#[test]
fn ruby_comments() {
    check(
        Language::Ruby,
        &[
            ("Adds +one+ to <tt>two</tt>.\n\n  add(1)\n\n@param x [Integer] one", "Adds one to two."),
            ("= Title\n\nText with {a label}[https://x.y].", "Text with a label."),
            ("See {Foo::Bar#baz the baz} or {Foo}.", "See the baz or Foo."),
            ("Public: Adds.\n\nx - The Integer.\n\nReturns nothing.", "Adds."),
            (":nodoc:", ""),
        ],
    );
}

#[test]
fn docstrings() {
    check(
        Language::Python,
        &[
            ("Add.\n\nArgs:\n    x: one", "Add."),
            ("Add.\n\nParameters\n----------\nx : int", "Add."),
            ("Add.\n\n:param x: one\n:return: two", "Add."),
            ("Add.\n@param x: one", "Add."),
            ("Add.\n\n>>> add(1)\n2", "Add."),
            ("Add :func:`~a.b.c` and :py:class:`D`.", "Add a.b.c and D."),
            (
                "See `the\nsite <https://x.y>`_ and [1]_ or x[1], m[string]int.",
                "See the site and or x[1], m[string]int.",
            ),
            ("Like this::\n\n    x = 1\n\nEnd.", "Like this: End."),
            ("Add.\n\n.. note::\n    Not here.\n\nEnd.", "Add. End."),
            ("Takes **kwargs and *args.", "Takes **kwargs and *args."),
            ("Returns: the sum", ""),
            ("Return the sum of x[i] and y.", "Return the sum of x[i] and y."),
            ("Example usage follows.", "Example usage follows."),
        ],
    );
}

#[test]
fn long_prose_is_cut_at_a_sentence_or_a_word() {
    let cut = |doc: &str, max| anchor_prose(doc, Language::Rust, max);
    assert_eq!(cut("One two. Three four five.", 20), "One two. Three four");
    assert_eq!(cut("One two three. Four five six.", 20), "One two three.");
    assert_eq!(cut("One two three (e.g. four) five.", 21), "One two three (e.g.");
    assert_eq!(cut("Exactly twenty chars", 20), "Exactly twenty chars");
    assert_eq!(cut("Exactly twenty chars more", 20), "Exactly twenty chars");
    assert_eq!(cut(&"x".repeat(30), 20), "x".repeat(20));
    assert_eq!(cut(&"é".repeat(30), 20), "é".repeat(20));
}
