//! A server of S3 on this machine: moto, where Python has it.

use std::{
    net::{TcpListener, TcpStream},
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use wb_sandbox::machine::python_with;
use wb_shards::Store;

/// A key that may be seen nowhere.
pub const SECRET: &str = "only-for-tests-s3cr3t";

/// A server with a bucket `code` whose objects keep all their versions; it ends when it is dropped.
pub struct Moto {
    child: Child,
    pub url: String,
    python: PathBuf,
}

impl Moto {
    /// The server; none, with a word for the checks, where Python has no moto.
    pub fn start(test: &str) -> Option<Self> {
        let python = python_with("moto", test)?;
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let child = Command::new(&python)
            .args(["-m", "moto.server", "-H", "127.0.0.1", "-p", &port.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let moto = Self { child, url: format!("http://127.0.0.1:{port}"), python };
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(begun.elapsed() < Duration::from_secs(60), "moto does not answer");
            std::thread::sleep(Duration::from_millis(50));
        }
        moto.python("s3.create_bucket(Bucket='code'); s3.put_bucket_versioning(Bucket='code', VersioningConfiguration={'Status': 'Enabled'})");
        Some(moto)
    }

    /// Output of a line of Python; `s3` is a client of the server.
    pub fn python(&self, line: &str) -> String {
        let begin = format!("import boto3; s3 = boto3.client('s3', endpoint_url='{}')\n", self.url);
        let mut command = Command::new(&self.python);
        command.args(["-c", &(begin + line)]);
        self.variables().into_iter().for_each(|(name, value)| {
            command.env(name, value);
        });
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// The environment by which stores find the server.
    pub fn variables(&self) -> Vec<(String, String)> {
        let all = [
            ("AWS_ENDPOINT_URL", self.url.as_str()),
            ("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE"),
            ("AWS_SECRET_ACCESS_KEY", SECRET),
            ("AWS_DEFAULT_REGION", "us-east-1"),
        ];
        all.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec()
    }

    /// A prefix of the bucket.
    pub fn store(&self, prefix: &str) -> Store {
        Store::open_by(&format!("s3://code/{prefix}"), &self.variables()).unwrap()
    }
}

impl Drop for Moto {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
