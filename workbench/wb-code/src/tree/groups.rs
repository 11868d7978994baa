//! Groups of files: crate, top folder, file, or the whole tree.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fs,
};

use wb_core::fingerprint::Fingerprint;

use super::{
    GroupBy, TreeConfig,
    listing::Listing,
    manifest::Manifest,
    version::{Version, registry_folder},
};

/// The group of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub group: String,
    /// Path inside the group.
    pub path: String,
    pub license: String,
    /// The part of ids that tells the file.
    pub id: String,
}

/// The groups of a listing's files, in the order of the files.
pub(super) struct Groups {
    pub places: Vec<Place>,
    pub count: u64,
}

/// A folder with a `Cargo.toml` that names a package.
struct Package {
    name: String,
    license: String,
}

impl Groups {
    /// Groups the files and takes those out of the listing that are not wanted: older versions, files beyond limits.
    pub(super) fn of(listing: &mut Listing, config: &TreeConfig) -> Self {
        drop_older_versions(listing);
        let group = resolve(config.group, listing);
        let mut roots = roots(listing, group);
        limit(listing, &mut roots, config);
        let packages = if group == GroupBy::Crate { packages(listing) } else { BTreeMap::new() };
        let mut names: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        let named: Vec<(&str, String, String)> =
            roots.iter().map(|root| name(root, group, listing, &packages)).collect();
        for (root, name, _) in &named {
            names.entry(name).or_default().insert(root);
        }
        let places = listing.files.iter().zip(&named).map(|(file, (root, name, license))| {
            // Two packages of one name in a tree are one group; their paths then say which.
            let shared = names.get(name.as_str()).is_some_and(|roots| roots.len() > 1);
            let inside =
                file.relative.strip_prefix(root).map_or(file.relative.as_str(), |path| path.trim_start_matches('/'));
            let (path, id) = match group {
                GroupBy::File => {
                    let file_name = file.relative.rsplit('/').next().unwrap_or_default();
                    (file_name.to_owned(), file.relative.clone())
                }
                _ if shared => (file.relative.clone(), format!("{name}/{}", file.relative)),
                _ => (inside.to_owned(), format!("{name}/{inside}")),
            };
            Place { group: name.clone(), path, license: license.clone(), id }
        });
        Self { places: places.collect(), count: names.len() as u64 }
    }
}

/// The part of a path that is a registry folder with a manifest of its own: the outermost one.
fn registry_crate<'path>(relative: &'path str, manifests: &BTreeSet<&str>) -> Option<&'path str> {
    ancestors(relative)
        .filter(|folder| {
            registry_folder(folder.rsplit('/').next().unwrap_or_default()).is_some() && manifests.contains(folder)
        })
        .last()
}

/// The folders of a path, innermost first, without the root.
fn ancestors(relative: &str) -> impl Iterator<Item = &str> {
    let mut at = relative;
    std::iter::from_fn(move || {
        at = &at[..at.rfind('/')?];
        Some(at)
    })
}

fn manifest_folders(listing: &Listing) -> BTreeSet<&str> {
    listing.manifests.iter().map(|file| file.relative.rsplit_once('/').map_or("", |(folder, _)| folder)).collect()
}

fn drop_older_versions(listing: &mut Listing) {
    let manifests = manifest_folders(listing);
    let mut newest: HashMap<&str, (Version, &str)> = HashMap::new();
    let crates: BTreeSet<&str> =
        listing.manifests.iter().filter_map(|file| registry_crate(&file.relative, &manifests)).collect();
    for folder in &crates {
        if let Some((name, version)) = registry_folder(folder.rsplit('/').next().unwrap_or_default()) {
            let is_newer = newest.get(name).is_none_or(|(before, _)| *before < version);
            if is_newer {
                newest.insert(name, (version, folder));
            }
        }
    }
    let kept: BTreeSet<&str> = newest.values().map(|(_, folder)| *folder).collect();
    let older = |relative: &str| registry_crate(relative, &manifests).is_some_and(|folder| !kept.contains(folder));
    let files: Vec<bool> = listing.files.iter().map(|file| !older(&file.relative)).collect();
    let dropped = files.iter().filter(|keep| !**keep).count();
    let kept_manifests: Vec<bool> = listing.manifests.iter().map(|file| !older(&file.relative)).collect();
    retain(&mut listing.files, &files);
    retain(&mut listing.manifests, &kept_manifests);
    listing.skip("older version of a crate", dropped as u64);
}

fn retain<T>(items: &mut Vec<T>, keep: &[bool]) {
    let mut keep = keep.iter();
    items.retain(|_| keep.next().copied().unwrap_or(true));
}

