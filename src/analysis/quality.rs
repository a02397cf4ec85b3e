//! How many golden prompts passed, before the run and under its load.

use serde::Serialize;

use super::binomial::share_interval;
use crate::record::{CheckRecord, CheckResult, RunLog};

/// What became of the golden prompts of a run: no requests of the plan, and in no other figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Quality {
    /// Of all: passed ÷ passed, unmet and unanswered, between 0 and 1; absent where none ended.
    pub pass_rate: Option<f64>,
    /// Of all that were asked before the run.
    pub before: Passes,
    /// Of all that were asked under load.
    pub under_load: Passes,
    /// Each check, in the order of the workload.
    pub checks: Vec<CheckPasses>,
}

/// One check.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckPasses {
    /// Its name.
    pub name: String,
    /// Before the run.
    pub before: Passes,
    /// Under load.
    pub under_load: Passes,
    /// The first of those that did not pass, 3 at the most.
    pub examples: Vec<CheckExample>,
}

/// How often golden prompts passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Passes {
    /// Asked.
    pub asked: u64,
    /// All that was expected of the answer held.
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
    /// Upper end.
    pub interval_high: Option<f64>,
}

/// A golden prompt that did not pass.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckExample {
    /// When it was let go, seconds of the run; absent: before it.
    pub released_s: Option<f64>,
    /// What did not hold of the answer, or why there was none.
    pub why: String,
    /// How the answer begins, secrets masked.
    pub excerpt: Option<String>,
}

/// Examples of each check.
const EXAMPLES: usize = 3;

impl Quality {
    /// Absent where the workload has no checks.
    pub(crate) fn of(log: &RunLog) -> Option<Self> {
        let workload = &log.header.workload;
        if workload.checks.is_empty() {
            return None;
        }
        let all = Passes::of(log.checks.iter());
        let (before, under_load) = apart(log.checks.iter());
        let check = |(place, name): (usize, &String)| {
            let own = || log.checks.iter().filter(move |record| usize::from(record.check) == place);
            let (before, under_load) = apart(own());
            let examples = own().filter_map(CheckExample::of).take(EXAMPLES).collect();
            CheckPasses { name: name.clone(), before, under_load, examples }
        };
        let names = workload.checks.iter().map(|check| &check.name);
        Some(Self {
            pass_rate: all.pass_rate,
            before,
            under_load,
            checks: names.enumerate().map(check).collect(),
        })
    }
}

/// Those before the run, and those under load.
fn apart<'a>(records: impl Iterator<Item = &'a CheckRecord>) -> (Passes, Passes) {
    let (before, under_load): (Vec<_>, Vec<_>) = records.partition(|record| record.released.is_none());
    (Passes::of(before.into_iter()), Passes::of(under_load.into_iter()))
}

impl Passes {
    fn of<'a>(records: impl Iterator<Item = &'a CheckRecord>) -> Self {
        let mut passes = Self::default();
        for record in records {
            passes.asked += 1;
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

    /// Those that count in the rate.
    #[must_use]
    pub const fn judged(&self) -> u64 {
        self.passed + self.unmet + self.unanswered
    }
}

impl CheckExample {
    fn of(record: &CheckRecord) -> Option<Self> {
        let why = match &record.result {
            CheckResult::Unmet { why } => format!("the answer {why}"),
            CheckResult::Unanswered(failure) => failure.to_string(),
            CheckResult::Passed | CheckResult::CutOff => return None,
        };
        let released_s = record.released.map(crate::clock::Timestamp::as_secs_f64);
        Some(Self { released_s, why, excerpt: record.excerpt.clone() })
    }
}
