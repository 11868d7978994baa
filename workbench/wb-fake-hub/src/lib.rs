//! A server on this machine that speaks the Hugging Face hub's interface, with faults on purpose, for tests.
//!
//! Small files come from the hub itself, large ones by a redirect to another host, as on the real one; both take ranges.
//! Plain files lie under `/web/`. Every request is remembered.

mod fault;
mod http;
mod repository;
mod routes;

use std::{
    io,
    net::{SocketAddr, TcpListener, TcpStream},
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
};

pub use fault::Fault;
pub use http::HubRequest;
pub use repository::Access;

use repository::{File, Repository};

/// A running server; it ends with the process.
#[derive(Clone)]
pub struct FakeHub {
    hub: SocketAddr,
    store: SocketAddr,
    state: Arc<Mutex<State>>,
}

/// Everything that it knows.
#[derive(Default)]
pub(crate) struct State {
    pub(crate) repositories: Vec<Repository>,
    pub(crate) renamed: Vec<(String, String)>,
    pub(crate) web: Vec<(String, Vec<u8>)>,
    pub(crate) faults: Vec<Fault>,
    pub(crate) requests: Vec<HubRequest>,
    /// Entries on a page of a list.
    pub(crate) page: usize,
    /// The address of large files.
    pub(crate) store: String,
    /// The hub's own.
    pub(crate) endpoint: String,
}

impl FakeHub {
    /// Starts a server without any repository.
    pub fn start() -> io::Result<Self> {
        let (hub, store) = (TcpListener::bind("127.0.0.1:0")?, TcpListener::bind("127.0.0.1:0")?);
        let addresses = (hub.local_addr()?, store.local_addr()?);
        let state = State {
            page: 1000,
            // Another name than the hub's, so that a client can tell the two hosts apart.
            store: format!("http://localhost:{}", addresses.1.port()),
            endpoint: format!("http://{}", addresses.0),
            ..State::default()
        };
        let state = Arc::new(Mutex::new(state));
        for (listener, is_store) in [(hub, false), (store, true)] {
            let state = Arc::clone(&state);
            thread::spawn(move || {
                for stream in listener.incoming().flatten() {
                    let state = Arc::clone(&state);
                    thread::spawn(move || answer(stream, &state, is_store));
                }
            });
        }
        Ok(Self { hub: addresses.0, store: addresses.1, state })
    }

    /// Its address, for `HF_ENDPOINT`.
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.hub)
    }

    /// The host of large files.
    pub fn store(&self) -> SocketAddr {
        self.store
    }

    /// Adds a repository (`models` or `datasets`) with these files; gives its commit. A second one of the same name is
    /// its next commit, which its main branch then is.
    pub fn add(&self, kind: &str, id: &str, files: &[(&str, &[u8])]) -> String {
        let files = files.iter().map(|(path, bytes)| File::new(path, bytes.to_vec())).collect();
        let repository = Repository::new(kind, id, files);
        let commit = repository.commit.clone();
        self.state().repositories.insert(0, repository);
        commit
    }

    /// [`FakeHub::add`] under this commit, for clients that know which one they want.
    pub fn add_at(&self, kind: &str, id: &str, commit: &str, files: &[(&str, &[u8])]) {
        let files = files.iter().map(|(path, bytes)| File::new(path, bytes.to_vec())).collect();
        let repository = Repository { commit: commit.to_owned(), ..Repository::new(kind, id, files) };
        self.state().repositories.insert(0, repository);
    }

    /// Adds a repository with the files of a folder, those in folders below included.
    pub fn add_folder(&self, kind: &str, id: &str, folder: &Path) -> io::Result<String> {
        let mut files = Vec::new();
        repository::read_folder(folder, "", &mut files)?;
        let files: Vec<(&str, &[u8])> = files.iter().map(|(path, bytes)| (path.as_str(), bytes.as_slice())).collect();
        Ok(self.add(kind, id, &files))
    }

    /// Lets in only some to a repository.
    pub fn restrict(&self, id: &str, access: Access) {
        for repository in self.state().repositories.iter_mut().filter(|repository| repository.id == id) {
            repository.access = access.clone();
        }
    }

    /// An old name of a repository, which redirects to the new one.
    pub fn rename(&self, old: &str, new: &str) {
        self.state().renamed.push((old.to_owned(), new.to_owned()));
    }

    /// Adds a plain file; gives its address.
    pub fn add_web(&self, path: &str, bytes: &[u8]) -> String {
        self.state().web.push((path.to_owned(), bytes.to_vec()));
        format!("{}/web/{path}", self.endpoint())
    }

    /// Lists of files have so many entries on a page.
    pub fn paged(&self, entries: usize) {
        self.state().page = entries;
    }

    /// From now on this goes wrong.
    pub fn fault(&self, fault: Fault) {
        self.state().faults.push(fault);
    }

    /// Nothing goes wrong any more.
    pub fn mend(&self) {
        self.state().faults.clear();
    }

    /// Every request since the last call, oldest first.
    pub fn requests(&self) -> Vec<HubRequest> {
        std::mem::take(&mut self.state().requests)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One connection: one request, one answer.
fn answer(stream: TcpStream, state: &Mutex<State>, is_store: bool) {
    let Ok(Some(request)) = http::read(&stream, is_store) else { return };
    let answer = {
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        state.requests.push(request.clone());
        let mut answer = routes::answer(&state, &request);
        fault::apply(&mut state.faults, &request, &mut answer);
        answer.head_only = request.method == "HEAD";
        answer
    };
    // A client that went away needs no answer.
    let _ = http::write(stream, answer);
}
