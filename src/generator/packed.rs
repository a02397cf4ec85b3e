//! Files that may be compressed as a whole.

use std::fmt;
use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use zstd::stream::read::Decoder;

/// First bytes of a file of gzip, and of one of Zstandard.
const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// The content of a file, unpacked where it is compressed.
pub(super) struct Unpacked {
    content: Box<dyn Read + Send + Sync>,
    /// Name of the compression.
    pub(super) packing: Option<&'static str>,
}

impl Unpacked {
    /// Opens a file, and tells by its first bytes whether it is compressed.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let mut begins = Vec::new();
        file.by_ref().take(ZSTD.len() as u64).read_to_end(&mut begins)?;
        let (is_gzip, is_zstd) = (begins.starts_with(GZIP), begins == ZSTD);
        let content = Cursor::new(begins).chain(file);
        Ok(if is_gzip {
            Self { content: Box::new(MultiGzDecoder::new(content)), packing: Some("gzip") }
        } else if is_zstd {
            Self { content: Box::new(Decoder::new(content)?), packing: Some("zstd") }
        } else {
            Self { content: Box::new(content), packing: None }
        })
    }
}

impl Read for Unpacked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.content.read(buffer).map_err(|error| match self.packing {
            Some(packing) => {
                let cause = format!("it cannot be unpacked with {packing} ({error}); copy the file again");
                io::Error::new(error.kind(), cause)
            }
            None => error,
        })
    }
}

impl fmt::Debug for Unpacked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unpacked").field("packing", &self.packing).finish_non_exhaustive()
    }
}
