//! The two lines of a `Cargo.toml` that matter here, found without a TOML parser.

/// Name and licence of a package, and the licence that a workspace lends its members.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Manifest {
    pub name: Option<String>,
    pub license: Option<String>,
    pub workspace_license: Option<String>,
}

impl Manifest {
    pub(super) fn scan(text: &str) -> Self {
        let mut manifest = Self::default();
        let mut section = String::new();
        for line in text.lines().map(str::trim) {
            if line.starts_with('[') {
                section = line.trim_matches(['[', ']', ' ']).to_owned();
                continue;
            }
            let Some((key, value)) = line.split_once('=') else { continue };
            let place = match (section.as_str(), key.trim()) {
                ("package", "name") => &mut manifest.name,
                ("package", "license") => &mut manifest.license,
                ("workspace.package", "license") => &mut manifest.workspace_license,
                _ => continue,
            };
            if place.is_none() {
                *place = string(value);
            }
        }
        manifest
    }
}

fn string(value: &str) -> Option<String> {
    let value = value.trim();
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let inner = &value[1..];
    inner.find(quote).map(|end| inner[..end].trim().to_owned()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_package_section_counts() {
        let text = "[workspace.package]\nlicense = 'MIT'\n[package]\nname = \"a\" # b\nlicense=\"MIT OR Apache-2.0\"\n[dependencies]\nname = \"x\"\n";
        let manifest = Manifest::scan(text);
        assert_eq!(manifest.name.as_deref(), Some("a"));
        assert_eq!(manifest.license.as_deref(), Some("MIT OR Apache-2.0"));
        assert_eq!(manifest.workspace_license.as_deref(), Some("MIT"));
        assert_eq!(Manifest::scan("[package]\nlicense.workspace = true\nlicense = 3"), Manifest::default());
    }
}
