//! The hub as the workbench uses it: a name to a commit, a commit to files on this disk.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::{Mutex, OnceLock, PoisonError},
};

use wb_core::download::{Demand, Observer, Silent};

#[cfg(feature = "network")]
use crate::online::Online;
use crate::{
    Error, Listing, LockFile, Pinned, RemoteFile, RepoRef, Result, Settings, WebFile, Why,
    cache::Cache,
    error::failure,
    room::{fits, room},
};

/// Files of repositories: in the cache, or fetched into it.
pub struct Hub {
    settings: Settings,
    lock: Option<LockFile>,
    observer: Box<dyn Observer>,
    /// Every name that became a commit here.
    used: Mutex<BTreeSet<(String, String)>>,
    room: fn(&Path) -> Result<u64>,
}

/// Files of a repository, on this disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// The repository at its commit.
    pub repo: Pinned,
    /// The folder with its files.
    pub folder: PathBuf,
}

/// The state of a repository's files before anything is fetched.
#[derive(Debug)]
pub struct Look {
    /// The repository at its commit, where that could be found out.
    pub repo: Option<Pinned>,
    /// Bytes on this disk.
    pub there: u64,
    /// Files that are missing.
    pub missing: Vec<RemoteFile>,
    /// The reason for which nobody could be asked.
    pub unknown: Option<Error>,
}

impl Look {
    /// Bytes to come.
    pub fn bytes(&self) -> u64 {
        self.missing.iter().map(|file| file.size).sum()
    }
}

/// The hub of this process, for callers that are far from the command line.
static SESSION: OnceLock<Hub> = OnceLock::new();

impl Hub {
    /// Makes a hub of settings, without a lock file, watched by nobody.
    pub fn new(settings: Settings) -> Self {
        Self { settings, lock: None, observer: Box::new(Silent), used: Mutex::default(), room }
    }

    /// Keeps commits of names in this lock file.
    #[must_use]
    pub fn with_lock(mut self, lock: LockFile) -> Self {
        self.lock = Some(lock);
        self
    }

    /// Is watched by this observer.
    #[must_use]
    pub fn observed(mut self, observer: impl Observer + 'static) -> Self {
        self.observer = Box::new(observer);
        self
    }

    /// Measures the disk's room in another way, for tests.
    #[doc(hidden)]
    #[must_use]
    pub fn with_room(mut self, room: fn(&Path) -> Result<u64>) -> Self {
        self.room = room;
        self
    }

