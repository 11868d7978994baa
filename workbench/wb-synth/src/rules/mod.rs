//! Pairs by rules alone, without a language model: code and the same code written differently, documentation and code.
//!
//! [`make_pairs`] goes over snippets and is a pure function of the config, the snippets, a person's review and the seed:
//! the same on any number of threads. What is left out is counted in the [`RulesAccount`].

mod account;
mod config;
mod draw;
mod piece;
mod verify;
mod versions;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use wb_code::{Language, RewriteKind};
use wb_core::{Origin, Pair, Seed, Task, fingerprint::text_key};

pub use account::RulesAccount;
pub use config::{QuerySource, RulesConfig, Verify};
pub use verify::{Interpreter, RunVerdict, compare};

use crate::{
    Snippet,
    provenance::{Maker as MadeBy, Provenance},
    review::Reviews,
};
use piece::Piece;
pub(crate) use versions::APPLIED;
use versions::{Tried, Version, chained, near_misses};

/// A pair, and where it came from.
#[derive(Debug, Clone, PartialEq)]
pub struct RulePair {
    /// The pair.
    pub pair: Pair,
    /// Its provenance.
    pub provenance: Provenance,
}

/// The rules that made a pair.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Applied {
    /// The rules, in the order in which they were applied: `docstring`, `name`, or the names of rewrites.
    pub names: Vec<String>,
    /// Their changes, in words.
    pub notes: Vec<String>,
    /// The rule of each hard negative.
    pub negatives: Vec<String>,
    /// The number that the rules of this pair drew from, made of the run's seed and the snippet's id.
    pub drawn: u64,
    /// The result of running both sides; null where nothing was run.
    pub verdict: Option<RunVerdict>,
    /// The results of running the positive against each hard negative; empty where nothing was run.
    pub negative_verdicts: Vec<RunVerdict>,
}

/// Pairs in the order of their snippets, with the account.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RulesOutput {
    /// The pairs, with unique ids.
    pub pairs: Vec<RulePair>,
    /// The account of what was made and what was left out.
    pub account: RulesAccount,
}

/// All pairs that the rules make of some snippets, without those that a person rejected; with `pairs_per_task` so many of
/// them, drawn by the seed.
///
/// With `verify: run` this executes code from the snippets, see [`Verify::Run`].
pub fn make_pairs(config: &RulesConfig, snippets: &[Snippet], reviews: &Reviews, seed: Seed) -> RulesOutput {
    let interpreters = if config.verify == Verify::Run { Interpreter::find_all() } else { Vec::new() };
    let parts: Vec<RulesOutput> =
        snippets.par_iter().map(|snippet| Maker::new(config, snippet, &interpreters, seed).run()).collect();
    let mut output = RulesOutput::default();
    for part in parts {
        output.pairs.extend(part.pairs);
        output.account.add(part.account);
    }
    draw::draw(config, output, reviews, seed)
}

/// The maker of one snippet's pairs.
struct Maker<'m> {
    config: &'m RulesConfig,
    snippet: &'m Snippet,
    interpreters: &'m [Interpreter],
    of_run: Seed,
    seed: Seed,
    output: RulesOutput,
    tried: Tried,
}

impl<'m> Maker<'m> {
    fn new(config: &'m RulesConfig, snippet: &'m Snippet, interpreters: &'m [Interpreter], of_run: Seed) -> Self {
        // A stream of its own for every snippet, by its name: what stands before it does not matter.
        let seed = Seed(of_run.number_at(&format!("rules {}", snippet.id), 0));
        Self { config, snippet, interpreters, of_run, seed, output: RulesOutput::default(), tried: Tried::default() }
    }

    fn run(mut self) -> RulesOutput {
        self.output.account.snippets = 1;
        match Language::named(&self.snippet.language) {
            Some(language) => {
                for piece in piece::pieces(self.snippet, language) {
                    self.output.account.pieces += 1;
                    self.piece(&piece, language);
                }
            }
            None => self.output.account.refuse("snippet in a language without a grammar"),
        }
        let tried = std::mem::take(&mut self.tried);
        self.output.account.tried(tried);
        self.output
    }

    fn piece(&mut self, piece: &Piece, language: Language) {
        let chars = piece.code.chars().count();
        if chars < self.config.min_chars || chars > self.config.max_chars {
            let why = if chars < self.config.min_chars {
                "code shorter than min_chars"
            } else {
                "code longer than max_chars"
            };
            return self.output.account.refuse(why);
        }
        for task in self.config.tasks.clone() {
            match task {
                Task::Text2code => self.text2code(piece, language),
                Task::Code2text => self.code2text(piece),
                Task::Code2code => self.code2code(piece, language),
                Task::Hybrid => self.hybrid(piece, language),
            }
        }
    }

    fn text2code(&mut self, piece: &Piece, language: Language) {
        for query in self.config.queries.clone() {
            let (rule, anchor, code) = match query {
                QuerySource::Docstring if piece.prose.is_empty() => {
                    self.output.account.refuse("text2code: no documentation");
                    continue;
                }
                QuerySource::Docstring => ("docstring", piece.prose.clone(), piece.code.clone()),
                QuerySource::Name => {
                    let words = piece::words(&piece.name);
                    // One word is a topic, not a question.
                    if words.len() < 2 {
                        self.output.account.refuse("text2code: a name of one word");
                        continue;
                    }
                    // The answer must not hold the question: its words would be all that is learned.
                    ("name", words.join(" "), piece::nameless(&piece.code, &piece.name))
                }
            };
            let applied = Applied { names: vec![rule.to_owned()], ..Applied::default() };
            self.add(piece, language, Task::Text2code, (rule, 0), [anchor, code], applied);
        }
    }

