//! A place that several machines share: objects by their names, in a folder or in a bucket of S3.

use std::{
    collections::VecDeque,
    fs::{self, File},
    io::Read,
    ops::Range,
    path::Path,
    sync::{Arc, OnceLock},
};

use futures_util::TryStreamExt as _;
use object_store::{
    Error as StoreError, GetOptions, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, PutPayload, WriteMultipart,
    local::LocalFileSystem, path::Path as ObjectPath,
};
use tokio::runtime::{Builder, Runtime};
use wb_core::{Error, remote::SCHEME};

use crate::{Result, TryAgain, s3};

/// Bytes of a part of an upload, and of a download; S3 takes no smaller ones but the last.
const PART: usize = 16 << 20;
/// Parts of an upload, or of a download, that are on their way at once.
const AT_ONCE: usize = 4;
/// Small objects that are on their way at once.
const SMALL_AT_ONCE: usize = 32;

/// A folder, or a prefix of a bucket, with what is in it by names such as `shards/00042.json`.
#[derive(Debug, Clone)]
pub struct Store {
    objects: Arc<dyn ObjectStore>,
    /// Place of the bucket or folder as it is shown, without a slash at the end.
    root: String,
    /// Names begin with this, without slashes around it.
    prefix: String,
    /// False where a bucket is asked without a key of the environment, by the machine's role.
    has_key: bool,
}

/// An object as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoundObject {
    /// Its key in the bucket.
    pub(crate) key: String,
    /// Length in bytes.
    pub(crate) bytes: u64,
    /// A word that changes when it changes; none where the server gives none.
    pub(crate) version: Option<String>,
}

impl From<ObjectMeta> for FoundObject {
    fn from(meta: ObjectMeta) -> Self {
        Self { key: meta.location.into(), bytes: meta.size, version: meta.e_tag }
    }
}

/// Maker of an object that is there once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Created {
    /// The present process.
    Ours,
    /// Another one, before.
    Theirs,
}

impl Store {
    /// Opens `s3://bucket/prefix`, or a folder, which is made where it is not there.
    ///
    /// # Errors
    ///
    /// If the name is of neither kind, the folder cannot be made, or the environment forbids the network.
    pub fn open(place: &str) -> Result<Self> {
        Self::open_by(place, &variables_of_environment())
    }

    /// [`Store::open`] by the variables of an environment.
    pub fn open_by(place: &str, variables: &[(String, String)]) -> Result<Self> {
        if let Some(rest) = place.strip_prefix(SCHEME) {
            let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
            if bucket.is_empty() {
                return Err(not_a_place(place));
            }
            let root = format!("{}{bucket}", SCHEME);
            let prefix = prefix.trim_matches('/').to_owned();
            let has_key = variables.iter().any(|(name, _)| name == "AWS_ACCESS_KEY_ID");
            return Ok(Self { objects: s3::bucket(bucket, variables)?, root, prefix, has_key });
        }
        let place = if place.len() > 1 { place.trim_end_matches('/') } else { place };
        if place.is_empty() || place.contains("://") {
            return Err(not_a_place(place));
        }
        let folder = Path::new(place.strip_prefix("file:").unwrap_or(place));
        fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
        let folder = fs::canonicalize(folder).map_err(Error::io("read", folder))?;
        let objects = LocalFileSystem::new_with_prefix(&folder);
        let objects = objects.map_err(|error| Error::file(&folder, "cannot be used").with_cause(error))?;
        let root = folder.display().to_string();
        Ok(Self { objects: Arc::new(objects.with_fsync(true)), root, prefix: String::new(), has_key: true })
    }

    /// The part of it whose names begin with `below`.
    #[must_use]
    pub fn at(&self, below: &str) -> Self {
        let prefix = if self.prefix.is_empty() { below.to_owned() } else { format!("{}/{below}", self.prefix) };
        Self { prefix, ..self.clone() }
    }

