//! One folder of pairs: whoever made them, one list with one provenance, one account, one card and one page for a person.

use wb_core::{Pair, PairSet, Seed};
use wb_llm::EngineInfo;

use crate::{
    Result, SynthConfig, Synthesis, SynthesisAccount,
    annotate::{AnnotatedSnippets, AnnotationPairs},
    card,
    provenance::Provenance,
    review::{self, Reviewed, Reviews},
    rules::{RulesConfig, RulesOutput},
    snippets::SnippetsCard,
};

/// Everything that was made, by who made it; what took no part is nothing.
#[derive(Clone, Copy, Default)]
pub struct MadePairs<'a> {
    /// Pairs that a language model wrote.
    pub chain: Option<(&'a SynthConfig, &'a Synthesis)>,
    /// Annotations of the snippets by a language model, with the pairs of them, which may be none.
    pub annotated: Option<(&'a AnnotatedSnippets, &'a AnnotationPairs)>,
    /// Pairs of the rules.
    pub rules: Option<(&'a RulesConfig, &'a RulesOutput)>,
}

/// The ground that all of it stands on.
#[derive(Clone, Copy)]
pub struct Ground<'a> {
    /// The account of the sources.
    pub snippets: &'a SnippetsCard,
    /// The language model, where one was asked.
    pub info: Option<&'a EngineInfo>,
    /// A person's word.
    pub reviews: &'a Reviews,
    /// The run's seed.
    pub seed: Seed,
}

/// One folder's pairs with all that is told of them.
#[derive(Debug, Clone)]
pub struct Dataset {
    /// The pairs: of the model, of annotations, of rules, each in its fixed order.
    pub pairs: PairSet,
    /// Provenance of each pair, in the same order.
    pub provenance: Vec<Provenance>,
    /// The costs of all of it.
    pub account: SynthesisAccount,
    /// The decisions of a person about pairs and candidates.
    pub reviewed: Reviewed,
    /// Lines of the review that fit no pair of this run.
    pub unknown_reviews: u64,
    /// The data card as Markdown.
    pub card: String,
    /// The page on which a person accepts and rejects.
    pub review_html: String,
}

/// Puts together what was made.
pub fn gather(made: MadePairs, ground: Ground) -> Result<Dataset> {
    let mut pairs: Vec<Pair> = Vec::new();
    let (mut provenance, mut account, mut reviewed) = (Vec::new(), SynthesisAccount::default(), Reviewed::default());
    if let Some((_, synthesis)) = made.chain {
        pairs.extend_from_slice(synthesis.pairs.pairs());
        provenance.extend_from_slice(&synthesis.provenance);
        account.join(synthesis.account.clone());
        reviewed.add(synthesis.counts.reviewed);
    }
    if let Some((annotated, queries)) = made.annotated {
        pairs.extend_from_slice(&queries.pairs);
        provenance.extend_from_slice(&queries.provenance);
        account.join(annotated.account.clone());
        reviewed.add(queries.reviewed);
    }
    if let Some((_, output)) = made.rules {
        for one in &output.pairs {
            pairs.push(one.pair.clone());
            provenance.push(one.provenance.clone());
        }
        reviewed.add(output.account.reviewed);
    }
    for from in &provenance {
        *account.pairs.entry(from.made_by.name().to_owned()).or_default() += 1;
    }
    let pairs = PairSet::new(pairs)?;
    let unknown_reviews = (ground.reviews.len() as u64).saturating_sub(reviewed.accepted + reviewed.rejected);
    let (card, review_html) = (String::new(), String::new());
    let mut dataset = Dataset { pairs, provenance, account, reviewed, unknown_reviews, card, review_html };
    dataset.card = card::render(&card::Facts { made, ground, dataset: &dataset });
    let catalog = made.chain.map(|(_, synthesis)| &synthesis.catalog);
    dataset.review_html =
        review::page(dataset.pairs.pairs(), &dataset.provenance, catalog, ground.reviews, ground.seed)?;
    Ok(dataset)
}
