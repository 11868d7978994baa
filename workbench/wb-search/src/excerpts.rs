//! Excerpts of units: below the line that defines it, the lines of a unit that have most of the question.

use rustc_hash::FxHashMap;

use crate::{
    CodeIndex, PartedQuestion, Result,
    file_lines::run,
    index::IndexedUnit,
    issue::NamedPlace,
    words::{root, roots, short_forms, tokenizer},
};

/// The choice of a unit's lines that an answer to a question has.
pub(crate) struct Excerpts<'a> {
    index: &'a CodeIndex,
    /// Characters above which a unit is not shown whole; none to show all of it.
    most: Option<usize>,
    /// Places among the weights, of the roots of the question's words and of their short forms.
    places: FxHashMap<String, usize>,
    /// Weights of the question's words; the last is that of lines which the question names, more than all words together.
    weights: Vec<f32>,
    /// Lines of files that the question names.
    named: &'a [NamedPlace],
}

impl<'a> Excerpts<'a> {
    /// Excerpts for a question to an index, of units with more than so many characters. Of further hops' names nothing is
    /// looked for.
    pub fn new(index: &'a CodeIndex, asked: &'a PartedQuestion, most: Option<usize>) -> Result<Self> {
        let (mut places, mut weights) = (FxHashMap::default(), Vec::new());
        if most.is_some() {
            for (word, weight) in asked.words() {
                let weight = weight * index.rarity(index.n_units_with(word)?);
                let own = roots(word);
                let at = own.iter().find_map(|root| places.get(*root).copied()).unwrap_or(weights.len());
                let short = own.iter().flat_map(|of| short_forms(of)).map(root);
                own.iter().copied().chain(short).for_each(|root| _ = places.entry(root.to_owned()).or_insert(at));
                match weights.get_mut(at) {
                    Some(known) => *known = weight.max(*known),
                    None => weights.push(weight),
                }
            }
            weights.push(1.0 + weights.iter().sum::<f32>());
        }
        Ok(Self { index, most, places, weights, named: asked.places() })
    }

    /// Runs of a unit's lines, ascending: all of it where it is short, else the line that defines it and the run that has most
    /// of the question's words, each counted once by its rarity, or a line that it names; of equal ones the first that begins
    /// with such a word, or the first. `lines` are those of its file.
    pub fn of(&self, unit: &IndexedUnit, lines: &[String]) -> Vec<[u32; 2]> {
        let [from, to] = unit.lines;
        let own = run(lines, unit.lines);
        if own.len() == 1 {
            return vec![unit.lines];
        }
        let mut sizes: Vec<usize> = own.iter().map(|line| line.chars().count() + 1).collect();
        let Some(most) = self.most.filter(|most| sizes.iter().sum::<usize>() > *most) else { return vec![unit.lines] };
        let head = (unit.head >= from && unit.head <= to).then_some(unit.head);
        // The defining line is there in any case, and neither fills the run nor speaks for it.
        let at = head.map(|head| (head - from) as usize);
        let left = most.saturating_sub(at.map_or(0, |at| std::mem::take(&mut sizes[at])));
        let mut found = self.found(own);
        at.into_iter().for_each(|at| found[at].clear());
        for line in self.named_lines(unit) {
            found[(line - from) as usize].push(self.weights.len() - 1);
        }
        let [first, end] = self.best_run(&found, &sizes, left);
        let best = [from + first as u32, from + end as u32 - 1];
        match head {
            Some(head) if head + 1 == best[0] => vec![[head, best[1]]],
            Some(head) if head == best[1] + 1 => vec![[best[0], head]],
            Some(head) if head < best[0] => vec![[head, head], best],
            Some(head) if head > best[1] => vec![best, [head, head]],
            _ => vec![best],
        }
    }

    /// Lines of a unit that the question names.
    fn named_lines(&self, unit: &IndexedUnit) -> impl Iterator<Item = u32> {
        let path = &self.index.file_of(unit).path;
        let [from, to] = unit.lines;
        let in_unit = move |line: &u32| (from..=to).contains(line);
        self.named.iter().filter(|place| place.means(path)).filter_map(|place| place.line).filter(in_unit)
    }

