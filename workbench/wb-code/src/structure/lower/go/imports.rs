//! Imports: names of packages, which an import need not say.

use tree_sitter::Node;

use super::{ANY, Lowering, PACKAGE, field};
use crate::structure::{
    builder::{NewBinding, children},
    file::{BindingKind, ImportValue},
};

impl Lowering<'_, '_> {
    pub(super) fn import(&mut self, node: Node<'_>) {
        for child in children(node) {
            match child.kind() {
                "import_spec" => self.import_spec(child),
                "import_spec_list" => self.import(child),
                _ => {}
            }
        }
    }

    fn import_spec(&mut self, node: Node<'_>) {
        let Some(path) = field(node, "path") else { return };
        let module = self.builder.text(path).trim_matches(['"', '`']).to_owned();
        let alias = field(node, "name");
        let own = alias.map(|alias| self.builder.text(alias));
        let names = match own {
            Some("." | "_") => Vec::new(),
            Some(own) => vec![own.to_owned()],
            None => package_names(&module),
        };
        let new = NewBinding::new(BindingKind::Import).alias().in_space(ANY);
        let place = alias.unwrap_or(path);
        let name = names.first().map_or("", |name| name.as_str());
        let binding = self.builder.loose(name, place, new);
        let value = self.builder.value(ImportValue::value(module.clone(), module, Some(binding)));
        self.builder.binding_mut(binding).value = Some(value);
        match names.as_slice() {
            [name] => self.builder.export(self.file, name, binding),
            [] if own == Some(".") => self.builder.include(self.file, value),
            _ => self.guesses.push((binding, names)),
        }
    }

    /// Binds packages by each name that they may have and that is not taken.
    pub(super) fn export_guesses(&mut self) {
        for (binding, names) in std::mem::take(&mut self.guesses) {
            for name in names {
                let taken = |scope| self.builder.structure.scope(scope).names.iter().any(|(taken, _)| *taken == name);
                if !taken(self.file) && !taken(PACKAGE) {
                    self.builder.export(self.file, &name, binding);
                }
            }
        }
    }
}

/// Names that a package may have whose path is imported, likeliest first: the last part of the path that is no version.
///
/// `gopkg.in/yaml.v3` is `yaml`, `github.com/mattn/go-isatty` is `isatty`; nothing but its own files says so.
fn package_names(path: &str) -> Vec<String> {
    let is_version = |part: &str| {
        part.strip_prefix('v').is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let mut parts = path.rsplit('/').filter(|part| !part.is_empty());
    let last = match (parts.next(), parts.next()) {
        (Some(last), Some(before)) if is_version(last) => before,
        (last, _) => last.unwrap_or_default(),
    };
    let last = last.rsplit_once('.').filter(|(_, end)| is_version(end)).map_or(last, |(start, _)| start);
    let is_name = |c: char| c == '_' || c.is_alphanumeric();
    let mut names: Vec<String> = Vec::new();
    let pieces = last.split(|c| !is_name(c)).filter(|piece| !matches!(*piece, "" | "go"));
    let whole: String = last.chars().filter(|c| is_name(*c)).collect();
    for name in std::iter::once(whole).chain(pieces.map(str::to_owned)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::package_names;

    #[test]
    fn a_package_is_named_by_the_last_part_of_its_path_that_is_no_version() {
        assert_eq!(package_names("net/http"), ["http"]);
        assert_eq!(package_names("github.com/caddyserver/caddy/v2"), ["caddy"]);
        assert_eq!(package_names("gopkg.in/yaml.v3"), ["yaml"]);
        assert_eq!(package_names("github.com/mattn/go-isatty"), ["goisatty", "isatty"]);
        assert_eq!(package_names(""), [""]);
    }
}
