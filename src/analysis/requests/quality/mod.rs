//! Sections on what answers say: golden prompts, forms, and whether they are right.

mod accuracy;
mod forms;
mod score_change;

use serde::Serialize;

pub use self::accuracy::Accuracy;
pub(crate) use self::accuracy::ScoredRows;
pub use self::forms::{AnswerForms, ClassForms, FormFault};
pub use self::score_change::ScoreChange;
use crate::analysis::statistics::share_interval;
use crate::record::{CheckRecord, CheckResult, RunLog};
use crate::workload::GoldenCheck;

/// Results of the golden prompts of a run. They are no requests of the plan, and in no other figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Quality {
    /// Share that passed, passed ÷ passed, unmet and unanswered. It lies between 0 and 1. Absent where none ended.
    pub pass_rate: Option<f64>,
    /// Passes of all that were sent before the run.
    pub before: Passes,
    /// Passes of all that were sent under load.
    pub under_load: Passes,
    /// Each slice, in the order of the workload; left out where no check has one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub slices: Vec<SlicePasses>,
    /// Each check, in the order of the workload.
    pub checks: Vec<CheckPasses>,
}

/// The checks of one slice.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SlicePasses {
    /// Name of the slice.
    pub name: String,
    /// Share that passed, passed ÷ passed, unmet and unanswered. It lies between 0 and 1. Absent where none ended.
    pub pass_rate: Option<f64>,
    /// Passes before the run.
    pub before: Passes,
    /// Passes under load.
    pub under_load: Passes,
}

/// One check.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CheckPasses {
    /// Name of the check.
    pub name: String,
    /// Slice of the check. Left out where it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slice: Option<String>,
    /// Passes before the run.
    pub before: Passes,
    /// Passes under load.
    pub under_load: Passes,
    /// The first of those that did not pass, 3 at the most.
    pub examples: Vec<CheckExample>,
}

/// How often golden prompts passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Passes {
    /// Sent.
    pub requested: u64,
    /// The answer met all expectations.
    pub passed: u64,
    /// Something did not.
    pub unmet: u64,
    /// There was no whole answer.
    pub unanswered: u64,
    /// The run ended first; these count in no rate.
    pub cut_off: u64,
    /// Passed ÷ passed, unmet and unanswered; absent where there are none of them.
    pub pass_rate: Option<f64>,
    /// Lower end of its 95 % interval (Wilson).
    pub interval_low: Option<f64>,
    /// Upper end of the interval.
    pub interval_high: Option<f64>,
}

/// A golden prompt that did not pass.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CheckExample {
    /// When it was dispatched, seconds of the run; absent: before it.
    pub released_s: Option<f64>,
    /// Reason why it did not pass. It says what did not hold of the answer, or why there was none.
    pub why: String,
    /// How the answer begins, secrets masked.
    pub excerpt: Option<String>,
}

/// Examples of each check.
const EXAMPLES: usize = 3;

impl Quality {
    /// Counts the passes of a run. Absent where the workload has no checks.
    pub(crate) fn from_log(log: &RunLog) -> Option<Self> {
        let workload = &log.header.workload;
        if workload.checks.is_empty() {
            return None;
        }
        let all = Passes::from_records(log.checks.iter());
        let (before, under_load) = apart(log.checks.iter());
        let check = |(place, check): (usize, &GoldenCheck)| {
            let own = || log.checks.iter().filter(move |record| usize::from(record.check) == place);
            let (before, under_load) = apart(own());
            let examples = own().filter_map(CheckExample::from_record).take(EXAMPLES).collect();
            let (name, slice) = (check.name.clone(), check.slice.clone());
            CheckPasses { name, slice, before, under_load, examples }
        };
        let slices = GoldenCheck::slices(&workload.checks);
        Some(Self {
            pass_rate: all.pass_rate,
            before,
            under_load,
            slices: slices.into_iter().map(|slice| SlicePasses::new(log, slice)).collect(),
            checks: workload.checks.iter().enumerate().map(check).collect(),
        })
    }

    /// The checks of the slice of this name.
    pub fn slice(&self, name: &str) -> Option<&SlicePasses> {
        self.slices.iter().find(|slice| slice.name == name)
    }
}

impl SlicePasses {
    fn new(log: &RunLog, slice: &str) -> Self {
        let of_slice = |record: &&CheckRecord| {
            let check = log.header.workload.checks.get(usize::from(record.check));
            check.is_some_and(|check| check.slice.as_deref() == Some(slice))
        };
        let own = || log.checks.iter().filter(of_slice);
        let (before, under_load) = apart(own());
        Self { name: slice.to_owned(), pass_rate: Passes::from_records(own()).pass_rate, before, under_load }
    }
}

/// Tells apart the passes before the run and those under load.
fn apart<'a>(records: impl Iterator<Item = &'a CheckRecord>) -> (Passes, Passes) {
    let (before, under_load): (Vec<_>, Vec<_>) = records.partition(|record| record.released.is_none());
    (Passes::from_records(before.into_iter()), Passes::from_records(under_load.into_iter()))
}

impl Passes {
    fn from_records<'a>(records: impl Iterator<Item = &'a CheckRecord>) -> Self {
        let mut passes = Self::default();
        for record in records {
            passes.requested += 1;
            match record.result {
                CheckResult::Passed => passes.passed += 1,
                CheckResult::Unmet { .. } => passes.unmet += 1,
                CheckResult::Unanswered(_) => passes.unanswered += 1,
                CheckResult::CutOff => passes.cut_off += 1,
            }
        }
        let judged = passes.judged();
        passes.pass_rate = (judged > 0).then(|| passes.passed as f64 / judged as f64);
        (passes.interval_low, passes.interval_high) = share_interval(passes.passed, judged).unzip();
        passes
    }

    /// Checks that count in the rate.
    pub const fn judged(&self) -> u64 {
        self.passed + self.unmet + self.unanswered
    }
}

impl CheckExample {
    fn from_record(record: &CheckRecord) -> Option<Self> {
        let why = match &record.result {
            CheckResult::Unmet { why } => format!("the answer {why}"),
            CheckResult::Unanswered(failure) => failure.to_string(),
            CheckResult::Passed | CheckResult::CutOff => return None,
        };
        let released_s = record.released.map(crate::clock::Timestamp::as_secs_f64);
        Some(Self { released_s, why, excerpt: record.excerpt.clone() })
    }
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

#[cfg(test)]
mod tests;