    /// Places of the question's words that each line has.
    fn found(&self, lines: &[String]) -> Vec<Vec<usize>> {
        let mut tokens = tokenizer();
        let mut of_line = |line: &String| {
            let mut found: Vec<usize> = Vec::new();
            tokens.each_word(line, |word| found.extend(self.places.get(root(word))));
            found
        };
        lines.iter().map(&mut of_line).collect()
    }

    /// The run of lines of so many characters at most, one line at least, that has most of the question.
    fn best_run(&self, found: &[Vec<usize>], sizes: &[usize], most: usize) -> [usize; 2] {
        let mut counts = vec![0_usize; self.weights.len()];
        let worth = |counts: &[usize]| -> f32 {
            counts.iter().zip(&self.weights).filter(|(count, _)| **count > 0).map(|(_, weight)| weight).sum()
        };
        let (mut best, mut reached) = ([0, 1], f32::NEG_INFINITY);
        let (mut end, mut chars) = (0, 0);
        for start in 0..found.len() {
            while end < found.len() && (end == start || chars + sizes[end] <= most) {
                chars += sizes[end];
                found[end].iter().for_each(|word| counts[*word] += 1);
                end += 1;
            }
            let has = worth(&counts);
            let begins = |at: usize| !found[at].is_empty();
            let is_better = has > reached || has == reached && begins(start) && !begins(best[0]);
            if is_better {
                (best, reached) = ([start, end], has);
            }
            chars -= sizes[start];
            found[start].iter().for_each(|word| counts[*word] -= 1);
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::{FolderFiles, SearchQuestion, build};

    /// A function whose lines 2 to 9 are of 18 characters each, as is the first, and what is shown of it for a question.
    fn shown(question: &str, most: Option<usize>) -> Vec<[u32; 2]> {
        let mut text = "def feed(animal):\n".to_owned();
        for what in ["lions", "apple", "grass", "water", "zebra", "grass", "other", "lions"] {
            text.push_str(&format!("    eats('{what}')\n"));
        }
        let folder = TempDir::new().unwrap();
        std::fs::write(folder.path().join("a.py"), &text).unwrap();
        let (index, _) = build(FolderFiles::of(folder.path()).unwrap(), &mut |_| {}).unwrap();
        let unit = index.units().iter().find(|unit| unit.lines[1] == 9).unwrap();
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let asked = PartedQuestion::whole(SearchQuestion::new(question));
        Excerpts::new(&index, &asked, most).unwrap().of(unit, &lines)
    }

    #[test]
    fn runs_with_most_of_the_question_are_shown_below_the_defining_line() {
        // Two lines beside the one that defines it.
        assert_eq!(shown("does a zebra eat grass", Some(54)), [[1, 1], [6, 7]]);
        assert_eq!(shown("does a lion eat apples", Some(54)), [[1, 3]]);
        assert_eq!(shown("water", Some(54)), [[1, 1], [5, 6]]);
        // One line at least, however little there is room for.
        assert_eq!(shown("other", Some(1)), [[1, 1], [8, 8]]);
        // Nothing of what was asked: the first lines.
        assert_eq!(shown("giraffe", Some(54)), [[1, 3]]);
    }

    #[test]
    fn short_units_are_whole() {
        let whole = shown("zebra", None);
        assert_eq!(whole.len(), 1);
        assert_eq!(shown("zebra", Some(1000)), whole);
    }

    proptest::proptest! {
        #[test]
        fn runs_ascend_inside_of_the_unit(most in 1_usize..300, words in "[a-z ]{0,30}") {
            let [whole] = shown("", None)[..] else { panic!("one run") };
            let runs = shown(&words, Some(most));
            proptest::prop_assert!(!runs.is_empty() && runs[0][0] >= whole[0] && runs[runs.len() - 1][1] <= whole[1]);
            proptest::prop_assert!(runs.iter().all(|[from, to]| from <= to));
            proptest::prop_assert!(runs.windows(2).all(|pair| pair[0][1] + 1 < pair[1][0]));
        }
    }
}
