//! Step times from a measured table.

use std::time::Duration;

use super::work::StepWork;

/// Measured step times by batch size, linear between the points. Beyond the last point the last slope continues, or
/// the time stays level if that falls: noise must not make a large batch free.
#[derive(Clone, Debug, PartialEq)]
pub struct StepTable {
    /// (sequences in the batch, seconds), batch sizes rising.
    points: Vec<(f64, f64)>,
    prefill_tokens_per_s: Option<f64>,
    draft_cost: f64,
}

/// What is wrong with a table of step times.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StepTableError {
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
    /// A table of (sequences in the batch, step time). Below its first row the first time applies.
    ///
    /// With `prefill_tokens_per_s` prompt tokens cost extra time at that rate; without it only the number of
    /// sequences counts.
    ///
    /// # Errors
    ///
    /// When the table is empty, unsorted or has a time of zero.
    pub fn new(rows: &[(u32, Duration)], prefill_tokens_per_s: Option<f64>) -> Result<Self, StepTableError> {
        if rows.is_empty() {
            return Err(StepTableError::Empty);
        }
        if let Some(pair) = rows.windows(2).find(|pair| pair[1].0 <= pair[0].0) {
            return Err(StepTableError::Unsorted(pair[0].0, pair[1].0));
        }
        if let Some(row) = rows.iter().find(|row| row.1.is_zero()) {
            return Err(StepTableError::NoTime(row.0));
        }
        let points = rows.iter().map(|(batch, time)| (f64::from(*batch), time.as_secs_f64())).collect();
        Ok(Self { points, prefill_tokens_per_s, draft_cost: 0.0 })
    }

    /// The same with a draft model, one token of which takes this share of a step of one token.
    pub(crate) fn with_draft_cost(self, share: f64) -> Self {
        Self { draft_cost: share, ..self }
    }

    pub(crate) fn seconds(&self, work: &StepWork) -> f64 {
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
