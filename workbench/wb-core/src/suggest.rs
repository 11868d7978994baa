//! Did-you-mean for names that a person typed.

/// The candidate nearest to `name`, if one is within two edits (or one edit for names of three letters or fewer).
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = if name.chars().count() <= 3 { 1 } else { 2 };
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(&name.to_lowercase(), &candidate.to_lowercase()), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// A hint for an unknown name: the near one, or the whole list if it is short.
pub fn hint<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let candidates: Vec<&str> = candidates.into_iter().collect();
    if let Some(near) = nearest(name, candidates.iter().copied()) {
        return Some(format!("did you mean `{near}`?"));
    }
    match candidates.len() {
        0 => None,
        1..=24 => Some(format!("known: {}", candidates.join(", "))),
        n => Some(format!("{n} are known, for example {}", candidates[..5].join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        assert_eq!(nearest("mnlr", ["mnrl", "triplet"]), Some("mnrl"));
        assert_eq!(nearest("Temprature", ["temperature", "scale"]), Some("temperature"));
        assert_eq!(nearest("cat", ["dog", "cot"]), Some("cot"));
        assert_eq!(nearest("cat", ["dog", "cows"]), None);
        assert_eq!(hint("x", ["alpha", "beta"]).as_deref(), Some("known: alpha, beta"));
    }
}
