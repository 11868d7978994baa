//! The search for a permutation of columns that makes two results equal, without trying them all.

use std::{
    collections::{HashMap, HashSet},
    time::Instant,
};

use super::Equality;

/// Number of rows that are looked at, over all columns and attempts, before a search is given up: about two seconds.
pub const BUDGET: u64 = 40_000_000;
/// Cost of an attempt beside its rows, in rows.
const ATTEMPT: u64 = 16;

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

/// Compares rows in order: a column can only stand for one that is equal to it: the columns are compared as bags.
pub(super) fn equal_in_order(left: &Grid, right: &Grid) -> Equality {
    let sorted = |grid: &Grid| {
        let mut columns = grid.columns.clone();
        columns.sort_unstable();
        columns
    };
    if sorted(left) == sorted(right) { Equality::Equal } else { Equality::Different }
}

/// Compares bags of rows: columns are assigned one after the other, and what was assigned so far must agree as a bag.
///
/// A column can only stand for one that holds the same values equally often; equal columns are tried once. Each
/// assignment splits the rows into classes of equal beginnings; classes of both sides must be of equal size, and when
/// all columns are assigned, the classes are the rows. The search ends undecided at the deadline, if there is one, and
/// after [`BUDGET`] rows.
pub(super) fn equal_as_bags(left: &Grid, right: &Grid, deadline: Option<Instant>) -> Equality {
    let bag = |column: &Vec<u32>| {
        let mut values = column.clone();
        values.sort_unstable();
        values
    };
    let left_bags: Vec<Vec<u32>> = left.columns.iter().map(bag).collect();
    let right_bags: Vec<Vec<u32>> = right.columns.iter().map(bag).collect();
    // Columns by what they hold: looked up once each, however many are alike.
    let mut by_bag: HashMap<&[u32], Vec<usize>> = HashMap::new();
    for (at, bag) in right_bags.iter().enumerate() {
        by_bag.entry(bag).or_default().push(at);
    }
    let candidates: Vec<&[usize]> =
        left_bags.iter().map(|bag| by_bag.get(bag.as_slice()).map_or(&[][..], Vec::as_slice)).collect();
    let kinds = kinds_of(&right.columns);
    // Columns with few candidates and many values come first: they decide the most.
    let values: Vec<usize> = left_bags.iter().map(|bag| bag.chunk_by(|one, other| one == other).count()).collect();
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    order.sort_by_key(|&at| (candidates[at].len(), std::cmp::Reverse(values[at]), at));
    let rows = left_bags.first().map_or(0, Vec::len);
    let used = vec![false; right_bags.len()];
    let mut search = Search { left, right, candidates, kinds, order, used, budget: BUDGET, deadline };
    search.assign(0, &vec![0; rows], &vec![0; rows])
}

/// A number for each column, the same for equal ones.
fn kinds_of(columns: &[Vec<u32>]) -> Vec<usize> {
    let mut kinds: HashMap<&[u32], usize> = HashMap::new();
    let mut all = Vec::with_capacity(columns.len());
    for column in columns {
        let next = kinds.len();
        all.push(*kinds.entry(column.as_slice()).or_insert(next));
    }
    all
}

struct Search<'a> {
    left: &'a Grid,
    right: &'a Grid,
    candidates: Vec<&'a [usize]>,
    /// Class of each right column: equal ones have the same.
    kinds: Vec<usize>,
    order: Vec<usize>,
    used: Vec<bool>,
    budget: u64,
    deadline: Option<Instant>,
}

impl Search<'_> {
    /// Assigns the columns from `depth` on, given the classes of rows so far.
    fn assign(&mut self, depth: usize, left: &[u32], right: &[u32]) -> Equality {
        let Some(&column) = self.order.get(depth) else { return Equality::Equal };
        let mut tried: HashSet<usize> = HashSet::new();
        for &candidate in self.candidates[column] {
            if self.used[candidate] || !tried.insert(self.kinds[candidate]) {
                continue;
            }
            let left_over = self.budget.checked_sub(left.len() as u64 + ATTEMPT);
            let late = self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
            let (Some(budget), false) = (left_over, late) else { return Equality::Undecided };
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
        assert_eq!(equal_as_bags(&left, &right, None), Equality::Different);
        assert!(begin.elapsed() < Duration::from_secs(3), "{:?}", begin.elapsed());
        let turned = Grid { columns: left.columns.iter().rev().cloned().collect() };
        assert_eq!(equal_as_bags(&left, &turned, None), Equality::Equal);
    }

    /// Two thousand columns that are equal as bags and different in pairs, so that no row fits: without a look at the
    /// clock this takes as long as the budget lasts.
    #[test]
    fn a_search_ends_at_its_deadline() {
        let width = 2000_usize;
        let column = |at: usize, salt: usize| {
            (0..width).map(|row| u32::from((row.wrapping_mul(at + 1 + salt * width) % 4001) % 2 == 0)).collect()
        };
        let sorted = |salt: usize| -> Vec<Vec<u32>> {
            // As many ones as zeros in each.
            let balanced = |mut column: Vec<u32>| {
                let ones = column.iter().filter(|one| **one == 1).count();
                let (from, flips) = if ones > width / 2 { (1, ones - width / 2) } else { (0, width / 2 - ones) };
                column.iter_mut().filter(|one| **one == from).take(flips).for_each(|one| *one = 1 - from);
                column
            };
            (0..width).map(|at| balanced(column(at, salt))).collect()
        };
        let (left, right) = (Grid { columns: sorted(0) }, Grid { columns: sorted(1) });
        let begin = Instant::now();
        let deadline = begin + Duration::from_millis(100);
        assert_eq!(equal_as_bags(&left, &right, Some(deadline)), Equality::Undecided);
        assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
        // Equal columns are looked up once: two thousand times two thousand comparisons of them would take seconds.
        let alike = Grid { columns: vec![column(7, 0); width] };
        let begin = Instant::now();
        assert_eq!(equal_as_bags(&alike, &Grid { columns: alike.columns.clone() }, None), Equality::Equal);
        assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
    }
}
