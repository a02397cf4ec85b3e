//! Prefixes that requests of a trace share.
use std::collections::HashMap;

use super::spec::PrefixFit;
use crate::analysis::fit::{fit_lengths, zipf_exponent};
use crate::analysis::statistics::variance;
use crate::analysis::wording::percent;
use crate::generator::TracedRequest;
use crate::units::count;
use crate::workload::zipf;

/// The least share of requests that begin like another for prefixes to be fitted.
const LEAST_GROUPED: f64 = 0.5;
/// Most prefixes of a class.
const MOST: usize = 100_000;
/// The most that the mean prompt of a workload may be off what was observed, as a share of it.
const MOST_OFF: f64 = 0.1;

/// The prefixes of a class, and how long each request's prompt is without its own.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) fit: PrefixFit,
    pub(super) own: Vec<u32>,
}

/// The prefixes of the class called `name`; none where most requests begin like no other, and, which `notes` then say,
/// where prompts would not be as long on average as those observed.
///
/// Requests whose first block is the same are a group, and what all of a group have in common is its prefix. One that
/// is alone in its group, or names no block, is given a prefix of the mean length, so that prompts keep their lengths.
/// How long a prefix is counts for each request that begins with it, since prompts are drawn apart from their lengths.
pub(super) fn fit(
    name: &str,
    requests: &[&TracedRequest],
    block_tokens: u32,
    notes: &mut Vec<String>,
) -> Option<Shared> {
    let mut groups: HashMap<u64, Group> = HashMap::new();
    let mut without_blocks = 0_u64;
    for request in requests {
        match request.blocks.first() {
            Some(first) => groups.entry(*first).or_insert_with(|| Group::of(request)).join(request),
            None => without_blocks += 1,
        }
    }
    let of = |request: &TracedRequest| {
        let group = request.blocks.first().and_then(|first| groups.get(first));
        group.filter(|group| group.requests > 1).map(|group| group.tokens(block_tokens))
    };
    let lengths: Vec<u32> = requests.iter().filter_map(|request| of(request)).collect();
    let grouped = lengths.len() as f64 / requests.len() as f64;
    let prefixes = groups.len() + without_blocks as usize;
    if grouped < LEAST_GROUPED || prefixes > MOST {
        return None;
    }
    let tokens = fit_lengths(&lengths)?;
    let usual = tokens.observed.mean.round() as u32;
    let own = requests.iter().map(|request| {
        let prefix = of(request).unwrap_or(usual);
        request.input_tokens.saturating_sub(prefix).max(1)
    });
    let own: Vec<u32> = own.collect();
    let again: u64 =
        groups.values().map(|group| (group.requests - 1) * u64::from(group.tokens(block_tokens))).sum();
    let all: u64 = requests.iter().map(|request| u64::from(request.input_tokens)).sum();
    let times = groups.values().map(|group| group.requests);
    let times: Vec<u64> = times.chain((0..without_blocks).map(|_| 1)).collect();
    let zipf = zipf_exponent(&times);
    let observed = all as f64 / requests.len() as f64;
    let drawn = own.iter().copied().map(f64::from).sum::<f64>() / own.len() as f64 + tokens.fitted.mean;
    let off = (drawn - observed).abs().max(swing(&lengths, prefixes, zipf)) / observed;
    if off > MOST_OFF {
        notes.push(format!(
            "the prefixes that prompts of `{name}` share are not fitted: their lengths, from {} to {} tokens, would be drawn \
             apart from how often each is sent, and the mean prompt, of {observed:.1} tokens, would be off by {} (limit {}) as \
             chance has it. Prompts keep their lengths and share nothing; replay the trace itself where the prefix cache \
             matters",
            count(lengths.iter().min().copied().unwrap_or(0).into()),
            count(lengths.iter().max().copied().unwrap_or(0).into()),
            percent(off),
            percent(MOST_OFF)
        ));
        return None;
    }
    let fit = PrefixFit {
        count: prefixes as u32,
        zipf,
        tokens,
        grouped,
        repeated: again as f64 / all as f64,
        prompt_mean: observed,
    };
    Some(Shared { fit, own })
}

/// By how much the mean prefix of a workload's requests swings from seed to seed, tokens: each of `prefixes` has a
/// length of its own, drawn once, and the k-th is that of a share p of the requests, so that the standard deviation is
/// σ·√(Σp²).
fn swing(lengths: &[u32], prefixes: usize, exponent: f64) -> f64 {
    let lengths: Vec<f64> = lengths.iter().copied().map(f64::from).collect();
    let (all, squares) = zipf(prefixes as u64, exponent)
        .fold((0.0, 0.0), |(all, squares), weight| (all + weight, squares + weight * weight));
    libm::sqrt(variance(&lengths).unwrap_or(0.0) * squares) / all
}

