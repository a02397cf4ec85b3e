//! Draws which prefix a request shares, and how long prefixes are.

use super::lengths::LengthSampler;
use crate::random::{RandomStream, WeightedChoice};
use crate::record::SharedPrefix;
use crate::workload::{RequestClass, SharedPrefixes, WorkloadSpec, zipf};

/// The prefixes of a class and their popularity.
#[derive(Clone, Debug)]
pub(super) struct PrefixLaw {
    /// Tokens of each.
    tokens: Vec<u32>,
    popularity: WeightedChoice,
}

impl PrefixLaw {
    /// `lengths` decides how long each prefix is.
    pub(super) fn new(prefixes: &SharedPrefixes, lengths: &RandomStream) -> Self {
        Self {
            tokens: lengths_of(prefixes, lengths),
            popularity: WeightedChoice::new(zipf(u64::from(prefixes.count), prefixes.zipf)),
        }
    }

    pub(super) fn draw(&self, stream: &mut RandomStream) -> SharedPrefix {
        let number = self.popularity.draw(stream);
        SharedPrefix { number: number as u32, tokens: self.tokens.get(number).copied().unwrap_or(0) }
    }
}

fn lengths_of(prefixes: &SharedPrefixes, lengths: &RandomStream) -> Vec<u32> {
    let (distribution, mut stream) = (LengthSampler::new(&prefixes.tokens), lengths.clone());
    (0..prefixes.count).map(|_| distribution.draw(&mut stream)).collect()
}

/// The prefixes of a class of `workload`, most popular first; empty where it has none.
pub fn prefixes_of(workload: &WorkloadSpec, class: &RequestClass) -> Vec<SharedPrefix> {
    let Some(prefixes) = &class.shared_prefix else { return Vec::new() };
    let tokens = lengths_of(prefixes, &RandomStream::named(workload.seed, &format!("prefix_tokens/{}", class.name)));
    tokens.into_iter().zip(0..).map(|(tokens, number)| SharedPrefix { number, tokens }).collect()
}
