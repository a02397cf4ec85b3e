//! A file of JSON lines that grows while a run is on and is read back when it is over.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, Write};
use std::path::Path;

use serde::Serialize;

/// Bytes that gather before they are written without being asked for.
const BLOCK: usize = 64 << 10;

/// Lines of JSON in a file. Memory holds only what is not written yet; after an error in writing, all that follows.
#[derive(Debug)]
pub(crate) struct LineFile {
    file: File,
    /// Lines that the file lacks.
    waiting: Vec<u8>,
    /// Bytes that were written without an error.
    written: u64,
    failed: bool,
}

fn created(path: &Path) -> io::Result<File> {
    File::options().read(true).write(true).create_new(true).open(path)
}

/// Creates a file in `folder` that has no name there any more. It is gone when the program is, however it ends.
pub(crate) fn unnamed(folder: &Path) -> io::Result<File> {
    let path = |number: u32| folder.join(format!(".{}-{number}.tmp", std::process::id()));
    let is_taken =
        |file: &io::Result<File>| file.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::AlreadyExists);
    // One that was left behind by a program of the same number keeps none from being created.
    let mut tried = (0..100).map(|number| (created(&path(number)), path(number)));
    let (file, path) =
        tried.find(|(file, _)| !is_taken(file)).ok_or_else(|| io::Error::from(io::ErrorKind::AlreadyExists))?;
    let file = file?;
    if let Err(error) = std::fs::remove_file(&path) {
        // Some systems keep the name of a file that is open.
        drop(file);
        let _ = std::fs::remove_file(&path);
        return Err(error);
    }
    Ok(file)
}

impl LineFile {
    /// Creates a file that must not exist.
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        created(path).map(Self::from_file)
    }

    /// Creates a file in `folder` that has no name there any more.
    pub(crate) fn unnamed(folder: &Path) -> io::Result<Self> {
        unnamed(folder).map(Self::from_file)
    }

    const fn from_file(file: File) -> Self {
        Self { file, waiting: Vec::new(), written: 0, failed: false }
    }

    /// Appends a line.
    ///
    /// # Errors
    ///
    /// The first time that the file cannot be written.
    pub(crate) fn append(&mut self, line: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.waiting, line)?;
        self.push(b"\n")
    }

    /// Appends bytes.
    ///
    /// # Errors
    ///
    /// As [`LineFile::append`].
    pub(super) fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.waiting.extend_from_slice(bytes);
        if self.waiting.len() < BLOCK { Ok(()) } else { self.flush() }
    }

    /// Hands what was appended to the operating system.
    ///
    /// # Errors
    ///
    /// The first time that the file cannot be written.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        if self.failed {
            return Ok(());
        }
        self.failed = true;
        self.file.write_all(&self.waiting)?;
        self.failed = false;
        self.written += self.waiting.len() as u64;
        self.waiting.clear();
        Ok(())
    }

    /// All lines from the first on, those that could not be written too.
    ///
    /// # Errors
    ///
    /// When the file cannot be read.
    pub(crate) fn read_back(mut self) -> io::Result<impl BufRead> {
        self.file.rewind()?;
        let rest = io::Cursor::new(self.waiting);
        Ok(BufReader::new(self.file.take(self.written)).chain(rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_of(file: LineFile) -> Vec<u64> {
        file.read_back().unwrap().lines().map(|line| line.unwrap().parse().unwrap()).collect()
    }

    #[test]
    fn all_lines_come_back_and_memory_holds_a_block() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = LineFile::unnamed(folder.path()).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "it has no name");
        for number in 0..100_000_u64 {
            file.append(&number).unwrap();
        }
        assert!(file.waiting.capacity() <= 2 * BLOCK, "{}", file.waiting.capacity());
        assert_eq!(lines_of(file), (0..100_000).collect::<Vec<_>>());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn what_cannot_be_written_is_said_once_and_stays_in_memory() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = LineFile::unnamed(folder.path()).unwrap();
        file.append(&1_u64).unwrap();
        file.flush().unwrap();
        // Every write to this one fails, as on a full disk.
        let disk = std::mem::replace(&mut file.file, File::options().write(true).open("/dev/full").unwrap());
        file.append(&2_u64).unwrap();
        assert_eq!(file.flush().unwrap_err().kind(), io::ErrorKind::StorageFull);
        file.append(&3_u64).unwrap();
        file.flush().unwrap();
        file.file = disk;
        assert_eq!(lines_of(file), [1, 2, 3]);
    }
}
