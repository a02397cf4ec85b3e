//! How long one forward pass takes: by physics, by a measured table, or by costs fitted to runs.

use std::time::Duration;

use super::roofline::{Roofline, StepWork};

/// A model of the time of a forward pass.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant)] // there is one for each engine, not one for each step
pub enum StepTime {
    /// Step times from the figures of hardware and model.
    Roofline(Roofline),
    /// Step times from a measured table.
    Table(StepTable),
    /// Step times from costs fitted to runs.
    Linear(LinearStep),
}

impl StepTime {
    /// The time of a pass over `work`; never zero, so that virtual time advances. A token of a draft model costs the
    /// share `draft_cost` of a step of one token: drafting reads that model's weights once per token, whatever the
    /// number of sequences.
    pub fn of(&self, work: &StepWork, draft_cost: f64) -> Duration {
        // A rate near zero makes a step longer than any run.
        let time = Duration::try_from_secs_f64(self.seconds(work, draft_cost)).unwrap_or(Duration::MAX);
        time.max(Duration::from_nanos(1))
    }

    pub(super) fn seconds(&self, work: &StepWork, draft_cost: f64) -> f64 {
        let seconds = match self {
            Self::Roofline(roofline) => roofline.seconds(work),
            Self::Table(table) => table.seconds(work),
            Self::Linear(costs) => costs.seconds(work),
        };
        let single = match self {
            _ if work.draft_tokens == 0 => 0.0,
            Self::Roofline(roofline) => roofline.single(),
            Self::Table(table) => table.at(1.0),
            Self::Linear(costs) => costs.step + costs.sequence,
        };
        seconds + f64::from(work.draft_tokens) * draft_cost * single
    }
}

/// A fixed time per step, and times per unit of its work. They are per sequence, prompt token, context token and
/// attended pair.
///
/// It describes a server of unknown hardware and model: the costs are fitted to runs, not derived from physics, and
/// hold for the mix of work of those runs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinearStep {
    /// Seconds of every step.
    pub step: f64,
    /// Seconds for each sequence in it.
    pub sequence: f64,
    /// Seconds for each prompt token computed.
    pub prompt_token: f64,
    /// Seconds per token whose KV is read.
    pub context_token: f64,
    /// Seconds for each pair of a new token and a token that it attends to.
    pub attended_pair: f64,
}

impl LinearStep {
    /// The time of a pass over `work`, seconds.
    pub fn seconds(&self, work: &StepWork) -> f64 {
        self.step
            + self.sequence * f64::from(work.sequences)
            + self.prompt_token * work.prefill_tokens as f64
            + self.context_token * work.kv_tokens_read as f64
            + self.attended_pair * work.attended_pairs as f64
    }
}

/// Measured step times by batch size, linear between the points. Beyond the last point the last slope continues, or
/// the time stays level if that falls: noise must not make a large batch free.
#[derive(Clone, Debug, PartialEq)]
pub struct StepTable {
    /// (sequences in the batch, seconds), batch sizes rising.
    points: Vec<(f64, f64)>,
    prefill_tokens_per_s: Option<f64>,
}

impl StepTable {
    /// A table of (sequences in the batch, step time). Below its first row the first time applies.
    ///
    /// With `prefill_tokens_per_s` prompt tokens cost extra time at that rate; without it only the number of
    /// sequences counts.
    ///
    /// # Errors
    ///
    /// When the table is empty, unsorted or has a time of zero.
    pub fn new(rows: &[(u32, Duration)], prefill_tokens_per_s: Option<f64>) -> Result<Self, String> {
        if rows.is_empty() {
            return Err("a table of step times needs at least one row, such as 1 → 25 ms".to_owned());
        }
        if let Some(pair) = rows.windows(2).find(|pair| pair[1].0 <= pair[0].0) {
            let (before, batch) = (pair[0].0, pair[1].0);
            return Err(format!(
                "the batch sizes of a table of step times must rise, but {batch} follows {before}; sort the rows"
            ));
        }
        if let Some(row) = rows.iter().find(|row| row.1.is_zero()) {
            return Err(format!("the step time at batch size {} must be above zero", row.0));
        }
        let points = rows.iter().map(|(batch, time)| (f64::from(*batch), time.as_secs_f64())).collect();
        Ok(Self { points, prefill_tokens_per_s })
    }

