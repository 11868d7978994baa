//! A place that several machines share: objects by their names, in a folder or in a bucket of S3.

use std::{
    collections::VecDeque,
    fs::{self, File},
    io::Read,
    ops::Range,
    path::Path,
    sync::{Arc, OnceLock},
};

use object_store::{
    Error as StoreError, ObjectStore, ObjectStoreExt, PutMode, PutPayload, WriteMultipart, local::LocalFileSystem,
    path::Path as ObjectPath,
};
use tokio::runtime::{Builder, Runtime};
use wb_core::Error;

use crate::{Result, TryAgain, s3};

/// Bytes of a part of an upload, and of a download; S3 takes no smaller ones but the last.
const PART: usize = 16 << 20;
/// Parts of an upload, or of a download, that are on their way at once.
const AT_ONCE: usize = 4;

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
        // What is no text is no name of a server and no key.
        let variables =
            std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        Self::open_by(place, &variables.collect::<Vec<_>>())
    }

    /// [`Store::open`] by the variables of an environment.
    pub fn open_by(place: &str, variables: &[(String, String)]) -> Result<Self> {
        if let Some(rest) = place.strip_prefix(s3::SCHEME) {
            let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
            if bucket.is_empty() {
                return Err(not_a_place(place));
            }
            let root = format!("{}{bucket}", s3::SCHEME);
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
        let (runtime, path) = (runtime()?, self.path(name));
        let (mut coming, mut next) = (VecDeque::new(), 0);
        loop {
            while coming.len() < AT_ONCE && next < size {
                let range = next..(next + PART as u64).min(size);
                next = range.end;
                let (objects, path) = (Arc::clone(&self.objects), path.clone());
                coming.push_back(runtime.spawn(async move { objects.get_range(&path, range).await }));
            }
            let Some(piece) = coming.pop_front() else { return Ok(()) };
            let piece = runtime.block_on(piece).unwrap_or_else(|error| Err(error.into()));
            take(&piece.map_err(|error| self.failed("read", name, error))?)?;
        }
    }

    /// Length of an object in bytes; none where there is no such object.
    pub fn size(&self, name: &str) -> Result<Option<u64>> {
        let path = self.path(name);
        match block_on(self.objects.head(&path))? {
            Ok(object) => Ok(Some(object.size)),
            Err(StoreError::NotFound { .. }) => Ok(None),
            Err(error) => Err(self.failed("read", name, error)),
        }
    }

    /// Makes an object unless there is one of that name: of many who do so at once, one succeeds.
    pub fn create(&self, name: &str, bytes: Vec<u8>) -> Result<Created> {
        let path = self.path(name);
        let payload = PutPayload::from(bytes);
        match block_on(self.objects.put_opts(&path, payload, PutMode::Create.into()))? {
            Ok(_) => Ok(Created::Ours),
            Err(StoreError::AlreadyExists { .. } | StoreError::Precondition { .. }) => Ok(Created::Theirs),
            Err(error) => Err(self.failed("write", name, error)),
        }
    }

    /// Writes an object, over the one that is there.
    pub fn put(&self, name: &str, bytes: Vec<u8>) -> Result<()> {
        let path = self.path(name);
        let put = block_on(self.objects.put(&path, PutPayload::from(bytes)))?;
        put.map(|_| ()).map_err(|error| self.failed("write", name, error))
    }

    /// Writes a file into an object, part by part. Only for names that nobody else writes, or that say the content: a large
    /// object cannot be created in one step.
    pub fn upload(&self, name: &str, file: &Path) -> Result<()> {
        let mut from = File::open(file).map_err(Error::io("read", file))?;
        let length = from.metadata().map_err(Error::io("read", file))?.len();
        if length <= PART as u64 {
            let mut bytes = Vec::with_capacity(length as usize);
            from.read_to_end(&mut bytes).map_err(Error::io("read", file))?;
            return self.create(name, bytes).map(|_| ());
        }
        let path = self.path(name);
        let mut unread = None;
        let uploaded = block_on(async {
            let mut upload = WriteMultipart::new_with_chunk_size(self.objects.put_multipart(&path).await?, PART);
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
            None => uploaded.map_err(|error| self.failed("write", name, error)),
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
        let path = self.path(name);
        match block_on(self.objects.delete(&path))? {
            Ok(()) | Err(StoreError::NotFound { .. }) => Ok(()),
            Err(error) => Err(self.failed("delete", name, error)),
        }
    }

    /// An error with its hint, and whether the same may pass at another time.
    fn failed(&self, action: &str, name: &str, error: StoreError) -> Error {
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
        let failed = Error::failed(format!("cannot {action} {}", self.shown(name))).with_cause(error);
        let failed = failed.with_hint_if(hint);
        if may_pass { failed.of_kind(TryAgain) } else { failed }
    }
}

fn not_a_place(place: &str) -> Error {
    Error::failed(format!("`{place}` is no place for shared work"))
        .with_hint("expected a folder that all machines share, or s3://BUCKET/PREFIX")
}

/// Threads that all stores share.
fn runtime() -> Result<&'static Runtime> {
    static RUNTIME: OnceLock<Option<Runtime>> = OnceLock::new();
    let started = RUNTIME.get_or_init(|| Builder::new_multi_thread().worker_threads(2).enable_all().build().ok());
    started.as_ref().ok_or_else(|| Error::failed("the system gives no threads").of_kind(TryAgain))
}

/// Waits for an answer.
fn block_on<T>(answer: impl Future<Output = T>) -> Result<T> {
    Ok(runtime()?.block_on(answer))
}
