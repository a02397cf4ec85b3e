//! Reads a trace once before it is replayed, and says what is in its slice.

use std::collections::{BTreeMap, HashMap};

use super::blocks::Blocks;
use super::error::TraceError;
use super::replay::{Replay, Replayed};
use super::slice::Slice;
use crate::clock::Timestamp;
use crate::workload::{Trace, TraceFindings, TraceFormat, TraceKind, as_name};

/// Stretches for which arrivals are counted.
const BINS: usize = 120;
/// Most kinds of request that become classes.
const MOST_KINDS: usize = 16;
/// Most blocks that are remembered to tell which come again: 64 MB.
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
        // Thinned until nothing is left.
        return Err(extent.empty(trace));
    }
    Ok(tally.findings(&extent, ends_s))
}

/// The slice of the file, before anything is scaled.
struct Extent {
    format: TraceFormat,
    length_ns: u64,
    last_ns: u64,
    skipped: u64,
    reordered: u64,
}

fn extent(trace: &Trace, seed: u64) -> Result<Extent, TraceError> {
    let mut slice = Slice::open(trace, seed)?;
    let until = trace.for_s.map(|for_s| (for_s * 1e9).round() as u64);
    if let Some(declared) = slice.declared_ns() {
        let length_ns = until.map_or(declared, |until| until.min(declared));
        let extent = Extent::of(&slice, length_ns, declared);
        return if length_ns == 0 { Err(extent.empty(trace)) } else { Ok(extent) };
    }
    let (mut requests, mut last_ns) = (0_u64, 0);
    while let Some((distance, _)) = slice.next().transpose()? {
        if until.is_some_and(|until| distance >= until) {
            break;
        }
        requests += 1;
        last_ns = distance;
    }
    let length_ns = until.unwrap_or((last_ns / MILLISECOND + 1) * MILLISECOND);
    let extent = Extent::of(&slice, length_ns, last_ns);
    if requests == 0 { Err(extent.empty(trace)) } else { Ok(extent) }
}

impl Extent {
    fn of(slice: &Slice, length_ns: u64, last_ns: u64) -> Self {
        let (format, skipped, reordered) = (slice.format(), slice.skipped(), slice.reordered());
        Self { format, length_ns, last_ns, skipped, reordered }
    }

    fn empty(&self, trace: &Trace) -> TraceError {
        let until = trace.for_s.map_or(String::new(), |for_s| format!(" for {for_s} s"));
        let share = match trace.rate_scale {
            scale if scale < 1.0 => format!(", when {scale} of them are kept"),
            _ => String::new(),
        };
        TraceError::Empty {
            path: trace.path.clone(),
            slice: format!("from {} s on{until}{share}", trace.from_s),
            last_s: trace.from_s + self.last_ns as f64 / 1e9,
        }
    }
}

/// What has been counted so far.
struct Tally {
    requests: u64,
    bin_s: f64,
    arrivals: Vec<u64>,
    /// The second under way, and its requests.
    second: (u64, u64),
    peak_per_s: u64,
    latest: Option<Timestamp>,
    same_moment: u64,
    input_tokens: u64,
    output_tokens: u64,
    /// Absent when there are too many.
    kinds: Option<BTreeMap<String, u64>>,
    block_tokens: u32,
    /// Tokens met of each block; absent when there are none or too many.
    blocks: Option<HashMap<u64, u32>>,
    reusable_tokens: u64,
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
            kinds: Some(BTreeMap::new()),
            block_tokens,
            blocks: (block_tokens > 0).then(HashMap::new),
            reusable_tokens: 0,
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
        if let (Some(kinds), Some(kind)) = (&mut self.kinds, &request.kind) {
            *kinds.entry(as_name(kind)).or_default() += 1;
            if kinds.len() > MOST_KINDS {
                self.kinds = None;
            }
        }
        self.look_at(&Blocks::of(&request.blocks, self.block_tokens, *copy), request.input_tokens);
    }

    /// Counts the leading tokens of a prompt that were met before, and remembers its blocks.
    fn look_at(&mut self, blocks: &Blocks, input_tokens: u32) {
        let Some(met) = &mut self.blocks else { return };
        let mut left = input_tokens;
        let mut alike = true;
        for id in &blocks.ids {
            // The last block of a prompt ends where the prompt does.
            let own = left.min(self.block_tokens);
            left -= own;
            let known = met.entry(*id).or_insert(0);
            if alike {
                self.reusable_tokens += u64::from(own.min(*known));
                alike = *known >= self.block_tokens;
            }
            *known = own.max(*known);
        }
        if met.len() > MOST_BLOCKS {
            self.blocks = None;
        }
    }

    fn findings(self, extent: &Extent, ends_s: f64) -> TraceFindings {
        let requests = self.requests as f64;
        let kind = |(name, requests)| TraceKind { name, requests };
        let reusable = |met: HashMap<u64, u32>| {
            (!met.is_empty()).then(|| self.reusable_tokens as f64 / self.input_tokens as f64)
        };
        TraceFindings {
            format: extent.format,
            requests: self.requests,
            ends_s,
            bin_s: self.bin_s,
            arrivals: self.arrivals,
            peak_per_s: self.peak_per_s,
            same_moment: self.same_moment,
            input_tokens: self.input_tokens as f64 / requests,
            output_tokens: self.output_tokens as f64 / requests,
            reusable_share: self.blocks.and_then(reusable),
            kinds: self.kinds.unwrap_or_default().into_iter().map(kind).collect(),
            skipped_lines: extent.skipped,
            reordered: extent.reordered,
        }
    }
}