    fn code2text(&mut self, piece: &Piece) {
        if piece.prose.is_empty() {
            return self.output.account.refuse("code2text: no documentation");
        }
        let applied = Applied { names: vec!["docstring".to_owned()], ..Applied::default() };
        let pair = self.pair(piece, Task::Code2text, "docstring", [piece.code.clone(), piece.prose.clone()]);
        self.push(pair, "docstring", 0, applied);
    }

    fn code2code(&mut self, piece: &Piece, language: Language) {
        let mut seen = vec![piece.code.clone()];
        for number in 0..self.config.per_snippet {
            let seed = self.seed_of("code2code", piece, number);
            let (kinds, chain) = (&self.config.rewrites, self.config.chain);
            let Some(version) = chained(&piece.code, language, kinds, chain, seed, &mut self.tried) else {
                self.output.account.refuse("code2code: no rewrite could be applied");
                continue;
            };
            if seen.contains(&version.text) {
                self.output.account.refuse("code2code: the same version again");
                continue;
            }
            seen.push(version.text.clone());
            let verdict = self.verdict(&piece.code, &version.text, language, seed);
            if verdict == Some(RunVerdict::Differs) {
                self.output.account.refuse("code2code: the versions differ when they are run");
                continue;
            }
            let applied = Applied { verdict, ..applied(&version, seed) };
            self.add(
                piece,
                language,
                Task::Code2code,
                ("rewrite", number),
                [piece.code.clone(), version.text],
                applied,
            );
        }
    }

    /// The code with a sentence about an edit, and the code after it; other edits are its negatives.
    fn hybrid(&mut self, piece: &Piece, language: Language) {
        let seed = self.seed_of("hybrid", piece, 0);
        let kinds: Vec<RewriteKind> = self.config.rewrites.iter().chain(&self.config.perturbations).copied().collect();
        let Some(version) = chained(&piece.code, language, &kinds, 1, seed, &mut self.tried) else {
            return self.output.account.refuse("hybrid: no rewrite could be applied");
        };
        let sentence = version.notes.join(", ");
        let anchor = format!("{}\n\nChange this code: {sentence}.", piece.code);
        let applied = applied(&version, seed);
        self.add(piece, language, Task::Hybrid, ("edit", 0), [anchor, version.text], applied);
    }

    /// Adds a pair whose positive is code, with its hard negatives.
    fn add(
        &mut self,
        piece: &Piece,
        language: Language,
        task: Task,
        (rule, number): (&str, usize),
        sides: [String; 2],
        mut applied: Applied,
    ) {
        let name = if task == Task::Code2code { number.to_string() } else { rule.to_owned() };
        let mut pair = self.pair(piece, task, &name, sides);
        if self.config.negatives > 0 {
            let seed = self.seed_of("negatives", piece, text_key(&pair.id)[0] as usize);
            let (kinds, count) = (&self.config.perturbations, self.config.negatives);
            for miss in near_misses(&pair.positive, language, kinds, count, seed, &mut self.tried) {
                // What is asked to be changed must not come back as its own negative.
                if miss.text == pair.anchor || miss.text == pair.positive || miss.text == piece.code {
                    continue;
                }
                let verdict = self.verdict(&pair.positive, &miss.text, language, seed);
                if verdict == Some(RunVerdict::Equal) {
                    self.output.account.refuse("negative: it gives the same when it is run");
                    continue;
                }
                applied.negative_verdicts.extend(verdict);
                applied.negatives.extend(miss.kinds.iter().map(|kind| kind.name().to_owned()));
                pair.negatives.push(miss.text.into());
            }
        }
        self.push(pair, rule, number, applied);
    }

    fn pair(&self, piece: &Piece, task: Task, rule: &str, [anchor, positive]: [String; 2]) -> Pair {
        Pair {
            id: format!("{}#{}:{}-{rule}", self.snippet.id, piece.index, task.as_str()),
            task,
            language: self.snippet.language.clone(),
            anchor,
            positive,
            origin: Origin { lines: piece.lines, ..self.snippet.origin.clone() },
            ..Pair::default()
        }
    }

    fn push(&mut self, pair: Pair, rule: &str, number: usize, mut applied: Applied) {
        let kind = pair.task.as_str();
        *self.output.account.pairs.entry(kind.to_owned()).or_default() += 1;
        if applied.drawn == 0 {
            applied.drawn = self.seed.0;
        }
        let provenance = Provenance {
            id: pair.id.clone(),
            made_by: MadeBy::Rules,
            task: format!("{kind}/{rule}"),
            item: self.snippet.id.clone(),
            sample: u32::try_from(number).unwrap_or(u32::MAX),
            language: pair.language.clone(),
            source: pair.origin.clone(),
            seed: self.of_run.0,
            rules: Some(applied),
            ..Provenance::default()
        };
        self.output.pairs.push(RulePair { pair, provenance });
    }

    fn seed_of(&self, purpose: &str, piece: &Piece, number: usize) -> Seed {
        Seed(self.seed.number_at(&format!("{purpose} {}", piece.index), number as u64))
    }

    fn verdict(&mut self, left: &str, right: &str, language: Language, seed: Seed) -> Option<RunVerdict> {
        if self.config.verify == Verify::Off {
            return None;
        }
        let verdict = compare(left, right, self.interpreters, language, seed);
        self.output.account.check(&verdict.name());
        Some(verdict)
    }
}

fn applied(version: &Version, seed: Seed) -> Applied {
    Applied {
        names: version.kinds.iter().map(|kind| kind.name().to_owned()).collect(),
        notes: version.notes.clone(),
        drawn: seed.0,
        ..Applied::default()
    }
}

#[cfg(test)]
mod tests;
