//! How long one forward pass takes, by physics or by measurement.

use std::time::Duration;

use super::linear_step::LinearStep;
use super::roofline::Roofline;

/// What one forward pass has to do: the sums over its sequences from which every step-time model works.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepWork {
    /// Sequences in the batch.
    pub sequences: u32,
    /// Tokens computed, prompts' and answers' together.
    pub new_tokens: u64,
    /// Of them, tokens of prompts (and of what a preemption made to be computed again).
    pub prefill_tokens: u64,
    /// Pairs of a new token and a token that it attends to, itself included.
    pub attended_pairs: u64,
    /// Tokens whose keys and values are read: each sequence's context, once.
    pub kv_tokens_read: u64,
    /// Tokens proposed by a draft model for each sequence that decodes.
    pub draft_tokens: u32,
}

impl StepWork {
    /// Adds a sequence that computes `new` tokens on top of `computed` ones.
    pub fn add(&mut self, computed: u32, new: u32) {
        let (computed, new) = (u64::from(computed), u64::from(new));
        self.sequences += 1;
        self.new_tokens += new;
        self.attended_pairs += new * computed + new * (new + 1) / 2;
        self.kv_tokens_read += computed + new;
    }

    /// The work of one decode step of `sequences` sequences with `context` tokens each.
    #[must_use]
    pub fn decode(sequences: u32, context: u32) -> Self {
        let tokens = u64::from(sequences) * u64::from(context.max(1));
        Self {
            sequences,
            new_tokens: u64::from(sequences),
            attended_pairs: tokens,
            kv_tokens_read: tokens,
            ..Self::default()
        }
    }
}

/// A model of the time of one forward pass.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant)] // there is one for each engine, not one for each step
pub enum StepTime {
    /// From the hardware's and the model's figures.
    Roofline(Roofline),
    /// From a measured table.
    Table(StepTable),
    /// From a sum of costs that were fitted to runs.
    Linear(LinearStep),
}

impl StepTime {
    /// The same with a draft model, one token of which takes this share of a step of one token.
    #[must_use]
    pub fn with_draft_cost(self, share: f64) -> Self {
        match self {
            Self::Roofline(roofline) => Self::Roofline(roofline.with_draft_cost(share)),
            Self::Table(table) => Self::Table(StepTable { draft_cost: share, ..table }),
            Self::Linear(costs) => Self::Linear(LinearStep { draft_cost: share, ..costs }),
        }
    }

    /// The time of a pass over `work`; never zero, so that virtual time moves on.
    #[must_use]
    pub fn of(&self, work: &StepWork) -> Duration {
        let seconds = match self {
            Self::Roofline(roofline) => roofline.seconds(work),
            Self::Table(table) => table.seconds(work),
            Self::Linear(costs) => costs.seconds(work),
        };
        // A rate of next to nothing makes a step that outlasts every run.
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX).max(Duration::from_nanos(1))
    }
}

/// Measured step times against batch size, linear between the points. Beyond the last they go on as steeply as between
/// the last two, or stay level if they fall there: noise must not make a large batch free.
#[derive(Clone, Debug, PartialEq)]
pub struct StepTable {
    /// (sequences in the batch, seconds), batch sizes rising.
    points: Vec<(f64, f64)>,
    prefill_tokens_per_s: Option<f64>,
    draft_cost: f64,
}

/// What is wrong with a table of step times.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BadTable {
    /// It has no rows.
    #[error("a table of step times needs at least one row, such as 1 → 25 ms")]
    Empty,
    /// A row does not come after the row before it.
    #[error("the batch sizes of a table of step times must rise, but {1} follows {0}; sort the rows")]
    Unsorted(u32, u32),
    /// A time is not above zero.
    #[error("the step time at batch size {0} must be above zero")]
    NoTime(u32),
}

impl StepTable {
    /// A table of (sequences in the batch, step time). Below its first row the first time holds.
    ///
    /// With `prefill_tokens_per_s` a prompt's tokens cost extra time at that rate; without it only the number of
    /// sequences counts.
    ///
    /// # Errors
    ///
    /// When the table is empty, unsorted or has a time of zero.
    pub fn new(rows: &[(u32, Duration)], prefill_tokens_per_s: Option<f64>) -> Result<Self, BadTable> {
        if rows.is_empty() {
            return Err(BadTable::Empty);
        }
        if let Some(pair) = rows.windows(2).find(|pair| pair[1].0 <= pair[0].0) {
            return Err(BadTable::Unsorted(pair[0].0, pair[1].0));
        }
        if let Some(row) = rows.iter().find(|row| row.1.is_zero()) {
            return Err(BadTable::NoTime(row.0));
        }
        let points = rows.iter().map(|(batch, time)| (f64::from(*batch), time.as_secs_f64())).collect();
        Ok(Self { points, prefill_tokens_per_s, draft_cost: 0.0 })
    }

