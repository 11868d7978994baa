//! The search for a permutation of columns that makes two results equal, without trying them all.

use std::collections::HashMap;

use super::Equality;

/// How many rows are looked at, over all columns and attempts, before a search is given up: about two seconds.
pub const BUDGET: u64 = 40_000_000;

/// A result turned by a quarter: columns of numbers that stand for values.
pub(super) struct Grid {
    columns: Vec<Vec<u32>>,
}

impl Grid {
    /// Columns of cells that stand row by row.
    pub fn new(cells: &[u32], width: usize) -> Grid {
        let column = |at| cells.iter().skip(at).step_by(width.max(1)).copied().collect();
        Grid { columns: (0..width).map(column).collect() }
    }
}

/// In order, a column can only stand for one that is equal to it: the columns are compared as bags.
pub(super) fn equal_in_order(left: &Grid, right: &Grid) -> Equality {
    let sorted = |grid: &Grid| {
        let mut columns = grid.columns.clone();
        columns.sort_unstable();
        columns
    };
    if sorted(left) == sorted(right) { Equality::Equal } else { Equality::Different }
}

/// As bags of rows: columns are assigned one after the other, and what was assigned so far must agree as a bag.
///
/// A column can only stand for one that holds the same values equally often; equal columns are tried once. Each
/// assignment splits the rows into classes of equal beginnings; classes of both sides must be of equal size, and when
/// all columns are assigned, the classes are the rows.
pub(super) fn equal_as_bags(left: &Grid, right: &Grid) -> Equality {
    let bag = |column: &Vec<u32>| {
        let mut values = column.clone();
        values.sort_unstable();
        values
    };
    let left_bags: Vec<Vec<u32>> = left.columns.iter().map(bag).collect();
    let right_bags: Vec<Vec<u32>> = right.columns.iter().map(bag).collect();
    let candidates: Vec<Vec<usize>> =
        left_bags.iter().map(|one| (0..right_bags.len()).filter(|&at| right_bags[at] == *one).collect()).collect();
    // Columns with few candidates and many values come first: they decide the most.
    let values = |at: usize| left_bags[at].chunk_by(|one, other| one == other).count();
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    order.sort_by_key(|&at| (candidates[at].len(), std::cmp::Reverse(values(at)), at));
    let rows = left_bags.first().map_or(0, Vec::len);
    let mut search = Search { left, right, candidates, order, used: vec![false; right_bags.len()], budget: BUDGET };
    search.assign(0, &vec![0; rows], &vec![0; rows])
}

struct Search<'a> {
    left: &'a Grid,
    right: &'a Grid,
    candidates: Vec<Vec<usize>>,
    order: Vec<usize>,
    used: Vec<bool>,
    budget: u64,
}

impl Search<'_> {
    /// Assigns the columns from `depth` on, given the classes of rows so far.
    fn assign(&mut self, depth: usize, left: &[u32], right: &[u32]) -> Equality {
        let Some(&column) = self.order.get(depth) else { return Equality::Equal };
        let mut tried: Vec<usize> = Vec::new();
        for at in 0..self.candidates[column].len() {
            let candidate = self.candidates[column][at];
            let same = |other: &usize| self.right.columns[*other] == self.right.columns[candidate];
            if self.used[candidate] || tried.iter().any(same) {
                continue;
            }
            tried.push(candidate);
            let Some(budget) = self.budget.checked_sub(left.len() as u64) else { return Equality::Undecided };
            self.budget = budget;
            let (of_left, of_right) = (&self.left.columns[column], &self.right.columns[candidate]);
            if let Some((new_left, new_right)) = refine(left, right, of_left, of_right) {
                self.used[candidate] = true;
                match self.assign(depth + 1, &new_left, &new_right) {
                    Equality::Different => self.used[candidate] = false,
                    decided => return decided,
                }
            }
        }
        Equality::Different
    }
}

/// Splits both sides' classes by a column's values; `None` where the new classes are not of equal size.
fn refine(left: &[u32], right: &[u32], of_left: &[u32], of_right: &[u32]) -> Option<(Vec<u32>, Vec<u32>)> {
    let mut classes: HashMap<(u32, u32), u32> = HashMap::new();
    let mut sizes: Vec<u32> = Vec::new();
    let mut new_left = Vec::with_capacity(left.len());
    for key in left.iter().copied().zip(of_left.iter().copied()) {
        let next = u32::try_from(sizes.len()).ok()?;
        let class = *classes.entry(key).or_insert(next);
        if class == next {
            sizes.push(0);
        }
        sizes[class as usize] += 1;
        new_left.push(class);
    }
    let mut new_right = Vec::with_capacity(right.len());
    for key in right.iter().copied().zip(of_right.iter().copied()) {
        let class = *classes.get(&key)?;
        sizes[class as usize] = sizes[class as usize].checked_sub(1)?;
        new_right.push(class);
    }
    Some((new_left, new_right))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    /// Twelve columns that are all alike as bags: 12! permutations, and every one of them is wrong.
    #[test]
    fn alike_columns_do_not_explode() {
        let rows = 64_u32;
        let width = 12_usize;
        let cell = |row: u32, column: usize, salt: u32| {
            (row.wrapping_mul(2_654_435_761) ^ (salt + column as u32).wrapping_mul(40_503)).count_ones() % 2
        };
        let cells = |salt| -> Vec<u32> {
            (0..rows).flat_map(|row| (0..width).map(move |column| cell(row, column, salt))).collect()
        };
        let (left, mut right) = (Grid::new(&cells(1), width), Grid::new(&cells(1), width));
        // The rows of one column are turned, which keeps its values and breaks the rows.
        right.columns[5].rotate_left(7);
        let begin = Instant::now();
        assert_eq!(equal_as_bags(&left, &right), Equality::Different);
        assert!(begin.elapsed() < Duration::from_secs(3), "{:?}", begin.elapsed());
        let turned = Grid { columns: left.columns.iter().rev().cloned().collect() };
        assert_eq!(equal_as_bags(&left, &turned), Equality::Equal);
    }
}
