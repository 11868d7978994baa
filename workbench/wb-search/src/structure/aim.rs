//! The aim of a question about a symbol: where it is defined, who uses it, how it works, what is like it, what changes with it.

use std::sync::OnceLock;

use regex::Regex;
use serde::{Deserialize, Serialize};

use crate::ranking::{Intent, intent};

/// Words of a question about a symbol at most; and of one whose symbol could be a word like any other.
const WORDS: [usize; 2] = [12, 8];

/// An aim of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionAim {
    /// Place that defines a symbol.
    Definition,
    /// Places that use it.
    Usage,
    /// Code that does what it is for.
    Implementation,
    /// Code that is like it.
    Similar,
    /// Code that has to change with it.
    Change,
}

/// A question that names a symbol, and its aim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AimedQuestion {
    /// The aim.
    pub aim: QuestionAim,
    /// The symbol, as it is written there.
    pub symbol: String,
}

/// Words in front of a symbol that say what it is.
const KIND: &str = r"(?:(?:the|a|an|our|this)\s+)?(?:(?:class|function|func|fn|method|struct|type|trait|interface|enum|constant|const|variable|module|macro|field|decorator|helper|api)\s+)?";
/// A symbol: in quotes, or as code writes it.
const SYMBOL: &str = r#"[`'"]?([A-Za-z_$][\w$]*(?:(?:\.|::|#|->)[A-Za-z_$][\w$]*)*)(?:\(\))?[`'"]?(?:\s+(?:class|function|method|struct|type|trait|interface|constant|variable|module|macro|decorator))?"#;

