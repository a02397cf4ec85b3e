//! One client of a pool: the stretches of time in which it sends at a constant rate, and its requests.

use super::tables::{LengthTables, PoolLengths};
use crate::arrivals::Arrivals;
use crate::generator::traces::files::columns::Column;
use crate::generator::traces::requests::BadLine;
use crate::random::RandomStream;
use crate::workload::GapForm;

/// Most requests per second of one client.
const MOST_PER_S: f64 = 1_000_000.0;
/// Gap shapes that are drawn; others are replaced by the nearest. At the upper end gaps vary by a thousandth: they
/// are practically equal.
const SHAPES: (f64, f64) = (0.009, 1e6);
const BEGINNING: Column = Column { place: 0, name: "t" };
const RATE: Column = Column { place: 1, name: "rate" };
const PATTERN: Column = Column { place: 3, name: "pattern" };
const SHAPE: Column = Column { place: 4, name: "shape" };

/// A stretch of time, until the next one begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PoolStretch {
    /// Beginning of the stretch, seconds.
    pub(super) at_s: u32,
    /// Requests per second and their gap distribution; absent where the client is silent.
    pub(super) sent: Option<(f64, GapForm)>,
    /// Whether its shape was replaced.
    pub(super) is_nearest: bool,
}

impl PoolStretch {
    /// A silent stretch.
    pub(super) const fn silent(at_s: u32) -> Self {
        Self { at_s, sent: None, is_nearest: false }
    }

    /// The silent stretch of a line of which only the beginning is usable.
    pub(super) fn silent_of(line: &str, after_s: Option<u32>) -> Option<Self> {
        let at_s = line.split(',').next()?.trim().parse().ok()?;
        after_s.is_none_or(|after| at_s > after).then(|| Self::silent(at_s))
    }

    /// Reads a line; `after_s` is the beginning of the stretch before.
    pub(super) fn read(line: &str, after_s: Option<u32>) -> Result<Self, BadLine> {
        let number = |column: &Column| {
            let text = column.of(line)?;
            let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
            number.ok_or_else(|| column.bad(format!("{text:?} is not a number")))
        };
        let text = BEGINNING.of(line)?;
        let not_whole = |_| BEGINNING.bad(format!("{text:?} is not a whole number of seconds"));
        let at_s = text.parse().map_err(not_whole)?;
        if after_s.is_some_and(|after| at_s <= after) {
            return Err(BEGINNING.bad(format!("{at_s} s is not after the line before")));
        }
        let (rate, pattern) = (number(&RATE)?, PATTERN.of(line)?);
        if !(0.0..=MOST_PER_S).contains(&rate) {
            return Err(RATE.bad(format!("{rate} is not a rate from 0 to {MOST_PER_S}")));
        }
        if pattern.is_empty() || rate == 0.0 {
            return Ok(Self::silent(at_s));
        }
        let shape = number(&SHAPE)?;
        if shape <= 0.0 {
            return Err(SHAPE.bad(format!("{shape} is not a shape above 0")));
        }
        let drawn = shape.clamp(SHAPES.0, SHAPES.1);
        let form = match pattern {
            "Gamma" => GapForm::Gamma(drawn),
            "Weibull" => GapForm::Weibull(drawn),
            other => return Err(PATTERN.bad(format!("{other:?} is neither Gamma nor Weibull"))),
        };
        let is_nearest = !(SHAPES.0..=SHAPES.1).contains(&shape);
        Ok(Self { at_s, sent: Some((rate, form)), is_nearest })
    }
}

/// A moment in nanoseconds on the pool's clock, prompt tokens, answer tokens.
type DrawnRequest = (u64, u32, u32);

/// The requests of one client in order, drawn lazily.
#[derive(Debug)]
pub(super) struct PoolClient {
    /// The last one only marks the end of the one before.
    stretches: Vec<PoolStretch>,
    /// Tables of lengths in order; each applies until the next.
    tables: Vec<LengthTables>,
    /// Randomness of gaps, prompts and answers. Each stretch has its own branch, so that the beginning of a slice
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
                self.tables.get(*place).is_some_and(|tables| matches!(tables.lengths, PoolLengths::Known { .. }))
            };
            let tables = tables.filter(known);
            if let (Some((rate, form)), Some(tables), true) = (stretch.sent, tables, begins_ns < ends_ns) {
                let [gaps, input, output] = self.streams.each_ref().map(|stream| stream.branch(place as u64 + 1));
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
                let at_ns = arrival.map(|arrival| sending.begins_ns.saturating_add(arrival.moment.as_nanos()));
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
