//! A slice of a trace, slower or faster, thinned or multiplied.

use super::error::TraceError;
use super::requests::{Blocks, RequestTrace, TracedRequest};
use super::sessions::SessionOpeners;
use super::slice::TraceSlice;
use crate::clock::Timestamp;
use crate::generator::traces::serve_gen::pool::ClientPool;
use crate::random::RandomStream;
use crate::workload::{Trace, TraceFindings};

/// A request of a trace at its moment in a run.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::generator) struct Replayed {
    pub(in crate::generator) at: Timestamp,
    /// The copy of the trace it comes from; 0 for the trace itself.
    pub(super) copy: u32,
    pub(super) request: TracedRequest,
}

impl RequestTrace {
    /// The slice of a trace as a run with this seed replays it. It is scaled, thinned or multiplied, with moments of
    /// the run. All of it is held in memory.
    pub fn of_slice(trace: &Trace, found: &TraceFindings, seed: u64) -> Result<Self, TraceError> {
        let end = Timestamp::from_secs_f64(found.ends_s);
        let replay = Replay::of_found(trace, found, seed, SessionOpeners::in_trace(trace)?.as_ref())?;
        let block_tokens = Some(replay.block_tokens()).filter(|tokens| *tokens > 0);
        let mut requests = Vec::new();
        for replayed in replay {
            let Replayed { at, copy, request } = replayed?;
            if at >= end {
                break;
            }
            let at_ns = i64::try_from(at.as_nanos()).unwrap_or(i64::MAX);
            let blocks = Blocks::new(&request.blocks, block_tokens.unwrap_or(0), copy).ids;
            requests.push(TracedRequest { at_ns, blocks, ..request });
        }
        Ok(Self { requests, block_tokens, window: None })
    }
}

/// The requests of a run that replays a trace, in order. The trace itself continues after its slice, to keep the load
/// up; its copies wrap around.
#[derive(Debug)]
pub(super) struct Replay {
    copies: Vec<TraceCopy>,
    time_scale: f64,
}

impl Replay {
    /// Replays a trace that has been surveyed. Its slice ends on a whole nanosecond of the trace, which its length in
    /// seconds of the run determines.
    pub(super) fn of_found(
        trace: &Trace,
        found: &TraceFindings,
        seed: u64,
        sessions: Option<&SessionOpeners>,
    ) -> Result<Self, TraceError> {
        Self::open(trace, seed, (found.ends_s / trace.time_scale * 1e9).round() as u64, sessions)
    }

    /// Replays `trace`, whose slice lasts `length_ns` of the trace, with the randomness of `seed`. A file of sessions
    /// has these.
    pub(super) fn open(
        trace: &Trace,
        seed: u64,
        length_ns: u64,
        sessions: Option<&SessionOpeners>,
    ) -> Result<Self, TraceError> {
        let mut shifts = RandomStream::named(seed, "trace/shifts");
        // A pool multiplies the rates of its clients itself.
        let mut left = if ClientPool::is(trace) { 1.0 } else { trace.rate_scale };
        let mut copies = Vec::new();
        while left > 0.0 {
            let number = copies.len() as u32;
            let turn = (number > 0).then(|| CopyRotation {
                trace: trace.clone(),
                seed,
                sessions: sessions.cloned(),
                length_ns: length_ns.max(1),
                from_ns: shifts.below(length_ns.max(1)),
                rounds: 0,
                met: 0,
            });
            copies.push(TraceCopy {
                slice: TraceSlice::open(trace, seed, sessions)?,
                turn,
                share: left.min(1.0),
                chance: RandomStream::named(seed, &format!("trace/thinning/{number}")),
                next: None,
            });
            left -= 1.0;
            // 2.3 leaves 0.3 after two copies; 2 leaves nothing.
            if left < 1e-9 {
                break;
            }
        }
        for copy in &mut copies {
            copy.advance()?;
        }
        Ok(Self { copies, time_scale: trace.time_scale })
    }

    /// Tokens of the requests' blocks; 0 where they have none.
    pub(super) fn block_tokens(&self) -> u32 {
        let first = self.copies.first();
        first.and_then(|copy| copy.slice.facts().block_tokens).unwrap_or(0)
    }

    fn scaled(&self, distance_ns: u64) -> Timestamp {
        let nanos =
            if self.time_scale == 1.0 { distance_ns } else { (distance_ns as f64 * self.time_scale).round() as u64 };
        Timestamp::from_nanos(nanos)
    }
}

impl Iterator for Replay {
    type Item = Result<Replayed, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        let first = |(_, copy): &(usize, &TraceCopy)| copy.next.as_ref().map(|(distance, _)| *distance);
        let (number, _) = self.copies.iter().enumerate().filter(|copy| copy.1.next.is_some()).min_by_key(first)?;
        let copy = self.copies.get_mut(number)?;
        let (distance, request) = copy.next.take()?;
        if let Err(error) = copy.advance() {
            self.copies.clear();
            return Some(Err(error));
        }
        Some(Ok(Replayed { at: self.scaled(distance), copy: number as u32, request }))
    }
}

/// One copy of the trace.
#[derive(Debug)]
struct TraceCopy {
    slice: TraceSlice,
    /// Its rotation; absent for the trace itself.
    turn: Option<CopyRotation>,
    /// Probability with which a request is kept.
    share: f64,
    chance: RandomStream,
    /// The next request, with its distance from the run's zero in nanoseconds of the trace.
    next: Option<(u64, TracedRequest)>,
}

/// A rotated slice: it begins at its own moment and wraps around at the end.
#[derive(Debug)]
struct CopyRotation {
    trace: Trace,
    seed: u64,
    sessions: Option<SessionOpeners>,
    length_ns: u64,
    from_ns: u64,
    /// Number of times that it has wrapped around.
    rounds: u64,
    /// Requests since the last wrap.
    met: u64,
}

impl TraceCopy {
    /// Finds the next kept request.
    fn advance(&mut self) -> Result<(), TraceError> {
        loop {
            let met = match &mut self.turn {
                None => self.slice.next().transpose()?,
                Some(turn) => turn.next(&mut self.slice)?,
            };
            if met.is_none() || self.share >= 1.0 || self.chance.unit() < self.share {
                self.next = met;
                return Ok(());
            }
        }
    }
}

impl CopyRotation {
    fn next(&mut self, slice: &mut TraceSlice) -> Result<Option<(u64, TracedRequest)>, TraceError> {
        loop {
            match slice.next().transpose()? {
                Some((distance, request)) if distance < self.length_ns => {
                    self.met += 1;
                    let turned = (self.rounds * self.length_ns + distance).checked_sub(self.from_ns);
                    if let Some(turned) = turned {
                        return Ok(Some((turned, request)));
                    }
                }
                _ if self.met == 0 => return Ok(None),
                _ => {
                    *slice = TraceSlice::open(&self.trace, self.seed, self.sessions.as_ref())?;
                    self.rounds += 1;
                    self.met = 0;
                }
            }
        }
    }
}