    fn seconds(&self, work: &StepWork) -> f64 {
        let prefill = self.prefill_tokens_per_s.map_or(0.0, |rate| work.prefill_tokens as f64 / rate);
        let drafting = f64::from(work.draft_tokens) * self.draft_cost * self.at(1.0);
        self.at(f64::from(work.sequences)) + prefill + drafting
    }

    fn at(&self, batch: f64) -> f64 {
        let above = self.points.partition_point(|point| point.0 < batch);
        if above == 0 || self.points.len() == 1 {
            return self.points[0].1;
        }
        let right = above.min(self.points.len() - 1);
        let ((x0, y0), (x1, y1)) = (self.points[right - 1], self.points[right]);
        let slope = (y1 - y0) / (x1 - x0);
        if batch > x1 { y1 + slope.max(0.0) * (batch - x1) } else { y0 + slope * (batch - x0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_adds_up() {
        let mut work = StepWork::default();
        work.add(0, 3); // pairs 1 + 2 + 3
        work.add(10, 1); // one token attends to 11
        let expected = StepWork {
            sequences: 2,
            new_tokens: 4,
            attended_pairs: 17,
            kv_tokens_read: 14,
            ..StepWork::default()
        };
        assert_eq!(work, expected);
    }

    #[test]
    fn tables_are_linear_between_rows_and_beyond_the_last() {
        let ms = Duration::from_millis;
        let table = StepTable::new(&[(1, ms(10)), (11, ms(20)), (21, ms(50))], Some(1000.0)).unwrap();
        let time = StepTime::Table(table);
        for (sequences, millis) in [(0, 10), (1, 10), (6, 15), (11, 20), (16, 35), (31, 80)] {
            let work = StepWork { sequences, ..StepWork::default() };
            assert_eq!(time.of(&work), ms(millis), "{sequences} sequences");
        }
        let prompt = StepWork { sequences: 1, prefill_tokens: 500, ..StepWork::default() };
        assert_eq!(time.of(&prompt), ms(510));
    }

    #[test]
    fn a_table_that_falls_stays_level_beyond_its_last_row() {
        let ms = Duration::from_millis;
        let time = StepTime::Table(StepTable::new(&[(1, ms(10)), (8, ms(5))], None).unwrap());
        for (sequences, micros) in [(1, 10_000), (8, 5_000), (15, 5_000), (200, 5_000)] {
            let work = StepWork { sequences, ..StepWork::default() };
            assert_eq!(time.of(&work), Duration::from_micros(micros), "{sequences} sequences");
        }
    }

    #[test]
    fn drafting_on_a_table_costs_its_share_of_a_step_of_one() {
        let ms = Duration::from_millis;
        let table = StepTable::new(&[(1, ms(10)), (11, ms(20))], None).unwrap();
        let work = StepWork { sequences: 11, draft_tokens: 4, ..StepWork::default() };
        assert_eq!(StepTime::Table(table.clone()).of(&work), ms(20));
        assert_eq!(StepTime::Table(table).with_draft_cost(0.5).of(&work), ms(40));
    }

    #[test]
    fn a_step_may_outlast_what_a_duration_holds() {
        let table = StepTable::new(&[(1, Duration::from_millis(10))], Some(1e-300)).unwrap();
        let work = StepWork { sequences: 1, prefill_tokens: 500, ..StepWork::default() };
        assert_eq!(StepTime::Table(table).of(&work), Duration::MAX);
    }

    #[test]
    fn bad_tables_are_refused() {
        let ms = Duration::from_millis;
        assert_eq!(StepTable::new(&[], None), Err(BadTable::Empty));
        assert_eq!(StepTable::new(&[(4, ms(1)), (4, ms(2))], None), Err(BadTable::Unsorted(4, 4)));
        assert_eq!(StepTable::new(&[(4, ms(0))], None), Err(BadTable::NoTime(4)));
    }
}
