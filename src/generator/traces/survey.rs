//! Reads a trace once before it is replayed, and reports what its slice contains.

use std::collections::HashMap;

use super::error::TraceError;
use super::kinds::KindCounts;
use super::replay::{Replay, Replayed};
use super::requests::{Blocks, TraceFacts};
use super::sessions::SessionOpeners;
use super::slice::TraceSlice;
use crate::clock::Timestamp;
use crate::workload::{LengthCounts, Trace, TraceFindings, TraceLengths};

/// Number of bins in which arrivals are counted.
const BINS: usize = 120;
/// Most blocks remembered to detect repeats. They take about 140 MB, and half as much again while their table grows.
const MOST_BLOCKS: usize = 4_000_000;
/// The longest run, seconds.
const LONGEST_S: f64 = 31.0 * 86_400.0;
const MILLISECOND: u64 = 1_000_000;

/// Reads the slice of `trace` as a run of this seed replays it.
pub fn survey(trace: &Trace, seed: u64) -> Result<TraceFindings, TraceError> {
    surveyed(trace, seed).map(Tally::findings)
}

/// Reads a slice as `survey` does, with the lengths of its prompts and answers. No plan stores them.
pub fn survey_with_lengths(trace: &Trace, seed: u64) -> Result<(TraceFindings, Option<TraceLengths>), TraceError> {
    let tally = surveyed(trace, seed)?;
    let lengths = tally.prompts.spread().zip(tally.answers.spread());
    Ok((tally.findings(), lengths.map(|(prompt, answer)| TraceLengths { prompt, answer })))
}

fn surveyed(trace: &Trace, seed: u64) -> Result<Tally, TraceError> {
    let sessions = SessionOpeners::in_trace(trace)?;
    let extent = extent(trace, seed, sessions.as_ref())?;
    let ends_s = extent.length_ns as f64 / 1e9 * trace.time_scale;
    if ends_s > LONGEST_S {
        return Err(TraceError::TooLong { path: trace.path.clone(), ends_s });
    }
    let end = Timestamp::from_secs_f64(ends_s);
    let mut replay = Replay::open(trace, seed, extent.length_ns, sessions.as_ref())?;
    let mut tally = Tally::new(&extent, ends_s, trace.time_scale, replay.block_tokens());
    while let Some(replayed) = replay.next().transpose()? {
        if replayed.at >= end {
            break;
        }
        tally.add(&replayed);
    }
    if tally.found.requests == 0 {
        return Err(TraceError::Thinned { path: trace.path.clone(), rate_scale: trace.rate_scale, seed });
    }
    Ok(tally)
}

/// The slice of the file before scaling.
struct Extent {
    facts: TraceFacts,
    length_ns: u64,
    warmup_ns: Option<u64>,
}

fn extent(trace: &Trace, seed: u64, sessions: Option<&SessionOpeners>) -> Result<Extent, TraceError> {
    let mut slice = TraceSlice::open(trace, seed, sessions)?;
    let from_ns = (trace.from_s * 1e9).round() as u64;
    // The trace of a run ends with the run; later requests only kept its load up.
    let window = slice.facts().window;
    let own_end = window.and_then(|window| window.to_ns.checked_sub(from_ns)).filter(|end| *end > 0);
    let until = trace.for_s.map(|for_s| (for_s * 1e9).round() as u64).or(own_end);
    if let Some(declared) = slice.declared_ns() {
        let length_ns = until.unwrap_or(declared);
        return match declared {
            0 => Err(empty(trace, &slice)),
            _ if length_ns > declared => Err(past_the_end(trace, &slice, length_ns)),
            _ => Ok(Extent { facts: *slice.facts(), length_ns, warmup_ns: None }),
        };
    }
    let (mut requests, mut last_ns, mut whole) = (0_u64, 0, true);
    while let Some((distance, request)) = slice.next().transpose()? {
        if until.is_some_and(|until| distance >= until) {
            whole = false;
            break;
        }
        requests += 1;
        let played_ns = request.session.map_or(0, |(_, lasts)| u64::try_from(lasts.as_nanos()).unwrap_or(u64::MAX));
        last_ns = last_ns.max(distance.saturating_add(played_ns));
    }
    if requests == 0 {
        // The rest of the file shows where the trace ends.
        return Err(slice.find_map(Result::err).unwrap_or_else(|| empty(trace, &slice)));
    }
    let end_ns = own_end.unwrap_or(0).max((last_ns / MILLISECOND + 1) * MILLISECOND);
    let length_ns = until.unwrap_or(end_ns);
    if whole && length_ns > end_ns {
        return Err(past_the_end(trace, &slice, length_ns));
    }
    let warmup_ns = window.filter(|_| from_ns == 0 && until == own_end).map(|window| window.from_ns);
    Ok(Extent { facts: *slice.facts(), length_ns, warmup_ns })
}

