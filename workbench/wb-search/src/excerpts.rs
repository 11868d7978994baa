//! Excerpts of units: below the line that defines it, the lines of a unit that have most of the question.

use crate::{
    CodeIndex, PartedQuestion, Result,
    file_lines::run,
    index::IndexedUnit,
    words::{root, tokenizer},
};

/// The choice of a unit's lines that an answer to a question has.
pub(crate) struct Excerpts {
    /// Characters from which a unit is not shown whole; none to show all of it.
    most: Option<usize>,
    /// Roots of the question's words, with their weights.
    words: Vec<(String, f32)>,
}

impl Excerpts {
    /// Excerpts for a question to an index, of units with more than so many characters.
    pub fn new(index: &CodeIndex, asked: &PartedQuestion, most: Option<usize>) -> Result<Self> {
        let mut words: Vec<(String, f32)> = Vec::new();
        if most.is_some() {
            for (word, weight) in asked.words() {
                let rarity = index.each_posting(word, |_, _, _| {}, |_, _| {})?.unwrap_or_else(|| index.rarity(0));
                let (root, weight) = (root(word), weight * rarity);
                match words.iter_mut().find(|(known, _)| known == root) {
                    Some((_, most)) => *most = most.max(weight),
                    None => words.push((root.to_owned(), weight)),
                }
            }
        }
        Ok(Self { most, words })
    }

    /// Runs of a unit's lines, ascending: all of it where it is short, else the line that defines it and the run that has most
    /// of the question's words, each counted once by its rarity; of equal ones the first that begins with such a word, or the
    /// first. `lines` are those of its file.
    pub fn of(&self, unit: &IndexedUnit, lines: &[String]) -> Vec<[u32; 2]> {
        let [from, to] = unit.lines;
        let own = run(lines, unit.lines);
        let mut sizes: Vec<usize> = own.iter().map(|line| line.chars().count() + 1).collect();
        let Some(most) = self.most.filter(|most| sizes.iter().sum::<usize>() > *most) else { return vec![unit.lines] };
        let head = (unit.head >= from && unit.head <= to).then_some(unit.head);
        // The defining line is there in any case, and neither fills the run nor speaks for it.
        let at = head.map(|head| (head - from) as usize);
        let left = most.saturating_sub(at.map_or(0, |at| std::mem::take(&mut sizes[at])));
        let [first, end] = self.best_run(own, &sizes, at, left);
        let best = [from + first as u32, from + end as u32 - 1];
        match head {
            Some(head) if head + 1 == best[0] => vec![[head, best[1]]],
            Some(head) if head == best[1] + 1 => vec![[best[0], head]],
            Some(head) if head < best[0] => vec![[head, head], best],
            Some(head) if head > best[1] => vec![best, [head, head]],
            _ => vec![best],
        }
    }

    /// The run of lines of so many characters at most, one line at least, that has most of the question.
    fn best_run(&self, lines: &[String], sizes: &[usize], head: Option<usize>, most: usize) -> [usize; 2] {
        let mut tokens = tokenizer();
        let mut of_line = |line: &String| {
            let mut found: Vec<usize> = Vec::new();
            let is_asked = |word: &str, asked: &str| word.starts_with(asked) && root(word) == asked;
            tokens.each_word(line, |word| found.extend(self.words.iter().position(|(asked, _)| is_asked(word, asked))));
            found
        };
        let mut found: Vec<Vec<usize>> = lines.iter().map(&mut of_line).collect();
        if let Some(at) = head {
            found[at].clear();
        }
        let mut counts = vec![0_usize; self.words.len()];
        let worth = |counts: &[usize]| -> f32 {
            counts.iter().zip(&self.words).filter(|(count, _)| **count > 0).map(|(_, (_, weight))| weight).sum()
        };
        let (mut best, mut reached) = ([0, 1], f32::NEG_INFINITY);
        let (mut end, mut chars) = (0, 0);
        for start in 0..lines.len() {
            while end < lines.len() && (end == start || chars + sizes[end] <= most) {
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
