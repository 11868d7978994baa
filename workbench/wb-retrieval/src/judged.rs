//! Places of one query's relevant documents among equal and unequal scores: all that a metric looks at.

/// Places of one query's relevant documents in its ranking, with the grades of all that are relevant.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct JudgedRanking {
    /// Groups with a relevant document, best first.
    pub(crate) groups: Vec<Group>,
    /// Grades of all relevant documents, found or not, descending.
    pub(crate) grades: Vec<f64>,
}

/// Documents of one score, of which at least one is relevant.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Group {
    /// Documents with greater scores.
    pub(crate) before: usize,
    /// Documents with this score.
    pub(crate) size: usize,
    /// Grades of the relevant ones, descending.
    pub(crate) grades: Vec<f64>,
}

impl JudgedRanking {
    /// Takes a ranking whose order is settled: the grade of each hit, best first (0 where it is not relevant), and the
    /// grades of all documents judged for the query.
    pub fn in_order(hits: impl IntoIterator<Item = f64>, judged: impl IntoIterator<Item = f64>) -> Self {
        let group = |(before, grade)| (grade > 0.0).then(|| Group { before, size: 1, grades: vec![grade] });
        Self { groups: hits.into_iter().enumerate().filter_map(group).collect(), grades: descending(judged) }
    }

    /// Takes the scores of a whole pool: `judged` are positions in it with their grades. A score that is not a number
    /// counts as negative infinity.
    pub fn by_score(scores: &[f32], judged: &[(usize, f64)]) -> Self {
        let score = |position: usize| if scores[position].is_nan() { f32::NEG_INFINITY } else { scores[position] };
        let mut relevant: Vec<(f32, f64)> = judged
            .iter()
            .filter(|(_, grade)| *grade > 0.0)
            .map(|(position, grade)| (score(*position), *grade))
            .collect();
        relevant.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1)));
        let mut groups: Vec<(f32, Group)> = Vec::new();
        for (score, grade) in relevant {
            match groups.last_mut() {
                Some((of, group)) if *of == score => group.grades.push(grade),
                _ => groups.push((score, Group { before: 0, size: 0, grades: vec![grade] })),
            }
        }
        for (score, group) in &mut groups {
            let (greater, equal) = count(scores, *score);
            (group.before, group.size) = (greater, equal);
        }
        for (_, group) in &mut groups {
            group.grades.sort_by(|a, b| b.total_cmp(a));
        }
        Self {
            groups: groups.into_iter().map(|(_, group)| group).collect(),
            grades: descending(judged.iter().map(|j| j.1)),
        }
    }

    /// Adds grades of judged documents that are not in the pool; they count as not found.
    #[must_use]
    pub fn with_missing(mut self, grades: impl IntoIterator<Item = f64>) -> Self {
        self.grades = descending(self.grades.into_iter().chain(grades));
        self
    }

    /// Rank and grade of each relevant document with equal scores in the best order, or in the worst.
    pub(crate) fn places(&self, best: bool) -> Vec<(usize, f64)> {
        let mut places = Vec::with_capacity(self.groups.len());
        for group in &self.groups {
            if best {
                places.extend((group.before + 1..).zip(group.grades.iter().copied()));
            } else {
                let first = group.before + group.size - group.grades.len() + 1;
                places.extend((first..).zip(group.grades.iter().rev().copied()));
            }
        }
        places
    }
}

/// Numbers of scores that are greater, and that are equal.
pub(crate) fn count(scores: &[f32], than: f32) -> (usize, usize) {
    let mut counts = [0usize; 2];
    for &score in scores {
        counts[0] += usize::from(score > than);
        counts[1] += usize::from(score == than);
    }
    if than == f32::NEG_INFINITY {
        counts[1] += scores.iter().filter(|score| score.is_nan()).count();
    }
    (counts[0], counts[1])
}

fn descending(grades: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut grades: Vec<f64> = grades.into_iter().filter(|grade| *grade > 0.0).collect();
    grades.sort_by(|a, b| b.total_cmp(a));
    grades
}
