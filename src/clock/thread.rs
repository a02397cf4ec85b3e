//! Starts threads, or says in words why there is none.

use std::io;
use std::thread::{Builder, JoinHandle};

/// A thread of this name, which does `work`.
///
/// # Errors
///
/// Where the system starts none, with the cure.
pub(crate) fn start_thread<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    Builder::new().name(name.to_owned()).spawn(work).map_err(|error| no_thread(&error))
}

/// An error of the system that started no thread, with the cure.
pub(crate) fn no_thread(error: &io::Error) -> io::Error {
    let cure =
        "allow this user more processes (`ulimit -u`), or this container more (its limit of pids), or end others";
    io::Error::new(error.kind(), format!("this machine starts no more threads: {error}\nhint: {cure}"))
}