    /// The hub of this process: the one that the command installed, or else one of the environment alone.
    pub fn session() -> &'static Self {
        SESSION.get_or_init(|| Self::new(Settings::of_environment()))
    }

    /// Makes this the hub of the process; the first one stays.
    pub fn install(self) {
        let _ = SESSION.set(self);
    }

    /// The environment that it works in.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Names that became commits in this process, as in the lock file, with their commits.
    pub fn used(&self) -> Vec<(String, String)> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// The commit of a repository: its own, else the lock file's, else the hub's, which the lock file then keeps.
    pub fn pin(&self, repo: &RepoRef) -> Result<Pinned> {
        let pinned = self.commit(repo, true).map(|commit| repo.at(&commit))?;
        let key = format!("{}/{}", pinned.kind.plural(), pinned.id);
        self.used.lock().unwrap_or_else(PoisonError::into_inner).insert((key, pinned.commit.clone()));
        Ok(pinned)
    }

    fn commit(&self, repo: &RepoRef, keep: bool) -> Result<String> {
        if let Some(commit) = repo.commit() {
            return Ok(commit.to_owned());
        }
        let known = self.lock.as_ref().map(|lock| lock.get(&repo.key())).transpose()?.flatten();
        if let Some(commit) = known {
            return Ok(commit);
        }
        if self.settings.locked {
            let file =
                self.lock.as_ref().map_or_else(|| "the lock file".into(), |lock| lock.path().display().to_string());
            let hint = "give the command once without --locked, which writes the commit down there";
            let error = failure(Why::NotLocked, repo.to_string(), format!("{file} does not know its commit"));
            return Err(error.with_hint(hint));
        }
        let asked = match self.settings.offline {
            Some(_) => self.cache()?.known_commit(repo).ok_or_else(|| self.offline(repo, "which commit it is"))?,
            None => self.ask_commit(repo)?,
        };
        match &self.lock {
            Some(lock) if keep => lock.take(&repo.key(), &asked, |holder| {
                self.observer.note(&format!("{}: waiting for {holder}", lock.path().display()));
            }),
            _ => Ok(asked),
        }
    }

    /// The chosen files of a repository, all of them on this disk; `choose` gives the wanted of all paths.
    pub fn fetch(&self, repo: &RepoRef, choose: &dyn Fn(&[&str]) -> Vec<String>) -> Result<Fetched> {
        self.fetch_at(self.pin(repo)?, repo, choose)
    }

    /// The chosen files of a repository, for a look at them: no lock file learns its name.
    pub fn peek(&self, repo: &RepoRef, choose: &dyn Fn(&[&str]) -> Vec<String>) -> Result<Fetched> {
        self.fetch_at(repo.at(&self.commit(repo, false)?), repo, choose)
    }

    fn fetch_at(&self, pinned: Pinned, repo: &RepoRef, choose: &dyn Fn(&[&str]) -> Vec<String>) -> Result<Fetched> {
        let cache = self.cache()?;
        let folder = cache.snapshot(&pinned);
        let Some(listing) = self.listing(&pinned)? else {
            // Offline, and nobody here has asked for its list: what another program cached is all that there can be.
            return match folder.is_dir() {
                true => Ok(Fetched { repo: pinned, folder }),
                false => Err(self.offline(repo, "its files")),
            };
        };
        let chosen = listing.chosen(&choose(&listing.paths()));
        self.bring(&pinned, chosen, &cache)?;
        Ok(Fetched { repo: pinned, folder })
    }

    /// One file of a repository, on this disk.
    pub fn file(&self, repo: &RepoRef, path: &str) -> Result<PathBuf> {
        let pinned = self.pin(repo)?;
        let cache = self.cache()?;
        // What another program cached at this very commit is what the list would say.
        if let Some(found) = cache.file(&pinned, path) {
            return Ok(found);
        }
        let Some(listing) = self.listing(&pinned)? else { return Err(self.offline(repo, path)) };
        let chosen = listing.chosen(&[path.to_owned()]);
        if chosen.is_empty() {
            let error = failure(Why::NoFile, format!("{pinned}: {path}"), "the repository has no such file");
            let near = wb_core::suggest::hint(path, listing.paths());
            return Err(error.with_hint(near.unwrap_or_else(|| "it has no file at all".into())));
        }
        self.bring(&pinned, chosen, &cache)?;
        Ok(cache.snapshot(&pinned).join(path))
    }

    /// The state of a repository's chosen files; nothing is fetched but lists, and no lock file is written.
    pub fn look(&self, repo: &RepoRef, choose: &dyn Fn(&[&str]) -> Vec<String>) -> Look {
        let nothing = |repo, unknown| Look { repo, there: 0, missing: Vec::new(), unknown };
        let found = self.commit(repo, false).map(|commit| repo.at(&commit));
        let pinned = match found {
            Ok(pinned) => pinned,
            Err(error) => return nothing(None, Some(error)),
        };
        match (self.listing(&pinned), self.cache()) {
            (Ok(Some(listing)), Ok(cache)) => {
                let chosen = listing.chosen(&choose(&listing.paths()));
                let (there, missing): (Vec<_>, Vec<_>) = chosen.into_iter().partition(|file| cache.has(&pinned, file));
                let there = there.iter().map(|file| file.size).sum();
                Look { repo: Some(pinned), there, missing, unknown: None }
            }
            (Ok(None), Ok(cache)) if cache.snapshot(&pinned).is_dir() => nothing(Some(pinned), None),
            (Ok(None), _) => nothing(Some(pinned), Some(self.offline(repo, "its files"))),
            (Err(error), _) | (_, Err(error)) => nothing(Some(pinned), Some(error)),
        }
    }

    /// Files at plain addresses, each at its place; those that are there already stay as they are.
    pub fn web(&self, files: &[WebFile]) -> Result<()> {
        let missing: Vec<&WebFile> = files.iter().filter(|file| !file.to.is_file()).collect();
        let Some(first) = missing.first() else { return Ok(()) };
        if let Some(variable) = self.settings.offline {
            let error =
                failure(Why::Offline, first.url.clone(), format!("is not here, and {variable} forbids to ask for it"));
            return Err(error.with_hint(format!("unset {variable}, or put the file at {}", first.to.display())));
        }
        let bytes = missing.iter().filter_map(|file| file.size).sum();
        let what = match missing.len() {
            1 => first.url.clone(),
            n => format!("{} and {} more", first.url, n - 1),
        };
        self.allowed(&Demand { what, files: missing.len(), bytes }, first.to.parent().unwrap_or(Path::new(".")))?;
        self.ask_web(&missing)
    }

    /// The list of a commit's files: kept, or asked for; none where nobody may be asked.
    fn listing(&self, repo: &Pinned) -> Result<Option<Listing>> {
        let cache = self.cache()?;
        if let Some(listing) = cache.listing(repo) {
            return Ok(Some(listing));
        }
        if self.settings.offline.is_some() || !cfg!(feature = "network") {
            return Ok(None);
        }
        self.ask_listing(repo, &cache).map(Some)
    }

    /// Fetches what is missing of listed files.
    fn bring(&self, repo: &Pinned, chosen: Vec<RemoteFile>, cache: &Cache) -> Result<()> {
        let missing: Vec<RemoteFile> = chosen.into_iter().filter(|file| !cache.has(repo, file)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let bytes = missing.iter().map(|file| file.size - cache.begun(repo, file)).sum();
        if let Some(variable) = self.settings.offline {
            let names: Vec<&str> = missing.iter().map(|file| file.path.as_str()).take(3).collect();
            let more = if missing.len() > 3 { ", ..." } else { "" };
            let message = format!(
                "{} ({}{more}) are not in {}, and {variable} forbids to ask for them",
                wb_core::quantities::bytes(bytes),
                names.join(", "),
                cache.folder().display()
            );
            let hint = format!("give the command once without {variable}, or {}", repo.kind.elsewhere());
            return Err(failure(Why::Offline, repo.to_string(), message).with_hint(hint));
        }
        self.allowed(&Demand { what: repo.to_string(), files: missing.len(), bytes }, cache.folder())?;
        self.ask_files(repo, &missing, cache)
    }

    /// Refuses what a person does not want or the disk cannot hold.
    fn allowed(&self, demand: &Demand, folder: &Path) -> Result<()> {
        fits(&demand.what, folder, demand.bytes, (self.room)(folder)?)?;
        match self.observer.refuses(demand) {
            Some((message, hint)) => Err(failure(Why::NotAllowed, demand.what.clone(), message).with_hint(hint)),
            None => Ok(()),
        }
    }

    fn cache(&self) -> Result<Cache> {
        let folder = self.settings.cache.clone().ok_or_else(|| {
            failure(Why::NoFile, "the hub's cache", "there is no home folder to keep it in")
                .with_hint("set HF_HOME to a folder")
        })?;
        Ok(Cache::new(folder))
    }

    /// Nobody may be asked, and the cache does not have it.
    fn offline(&self, repo: &RepoRef, missing: &str) -> Error {
        let cache = self.settings.cache.as_deref().unwrap_or(Path::new("")).display().to_string();
        let elsewhere = repo.kind.elsewhere();
        match self.settings.offline {
            Some(variable) => {
                let message = format!("{cache} does not have {missing}, and {variable} forbids to ask for it");
                failure(Why::Offline, repo.to_string(), message)
                    .with_hint(format!("give the command once without {variable}, or {elsewhere}"))
            }
            None => {
                let message = format!("{cache} does not have {missing}, and this build cannot ask the hub");
                failure(Why::NotBuilt, repo.to_string(), message)
                    .with_hint(format!("build with `--features hub`, or {elsewhere}"))
            }
        }
    }
}