    /// The place as it is typed.
    pub fn place(&self) -> String {
        if self.prefix.is_empty() { self.root.clone() } else { format!("{}/{}", self.root, self.prefix) }
    }

    /// The name of an object for people.
    pub fn shown(&self, name: &str) -> String {
        format!("{}/{name}", self.place())
    }

    /// A name in it.
    fn path(&self, name: &str) -> ObjectPath {
        ObjectPath::from(if self.prefix.is_empty() { name.to_owned() } else { format!("{}/{name}", self.prefix) })
    }

    /// An object's bytes; none where there is no such object.
    pub fn get(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let path = self.path(name);
        let got = block_on(async { self.objects.get(&path).await?.bytes().await })?;
        match got {
            Ok(bytes) => Ok(Some(bytes.to_vec())),
            Err(StoreError::NotFound { .. }) => Ok(None),
            Err(error) => Err(self.failed("read", name, error)),
        }
    }

    /// The object of this very key, as it stands; none where there is none.
    pub(crate) fn look(&self, key: &str) -> Result<Option<FoundObject>> {
        self.head(&key_of(key)?)
    }

    fn head(&self, path: &ObjectPath) -> Result<Option<FoundObject>> {
        match block_on(self.objects.head(path))? {
            Ok(object) => Ok(Some(object.into())),
            Err(StoreError::NotFound { .. }) => Ok(None),
            Err(error) => Err(self.failed_at("read", path, error)),
        }
    }

    /// All objects below a key, those of every depth, in order; all of the bucket below an empty one.
    pub(crate) fn below(&self, key: &str) -> Result<Vec<FoundObject>> {
        let path = key_of(key)?;
        let listed = block_on(self.objects.list((!key.is_empty()).then_some(&path)).try_collect::<Vec<_>>())?;
        let mut found: Vec<FoundObject> = match listed {
            Ok(listed) => listed.into_iter().map(FoundObject::from).collect(),
            Err(StoreError::NotFound { .. }) => Vec::new(),
            Err(error) => return Err(self.failed("list", key, error)),
        };
        found.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(found)
    }

    /// Bytes of an object, from a place to another one; fewer where it ends before.
    pub fn get_range(&self, name: &str, range: Range<u64>) -> Result<Vec<u8>> {
        let path = self.path(name);
        let got = block_on(self.objects.get_range(&path, range))?;
        got.map(|bytes| bytes.to_vec()).map_err(|error| self.failed("read", name, error))
    }

    /// Gives an object's bytes to `take`, piece by piece and in order, while the next ones are on their way.
    pub(crate) fn each_piece<E: From<Error>>(
        &self,
        name: &str,
        size: u64,
        mut take: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let object = FoundObject { key: self.path(name).into(), bytes: size, version: None };
        self.pieces(&[(object, 0)], |_, piece| take(piece))
    }

