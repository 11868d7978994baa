//! Sources of a project's dependencies by their names: packages of Cargo's registry, of node_modules and of site-packages.

use std::{
    cmp::Reverse,
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
};

use wb_code::tree::TreeConfig;

use crate::{Error, Result, files::plain::plain_text};

/// Bytes of a lock file.
const MOST_OF_LOCK: u64 = 16 << 20;

/// Folders that some packages install beside their modules.
const BESIDE: [&str; 7] = ["tests", "test", "docs", "doc", "examples", "benchmarks", "scripts"];

/// The folder of a dependency's source; of several the one that the project uses, as far as its lock file or the order of
/// the places says so.
pub fn dependency(root: &Path, name: &str) -> Result<PathBuf> {
    if name.trim_matches(['/', '.']).is_empty() {
        return Err(Error::value("--dependency", "is no name").with_hint("--dependency serde"));
    }
    let places = [cargo_sources(root, name), node_sources(root, name), python_sources(root, name)].concat();
    // pnpm's packages and linked environments stand elsewhere.
    let found = places.iter().find(|place| place.is_dir()).and_then(|place| place.canonicalize().ok());
    found.ok_or_else(|| {
        let what = format!("no source of a dependency `{name}` of {}", root.display());
        let looked: Vec<String> = places.iter().take(6).map(|place| place.display().to_string()).collect();
        let hint = match looked.is_empty() {
            true => format!("its own folder: wb index {} path/to/{name}", root.display()),
            false => {
                format!("it would be {}; or name its own folder: wb index {} DIR", looked.join(", "), root.display())
            }
        };
        Error::failed(what).with_hint(hint)
    })
}

/// Folders in a folder; none where it cannot be read.
fn folders_in(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())).collect();
    found.sort();
    found
}

/// Packages of Cargo's registry that have the version of the nearest `Cargo.lock`.
fn cargo_sources(root: &Path, name: &str) -> Vec<PathBuf> {
    let lock = root.ancestors().find_map(|folder| plain_text(&folder.join("Cargo.lock"), MOST_OF_LOCK));
    // Where trees of sources are read from when nothing else is named.
    let (Some(lock), Ok(sources)) = (lock, TreeConfig::default().root()) else { return Vec::new() };
    let mut versions = Vec::new();
    let mut lines = lock.lines();
    let value = |line: &str, key: &str| Some(line.strip_prefix(key)?.trim().trim_matches('"').to_owned());
    while let Some(line) = lines.next() {
        if value(line, "name = ").as_deref() == Some(name) {
            versions.extend(lines.next().and_then(|line| value(line, "version = ")));
        }
    }
    // Of several the newest stands last.
    versions.reverse();
    let registries = folders_in(&sources);
    let of = |version: &String| registries.iter().map(|registry| registry.join(format!("{name}-{version}"))).collect();
    versions.iter().flat_map(|version| -> Vec<PathBuf> { of(version) }).collect()
}

/// Packages of the nearest `node_modules`.
fn node_sources(root: &Path, name: &str) -> Vec<PathBuf> {
    let has_modules = |folder: &&Path| folder.join("node_modules").is_dir();
    root.ancestors().filter(has_modules).map(|folder| folder.join("node_modules").join(name)).collect()
}

/// Packages of the environment that is active, of one in the project, and of the system.
fn python_sources(root: &Path, name: &str) -> Vec<PathBuf> {
    let active = env::var_os("VIRTUAL_ENV").map(PathBuf::from);
    let own = [root.join(".venv"), root.join("venv")];
    let system = ["/usr/local", "/usr"].map(PathBuf::from);
    let user = env::home_dir().map(|home| home.join(".local"));
    let mut places = Vec::new();
    for environment in active.into_iter().chain(own).chain(user).chain(system) {
        for python in folders_in(&environment.join("lib")) {
            let is_python = python.file_name().is_some_and(|name| name.to_string_lossy().starts_with("python3"));
            let packages = ["site-packages", "dist-packages"].map(|packages| python.join(packages));
            for packages in packages.into_iter().filter(|packages| is_python && packages.is_dir()) {
                let as_module = name.replace('-', "_").to_lowercase();
                places.extend([name, as_module.as_str()].map(|name| packages.join(name)));
                places.extend(modules_of(&packages, name));
            }
        }
    }
    places.dedup();
    places
}

