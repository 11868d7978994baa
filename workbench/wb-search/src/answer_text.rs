//! An answer as text for a person: places, the lines there that answer best, and in them the words that were asked for.

use std::collections::HashSet;

use wb_core::{
    painted::{Ink, Painted},
    untrusted::clean,
};
use wb_retrieval::code_tokens::CodeTokenizer;

use crate::{
    SearchAnswer,
    answer::{AnswerRequest, AnsweredUnit, Extent, GAP},
    patterns::{LinePattern, MatchedLine},
    units::cells::is_mark,
    words::{root, says_nothing, tokenizer},
};

/// Lines that a person is shown of each unit.
const SHOWN: usize = 5;

impl SearchAnswer {
    /// The answer: a line for each unit, and the first of its lines.
    pub fn text(&self, explain: bool) -> String {
        self.painted(explain, None).plain()
    }

    /// The answer as [`SearchAnswer::text`] has it, with the parts that have colors; of a request its words and what matches
    /// its pattern, too.
    pub fn painted(&self, explain: bool, request: Option<&AnswerRequest>) -> Painted {
        let mut asked = AskedFor::of(request);
        let mut told = Painted::default();
        for answered in &self.answers {
            let AnsweredUnit { found, extent, shown, matched, text, .. } = answered;
            let [from, to] = found.lines;
            told.put(Ink::Path, clean(&found.path)).put(Ink::Plain, ":").put(Ink::Number, format!("{from}-{to}"));
            if !found.names.is_empty() {
                told.put(Ink::Plain, "  ").put(Ink::Name, found.names.join(", "));
            }
            told.put(Ink::Plain, "\n");
            if explain {
                told.put(Ink::Faint, self.explained(answered));
            }
            if *extent == Extent::Stale {
                let why = "    (has changed since it was indexed; `wb search --fresh` reads it again)\n";
                told.put(Ink::Faint, why);
            }
            let is_shown = |(number, line): &(u64, &str)| match matched.is_empty() {
                true if *extent == Extent::Whole && !in_run(shown, *number) => false,
                true => !line.trim().is_empty() && !is_mark(line) && *line != GAP,
                false => matched.contains(number),
            };
            for (_, line) in (u64::from(from)..).zip(text.lines()).filter(is_shown).take(SHOWN) {
                told.put(Ink::Plain, "    ");
                asked.paint(line, &mut told);
                told.put(Ink::Plain, "\n");
            }
            told.put(Ink::Plain, "\n");
        }
        for MatchedLine { path, line, text, .. } in &self.lines {
            told.put(Ink::Path, clean(path)).put(Ink::Plain, ":").put(Ink::Number, line.to_string());
            told.put(Ink::Plain, ":");
            asked.paint(text, &mut told);
            told.put(Ink::Plain, "\n");
        }
        if let Some(why) = &self.empty {
            told.put(Ink::Plain, format!("nothing found: {why}\n"));
        }
        told.without_empty_end()
    }

    /// A line that says of what a unit's score is made.
    fn explained(&self, AnsweredUnit { found, .. }: &AnsweredUnit) -> String {
        let s = &found.signals;
        let mut told = format!(
            "    score {:.3}: words {:.2}, path {:.2}, file name {:.2}, defines {:.2}, rest of the file {:.2}, ",
            found.score, s.words, s.path, s.stem, s.definition, s.coherence
        );
        told += &format!("central {:.2}, recent {:.2}, ", s.central, s.recent);
        if self.encoder.is_some() {
            told += &format!("meaning {:.2}, of the file {:.2}, ", s.meaning, s.theme);
        }
        if let Some(read) = s.read {
            told += &format!("read {read:.2}, ");
        }
        told += &format!("role {:.2}", s.role);
        if s.context != 1.0 {
            told += &format!(", context {:.2}", s.context);
        }
        told + "\n"
    }
}

/// Parts of lines that were asked for.
struct AskedFor<'a> {
    pattern: Option<&'a LinePattern>,
    /// Roots of the question's words.
    roots: HashSet<String>,
    tokens: CodeTokenizer,
}

impl<'a> AskedFor<'a> {
    fn of(request: Option<&'a AnswerRequest>) -> Self {
        let words = request.iter().flat_map(|request| request.parted.words()).map(|(word, _)| word);
        let roots = words.filter(|word| !says_nothing(word)).map(|word| root(word).to_owned()).collect();
        Self { pattern: request.and_then(|request| request.pattern.as_ref()), roots, tokens: tokenizer() }
    }

    /// Adds a line: what matches the pattern, where there is one, else identifiers that have a word of the question.
    fn paint(&mut self, line: &str, told: &mut Painted) {
        let matches = self.pattern.map(|pattern| pattern.matches(line)).unwrap_or_default();
        if matches.is_empty() && self.roots.is_empty() {
            told.put(Ink::Plain, line);
        } else if matches.is_empty() {
            let is_word = |c: char| c.is_alphanumeric() || c == '_';
            for part in line.split_inclusive(|c| !is_word(c)) {
                let word = part.trim_end_matches(|c| !is_word(c));
                let mut has_word = false;
                self.tokens.each_word(word, |word| has_word |= self.roots.contains(root(word)));
                told.put(if has_word { Ink::Found } else { Ink::Plain }, word).put(Ink::Plain, &part[word.len()..]);
            }
        } else {
            let mut done = 0;
            for found in matches {
                told.put(Ink::Plain, &line[done..found.start]).put(Ink::Found, &line[found.clone()]);
                done = found.end;
            }
            told.put(Ink::Plain, &line[done..]);
        }
    }
}

/// True for a line of some runs, or of no runs.
fn in_run(runs: &[[u32; 2]], number: u64) -> bool {
    runs.is_empty() || runs.iter().any(|[from, to]| (u64::from(*from)..=u64::from(*to)).contains(&number))
}
