//! `skyline mock` in a process of its own.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};

/// A mock on a free port; its process ends with this value.
pub(crate) struct MockProcess {
    process: Child,
    words: BufReader<ChildStderr>,
    /// Where it listens.
    pub(crate) url: String,
}

impl MockProcess {
    /// Starts the binary at `skyline`, and waits until it listens.
    pub(crate) fn start(skyline: &Path, options: &[&str]) -> Self {
        let mut process =
            Command::new(skyline).args(["mock", "--port", "0"]).args(options).stderr(Stdio::piped()).spawn().unwrap();
        let mut words = BufReader::new(process.stderr.take().unwrap());
        let mut line = String::new();
        while !line.contains("http://") {
            line.clear();
            assert!(words.read_line(&mut line).unwrap() > 0, "the mock ended");
        }
        let url = line.rsplit(' ').next().unwrap().trim().to_owned();
        Self { process, words, url }
    }

    /// Its number.
    #[allow(dead_code, reason = "only the tests of the program ask for it")]
    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// Ends it with this signal, by its name for `kill`: how it ended, and what it said of what it did.
    pub(crate) fn end(mut self, signal: &str) -> (ExitStatus, String) {
        Command::new("kill").args([signal, &self.process.id().to_string()]).status().unwrap();
        let mut rest = String::new();
        self.words.read_to_string(&mut rest).unwrap();
        (self.process.wait().unwrap(), rest)
    }
}

impl Drop for MockProcess {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