fn past_the_end(trace: &Trace, slice: &TraceSlice, length_ns: u64) -> TraceError {
    TraceError::PastTheEnd {
        path: trace.path.clone(),
        until_s: trace.from_s + length_ns as f64 / 1e9,
        last_s: slice.last_s().unwrap_or_default(),
    }
}

/// Says why nothing is in the slice, after reading to the end of the trace.
fn empty(trace: &Trace, slice: &TraceSlice) -> TraceError {
    let path = trace.path.clone();
    let Some(last_s) = slice.last_s() else {
        return TraceError::NoRequest { path, skipped: slice.facts().skipped };
    };
    let until = trace.for_s.map_or(String::new(), |for_s| format!(" for {for_s} s"));
    TraceError::Empty { path, slice: format!("from {} s on{until}", trace.from_s), last_s }
}

/// Counts so far.
#[derive(Default)]
struct Tally {
    /// Complete but for kinds, means and shares.
    found: TraceFindings,
    /// The current second and its requests.
    second: (u64, u64),
    latest: Option<Timestamp>,
    input_tokens: u64,
    output_tokens: u64,
    prompts: LengthCounts,
    answers: LengthCounts,
    kinds: KindCounts,
    reuse: PrefixReuse,
}

impl Tally {
    fn new(extent: &Extent, ends_s: f64, time_scale: f64, block_tokens: u32) -> Self {
        let Extent { facts, warmup_ns, .. } = extent;
        let found = TraceFindings {
            format: facts.format,
            ends_s,
            warmup_s: warmup_ns.map(|warmup| warmup as f64 / 1e9 * time_scale),
            bin_s: ends_s / BINS as f64,
            arrivals: vec![0; BINS],
            skipped_lines: facts.skipped,
            nearest_drawn: facts.nearest,
            reordered: facts.reordered,
            ..TraceFindings::default()
        };
        Self { found, reuse: PrefixReuse::new(block_tokens, MOST_BLOCKS), ..Self::default() }
    }

    fn add(&mut self, replayed: &Replayed) {
        let Replayed { at, copy, request } = replayed;
        let found = &mut self.found;
        found.requests += 1;
        let seconds = at.as_secs_f64();
        let bin = ((seconds / found.bin_s) as usize).min(BINS - 1);
        if let Some(arrivals) = found.arrivals.get_mut(bin) {
            *arrivals += 1;
        }
        let second = seconds as u64;
        let already = if self.second.0 == second { self.second.1 } else { 0 };
        self.second = (second, already + 1);
        found.peak_per_s = found.peak_per_s.max(self.second.1);
        found.same_moment += u64::from(self.latest == Some(*at));
        self.latest = Some(*at);
        self.input_tokens += u64::from(request.input_tokens);
        self.output_tokens += u64::from(request.output_tokens);
        self.prompts.add(request.input_tokens.into());
        self.answers.add(request.output_tokens.into());
        if let Some(kind) = &request.kind {
            self.kinds.add(kind);
        }
        let blocks = Blocks::new(&request.blocks, self.reuse.block_tokens, *copy);
        self.reuse.add(&blocks, request.input_tokens);
    }

