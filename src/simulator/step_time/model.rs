//! How long one forward pass takes, by physics or by measurement.

use std::time::Duration;

use super::linear::LinearStep;
use super::roofline::Roofline;
use super::table::StepTable;
use super::work::StepWork;

/// A model of the time of a forward pass.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant)] // there is one for each engine, not one for each step
pub enum StepTime {
    /// From the figures of hardware and model.
    Roofline(Roofline),
    /// From a measured table.
    Table(StepTable),
    /// From costs fitted to runs.
    Linear(LinearStep),
}

impl StepTime {
    /// The same with a draft model, one token of which takes this share of a step of one token.
    #[must_use]
    pub fn with_draft_cost(self, share: f64) -> Self {
        match self {
            Self::Roofline(roofline) => Self::Roofline(roofline.with_draft_cost(share)),
            Self::Table(table) => Self::Table(table.with_draft_cost(share)),
            Self::Linear(costs) => Self::Linear(LinearStep { draft_cost: share, ..costs }),
        }
    }

    /// The time of a pass over `work`; never zero, so that virtual time advances.
    pub fn of(&self, work: &StepWork) -> Duration {
        let seconds = match self {
            Self::Roofline(roofline) => roofline.seconds(work),
            Self::Table(table) => table.seconds(work),
            Self::Linear(costs) => costs.seconds(work),
        };
        // A rate near zero makes a step longer than any run.
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX).max(Duration::from_nanos(1))
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::StepTableError;
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
        assert_eq!(StepTable::new(&[], None), Err(StepTableError::Empty));
        assert_eq!(StepTable::new(&[(4, ms(1)), (4, ms(2))], None), Err(StepTableError::Unsorted(4, 4)));
        assert_eq!(StepTable::new(&[(4, ms(0))], None), Err(StepTableError::NoTime(4)));
    }
}
