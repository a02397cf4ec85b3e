//! Audio that is made: syllables of voice-like sound, as WAV.

use std::f64::consts::{PI, TAU};

use crate::generator::request::Prompt;
use crate::random::RandomStream;
use crate::workload::Audio;

/// Samples of a second, as models of speech take them.
const RATE: u32 = 16_000;
/// Bytes of a sample: 16 bits, one channel.
const SAMPLE: u32 = 2;
/// Largest sample.
const LOUDEST: f64 = 16_000.0;
/// Samples that tell the audio of one request from that of any other.
const MARKED: usize = 64;

/// The audio of a class. It is one recording, which each request begins at a place of its own.
#[derive(Debug)]
pub(crate) struct AudioClip {
    samples: Vec<i16>,
}

impl AudioClip {
    /// Makes the recording.
    pub(crate) fn made(audio: Audio, mut stream: RandomStream) -> Self {
        let length = (audio.seconds * f64::from(RATE)).round() as usize;
        let mut sound = Vec::with_capacity(length);
        while sound.len() < length {
            syllable(&mut sound, &mut stream);
        }
        sound.truncate(length);
        let peak = sound.iter().fold(f64::MIN_POSITIVE, |most, sample| sample.abs().max(most));
        Self { samples: sound.into_iter().map(|sample| (sample / peak * LOUDEST) as i16).collect() }
    }

    /// The audio of one request. It is the recording from some place on, and then up to there. The last bits of its
    /// first samples are those of no other request, so that no cache knows it.
    pub(crate) fn prompt(&self, stream: &mut RandomStream) -> Prompt {
        let (before, after) = self.samples.split_at(stream.below(self.samples.len().max(1) as u64) as usize);
        let mut wav = head(self.samples.len() as u32 * SAMPLE);
        let mark = stream.bits();
        for (place, sample) in after.iter().chain(before).enumerate() {
            let bit = if place < MARKED { ((mark >> place) & 1) as i16 } else { 0 };
            wav.extend_from_slice(&(sample ^ bit).to_le_bytes());
        }
        Prompt::Audio(wav)
    }
}

/// Adds a fifth of a second or so. It is a pulse, or noise, through two resonances, that begins and ends softly.
fn syllable(sound: &mut Vec<f64>, stream: &mut RandomStream) {
    let mut between = |low: f64, high: f64| low + (high - low) * stream.unit();
    let length = between(0.12, 0.3) * f64::from(RATE);
    let (pitch, loudness, is_voiced) = (between(90.0, 220.0), between(0.3, 1.0), between(0.0, 1.0) < 0.8);
    let mut resonances = [Resonance::new(between(300.0, 800.0)), Resonance::new(between(900.0, 2_600.0))];
    for sample in 0..length as usize {
        let source =
            if is_voiced { (sample as f64 * pitch / f64::from(RATE)).fract() - 0.5 } else { stream.unit() - 0.5 };
        let part = sample as f64 / length;
        let heard: f64 = resonances.iter_mut().map(|resonance| resonance.next(source)).sum();
        sound.push(heard * loudness * 4.0 * part * (1.0 - part));
    }
}

/// A resonance: a filter with two poles.
struct Resonance {
    factors: [f64; 2],
    last: [f64; 2],
}

impl Resonance {
    /// Frequencies around this one, 100 Hz wide.
    fn new(frequency: f64) -> Self {
        let radius = (-PI * 100.0 / f64::from(RATE)).exp();
        let factors = [2.0 * radius * (TAU * frequency / f64::from(RATE)).cos(), -radius * radius];
        Self { factors, last: [0.0; 2] }
    }

    fn next(&mut self, source: f64) -> f64 {
        let [first, second] = self.factors;
        let next = source + first * self.last[0] + second * self.last[1];
        self.last = [next, self.last[0]];
        next
    }
}

/// The head of a WAV file with so many bytes of samples: PCM, one channel.
fn head(bytes: u32) -> Vec<u8> {
    let mut head = Vec::with_capacity(44 + bytes as usize);
    head.extend_from_slice(b"RIFF");
    head.extend_from_slice(&(36 + bytes).to_le_bytes());
    head.extend_from_slice(b"WAVEfmt \x10\0\0\0\x01\0\x01\0");
    head.extend_from_slice(&RATE.to_le_bytes());
    head.extend_from_slice(&(RATE * SAMPLE).to_le_bytes());
    head.extend_from_slice(&[SAMPLE as u8, 0, 8 * SAMPLE as u8, 0]);
    head.extend_from_slice(b"data");
    head.extend_from_slice(&bytes.to_le_bytes());
    head
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wav(seed: u64, request: u64) -> Vec<u8> {
        let clip = AudioClip::made(Audio { seconds: 0.5 }, RandomStream::named(seed, "audio"));
        match clip.prompt(&mut RandomStream::named(seed, "prompts").branch(request)) {
            Prompt::Audio(wav) => wav,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_file_says_what_it_holds() {
        let wav = wav(1, 0);
        assert_eq!(wav.len(), 44 + 16_000);
        assert_eq!((&wav[..4], &wav[8..16], &wav[36..40]), (&b"RIFF"[..], &b"WAVEfmt "[..], &b"data"[..]));
        let number = |at: usize, bytes: usize| {
            wav[at..at + bytes].iter().rev().fold(0, |sum, byte| (sum << 8) | u64::from(*byte))
        };
        assert_eq!((number(4, 4), number(40, 4)), (wav.len() as u64 - 8, 16_000), "sizes");
        assert_eq!([number(16, 4), number(20, 2), number(22, 2), number(24, 4)], [16, 1, 1, 16_000], "PCM, mono");
        assert_eq!([number(28, 4), number(32, 2), number(34, 2)], [32_000, 2, 16]);
    }

    #[test]
    fn one_seed_makes_one_audio_and_no_two_requests_have_the_same() {
        assert!(wav(1, 0) == wav(1, 0) && wav(1, 0) != wav(1, 1) && wav(1, 0) != wav(2, 0));
        let loudest = wav(1, 0)[44..].chunks(2).map(|pair| i16::from_le_bytes([pair[0], pair[1]]).unsigned_abs()).max();
        assert!((15_990..=16_001).contains(&loudest.unwrap()), "{loudest:?}");
    }
}