/// Forms of questions, the first that fits counts; one of the words stands in every question of the form.
const FORMS: [(QuestionAim, &[&str], &str); 20] = [
    (
        QuestionAim::Change,
        &["change", "update", "adapt", "touch"],
        r"\bwhat\b.*\b(?:change|changes|changed|update|updated|adapt|adapted|touch|touched)\b.*\b(?:if|when|with|for|after|by)\b.*?\b(?:changes?|changing|renam\w*|remov\w*|modif\w*|touch\w*|edit\w*|replac\w*|delet\w*)?\s*{S}\s*(?:changes|is\s+\w+)?\s*\??$",
    ),
    (
        QuestionAim::Change,
        &["break", "affected", "depends", "happens", "else"],
        r"\bwhat\s+(?:breaks|would\s+break|will\s+break|is\s+affected|depends\s+on|happens|else\s+changes)\b.*?\b(?:if|when|by|on)?\b.*?{S}\s*(?:changes|is\s+\w+|goes\s+away)?\s*\??$",
    ),
    (
        QuestionAim::Change,
        &["impact", "effect", "consequences", "blast"],
        r"\b(?:impact|effects?|consequences|blast\s+radius)\s+of\s+(?:a\s+change\s+(?:to|of|in)|changes\s+(?:to|of|in)|changing|renaming|removing|modifying)\s+{S}",
    ),
    (
        QuestionAim::Change,
        &["affected", "broken"],
        r"\b(?:affected|broken)\s+by\s+(?:a\s+change\s+(?:to|of|in)|changes\s+(?:to|of|in)|changing|renaming|removing|modifying)\s+{S}",
    ),
    (
        QuestionAim::Usage,
        &[
            "used",
            "called",
            "invoked",
            "referenced",
            "instantiated",
            "imported",
            "created",
            "constructed",
            "raised",
            "thrown",
            "applied",
            "consumed",
        ],
        r"\bwh(?:ere|en)\s+(?:is|are|do\s+we|does\s+\w+|do\s+they)\s+{S}\s+(?:\w+\s+)?(?:used|called|invoked|referenced|instantiated|imported|created|constructed|raised|thrown|applied|consumed)\b",
    ),
    (
        QuestionAim::Usage,
        &["where"],
        r"\bwhere\s+(?:do|does)\s+(?:we|the\s+\w+|it|they|\w+)\s+(?:use|call|invoke|reference|instantiate|import|create|construct|raise|throw)\s+{S}",
    ),
    (
        QuestionAim::Usage,
        &["call", "use", "invoke", "reference", "import", "instantiate", "depend", "rely", "relies"],
        r"\b(?:who|what|which(?:\s+\w+)?|everything\s+that|all(?:\s+\w+)?\s+that|code\s+that|functions\s+that|places\s+that|anything\s+that)\s+(?:calls?|uses?|invokes?|references?|imports?|instantiates?|depends?\s+on|rel(?:y|ies)\s+on)\s+{S}",
    ),
    (
        QuestionAim::Usage,
        &["use", "usage", "reference", "call", "invocation", "occurrence"],
        r"\b(?:callers?|users?|usages?|uses|references?|call\s*sites?|invocations?|occurrences)\s+(?:of|to)\s+{S}",
    ),
    (
        QuestionAim::Usage,
        &["usage", "use", "reference", "call"],
        r"^\s*(?:find|list|show)\s+(?:all\s+)?{S}\s+(?:usages?|uses|references|callers|call\s*sites)\b",
    ),
    (
        QuestionAim::Usage,
        &["usage", "reference", "call"],
        r"^\s*{S}\s+(?:usages?|references|callers|call\s*sites)\s*\??$",
    ),
    (
        QuestionAim::Similar,
        &["similar", "analogous", "equivalent", "comparable", "alike"],
        r"\b(?:similar|analogous|equivalent|comparable|alike)\s+(?:to|with)\s+{S}",
    ),
    (
        QuestionAim::Similar,
        &["like"],
        r"\b(?:functions?|code|classes|methods?|something|anything|others?|implementations?)\s+(?:that\s+(?:is|are|looks?|works?|behaves?)\s+)?like\s+{S}",
    ),
    (
        QuestionAim::Similar,
        &["alternative", "counterpart", "sibling"],
        r"\b(?:alternatives?|counterparts?|siblings?)\s+(?:to|of|for)\s+{S}",
    ),
    (
        QuestionAim::Definition,
        &["where"],
        r"\bwhere\s+(?:is|are|can\s+i\s+find|do\s+i\s+find|do\s+we\s+define|does\s+\w+\s+define)\s+{S}\s*(?:\w+\s+)?(?:defined|declared|located|introduced|set\s+up|written|defined\s+at)?\s*\??$",
    ),
    (
        QuestionAim::Definition,
        &["definition", "declaration", "signature", "location"],
        r"\b(?:definition|declaration|signature|location)\s+(?:of|for)\s+{S}",
    ),
    (
        QuestionAim::Definition,
        &["defines", "declares", "has", "contains", "holds"],
        r"\b(?:which|what)\s+(?:file|module|line|place)\s+(?:defines|declares|has|contains|holds)\s+{S}",
    ),
    (
        QuestionAim::Definition,
        &["go", "jump", "find", "locate", "open"],
        r"^\s*(?:go\s+to|jump\s+to|find|locate|open)\s+{S}\s*(?:definition|declaration)?\s*$",
    ),
    (
        QuestionAim::Implementation,
        &["how"],
        r"\bhow\s+(?:is|are|does|do|did)\s+{S}\s+(?:\w+\s+)?(?:implemented|work|works|done|computed|built|handled|behave|operate)\b",
    ),
    (
        QuestionAim::Implementation,
        &["implementation", "body", "code", "source", "logic", "internal"],
        r"\b(?:implementation|body|code|source|logic|internals?)\s+(?:of|for|behind|inside)\s+{S}",
    ),
    (
        QuestionAim::Implementation,
        &["what", "explain", "describe"],
        r"\b(?:what\s+does|explain(?:\s+what)?(?:\s+how)?|describe)\s+{S}(?:\s+(?:do|does|work|works))?\s*\??$",
    ),
];

/// Patterns of the forms, each made when a question first has a word of it: all of them take longer than a question does.
static PATTERNS: [OnceLock<Option<Regex>>; FORMS.len()] = [const { OnceLock::new() }; FORMS.len()];

