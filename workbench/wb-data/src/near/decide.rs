//! The choice in order: a text that is near an earlier kept one is dropped.

/// Pairs of near texts.
#[derive(Debug, Default)]
pub(crate) struct Edges {
    /// The later text, then the earlier one.
    pairs: Vec<[u32; 2]>,
    is_sorted: bool,
}

impl Edges {
    /// Takes pairs that have the earlier text first.
    pub(crate) fn extend(&mut self, pairs: Vec<[u32; 2]>) {
        self.is_sorted = false;
        self.pairs.extend(pairs.into_iter().map(|[earlier, later]| [later, earlier]));
    }

    fn sorted(&mut self) -> &[[u32; 2]] {
        if !self.is_sorted {
            self.pairs.sort_unstable();
            self.pairs.dedup();
            self.is_sorted = true;
        }
        &self.pairs
    }
}

/// The first kept text that each is near, itself where it is kept or is not there.
pub(crate) fn decide(is_there: &[bool], edges: &mut Edges) -> Vec<u32> {
    let mut first: Vec<u32> = (0..is_there.len() as u32).collect();
    for near in edges.sorted().chunk_by(|[a, _], [b, _]| a == b).filter(|near| is_there[near[0][0] as usize]) {
        let is_kept = |text: u32| is_there[text as usize] && first[text as usize] == text;
        let kept = near.iter().find(|[_, earlier]| is_kept(*earlier));
        if let Some([later, earlier]) = kept {
            first[*later as usize] = *earlier;
        }
    }
    first
}
