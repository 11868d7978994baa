//! Numbers of bytes for people.

/// `812 B`, `14 kB`, `90.9 MB`, `3.1 GB`: decimal units, as disks and networks are sold.
pub fn bytes(count: u64) -> String {
    let number = count as f64;
    match count {
        0..1_000 => format!("{count} B"),
        1_000..1_000_000 => format!("{:.0} kB", number / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", number / 1e6),
        _ => format!("{:.1} GB", number / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_fit_the_number() {
        for (count, expected) in
            [(0, "0 B"), (999, "999 B"), (1_000, "1 kB"), (90_868_376, "90.9 MB"), (3_087_467_144, "3.1 GB")]
        {
            assert_eq!(bytes(count), expected);
        }
    }
}