    /// Gives the bytes of objects, each from a place on, to `take` with the object's number, piece by piece and in order,
    /// while the next ones are on their way.
    pub(crate) fn pieces<E: From<Error>>(
        &self,
        wanted: &[(FoundObject, u64)],
        mut take: impl FnMut(usize, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let runtime = runtime()?;
        let ranges = wanted.iter().enumerate().flat_map(|(at, (object, from))| {
            let begins = (*from..object.bytes).step_by(PART);
            begins.map(move |begin| (at, begin..(begin + PART as u64).min(object.bytes)))
        });
        let (mut ranges, mut coming, mut bytes) = (ranges.peekable(), VecDeque::new(), 0);
        loop {
            let fits = |(_, range): &(usize, Range<u64>)| bytes + (range.end - range.start) <= (AT_ONCE * PART) as u64;
            let next = if coming.len() < SMALL_AT_ONCE { ranges.next_if(fits) } else { None };
            if let Some((at, range)) = next {
                let object = &wanted[at].0;
                let length = range.end - range.start;
                let path = key_of(&object.key)?;
                let options = GetOptions::new().with_range(Some(range)).with_if_match(object.version.clone());
                let objects = Arc::clone(&self.objects);
                let get = async move { objects.get_opts(&path, options).await?.bytes().await };
                coming.push_back((at, length, runtime.spawn(get)));
                bytes += length;
                continue;
            }
            let Some((at, length, piece)) = coming.pop_front() else { return Ok(()) };
            bytes -= length;
            let key = &wanted[at].0.key;
            let piece = match runtime.block_on(piece).unwrap_or_else(|error| Err(error.into())) {
                Ok(piece) if piece.len() as u64 == length => piece,
                Ok(_) | Err(StoreError::Precondition { .. } | StoreError::NotFound { .. }) => {
                    let what = format!("{}/{key} changed while it was read", self.root);
                    let error = Error::failed(what).with_hint("give the same command again");
                    return Err(error.of_kind(TryAgain::AtOnce).into());
                }
                Err(error) => return Err(self.failed_at("read", &key_of(key)?, error).into()),
            };
            take(at, &piece)?;
        }
    }

    /// Length of an object in bytes; none where there is no such object.
    pub fn size(&self, name: &str) -> Result<Option<u64>> {
        Ok(self.head(&self.path(name))?.map(|object| object.bytes))
    }

    /// Makes an object unless there is one of that name: of many who do so at once, one succeeds.
    pub fn create(&self, name: &str, bytes: Vec<u8>) -> Result<Created> {
        self.put_at(&self.path(name), bytes, PutMode::Create)
    }

    /// Writes an object, over the one that is there.
    pub fn put(&self, name: &str, bytes: Vec<u8>) -> Result<()> {
        self.put_at(&self.path(name), bytes, PutMode::Overwrite).map(|_| ())
    }

    fn put_at(&self, path: &ObjectPath, bytes: Vec<u8>, mode: PutMode) -> Result<Created> {
        match block_on(self.objects.put_opts(path, PutPayload::from(bytes), mode.into()))? {
            Ok(_) => Ok(Created::Ours),
            Err(StoreError::AlreadyExists { .. } | StoreError::Precondition { .. }) => Ok(Created::Theirs),
            Err(error) => Err(self.failed_at("write", path, error)),
        }
    }

    /// Writes a file into an object, part by part. Only for names that nobody else writes, or that say the content: a large
    /// object cannot be created in one step.
    pub fn upload(&self, name: &str, file: &Path) -> Result<()> {
        self.send(&self.path(name), file, PutMode::Create)
    }

    /// Writes a file into the object of this very key, over the one that is there.
    pub(crate) fn replace(&self, key: &str, file: &Path) -> Result<()> {
        self.send(&key_of(key)?, file, PutMode::Overwrite)
    }

    fn send(&self, path: &ObjectPath, file: &Path, mode: PutMode) -> Result<()> {
        let mut from = File::open(file).map_err(Error::io("read", file))?;
        let length = from.metadata().map_err(Error::io("read", file))?.len();
        if length <= PART as u64 {
            let mut bytes = Vec::with_capacity(length as usize);
            from.read_to_end(&mut bytes).map_err(Error::io("read", file))?;
            return self.put_at(path, bytes, mode).map(|_| ());
        }
        let mut unread = None;
        let uploaded = block_on(async {
            let mut upload = WriteMultipart::new_with_chunk_size(self.objects.put_multipart(path).await?, PART);
            loop {
                let mut part = Vec::with_capacity(PART);
                match from.by_ref().take(PART as u64).read_to_end(&mut part) {
                    Ok(0) => return upload.finish().await.map(|_| ()),
                    Ok(_) => {
                        upload.wait_for_capacity(AT_ONCE).await?;
                        upload.put(part.into());
                    }
                    Err(error) => {
                        unread = Some(error);
                        return upload.abort().await;
                    }
                }
            }
        })?;
        match unread {
            Some(error) => Err(Error::io("read", file)(error)),
            None => uploaded.map_err(|error| self.failed_at("write", path, error)),
        }
    }

    /// Names that begin with a folder's, in order, each with its length in bytes.
    pub fn list(&self, folder: &str) -> Result<Vec<(String, u64)>> {
        let path = self.path(folder);
        let listed = block_on(async { self.objects.list_with_delimiter(Some(&path)).await })?;
        let listed = match listed {
            Ok(listed) => listed.objects,
            Err(StoreError::NotFound { .. }) => Vec::new(),
            Err(error) => return Err(self.failed("list", folder, error)),
        };
        let name = |path: &ObjectPath| format!("{folder}/{}", path.filename().unwrap_or_default());
        let mut found: Vec<(String, u64)> = listed.iter().map(|object| (name(&object.location), object.size)).collect();
        found.sort();
        Ok(found)
    }

    /// Takes an object away; true where there was one, which is asked for before.
    pub fn delete(&self, name: &str) -> Result<bool> {
        let is_there = self.size(name)?.is_some();
        self.remove(name)?;
        Ok(is_there)
    }

    /// Takes an object away, whether it is there or not.
    pub(crate) fn remove(&self, name: &str) -> Result<()> {
        self.remove_at(&self.path(name))
    }

    /// Takes the object of this very key away, whether it is there or not.
    pub(crate) fn remove_key(&self, key: &str) -> Result<()> {
        self.remove_at(&key_of(key)?)
    }

    fn remove_at(&self, path: &ObjectPath) -> Result<()> {
        match block_on(self.objects.delete(path))? {
            Ok(()) | Err(StoreError::NotFound { .. }) => Ok(()),
            Err(error) => Err(self.failed_at("delete", path, error)),
        }
    }

    /// An error with its hint, and whether the same may pass at another time.
    fn failed(&self, action: &str, name: &str, error: StoreError) -> Error {
        self.failed_at(action, &self.path(name), error)
    }

    fn failed_at(&self, action: &str, path: &ObjectPath, error: StoreError) -> Error {
        let (hint, may_pass) = match &error {
            StoreError::PermissionDenied { .. } | StoreError::Unauthenticated { .. } => {
                (Some("AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION have to be those of its owner"), false)
            }
            StoreError::NotFound { .. } => (None, false),
            _ if !self.has_key => (
                Some(
                    "AWS_ACCESS_KEY_ID is not set, so the machine's role was asked for: export the key where it has none",
                ),
                true,
            ),
            _ => (None, true),
        };
        let failed = Error::failed(format!("cannot {action} {}/{path}", self.root)).with_cause(error);
        let failed = failed.with_hint_if(hint);
        if may_pass { failed.of_kind(TryAgain::Later) } else { failed }
    }
}

/// The variables by which buckets are found. What is no text is no name of a server and no key.
pub(crate) fn variables_of_environment() -> Vec<(String, String)> {
    let variables = std::env::vars_os();
    variables.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?))).collect()
}

/// The path of a key as it is written in a bucket: nothing in it is taken for something else.
fn key_of(key: &str) -> Result<ObjectPath> {
    ObjectPath::parse(key).map_err(|error| {
        let hint = "no part of a key may be empty, `.`, `..` or hold control characters";
        Error::failed(format!("`{key}` is no key of an object")).with_cause(error).with_hint(hint)
    })
}

fn not_a_place(place: &str) -> Error {
    Error::failed(format!("`{place}` is no place for shared work"))
        .with_hint("expected a folder that all machines share, or s3://BUCKET/PREFIX")
}

/// Threads that all stores share.
fn runtime() -> Result<&'static Runtime> {
    static RUNTIME: OnceLock<Option<Runtime>> = OnceLock::new();
    let started = RUNTIME.get_or_init(|| Builder::new_multi_thread().worker_threads(2).enable_all().build().ok());
    started.as_ref().ok_or_else(|| Error::failed("the system gives no threads").of_kind(TryAgain::Later))
}

/// Waits for an answer.
fn block_on<T>(answer: impl Future<Output = T>) -> Result<T> {
    Ok(runtime()?.block_on(answer))
}