    pub(crate) fn seconds(&self, work: &StepWork) -> f64 {
        let prefill = self.prefill_tokens_per_s.map_or(0.0, |rate| work.prefill_tokens as f64 / rate);
        self.at(f64::from(work.sequences)) + prefill
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
        let expected =
            StepWork { sequences: 2, new_tokens: 4, attended_pairs: 17, kv_tokens_read: 14, ..StepWork::default() };
        assert_eq!(work, expected);
    }

    #[test]
    fn tables_are_linear_between_rows_and_beyond_the_last() {
        let ms = Duration::from_millis;
        let table = StepTable::new(&[(1, ms(10)), (11, ms(20)), (21, ms(50))], Some(1000.0)).unwrap();
        let time = StepTime::Table(table);
        for (sequences, millis) in [(0, 10), (1, 10), (6, 15), (11, 20), (16, 35), (31, 80)] {
            let work = StepWork { sequences, ..StepWork::default() };
            assert_eq!(time.of(&work, 0.0), ms(millis), "{sequences} sequences");
        }
        let prompt = StepWork { sequences: 1, prefill_tokens: 500, ..StepWork::default() };
        assert_eq!(time.of(&prompt, 0.0), ms(510));
    }

    #[test]
    fn a_table_that_falls_stays_level_beyond_its_last_row() {
        let ms = Duration::from_millis;
        let time = StepTime::Table(StepTable::new(&[(1, ms(10)), (8, ms(5))], None).unwrap());
        for (sequences, micros) in [(1, 10_000), (8, 5_000), (15, 5_000), (200, 5_000)] {
            let work = StepWork { sequences, ..StepWork::default() };
            assert_eq!(time.of(&work, 0.0), Duration::from_micros(micros), "{sequences} sequences");
        }
    }

    #[test]
    fn drafting_on_a_table_costs_its_share_of_a_step_of_one() {
        let ms = Duration::from_millis;
        let table = StepTable::new(&[(1, ms(10)), (11, ms(20))], None).unwrap();
        let work = StepWork { sequences: 11, draft_tokens: 4, ..StepWork::default() };
        assert_eq!(StepTime::Table(table.clone()).of(&work, 0.0), ms(20));
        assert_eq!(StepTime::Table(table).of(&work, 0.5), ms(40));
    }

    #[test]
    fn a_step_may_outlast_what_a_duration_holds() {
        let table = StepTable::new(&[(1, Duration::from_millis(10))], Some(1e-300)).unwrap();
        let work = StepWork { sequences: 1, prefill_tokens: 500, ..StepWork::default() };
        assert_eq!(StepTime::Table(table).of(&work, 0.0), Duration::MAX);
    }

    #[test]
    fn bad_tables_are_refused() {
        let ms = Duration::from_millis;
        assert_eq!(
            StepTable::new(&[], None),
            Err("a table of step times needs at least one row, such as 1 → 25 ms".to_owned())
        );
        assert!(StepTable::new(&[(4, ms(1)), (4, ms(2))], None).unwrap_err().contains("4 follows 4"));
        assert!(StepTable::new(&[(4, ms(0))], None).unwrap_err().contains("batch size 4"));
    }

    #[test]
    fn parts_add_up() {
        let costs =
            LinearStep { step: 0.01, sequence: 1e-3, prompt_token: 1e-4, context_token: 1e-6, attended_pair: 1e-8 };
        let work = StepWork {
            sequences: 3,
            new_tokens: 102,
            prefill_tokens: 100,
            attended_pairs: 5_000,
            kv_tokens_read: 700,
            draft_tokens: 2,
        };
        let expected = 0.01 + 3e-3 + 0.01 + 0.0007 + 0.00005 + 2.0 * 0.5 * 0.011;
        assert!((StepTime::Linear(costs).seconds(&work, 0.5) - expected).abs() < 1e-12);
    }
}
