//! Files, hashed while they are read.

use std::fs::File;
use std::io::{self, Read};

use sha2::{Digest, Sha256};

use super::parse::RowParser;

/// Facts about the files of a dataset, once they are read.
#[derive(Default)]
pub(super) struct FileDigest {
    /// Reader of a row that is needed again; none where prompts stay in memory.
    pub(super) parser: Option<RowParser>,
    pub(super) bytes: u64,
    /// SHA-256 of the file; of several files that of their SHA-256, one after another.
    pub(super) sha256: [u8; 32],
    /// The commit of the hub that they are of.
    pub(super) revision: Option<String>,
    /// Names of the files on the hub.
    pub(super) names: Vec<String>,
}

/// A file with the hash and the number of the bytes that were read.
pub(super) struct Hashed {
    pub(super) file: File,
    pub(super) hash: Sha256,
    pub(super) bytes: u64,
}

impl Read for Hashed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.hash.update(buffer.get(..count).unwrap_or_default());
        self.bytes += count as u64;
        Ok(count)
    }
}
