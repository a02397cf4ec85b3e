//! The requests of one client of a pool.

use super::stretches::PoolStretch;
use super::tables::{LengthTables, PoolLengths};
use crate::arrivals::Arrivals;
use crate::random::RandomStream;

/// A moment in nanoseconds on the pool's clock, prompt tokens, answer tokens.
pub(super) type DrawnRequest = (u64, u32, u32);

/// The requests of one client in order, drawn lazily.
#[derive(Debug)]
pub(super) struct PoolClient {
    /// The last one only marks the end of the one before.
    stretches: Vec<PoolStretch>,
    /// In order; each applies until the next.
    tables: Vec<LengthTables>,
    /// Randomness of gaps, prompts and answers; each stretch has its own branch, so that the beginning of a slice
    /// changes nothing in later stretches.
    streams: [RandomStream; 3],
    from_s: f64,
    rate_scale: f64,
    /// The next stretch.
    next: usize,
    now: Option<Sending>,
}

/// The current stretch.
#[derive(Debug)]
struct Sending {
    arrivals: Arrivals,
    begins_ns: u64,
    ends_ns: u64,
    /// The index of the tables that apply.
    tables: usize,
    input: RandomStream,
    output: RandomStream,
}

impl PoolClient {
    /// The client called `name`, from `from_s` on, with its rates multiplied by `rate_scale`.
    pub(super) fn new(
        name: &str,
        stretches: Vec<PoolStretch>,
        tables: Vec<LengthTables>,
        (seed, from_s, rate_scale): (u64, f64, f64),
    ) -> Self {
        let stream = |purpose: &str| RandomStream::named(seed, &format!("servegen/{purpose}/{name}"));
        let streams = [stream("gaps"), stream("input_tokens"), stream("output_tokens")];
        Self { stretches, tables, streams, from_s, rate_scale, next: 0, now: None }
    }

    /// Begins the next stretch in which the client sends.
    fn advance(&mut self) -> Option<Sending> {
        loop {
            let place = self.next;
            let (stretch, end) = (self.stretches.get(place)?, self.stretches.get(place + 1)?);
            self.next += 1;
            let nanoseconds = |seconds: f64| (seconds * 1e9).round() as u64;
            let begins_ns = nanoseconds(f64::from(stretch.at_s).max(self.from_s));
            let ends_ns = nanoseconds(f64::from(end.at_s));
            let tables = self.tables.iter().rposition(|tables| tables.at_s <= stretch.at_s);
            let known = |place: &usize| {
                self.tables
                    .get(*place)
                    .is_some_and(|tables| matches!(tables.lengths, PoolLengths::Known { .. }))
            };
            let tables = tables.filter(known);
            if let (Some((rate, form)), Some(tables), true) = (stretch.sent, tables, begins_ns < ends_ns) {
                let [gaps, input, output] =
                    self.streams.each_ref().map(|stream| stream.branch(place as u64 + 1));
                let arrivals = Arrivals::under_way(rate * self.rate_scale, form, gaps);
                return Some(Sending { arrivals, begins_ns, ends_ns, tables, input, output });
            }
        }
    }
}

impl Iterator for PoolClient {
    type Item = DrawnRequest;

    fn next(&mut self) -> Option<DrawnRequest> {
        loop {
            if let Some(sending) = &mut self.now {
                let arrival = sending.arrivals.next();
                let at_ns =
                    arrival.map(|arrival| sending.begins_ns.saturating_add(arrival.moment.as_nanos()));
                if let Some(at_ns) = at_ns.filter(|at_ns| *at_ns < sending.ends_ns) {
                    let tables = self.tables.get(sending.tables)?;
                    let (input, output) = tables.draw(&mut sending.input, &mut sending.output)?;
                    return Some((at_ns, input, output));
                }
            }
            self.now = Some(self.advance()?);
        }
    }
}
