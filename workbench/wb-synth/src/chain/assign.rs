//! Assignment of snippets to tasks: by the seed, languages by their weights, those that were used least first.

use std::collections::{BTreeMap, HashMap, HashSet};

use rand::{Rng, RngExt};
use wb_code::CODE_LANGUAGES;
use wb_core::Seed;

use super::cut;
use crate::{
    Result, Snippet, SynthConfig,
    languages::targets,
    tasks::{ChosenTask, SnippetContent, SnippetRole, TaskCatalog, apportion},
};

/// One snippet that is worked on for one task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Position of the task in the catalog.
    pub task: usize,
    /// Position of the snippet.
    pub snippet: usize,
    /// The snippet's language; for text one of the task's, drawn by weight.
    pub language: String,
    /// The language to translate into.
    pub target: Option<&'static str>,
    /// Position of the cut in the snippet, for tasks that cut it.
    pub cut: Option<usize>,
}

/// All items in their order: by task, then by snippet id.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Assigned {
    /// The items.
    pub items: Vec<Item>,
    /// Snippets that no task can take, by reason.
    pub unfit: BTreeMap<String, u64>,
    /// Tasks that no snippet suits.
    pub idle_tasks: Vec<String>,
}

/// Gives snippets to tasks.
///
/// Each kind gets its share of the items, each of its tasks an equal part. For a task, snippets are drawn without
/// replacement with the weight of their language divided by its snippets (P. Efraimidis, P. Spirakis, "Weighted random
/// sampling with a reservoir", 2006: the greatest ln(u) / w), those used least by other tasks first.
pub fn assign(config: &SynthConfig, catalog: &TaskCatalog, snippets: &[Snippet], seed: Seed) -> Result<Assigned> {
    let mut assigned = Assigned::default();
    let mut ids = HashSet::with_capacity(snippets.len());
    for snippet in snippets {
        if !ids.insert(&snippet.id) {
            let place = format!("snippet {}", snippet.id);
            return Err(wb_core::Error::data(place, "the id stands there twice, expected unique ids"));
        }
    }
    let mut fit = Vec::with_capacity(snippets.len());
    for (at, snippet) in snippets.iter().enumerate() {
        match unfit(config, snippet) {
            None => fit.push(at),
            Some(reason) => *assigned.unfit.entry(reason).or_default() += 1,
        }
    }
    let wanted = config.items.unwrap_or(fit.len());
    let mut uses = vec![0_u32; snippets.len()];
    for (kind, count) in catalog.items_by_kind(&config.tasks, wanted) {
        let tasks: Vec<usize> = (0..catalog.tasks.len()).filter(|at| catalog.tasks[*at].kind == kind).collect();
        let suited: Vec<Vec<Item>> =
            tasks.iter().map(|at| suited(config, catalog, *at, snippets, &fit, seed)).collect();
        let weights: Vec<f64> = suited.iter().map(|items| if items.is_empty() { 0.0 } else { 1.0 }).collect();
        for ((task, mut items), share) in tasks.iter().zip(suited).zip(apportion(&weights, count)) {
            if items.is_empty() {
                assigned.idle_tasks.push(catalog.tasks[*task].name());
            }
            // In the order of the draw already, and this sort keeps it among equals.
            items.sort_by_key(|item| uses[item.snippet]);
            items.truncate(share);
            for item in &items {
                uses[item.snippet] += 1;
            }
            assigned.items.extend(items);
        }
    }
    let id = |item: &Item| &snippets[item.snippet].id;
    assigned.items.sort_by(|a, b| a.task.cmp(&b.task).then_with(|| id(a).cmp(id(b))));
    Ok(assigned)
}

/// The reason why no task can take a snippet.
fn unfit(config: &SynthConfig, snippet: &Snippet) -> Option<String> {
    let chars = snippet.text.trim().chars().count();
    let [least, most] = config.snippet_chars;
    if chars < least {
        return Some(format!("fewer than {least} characters"));
    }
    if chars > most {
        return Some(format!("more than {most} characters"));
    }
    let known = snippet.language.is_empty() || config.languages.contains_key(&snippet.language);
    (!known).then(|| "a language that is not in `synth.languages`".to_owned())
}

