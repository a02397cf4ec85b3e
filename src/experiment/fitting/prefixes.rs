//! Prefixes that requests of a trace share.

use std::collections::HashMap;

use super::PrefixFit;
use crate::analysis::fit::{fit_lengths, zipf_exponent};
use crate::generator::TracedRequest;

/// The least share of requests that begin like another for prefixes to be fitted.
const LEAST_GROUPED: f64 = 0.5;
/// Most prefixes of a class.
const MOST: usize = 100_000;

/// The prefixes of a class, and how long each request's prompt is without its own; none where most requests begin like
/// no other.
///
/// Requests whose first block is the same are a group, and what all of a group have in common is its prefix. One that is
/// alone in its group is given a prefix of the mean length, so that prompts keep their lengths.
pub(super) fn fit(requests: &[&TracedRequest], block_tokens: u32) -> Option<(PrefixFit, Vec<u32>)> {
    let mut groups: HashMap<u64, Group> = HashMap::new();
    for request in requests {
        let first = request.blocks.first()?;
        groups.entry(*first).or_insert_with(|| Group::of(request)).join(request);
    }
    let shared = |group: &&Group| group.requests > 1;
    let grouped = groups.values().filter(shared).map(|group| group.requests).sum::<u64>();
    let grouped = grouped as f64 / requests.len() as f64;
    if grouped < LEAST_GROUPED || groups.len() > MOST {
        return None;
    }
    let lengths: Vec<u32> = groups.values().filter(shared).map(|group| group.tokens(block_tokens)).collect();
    let tokens = fit_lengths(&lengths)?;
    let usual = tokens.observed.mean.round() as u32;
    let own = requests.iter().map(|request| {
        let group = request.blocks.first().and_then(|first| groups.get(first));
        let prefix = group.filter(shared).map_or(usual, |group| group.tokens(block_tokens));
        request.input_tokens.saturating_sub(prefix).max(1)
    });
    let again: u64 =
        groups.values().map(|group| (group.requests - 1) * u64::from(group.tokens(block_tokens))).sum();
    let all: u64 = requests.iter().map(|request| u64::from(request.input_tokens)).sum();
    let times: Vec<u64> = groups.values().map(|group| group.requests).collect();
    let fit = PrefixFit {
        count: groups.len() as u32,
        zipf: zipf_exponent(&times),
        tokens,
        grouped,
        repeated: again as f64 / all as f64,
    };
    Some((fit, own.collect()))
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
        ];
        let (fit, own) = fit(&requests.each_ref(), 16).unwrap();
        // By hand: 32 tokens of the first two; of the next two 48 would leave the shorter nothing of its own, so 39; the
        // last is alone and is given their mean, 35.5.
        assert_eq!(own, [38, 28, 1, 9, 14]);
        assert_eq!((fit.count, fit.grouped), (3, 0.8));
        assert_eq!(fit.repeated, f64::from(32 + 39) / f64::from(70 + 60 + 40 + 48 + 50));
        let alone: Vec<TracedRequest> = (0..9).map(|place| request(50, &[place, 100])).collect();
        assert!(super::fit(&alone.iter().collect::<Vec<_>>(), 16).is_none());
        assert!(super::fit(&[&request(5, &[])], 16).is_none());
    }
}
