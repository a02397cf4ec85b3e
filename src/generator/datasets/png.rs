//! Images that are made: squares of random colours, as PNG.

use std::io::Write as _;

use crc32fast::Hasher;
use flate2::Compression;
use flate2::write::ZlibEncoder;

use crate::random::RandomStream;
use crate::workload::ImageSize;

/// Side of a square, pixels.
const SQUARE: u32 = 16;
/// Bytes of a pixel: red, green and blue.
const PIXEL: usize = 3;
const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";

/// An image of this size (PNG specification, third edition). No two streams make the same.
pub(super) fn png(size: ImageSize, stream: &mut RandomStream) -> Vec<u8> {
    let mut head = [size.width.to_be_bytes(), size.height.to_be_bytes()].concat();
    // Eight bits a sample, true colour, the only methods that there are, not interlaced.
    head.extend_from_slice(&[8, 2, 0, 0, 0]);
    let mut image = SIGNATURE.to_vec();
    chunk(&mut image, *b"IHDR", &head);
    chunk(&mut image, *b"IDAT", &compressed(&samples(size, stream)));
    chunk(&mut image, *b"IEND", &[]);
    image
}

/// The samples of all lines, each behind the number of its filter.
fn samples(size: ImageSize, stream: &mut RandomStream) -> Vec<u8> {
    let mut all = Vec::new();
    let mut line = Vec::new();
    for row in 0..size.height {
        if row % SQUARE == 0 {
            line = vec![0];
            for _ in 0..size.width.div_ceil(SQUARE) {
                let colour = stream.bits().to_le_bytes();
                line.extend(colour[..PIXEL].iter().copied().cycle().take(PIXEL * SQUARE as usize));
            }
            line.truncate(1 + PIXEL * size.width as usize);
        }
        all.extend_from_slice(&line);
    }
    all
}

fn compressed(samples: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    // Writing to memory cannot fail.
    let _ = encoder.write_all(samples);
    encoder.finish().unwrap_or_default()
}

/// Adds a chunk: its length, its kind, what it holds, and its checksum.
fn chunk(image: &mut Vec<u8>, kind: [u8; 4], held: &[u8]) {
    let mut checksum = Hasher::new();
    checksum.update(&kind);
    checksum.update(held);
    image.extend_from_slice(&(held.len() as u32).to_be_bytes());
    image.extend_from_slice(&kind);
    image.extend_from_slice(held);
    image.extend_from_slice(&checksum.finalize().to_be_bytes());
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use flate2::read::ZlibDecoder;

    use super::*;

    fn image(seed: u64) -> Vec<u8> {
        png(ImageSize { width: 40, height: 20 }, &mut RandomStream::named(seed, "images"))
    }

    #[test]
    fn an_image_has_its_size_and_whole_squares_of_one_colour() {
        let image = image(1);
        assert_eq!((&image[..8], &image[12..16]), (SIGNATURE, &b"IHDR"[..]));
        assert_eq!((&image[16..24], &image[24..29]), (&[0, 0, 0, 40, 0, 0, 0, 20][..], &[8, 2, 0, 0, 0][..]));
        // https://www.w3.org/TR/png-3/#5CRC-algorithm: the checksum of an empty IEND.
        assert_eq!(image[image.len() - 12..], *b"\0\0\0\0IEND\xae\x42\x60\x82");
        let held = u32::from_be_bytes(image[33..37].try_into().unwrap()) as usize;
        assert_eq!((&image[37..41], image.len()), (&b"IDAT"[..], 41 + held + 4 + 12));
        let mut samples = Vec::new();
        ZlibDecoder::new(&image[41..41 + held]).read_to_end(&mut samples).unwrap();
        assert_eq!(samples.len(), 20 * (1 + 3 * 40));
        let lines: Vec<&[u8]> = samples.chunks(121).collect();
        assert!(lines.iter().all(|line| line[0] == 0 && line[1..49].chunks(3).all(|pixel| *pixel == line[1..4])));
        assert!(lines[0] == lines[15] && lines[0] != lines[16] && lines[0][1..4] != lines[0][49..52]);
    }

    #[test]
    fn one_seed_makes_one_image() {
        assert!(image(1) == image(1) && image(1) != image(2));
    }
}
