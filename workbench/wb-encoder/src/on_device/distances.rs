//! Numbers that depend on how far a key stands after its query.

use burn::tensor::{Int, Tensor};

use super::traffic::Link;

/// A number for each distance in a text of so many tokens, as a ring: 0, 1, 2, ... and then the negative ones, the
/// nearest at the end.
fn ring<T>(tokens: usize, number: impl Fn(isize) -> T) -> Vec<T> {
    let all = 2 * tokens;
    (0..all).map(|at| number(if at < tokens { at as isize } else { at as isize - all as isize })).collect()
}

/// A whole number for each distance, `[1, 2 · tokens]`.
pub(super) fn ints(tokens: usize, number: impl Fn(isize) -> i32, link: &Link) -> Tensor<2, Int> {
    link.ints(ring(tokens, number), [1, 2 * tokens])
}

/// A number for each distance, `[1, 2 · tokens]`.
pub(super) fn floats(tokens: usize, number: impl Fn(isize) -> f32, link: &Link) -> Tensor<2> {
    link.floats(ring(tokens, number), [1, 2 * tokens])
}

/// The number of each query and key, `[heads, queries, keys]`, of those of the distances, `[heads, 2 · tokens]`.
///
/// Nothing is looked up one by one, neither here nor for the gradient, which is a sum over queries: the ring, written so
/// often and cut into rows that are one shorter, begins one number earlier in each row.
pub(super) fn between(numbers: Tensor<2>) -> Tensor<3> {
    let [heads, ring] = numbers.dims();
    let tokens = ring / 2;
    let all = numbers.reshape([heads, 1, ring]).expand([heads, tokens, ring]).reshape([heads, tokens * ring]);
    let rows = all.slice([0..heads, 0..tokens * (ring - 1)]).reshape([heads, tokens, ring - 1]);
    rows.slice([0..heads, 0..tokens, 0..tokens])
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;

    #[test]
    fn each_query_and_key_has_the_number_of_its_distance() {
        let link = Link::new(&Device::flex(), "flex");
        for tokens in [1, 2, 16, 33] {
            let found = between(floats(tokens, |distance| distance as f32, &link)).try_into_vec_as::<f32>().unwrap();
            let expected = (0..tokens).flat_map(|query| (0..tokens).map(move |key| key as f32 - query as f32));
            assert_eq!(found, expected.collect::<Vec<_>>());
        }
    }

    #[test]
    fn gradients_are_sums_over_queries() {
        let link = Link::new(&Device::flex(), "flex");
        let numbers = floats(3, |distance| distance as f32, &link).autodiff().require_grad();
        let weights = link.floats((0..9).map(|at| 10f32.powi(at)).collect(), [1, 3, 3]).autodiff();
        let gradients = (between(numbers.clone()) * weights).sum().backward();
        // Places 0 to 8 have the distances 0, 1, 2, -1, 0, 1, -2, -1, 0; the ring is 0, 1, 2, -3, -2, -1.
        let found = numbers.grad(&gradients).unwrap().try_into_vec_as::<f32>().unwrap();
        assert_eq!(found, [100_010_001.0, 100_010.0, 100.0, 0.0, 1_000_000.0, 10_001_000.0]);
    }
}