/// Folders of a package whose modules have other names than it has itself, as `yaml` of PyYAML, by what was written when it
/// was installed.
fn modules_of(packages: &Path, name: &str) -> Vec<PathBuf> {
    let plain = |name: &str| name.replace(['-', '.'], "_").to_lowercase();
    let of_package = |folder: &PathBuf| {
        let folder = folder.file_name().unwrap_or_default().to_string_lossy();
        let named = folder.strip_suffix(".dist-info").and_then(|rest| rest.rsplit_once('-'));
        named.is_some_and(|(package, _)| plain(package) == plain(name))
    };
    let Some(info) = folders_in(packages).into_iter().find(of_package) else { return Vec::new() };
    let Some(record) = plain_text(&info.join("RECORD"), MOST_OF_LOCK) else { return Vec::new() };
    let folders = record.lines().filter_map(|line| Some(line.split(',').next()?.split_once('/')?.0));
    let is_module = |folder: &&str| !folder.contains('.') && !folder.starts_with('_') && *folder != "bin";
    let mut files: BTreeMap<&str, usize> = BTreeMap::new();
    folders.filter(is_module).for_each(|folder| *files.entry(folder).or_default() += 1);
    // The module is the largest, tests and the like that were installed beside it come last.
    let mut folders: Vec<(&str, usize)> = files.into_iter().collect();
    folders.sort_by_key(|(folder, files)| (BESIDE.contains(folder), Reverse(*files)));
    folders.into_iter().map(|(folder, _)| packages.join(folder)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_found_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for path in ["app/node_modules/@types/node", ".venv/lib/python3.12/site-packages/scikit_learn"] {
            fs::create_dir_all(root.join(path)).unwrap();
        }
        let found = |at: &Path, name: &str| dependency(at, name).unwrap();
        let full = root.canonicalize().unwrap();
        assert_eq!(found(&root.join("app"), "@types/node"), full.join("app/node_modules/@types/node"));
        // A package that stands elsewhere, and one whose module has another name.
        #[cfg(unix)]
        {
            let store = "app/node_modules/.pnpm/mane@1/node_modules/mane";
            fs::create_dir_all(root.join(store)).unwrap();
            std::os::unix::fs::symlink(root.join(store), root.join("app/node_modules/mane")).unwrap();
            assert_eq!(found(&root.join("app"), "mane"), full.join(store));
        }
        let packages = root.join(".venv/lib/python3.12/site-packages");
        for folder in ["examples", "yaml", "PyYAML-6.0.2.dist-info"] {
            fs::create_dir_all(packages.join(folder)).unwrap();
        }
        let record = "PyYAML-6.0.2.dist-info/RECORD,,\nexamples/a.py,,\nexamples/b.py,,\n_yaml/__init__.py,,\nyaml/__init__.py,sha256=x,12\n";
        fs::write(packages.join("PyYAML-6.0.2.dist-info/RECORD"), record).unwrap();
        assert!(found(root, "pyyaml").ends_with("site-packages/yaml"));
        assert_eq!(dependency(root, "").unwrap_err().hint(), Some("--dependency serde"));
        assert!(found(root, "scikit-learn").ends_with("site-packages/scikit_learn"));
        let error = dependency(root, "zebra").unwrap_err();
        assert!(error.to_string().starts_with("no source of a dependency `zebra` of "), "{error}");
        assert!(error.hint().unwrap().contains("site-packages/zebra"), "{error:?}");
        // This crate's own project has a lock file and a registry.
        let own = dependency(Path::new(env!("CARGO_MANIFEST_DIR")), "tempfile").unwrap();
        assert!(own.join("src/lib.rs").is_file(), "{}", own.display());
    }
}
