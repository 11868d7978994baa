//! PageRank over weighted edges, with a restart at nodes that are chosen.
//!
//! Page, Brin, Motwani, Winograd, 1999, "The PageRank citation ranking", computed as networkx' `pagerank` computes it (power
//! iteration; nodes without edges give their rank to where it restarts).

/// Share of the rank that follows edges.
const FOLLOWED: f64 = 0.85;
/// Change of a rank, per node, below which the iteration ends.
const TOLERANCE: f64 = 1e-6;
/// Iterations at most.
const ROUNDS: usize = 100;

/// An edge: from, to, weight.
pub(super) type WeightedEdge = (u32, u32, f64);

/// Ranks of nodes, of sum 1; `restart` has a weight for each of them, and all are equal where it is zero.
pub(super) fn page_rank(restart: &[f64], edges: &[WeightedEdge]) -> Vec<f64> {
    let n = restart.len();
    let total: f64 = restart.iter().sum();
    let restart: Vec<f64> =
        restart.iter().map(|weight| if total > 0.0 { weight / total } else { 1.0 / n as f64 }).collect();
    let leaving = leaving(n, edges);
    let mut rank = vec![1.0 / n as f64; n];
    for _ in 0..ROUNDS {
        let stuck: f64 = (0..n).filter(|node| leaving[*node] == 0.0).map(|node| rank[node]).sum();
        let mut next: Vec<f64> = restart.iter().map(|one| (1.0 - FOLLOWED + FOLLOWED * stuck) * one).collect();
        for (from, to, weight) in edges {
            let from = *from as usize;
            next[*to as usize] += FOLLOWED * rank[from] * weight / leaving[from];
        }
        let change: f64 = rank.iter().zip(&next).map(|(before, after)| (before - after).abs()).sum();
        rank = next;
        if change < n as f64 * TOLERANCE {
            break;
        }
    }
    rank
}

/// Sum of the weights of each node's edges.
pub(super) fn leaving(n: usize, edges: &[WeightedEdge]) -> Vec<f64> {
    let mut leaving = vec![0.0; n];
    edges.iter().for_each(|(from, _, weight)| leaving[*from as usize] += weight);
    leaving
}

#[cfg(test)]
mod tests {
    use super::page_rank;

    /// `networkx.pagerank(G, weight="weight", personalization=...)` of networkx 3.6.1.
    #[test]
    fn ranks_are_those_of_networkx() {
        let edges = [(0, 1, 2.0), (0, 2, 1.0), (1, 2, 1.0), (2, 0, 0.5), (3, 2, 4.0), (3, 3, 1.0), (1, 4, 3.0)];
        for (restart, expected) in [(vec![0.0; 5], EVEN), (vec![0.0, 0.0, 0.0, 1.0, 3.0], CHOSEN)] {
            for (rank, expected) in page_rank(&restart, &edges).iter().zip(expected) {
                assert!((rank - expected).abs() < 1e-9, "{rank} {expected}");
            }
        }
        assert_eq!(page_rank(&[], &[]), Vec::<f64>::new());
    }

    const EVEN: [f64; 5] =
        [0.266918408721778, 0.2155414164181219, 0.23838762151892023, 0.07745584220080151, 0.2016967111403784];
    const CHOSEN: [f64; 5] =
        [0.1414378262044108, 0.08014789761781951, 0.1663971923614609, 0.16072271246932607, 0.45129437134698286];
}