fn pattern(form: usize) -> Option<&'static Regex> {
    let made = || Regex::new(&format!("(?i){}", FORMS[form].2.replace("{S}", &format!("{KIND}{SYMBOL}")))).ok();
    PATTERNS[form].get_or_init(made).as_ref()
}

impl AimedQuestion {
    /// The aims that a question may have by its form, with the symbols that it would name, the likeliest first. Whoever asks
    /// about a symbol is short, the more so where it could be a word like any other.
    pub fn by_form(text: &str) -> impl Iterator<Item = Self> {
        let (lower, words) = (text.to_lowercase(), text.split_whitespace().count());
        let [most, most_of_words] = WORDS;
        let forms = FORMS.iter().enumerate().filter(move |_| words <= most);
        forms.filter_map(move |(form, (aim, needed, _))| {
            let captured = needed.iter().any(|word| lower.contains(word)).then(|| pattern(form)?.captures(text))??;
            let symbol = captured.get(1)?.as_str();
            let is_code = || intent(symbol) == Intent::Symbol || text.contains(&format!("`{symbol}`"));
            (words <= most_of_words || is_code()).then(|| Self { aim: *aim, symbol: symbol.to_owned() })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_forms_are_patterns() {
        assert!((0..FORMS.len()).all(|form| pattern(form).is_some()));
    }

    fn of(text: &str, is_symbol: impl Fn(&str) -> bool) -> Option<AimedQuestion> {
        AimedQuestion::by_form(text).find(|asked| is_symbol(&asked.symbol))
    }

    #[test]
    fn aims_are_told_by_the_form_of_a_question() {
        use QuestionAim::{Change, Definition, Implementation, Similar, Usage};
        for (text, aim, symbol) in [
            ("where is Parser defined?", Definition, "Parser"),
            ("Where is the class `Parser` declared", Definition, "Parser"),
            ("definition of max_tokens", Definition, "max_tokens"),
            ("which file defines Parser.next?", Definition, "Parser.next"),
            ("go to parse_args", Definition, "parse_args"),
            ("who calls parse_args?", Usage, "parse_args"),
            ("where is parse_args() used", Usage, "parse_args"),
            ("all usages of the function parse_args", Usage, "parse_args"),
            ("which functions call Parser::next", Usage, "Parser::next"),
            ("references to Parser", Usage, "Parser"),
            ("where do we call parse_args", Usage, "parse_args"),
            ("how is parse_args implemented?", Implementation, "parse_args"),
            ("how does Parser work", Implementation, "Parser"),
            ("implementation of Parser.next", Implementation, "Parser.next"),
            ("what does parse_args do?", Implementation, "parse_args"),
            ("code similar to parse_args", Similar, "parse_args"),
            ("functions like parse_args", Similar, "parse_args"),
            ("what needs to change if I rename parse_args?", Change, "parse_args"),
            ("what breaks if parse_args is removed?", Change, "parse_args"),
            ("impact of changing Parser", Change, "Parser"),
            ("what code needs to change for Parser?", Change, "Parser"),
        ] {
            let known =
                |name: &str| matches!(name, "Parser" | "max_tokens" | "Parser.next" | "parse_args" | "Parser::next");
            let found = of(text, known);
            assert_eq!(found, Some(AimedQuestion { aim, symbol: symbol.to_owned() }), "{text}");
        }
        // Words that are names by chance.
        for text in [
            "where does the table reference segment flow through the grammar to the statement",
            "where do the workers in a pool use pipeline for their jobs",
            "channel usage for pipeline messages",
        ] {
            assert_eq!(of(text, |name| matches!(name, "segment" | "pipeline")), None, "{text}");
        }
        for text in ["how are retries counted", "parse_args", "where are settings read?", "what does it do", ""] {
            assert_eq!(of(text, |name| name == "parse_args"), None, "{text}");
        }
    }
}
