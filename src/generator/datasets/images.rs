//! A folder of images, ready to be sent.

use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use super::error::DatasetError;
use super::messages;
use super::png::png;
use crate::generator::request::Prompt;
use crate::random::RandomStream;
use crate::units::hexadecimal;
use crate::workload::{ImageFindings, Images};

/// Most bytes of all images of a folder.
const MOST_BYTES: u64 = 256 << 20;
/// Most bytes of request bodies prepared at once.
const MOST_READY: f64 = (4_u64 << 30) as f64;
/// Images that are made for a class.
const MADE: u64 = 32;
/// Requests that a run prepares ahead.
const READY: f64 = 512.0;

/// The images of a class, as data URLs.
#[derive(Debug)]
pub(crate) struct ImageFolder {
    urls: Vec<String>,
}

impl ImageFolder {
    /// Reads every image in the folder, in the order of names, or makes images. Hidden files and subfolders are
    /// ignored.
    pub(super) fn open(images: &Images, stream: &RandomStream) -> Result<(Self, ImageFindings), DatasetError> {
        let origin = images.origin();
        let folder = Path::new(&origin);
        let (mut urls, mut bytes, mut hash) = (Vec::new(), 0, Sha256::new());
        let mut add = |image: &[u8], kind: &str| {
            hash.update(image);
            bytes += image.len() as u64;
            urls.push(format!("data:{kind};base64,{}", STANDARD.encode(image)));
        };
        match images.size {
            Some(size) => (0..MADE).for_each(|number| add(&png(size, &mut stream.branch(number)), "image/png")),
            None => read(folder, &mut add)?,
        }
        if urls.is_empty() {
            return Err(DatasetError::NoImages { path: folder.to_owned() });
        }
        let mean_url = urls.iter().map(String::len).sum::<usize>() as f64 / urls.len() as f64;
        let ready = mean_url * images.per_request.mean() * READY;
        if ready > MOST_READY {
            return Err(DatasetError::LargeRequests {
                path: folder.to_owned(),
                requests: READY as u64,
                found: mebibytes(ready),
                most: mebibytes(MOST_READY),
            });
        }
        let findings = ImageFindings { images: urls.len() as u64, bytes, sha256: hexadecimal(&hash.finalize()) };
        Ok((Self { urls }, findings))
    }

    /// The prompt followed by `count` images, each drawn independently.
    pub(crate) fn beside(&self, prompt: Prompt, count: u16, stream: &mut RandomStream) -> Prompt {
        let Prompt::Text(text) = &prompt else { return prompt };
        let drawn: Vec<usize> = (0..count).map(|_| stream.below(self.urls.len() as u64) as usize).collect();
        let urls = drawn.iter().filter_map(|&image| self.urls.get(image)).map(String::as_str);
        Prompt::Messages(messages::with_images(text, urls))
    }
}

/// Reads the images of a folder.
fn read(folder: &Path, add: &mut impl FnMut(&[u8], &str)) -> Result<(), DatasetError> {
    let mut bytes = 0;
    for path in files(folder)? {
        // Checks the size before reading.
        bytes += fs::metadata(&path).map_err(unreadable(&path))?.len();
        if bytes > MOST_BYTES {
            let found = mebibytes(bytes as f64);
            return Err(DatasetError::LargeImages { path, found, most: MOST_BYTES >> 20 });
        }
        let image = fs::read(&path).map_err(unreadable(&path))?;
        let Some(kind) = media_type(&image) else { return Err(DatasetError::NotAnImage { path }) };
        add(&image, kind);
    }
    Ok(())
}

fn files(folder: &Path) -> Result<Vec<PathBuf>, DatasetError> {
    let entries = fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let mut entries = entries.map_err(unreadable(folder))?;
    entries.retain(|entry| !entry.file_name().to_string_lossy().starts_with('.'));
    let mut files: Vec<_> = entries.iter().map(DirEntry::path).filter(|path| path.is_file()).collect();
    files.sort_unstable();
    Ok(files)
}

fn unreadable(path: &Path) -> impl Fn(io::Error) -> DatasetError {
    move |cause| DatasetError::UnreadableImages { path: path.to_owned(), cause }
}

/// Whole MiB, rounded up.
fn mebibytes(bytes: f64) -> u64 {
    (bytes / f64::from(1 << 20)).ceil() as u64
}

/// Returns the media type of an image by its first bytes. They are the signatures of PNG (RFC 2083), JPEG (SOI and the
/// next marker), GIF and WebP (RFC 9649).
fn media_type(image: &[u8]) -> Option<&'static str> {
    match image {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_known_by_their_first_bytes() {
        for (bytes, kind) in [
            (&b"\x89PNG\r\n\x1a\n...."[..], Some("image/png")),
            (b"\xff\xd8\xff\xe0", Some("image/jpeg")),
            (b"GIF89a", Some("image/gif")),
            (b"RIFF\x01\0\0\0WEBPVP8 ", Some("image/webp")),
            (b"RIFF\x01\0\0\0WAVE", None),
            (b"<svg/>", None),
            (b"", None),
        ] {
            assert_eq!(media_type(bytes), kind);
        }
    }
}
