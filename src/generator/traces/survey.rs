//! Reads a trace once before it is replayed, and reports what its slice contains.

use super::blocks::Blocks;
use super::error::TraceError;
use super::kinds::KindCounts;
use super::replay::{Replay, Replayed};
use super::reuse::PrefixReuse;
use super::slice::TraceSlice;
use crate::clock::Timestamp;
use crate::workload::{Trace, TraceFindings, TraceFormat};

/// Number of bins in which arrivals are counted.
const BINS: usize = 120;
/// Most blocks remembered to detect repeats: about 140 MB, and half as much again while their table grows.
const MOST_BLOCKS: usize = 4_000_000;
/// The longest run, seconds.
const LONGEST_S: f64 = 31.0 * 86_400.0;
const MILLISECOND: u64 = 1_000_000;

/// Reads the slice of `trace` as a run of this seed replays it.
pub fn survey(trace: &Trace, seed: u64) -> Result<TraceFindings, TraceError> {
    let extent = extent(trace, seed)?;
    let ends_s = extent.length_ns as f64 / 1e9 * trace.time_scale;
    if ends_s > LONGEST_S {
        return Err(TraceError::TooLong { path: trace.path.clone(), ends_s });
    }
    let end = Timestamp::from_secs_f64(ends_s);
    let mut replay = Replay::open(trace, seed, extent.length_ns)?;
    let block_tokens = replay.block_tokens();
    let mut tally = Tally::new(ends_s, block_tokens);
    while let Some(replayed) = replay.next().transpose()? {
        if replayed.at >= end {
            break;
        }
        tally.add(&replayed);
    }
    if tally.requests == 0 {
        return Err(TraceError::Thinned { path: trace.path.clone(), rate_scale: trace.rate_scale, seed });
    }
    Ok(tally.findings(&extent, ends_s, trace.time_scale))
}

/// The slice of the file before scaling.
struct Extent {
    format: TraceFormat,
    length_ns: u64,
    warmup_ns: Option<u64>,
    skipped: u64,
    nearest: u64,
    reordered: u64,
}

fn extent(trace: &Trace, seed: u64) -> Result<Extent, TraceError> {
    let mut slice = TraceSlice::open(trace, seed)?;
    let from_ns = (trace.from_s * 1e9).round() as u64;
    // The trace of a run ends with the run; later requests only kept its load up.
    let window = slice.window();
    let own_end = window.and_then(|window| window.to_ns.checked_sub(from_ns)).filter(|end| *end > 0);
    let until = trace.for_s.map(|for_s| (for_s * 1e9).round() as u64).or(own_end);
    if let Some(declared) = slice.declared_ns() {
        let length_ns = until.unwrap_or(declared);
        return match declared {
            0 => Err(empty(trace, &slice)),
            _ if length_ns > declared => Err(past_the_end(trace, &slice, length_ns)),
            _ => Ok(Extent::of(&slice, length_ns, None)),
        };
    }
    let (mut requests, mut last_ns, mut whole) = (0_u64, 0, true);
    while let Some((distance, _)) = slice.next().transpose()? {
        if until.is_some_and(|until| distance >= until) {
            whole = false;
            break;
        }
        requests += 1;
        last_ns = distance;
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
    Ok(Extent::of(&slice, length_ns, warmup_ns))
}

impl Extent {
    fn of(slice: &TraceSlice, length_ns: u64, warmup_ns: Option<u64>) -> Self {
        Self {
            format: slice.format(),
            length_ns,
            warmup_ns,
            skipped: slice.skipped(),
            nearest: slice.nearest(),
            reordered: slice.reordered(),
        }
    }
}

fn past_the_end(trace: &Trace, slice: &TraceSlice, length_ns: u64) -> TraceError {
    TraceError::PastTheEnd {
        path: trace.path.clone(),
        until_s: trace.from_s + length_ns as f64 / 1e9,
        last_s: slice.last_s().unwrap_or_default(),
    }
}

/// Why nothing is in the slice, after reading to the end of the trace.
fn empty(trace: &Trace, slice: &TraceSlice) -> TraceError {
    let path = trace.path.clone();
    let Some(last_s) = slice.last_s() else {
        return TraceError::NoRequest { path, skipped: slice.skipped() };
    };
    let until = trace.for_s.map_or(String::new(), |for_s| format!(" for {for_s} s"));
    TraceError::Empty { path, slice: format!("from {} s on{until}", trace.from_s), last_s }
}

/// Counts so far.
struct Tally {
    requests: u64,
    bin_s: f64,
    arrivals: Vec<u64>,
    /// The current second and its requests.
    second: (u64, u64),
    peak_per_s: u64,
    latest: Option<Timestamp>,
    same_moment: u64,
    input_tokens: u64,
    output_tokens: u64,
    kinds: KindCounts,
    block_tokens: u32,
    reuse: PrefixReuse,
}

impl Tally {
    fn new(ends_s: f64, block_tokens: u32) -> Self {
        Self {
            requests: 0,
            bin_s: ends_s / BINS as f64,
            arrivals: vec![0; BINS],
            second: (0, 0),
            peak_per_s: 0,
            latest: None,
            same_moment: 0,
            input_tokens: 0,
            output_tokens: 0,
            kinds: KindCounts::default(),
            block_tokens,
            reuse: PrefixReuse::new(block_tokens, MOST_BLOCKS),
        }
    }

    fn add(&mut self, replayed: &Replayed) {
        let Replayed { at, copy, request } = replayed;
        self.requests += 1;
        let seconds = at.as_secs_f64();
        let bin = ((seconds / self.bin_s) as usize).min(BINS - 1);
        if let Some(arrivals) = self.arrivals.get_mut(bin) {
            *arrivals += 1;
        }
        let second = seconds as u64;
        let already = if self.second.0 == second { self.second.1 } else { 0 };
        self.second = (second, already + 1);
        self.peak_per_s = self.peak_per_s.max(self.second.1);
        self.same_moment += u64::from(self.latest == Some(*at));
        self.latest = Some(*at);
        self.input_tokens += u64::from(request.input_tokens);
        self.output_tokens += u64::from(request.output_tokens);
        if let Some(kind) = &request.kind {
            self.kinds.add(kind);
        }
        let blocks = Blocks::of(&request.blocks, self.block_tokens, *copy);
        self.reuse.add(&blocks, request.input_tokens);
    }

    fn findings(self, extent: &Extent, ends_s: f64, time_scale: f64) -> TraceFindings {
        let requests = self.requests as f64;
        TraceFindings {
            format: extent.format,
            requests: self.requests,
            ends_s,
            warmup_s: extent.warmup_ns.map(|warmup| warmup as f64 / 1e9 * time_scale),
            bin_s: self.bin_s,
            arrivals: self.arrivals,
            peak_per_s: self.peak_per_s,
            same_moment: self.same_moment,
            input_tokens: self.input_tokens as f64 / requests,
            output_tokens: self.output_tokens as f64 / requests,
            reusable_share: self.reuse.share(self.input_tokens),
            too_many_blocks: self.reuse.too_many(),
            kinds: self.kinds.named(),
            skipped_lines: extent.skipped,
            nearest_drawn: extent.nearest,
            reordered: extent.reordered,
        }
    }
}