    fn findings(self) -> TraceFindings {
        let requests = self.found.requests as f64;
        TraceFindings {
            input_tokens: self.input_tokens as f64 / requests,
            output_tokens: self.output_tokens as f64 / requests,
            reusable_share: self.reuse.share(self.input_tokens),
            too_many_blocks: self.reuse.met.is_none(),
            kinds: self.kinds.named(),
            ..self.found
        }
    }
}

/// Counter for the hit rate of an unlimited prefix cache. It counts the tokens of leading blocks seen before.
#[derive(Debug, Default)]
struct PrefixReuse {
    block_tokens: u32,
    /// Most blocks that are remembered.
    most: usize,
    /// Tokens seen of each block; absent when there were too many.
    met: Option<HashMap<u64, u32>>,
    tokens: u64,
}

impl PrefixReuse {
    /// Returns a tally for blocks of this many tokens, 0 where the trace has none.
    fn new(block_tokens: u32, most: usize) -> Self {
        Self { block_tokens, most, met: Some(HashMap::new()), tokens: 0 }
    }

    /// Counts the leading tokens of a prompt that were seen before, and remembers its blocks.
    fn add(&mut self, blocks: &Blocks, input_tokens: u32) {
        let Some(met) = self.met.as_mut().filter(|_| self.block_tokens > 0) else { return };
        let mut left = input_tokens;
        let mut alike = true;
        for id in &blocks.ids {
            // The last block of a prompt ends where the prompt does.
            let own = left.min(self.block_tokens);
            left -= own;
            let known = met.entry(*id).or_insert(0);
            if alike {
                self.tokens += u64::from(own.min(*known));
                alike = *known >= self.block_tokens;
            }
            *known = own.max(*known);
        }
        if met.len() > self.most {
            self.met = None;
        }
    }

    /// The share of all prompt tokens; `None` without blocks, or with too many.
    fn share(&self, input_tokens: u64) -> Option<f64> {
        let named = self.met.as_ref().is_some_and(|met| !met.is_empty());
        named.then(|| self.tokens as f64 / input_tokens as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_those_of_every_request() {
        let trace = Trace::whole(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/traces/mooncake.jsonl"));
        let (found, lengths) = survey_with_lengths(&trace, 0).unwrap();
        assert_eq!(survey(&trace, 0).unwrap(), found, "the same as a run stores");
        // By hand: prompts of 512, 898, 1,100, 1,300 and 1,600 tokens, answers of 3, 7, 32, 49 and 50.
        let TraceLengths { prompt, answer } = lengths.unwrap();
        assert_eq!((prompt.count, prompt.mean, prompt.p50, prompt.max), (5, 1_082.0, 1_100.0, 1_600));
        let near = |value: f64, expected: f64| (value - expected).abs() < 1e-9;
        assert!(near(prompt.p90, 1_480.0) && near(prompt.p95, 1_540.0) && near(prompt.p99, 1_588.0), "{prompt:?}");
        assert!(near(answer.p50, 32.0) && near(answer.p99, 49.96) && answer.max == 50, "{answer:?}");
    }

    #[test]
    fn too_many_blocks_are_no_share_of_none() {
        let mut reuse = PrefixReuse::new(16, 3);
        reuse.add(&Blocks::new(&[1, 2], 16, 0), 32);
        reuse.add(&Blocks::new(&[1, 3], 16, 0), 32);
        assert_eq!((reuse.share(64), reuse.met.is_none()), (Some(0.25), false));
        reuse.add(&Blocks::new(&[4], 16, 0), 16);
        assert_eq!((reuse.share(80), reuse.met.is_none()), (None, true));
        let mut none = PrefixReuse::new(0, 3);
        none.add(&Blocks::default(), 7);
        assert_eq!((none.share(7), none.met.is_none()), (None, false));
    }
}