fn resolve(group: GroupBy, listing: &Listing) -> GroupBy {
    if group != GroupBy::Auto {
        return group;
    }
    if !listing.manifests.is_empty() {
        return GroupBy::Crate;
    }
    let tops: BTreeSet<&str> =
        listing.files.iter().filter_map(|file| file.relative.split_once('/')).map(|(top, _)| top).collect();
    if tops.len() > 1 { GroupBy::TopFolder } else { GroupBy::File }
}

/// The folder that is each file's group.
fn roots(listing: &Listing, group: GroupBy) -> Vec<String> {
    let manifests = manifest_folders(listing);
    let top = |relative: &str| relative.split_once('/').map_or("", |(top, _)| top).to_owned();
    let root = |relative: &str| match group {
        GroupBy::Auto | GroupBy::One => String::new(),
        GroupBy::File => relative.to_owned(),
        GroupBy::TopFolder => top(relative),
        GroupBy::Crate => match registry_crate(relative, &manifests) {
            Some(folder) => folder.to_owned(),
            None => match ancestors(relative).chain([""]).find(|folder| manifests.contains(folder)) {
                Some(folder) => folder.to_owned(),
                None => top(relative),
            },
        },
    };
    listing.files.iter().map(|file| root(&file.relative)).collect()
}

/// Keeps the groups, then the files, whose names hash lowest: a fair sample that stays when the tree grows.
fn limit(listing: &mut Listing, roots: &mut Vec<String>, config: &TreeConfig) {
    let lowest = |names: BTreeSet<&str>, count: usize| -> BTreeSet<String> {
        let mut hashed: Vec<(Fingerprint, &str)> =
            names.into_iter().map(|name| (Fingerprint::of_bytes(name.as_bytes()), name)).collect();
        hashed.sort_unstable();
        hashed.into_iter().take(count).map(|(_, name)| name.to_owned()).collect()
    };
    if let Some(count) = config.max_groups {
        let kept = lowest(roots.iter().map(String::as_str).collect(), count);
        let keep: Vec<bool> = roots.iter().map(|root| kept.contains(root)).collect();
        let dropped = keep.iter().filter(|keep| !**keep).count();
        retain(&mut listing.files, &keep);
        retain(roots, &keep);
        listing.skip("beyond max_groups", dropped as u64);
    }
    if let Some(count) = config.max_files {
        let kept = lowest(listing.files.iter().map(|file| file.relative.as_str()).collect(), count);
        let keep: Vec<bool> = listing.files.iter().map(|file| kept.contains(&file.relative)).collect();
        let dropped = keep.iter().filter(|keep| !**keep).count();
        retain(&mut listing.files, &keep);
        retain(roots, &keep);
        listing.skip("beyond max_files", dropped as u64);
    }
}

/// Name and licence of every package, by folder.
fn packages(listing: &Listing) -> BTreeMap<String, Package> {
    let mut scanned: BTreeMap<String, Manifest> = BTreeMap::new();
    for file in &listing.manifests {
        let text = fs::read_to_string(listing.root.join(&file.relative)).unwrap_or_default();
        let folder = file.relative.rsplit_once('/').map_or("", |(folder, _)| folder);
        scanned.insert(folder.to_owned(), Manifest::scan(&text));
    }
    let packages = scanned.iter().map(|(folder, manifest)| {
        let lent = || ancestors(folder).chain([""]).find_map(|above| scanned.get(above)?.workspace_license.clone());
        let own_workspace = || manifest.workspace_license.clone();
        let license = manifest.license.clone().or_else(own_workspace).or_else(lent).unwrap_or_default();
        let last = folder.rsplit('/').next().unwrap_or_default();
        let name = match registry_folder(last) {
            Some((name, _)) => name.to_owned(),
            None => manifest.name.clone().unwrap_or_else(|| last.to_owned()),
        };
        (folder.clone(), Package { name, license })
    });
    packages.collect()
}

fn name<'root>(
    root: &'root str,
    group: GroupBy,
    listing: &Listing,
    packages: &BTreeMap<String, Package>,
) -> (&'root str, String, String) {
    if group == GroupBy::Crate
        && let Some(package) = packages.get(root)
        && !package.name.is_empty()
    {
        return (root, package.name.clone(), package.license.clone());
    }
    let name = if root.is_empty() {
        let whole = listing.root.file_name().map(|name| name.to_string_lossy().into_owned());
        whole.filter(|name| !name.is_empty()).unwrap_or_else(|| "tree".to_owned())
    } else {
        root.to_owned()
    };
    (root, name, String::new())
}