/// Requests that begin with the same block.
struct Group {
    requests: u64,
    /// Blocks that all of them begin with.
    common: Box<[u64]>,
    /// The shortest prompt.
    shortest: u32,
}

impl Group {
    fn of(request: &TracedRequest) -> Self {
        Self { requests: 0, common: request.blocks.clone(), shortest: request.input_tokens }
    }

    fn join(&mut self, request: &TracedRequest) {
        self.requests += 1;
        self.shortest = self.shortest.min(request.input_tokens);
        let alike = self.common.iter().zip(&request.blocks).take_while(|(own, its)| own == its).count();
        if alike < self.common.len() {
            self.common = self.common.iter().take(alike).copied().collect();
        }
    }

    /// Tokens of the prefix; a prompt has at least one of its own.
    fn tokens(&self, block_tokens: u32) -> u32 {
        let blocks = u32::try_from(self.common.len()).unwrap_or(u32::MAX);
        blocks.saturating_mul(block_tokens).min(self.shortest - 1).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(input_tokens: u32, blocks: &[u64]) -> TracedRequest {
        TracedRequest { input_tokens, output_tokens: 1, blocks: blocks.into(), ..TracedRequest::default() }
    }

    #[test]
    fn what_a_group_has_in_common_is_its_prefix() {
        let requests = [
            request(70, &[1, 2, 3, 4]),
            request(60, &[1, 2, 5, 6]),
            request(40, &[7, 8, 9]),
            request(48, &[7, 8, 9]),
            request(50, &[20, 21]),
            request(50, &[]),
        ];
        let shared = fit("talk", &requests.each_ref(), 16, &mut Vec::new()).unwrap();
        // By hand: 32 tokens of the first two; of the next two 48 would leave the shorter nothing of its own, so 39;
        // the last two share nothing and are given their mean, 35.5.
        assert_eq!(shared.own, [38, 28, 1, 9, 14, 14]);
        assert_eq!((shared.fit.count, shared.fit.grouped), (4, 4.0 / 6.0));
        assert_eq!(shared.fit.prompt_mean, 53.0);
        assert_eq!(shared.fit.repeated, f64::from(32 + 39) / f64::from(70 + 60 + 40 + 48 + 50 + 50));
        let mut notes = Vec::new();
        let alone: Vec<TracedRequest> = (0..9).map(|place| request(50, &[place, 100])).collect();
        assert!(fit("talk", &alone.iter().collect::<Vec<_>>(), 16, &mut notes).is_none());
        assert!(fit("talk", &[&request(5, &[])], 16, &mut notes).is_none());
        assert!(notes.is_empty(), "{notes:?}");
    }

    #[test]
    fn prefixes_that_would_make_prompts_of_other_lengths_are_refused() {
        // Nine in ten begin with one prefix of 16 tokens, one in ten with one of 640.
        let long: Vec<u64> = (100..140).collect();
        let mut requests: Vec<TracedRequest> = (0..90).map(|_| request(26, &[1])).collect();
        requests.extend((0..10).map(|_| request(650, &long)));
        let mut notes = Vec::new();
        assert!(fit("ask", &requests.iter().collect::<Vec<_>>(), 16, &mut notes).is_none());
        let [note] = notes.as_slice() else { panic!("{notes:?}") };
        assert!(note.contains("`ask`") && note.contains("from 16 to 640 tokens"), "{note}");
        // Of two that are alike, chance changes nothing.
        let alike: Vec<TracedRequest> = (0..100).map(|place| request(26, &[u64::from(place < 90)])).collect();
        assert!(fit("ask", &alike.iter().collect::<Vec<_>>(), 16, &mut Vec::new()).is_some());
    }

    #[test]
    fn the_swing_is_that_of_one_length_for_each_prefix() {
        // By hand: two prefixes, two thirds and one third; lengths 0 and 30 have a variance of 450.
        let by_hand = (450.0_f64 * (4.0 + 1.0) / 9.0).sqrt();
        assert!((swing(&[0, 30], 2, 1.0) - by_hand).abs() < 1e-9);
        assert_eq!(swing(&[5, 5, 5], 1, 0.0), 0.0);
    }
}