/// Asking, where this build can.
#[cfg(feature = "network")]
impl Hub {
    fn online(&self) -> Online<'_> {
        Online::new(&self.settings, &*self.observer)
    }

    fn ask_commit(&self, repo: &RepoRef) -> Result<String> {
        let commit = self.online().commit(repo)?;
        self.cache()?.remember(repo, &commit)?;
        Ok(commit)
    }

    fn ask_listing(&self, repo: &Pinned, cache: &Cache) -> Result<Listing> {
        let waiting = |holder: &str| self.observer.note(&format!("{repo}: waiting for {holder}"));
        let _held = cache.hold(repo, &format!("listing-{}", repo.commit), waiting)?;
        // Another thread or process may have asked while this one waited.
        if let Some(listing) = cache.listing(repo) {
            return Ok(listing);
        }
        let listing = self.online().listing(repo)?;
        cache.keep_listing(repo, &listing)?;
        Ok(listing)
    }

    fn ask_files(&self, repo: &Pinned, missing: &[RemoteFile], cache: &Cache) -> Result<()> {
        self.online().files(repo, missing, cache)
    }

    fn ask_web(&self, missing: &[&WebFile]) -> Result<()> {
        self.online().web(missing)
    }
}

/// Refusals in place of questions, in a build that cannot ask.
#[cfg(not(feature = "network"))]
impl Hub {
    fn ask_commit(&self, repo: &RepoRef) -> Result<String> {
        self.cache()?.known_commit(repo).ok_or_else(|| self.offline(repo, "which commit it is"))
    }

    fn ask_listing(&self, repo: &Pinned, _: &Cache) -> Result<Listing> {
        Err(self.not_built(repo.to_string(), repo.kind))
    }

    fn ask_files(&self, repo: &Pinned, _: &[RemoteFile], _: &Cache) -> Result<()> {
        Err(self.not_built(repo.to_string(), repo.kind))
    }

    fn ask_web(&self, missing: &[&WebFile]) -> Result<()> {
        let what = missing.first().map(|file| file.url.clone()).unwrap_or_default();
        Err(failure(Why::NotBuilt, what, "this build fetches nothing").with_hint("build with `--features hub`"))
    }

    fn not_built(&self, what: String, kind: crate::RepoKind) -> Error {
        failure(Why::NotBuilt, what, "this build cannot ask the hub")
            .with_hint(format!("build with `--features hub`, or {}", kind.elsewhere()))
    }
}
