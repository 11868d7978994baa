//! Two light English stemmers: plurals only, and plurals with `-ing` and `-ed`.

/// Removes a plural ending in place: the S-stemmer of Harman (1991), "How effective is suffixing?".
///
/// The first rule that fits decides: `ies` becomes `y` unless `e` or `a` stands before it, `es` becomes `e` unless
/// `a`, `e` or `o` stands before it, `s` falls unless `u` or `s` stands before it. Words under four letters stay.
pub(crate) fn plural(word: &mut String) {
    let bytes = word.as_bytes();
    let n = bytes.len();
    if n < 4 || bytes[n - 1] != b's' || !word.is_ascii() {
        return;
    }
    let before = |from_end: usize| bytes[n - from_end];
    if word.ends_with("ies") && !matches!(before(4), b'e' | b'a') {
        word.truncate(n - 3);
        word.push('y');
    } else {
        let stays = if word.ends_with("es") {
            matches!(before(3), b'a' | b'e' | b'o')
        } else {
            matches!(before(2), b'u' | b's')
        };
        if !stays {
            word.truncate(n - 1);
        }
    }
}

/// [`plural`], then `-ing` and `-ed` where a vowel and two more letters are left, a doubled consonant made single and
/// a last `e` dropped, so that `parse`, `parses`, `parsed` and `parsing` meet in `pars`.
pub(crate) fn light(word: &mut String) {
    plural(word);
    if !word.is_ascii() {
        return;
    }
    let cut = ["ing", "ed"].iter().find_map(|ending| word.strip_suffix(ending)).map(str::len);
    if let Some(n) = cut
        && n >= 3
        && word.as_bytes()[..n].iter().any(|b| matches!(b, b'a' | b'e' | b'i' | b'o' | b'u' | b'y'))
    {
        word.truncate(n);
        let bytes = word.as_bytes();
        if bytes[n - 1] == bytes[n - 2] && !matches!(bytes[n - 1], b'l' | b's' | b'z' | b'e' | b'o') {
            word.truncate(n - 1);
        }
    }
    if word.len() > 3 && word.ends_with('e') {
        word.truncate(word.len() - 1);
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn plurals_fall_and_look_alikes_stay() {
        for (word, stem) in [
            ("queries", "query"),
            ("values", "value"),
            ("lists", "list"),
            ("classes", "classe"),
            ("class", "class"),
            ("status", "status"),
            ("bus", "bus"),
            ("aliases", "aliase"),
            ("shoes", "shoes"),
            ("keys", "key"),
            ("s", "s"),
        ] {
            let mut given = word.to_owned();
            super::plural(&mut given);
            assert_eq!(given, stem, "{word}");
        }
    }

    #[test]
    fn forms_of_a_verb_meet() {
        for group in
            [&["parse", "parses", "parsed", "parsing"][..], &["get", "gets", "getting"], &["load", "loaded", "loading"]]
        {
            let stems: std::collections::BTreeSet<String> = group
                .iter()
                .map(|word| {
                    let mut word = (*word).to_owned();
                    super::light(&mut word);
                    word
                })
                .collect();
            assert_eq!(stems.len(), 1, "{stems:?}");
        }
        for word in ["string", "bring", "red", "need", "ring"] {
            let mut stem = word.to_owned();
            super::light(&mut stem);
            assert_eq!(stem, word);
        }
    }
}
