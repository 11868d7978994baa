//! Pages as they come, and pages that are made to do harm.

use super::{
    super::{
        page::BlockKind,
        tests::{get, texts},
    },
    *,
};

fn outline(html: &str) -> Vec<String> {
    let cleaned = clean(html, &HtmlSnippets::default().drop_classes, 0.6);
    let kind = |kind: &BlockKind| match kind {
        BlockKind::Heading(level) => format!("h{level}"),
        BlockKind::Prose => "p".into(),
        BlockKind::Code(name) => format!("code {name}").trim_end().to_owned(),
    };
    let title = Some(format!("title: {}", cleaned.page.title)).filter(|_| !cleaned.page.title.is_empty());
    let blocks = cleaned.page.blocks.iter();
    title.into_iter().chain(blocks.map(|block| format!("{}: {}", kind(&block.kind), block.text))).collect()
}

#[test]
fn scripts_styles_and_navigation_go_and_text_stays() {
    let html = "<!doctype html><html><head><title>Sort &amp; map</title><style>p{}</style>\
        <script>if (a < b) document.write('<p>no</p>')</script></head><body>\
        <header><a href=/>Site</a></header><nav><ul><li>Home<li>Docs</ul></nav>\
        <div class='x sidebar'>Related</div><div id=toc>Contents</div><div hidden>h</div><p aria-hidden=true>no</p>\
        <h1>Sort<a class=headerlink href=#s>#</a></h1>\
        <p>Use <code>sort</code> on a&nbsp;list,\n  it is <b>stable</b>.<p>Second.\
        <pre><code class='language-python'>xs = [1]\n\n<span class=k>for</span> x in xs:\n    print(x &lt; 2)\n</code></pre>\
        <ul><li>one<li><p>two</p></li><li></li></ul>\
        <table><tr><th>a<th>b<tr><td>1<td>2</table>line<br>break\
        <form><button>Go</button></form><footer>(c)</footer><!-- no --></body></html>";
    let expected = [
        "title: Sort & map",
        "h1: Sort",
        "p: Use sort on a list, it is stable.",
        "p: Second.",
        "code python: xs = [1]\n\nfor x in xs:\n    print(x < 2)",
        "p: - one\n- two",
        "p: a | b\n1 | 2",
        "p: line\nbreak",
    ];
    assert_eq!(outline(html), expected);
}

#[test]
fn paragraphs_of_links_and_what_stands_beside_the_main_part() {
    let links = "<p><a href=1>one two three</a> and <a href=2>four five six</a></p><p>See <a href=3>this</a> for how lists are sorted.</p>";
    assert_eq!(outline(links), ["p: See this for how lists are sorted."]);
    let long = "word ".repeat(50);
    let page = format!("<p>teaser</p><main><h1>M</h1><p>{long}</p></main><p>after</p>");
    assert_eq!(outline(&page), ["h1: M".to_owned(), format!("p: {}", long.trim())]);
    assert_eq!(outline("<p>before</p><div role=main><p>short</p></div>"), ["p: before", "p: short"]);
}

#[test]
fn languages_of_code_are_found_where_pages_put_them() {
    for (html, expected) in [
        ("<div class='highlight-python3 notranslate'><div class=highlight><pre>x</pre></div></div>", "code python3: x"),
        ("<pre class='lang-js prettyprint'><code>x</code></pre>", "code js: x"),
        ("<pre class='sourceCode haskell'><code>x</code></pre>", "code haskell: x"),
        ("<pre class='brush: java;'>x</pre>", "code java: x"),
        ("<pre>x</pre>", "code: x"),
        ("<table><tr><td class=linenos><pre>1\n2</pre></td><td><pre>x</pre></td></tr></table>", "code: x"),
    ] {
        assert_eq!(outline(html), [expected], "{html}");
    }
}

#[test]
fn markup_without_ends_and_ends_without_beginnings() {
    assert_eq!(outline("</div></p></nav>a<b>c</div>d"), ["p: acd"]);
    assert_eq!(outline("<nav>no<div>no</nav>yes"), ["p: yes"]);
    assert_eq!(outline("<b>x<p>y</b>z</p>"), ["p: x", "p: yz"]);
    assert_eq!(outline("<script>never ends <p>no</p>"), [""; 0]);
    assert_eq!(outline("a < b && c > d &notit; &#x1F600;"), ["p: a < b && c > d ¬it; 😀"]);
    assert_eq!(outline("<title>first</title><svg><title>no</title></svg><p>x"), ["title: first", "p: x"]);
    assert_eq!(outline(""), [""; 0]);
}

#[test]
fn bombs_take_time_in_proportion() {
    for bomb in [
        "<div>".repeat(400_000),
        "<p><b>".repeat(300_000),
        format!("{}{}", "<a>".repeat(300_000), "</div>".repeat(200_000)),
        format!("<x {}>", "a=b ".repeat(300_000)),
        format!("<{}>", "a".repeat(2_000_000)),
        "<!--".repeat(400_000),
        "&amp".repeat(400_000),
        "<table><tr><td>".repeat(100_000),
        "\u{0}<\u{0}>".repeat(300_000),
        "<pre>".repeat(300_000),
        "<ul><li>x".repeat(200_000),
    ] {
        let started = std::time::Instant::now();
        let _ = outline(&bomb);
        assert!(started.elapsed().as_secs() < 20, "{} took {:?}", &bomb[..8], started.elapsed());
    }
    // Text below the deepest element that is kept is still read, a script there is not.
    let deep = format!("{}<script>no</script><p>yes</p>", "<div>".repeat(2000));
    assert_eq!(outline(&deep), ["p: yes"]);
}

#[test]
fn a_page_is_cut_with_its_title_and_headings_as_context() {
    let here = tempfile::tempdir().unwrap();
    let words = |from: usize, to: usize| (from..to).map(|at| format!("w{at}")).collect::<Vec<_>>().join(" ");
    let html =
        format!("<title>T</title>\n<h1>H</h1>\n<p>{}</p>\n<h2>I</h2>\n<p>{}</p>\n", words(0, 600), words(600, 700));
    std::fs::write(here.path().join("a.html"), html).unwrap();
    let set = get(here.path(), "sources: [{ html: { path: HERE } }]").unwrap();
    let pieces: Vec<(&str, &str, usize)> =
        texts(&set).into_iter().map(|(id, text, context)| (id, context, text.split_whitespace().count())).collect();
    // `# H` and 510 words; 50 of them again with 90 more, `## I` (three tokens) and 100 words.
    assert_eq!(pieces, [("html:a.html#L2-L3", "T", 512), ("html:a.html#L3-L5", "T > H", 50 + 90 + 2 + 100)]);
    assert_eq!(set.snippets[0].origin.lines, [2, 3]);
    assert!(set.snippets[1].text.starts_with("w460 "), "{}", &set.snippets[1].text[..20]);
}