/// The items that a task could have, in the order in which they are drawn.
fn suited(
    config: &SynthConfig,
    catalog: &TaskCatalog,
    task: usize,
    snippets: &[Snippet],
    fit: &[usize],
    seed: Seed,
) -> Vec<Item> {
    let chosen = &catalog.tasks[task];
    let name = chosen.name();
    let own: Vec<usize> = fit.iter().copied().filter(|snippet| takes(chosen, &snippets[*snippet])).collect();
    let mut of_language: HashMap<&str, f64> = HashMap::new();
    for snippet in &own {
        *of_language.entry(&snippets[*snippet].language).or_default() += 1.0;
    }
    let mut drawn: Vec<(f64, Item)> = Vec::with_capacity(own.len());
    for snippet in own {
        let Snippet { id, language, text, .. } = &snippets[snippet];
        let mut rng = seed.stream(&format!("synth assign {name} {id}"));
        let weight = config.languages.get(language).copied().unwrap_or(1.0) / of_language[language.as_str()];
        let key = (1.0 - rng.random::<f64>()).ln() / weight;
        let cut = match chosen.task.snippet {
            SnippetRole::Part => match cut(text, config.split, &mut rng) {
                Some(cut) => Some(cut),
                None => continue,
            },
            _ => None,
        };
        let language = if language.is_empty() { drawn_language(config, chosen, &mut rng) } else { language.clone() };
        let target = match (chosen.task.translate, targets(&language)) {
            (false, _) => None,
            (true, targets) if targets.is_empty() => continue,
            (true, targets) => Some(targets[rng.random_range(0..targets.len())]),
        };
        drawn.push((key, Item { task, snippet, language, target, cut }));
    }
    let id = |item: &Item| &snippets[item.snippet].id;
    drawn.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| id(&a.1).cmp(id(&b.1))));
    drawn.into_iter().map(|(_, item)| item).collect()
}

fn takes(chosen: &ChosenTask, snippet: &Snippet) -> bool {
    let task = &chosen.task;
    match task.source {
        SnippetContent::Text => snippet.language.is_empty(),
        SnippetContent::Code => {
            !snippet.language.is_empty() && (task.languages.is_empty() || task.languages.contains(&snippet.language))
        }
    }
}

/// A language for a task that starts from text, by weight among the task's.
fn drawn_language(config: &SynthConfig, chosen: &ChosenTask, rng: &mut impl Rng) -> String {
    let allowed = |name: &str| chosen.task.languages.is_empty() || chosen.task.languages.iter().any(|own| own == name);
    let known: Vec<(&str, f64)> = CODE_LANGUAGES
        .iter()
        .filter(|language| allowed(language.name))
        .filter_map(|language| Some((language.name, *config.languages.get(language.name)?)))
        .collect();
    let total: f64 = known.iter().map(|(_, weight)| weight).sum();
    let mut at = rng.random::<f64>() * total;
    for (name, weight) in &known {
        at -= weight;
        if at < 0.0 {
            return (*name).to_owned();
        }
    }
    known.last().map_or_else(String::new, |(name, _)| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snippets(languages: &[(&str, usize)]) -> Vec<Snippet> {
        let one = |language: &str, at: usize| Snippet {
            id: format!("{language}-{at}"),
            language: language.to_owned(),
            text: format!("let a_{at} = f({at}, {at});\n").repeat(12),
            ..Snippet::default()
        };
        languages.iter().flat_map(|(language, count)| (0..*count).map(move |at| one(language, at))).collect()
    }

    #[test]
    fn items_are_shared_out_by_kind_task_and_language() {
        let catalog = TaskCatalog::load(&[]).unwrap();
        let config = SynthConfig { items: Some(400), ..SynthConfig::default() };
        let snippets = snippets(&[("python", 900), ("haskell", 100), ("kotlin", 7)]);
        let assigned = assign(&config, &catalog, &snippets, Seed(1)).unwrap();
        assert_eq!(assigned, assign(&config, &catalog, &snippets, Seed(1)).unwrap());
        assert_ne!(assigned.items, assign(&config, &catalog, &snippets, Seed(2)).unwrap().items);
        let mut kinds = BTreeMap::new();
        for item in &assigned.items {
            *kinds.entry(catalog.tasks[item.task].kind).or_insert(0) += 1;
        }
        assert_eq!(kinds.values().copied().collect::<Vec<_>>(), [100, 100, 100, 100]);
        assert_eq!(assigned.unfit["a language that is not in `synth.languages`"], 7);
        // No snippet is used twice while there are enough.
        let used: HashSet<usize> = assigned.items.iter().map(|item| item.snippet).collect();
        assert_eq!(used.len(), 400);
        // A fifth by weight (750 of 3,750), less as its hundred snippets are used up: about 65. Nobody speaks SQL here.
        let haskell = assigned.items.iter().filter(|item| item.language == "haskell").count();
        assert!((45..=85).contains(&haskell), "{haskell}");
        assert!(assigned.idle_tasks.iter().any(|name| name.contains("sql")), "{:?}", assigned.idle_tasks);
    }

    #[test]
    fn tasks_that_cut_and_translate_have_what_they_need() {
        let catalog = TaskCatalog::load(&[]).unwrap();
        let snippets = snippets(&[("python", 200), ("haskell", 50)]);
        let assigned = assign(&SynthConfig::default(), &catalog, &snippets, Seed(1)).unwrap();
        let (mut cuts, mut translations) = (0, 0);
        for item in &assigned.items {
            let task = &catalog.tasks[item.task].task;
            assert_eq!(item.cut.is_some(), task.snippet == SnippetRole::Part);
            assert_eq!(item.target.is_some(), task.translate);
            assert!(item.target.is_none_or(|target| targets(&item.language).contains(&target)));
            cuts += usize::from(item.cut.is_some());
            translations += usize::from(item.target.is_some());
        }
        assert!(cuts > 0 && translations > 0);
    }
}
