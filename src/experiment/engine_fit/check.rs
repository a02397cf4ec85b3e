//! How well a fitted engine reproduces what was measured.

use std::collections::HashMap;

use serde::Serialize;

use crate::analysis::{Figure, Metric, Quantile, Summary, VerdictOutcome, summarise};
use crate::clock::Timestamp;
use crate::experiment::virtual_time::log::{answered, declared};
use crate::experiment::virtual_time::prefixes::SessionPrefixes;
use crate::record::{Outcome, RecordRef, RequestRecord, RunLog};
use crate::simulator::{BadFleet, Driver, Fleet, Job, JobHistory, JobId, PrefixHashes, urgency};
use crate::workload::{Overrides, Slo, WorkloadSpec};

/// Medians that are off by no more than this make a good fit …
const GOOD: f64 = 0.1;
/// … and by no more than this one that is good for a guess.
const ROUGH: f64 = 0.25;

/// A run that an engine is fitted to, with its name.
#[derive(Clone, Debug)]
pub struct MeasuredRun {
    /// Its folder.
    pub name: String,
    /// Log of what happened.
    pub log: RunLog,
}

/// A run and the engine's prediction for the same requests.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunCheck {
    /// Its folder.
    pub run: String,
    /// Requests per second that its workload declares, on average; 0 for a closed loop.
    pub rate_per_s: f64,
    /// Users of a closed loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub users: Option<u64>,
    /// Verdict on the run.
    pub outcome: VerdictOutcome,
    /// Whether its figures can be trusted.
    pub valid: bool,
    /// Its figures.
    pub figures: Vec<FigureCheck>,
    /// Range of what it sent.
    #[serde(skip)]
    pub(super) sent: FitRange,
}

/// A latency as measured and as the fitted engine reproduces it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FigureCheck {
    /// Latency that is checked.
    #[serde(serialize_with = "in_words")]
    pub metric: Metric,
    /// Quantile of the latency over the requests.
    #[serde(serialize_with = "in_words")]
    pub quantile: Quantile,
    /// Value as measured, milliseconds.
    pub measured_ms: f64,
    /// Value as reproduced, milliseconds. Absent where too few of the requests were answered in time to know it.
    pub predicted_ms: Option<f64>,
    /// Least value as reproduced, milliseconds, where only that is known. The value itself is absent then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predicted_at_least_ms: Option<f64>,
    /// Reproduced ÷ measured − 1; absent where the former is.
    pub off: Option<f64>,
}

fn in_words<T: std::fmt::Display, S: serde::Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

/// Grade of how well it reproduces the medians of TTFT and TPOT.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    /// Within 10 %.
    Good,
    /// Within 25 %: good for a guess.
    Rough,
    /// Not: its predictions cannot be trusted.
    Poor,
}

impl RunCheck {
    pub(super) fn new(run: &MeasuredRun, fleet: &Fleet) -> Result<Self, BadFleet> {
        let measured = summarise(&run.log, &[]);
        let predicted = summarise(&replay(&run.log, fleet)?, &[]);
        Ok(Self {
            run: run.name.clone(),
            rate_per_s: run.log.header.workload.arrival.mean_rate_per_s(),
            users: run.log.header.workload.arrival.users(),
            outcome: measured.verdict.outcome,
            valid: measured.verdict.valid,
            figures: FigureCheck::all(&measured, &predicted),
            sent: FitRange::from_log(&run.log),
        })
    }

    /// The figure of this metric and quantile, where it was measured.
    pub fn figure(&self, metric: Metric, quantile: Quantile) -> Option<&FigureCheck> {
        self.figures.iter().find(|figure| figure.metric == metric && figure.quantile == quantile)
    }
}

impl FigureCheck {
    fn all(measured: &Summary, predicted: &Summary) -> Vec<Self> {
        let wanted = Metric::MAIN.into_iter().flat_map(|metric| [(metric, Quantile::P50), (metric, Quantile::P99)]);
        wanted
            .filter_map(|(metric, quantile)| {
                let figure = |summary: &Summary| Some(summary.latency.row(metric)?.percentile(quantile).figure);
                let measured_ms = figure(measured)?.exact().filter(|&ms| ms > 0.0)?;
                let predicted = figure(predicted);
                let predicted_ms = predicted.and_then(Figure::exact);
                Some(Self {
                    metric,
                    quantile,
                    measured_ms,
                    predicted_ms,
                    predicted_at_least_ms: predicted.filter(|_| predicted_ms.is_none()).map(Figure::at_least),
                    off: predicted_ms.map(|predicted| predicted / measured_ms - 1.0),
                })
            })
            .collect()
    }
}

/// Returns the checks by which a fit is graded. Those are of VALID runs, for the latencies of one that did not keep up
/// depend on how long it lasted; all, where none is valid.
fn counted(checks: &[RunCheck]) -> impl Iterator<Item = &RunCheck> {
    let is_valid = |check: &RunCheck| check.outcome == VerdictOutcome::Valid;
    let any_valid = checks.iter().any(is_valid);
    checks.iter().filter(move |check| is_valid(check) || !any_valid)
}

fn figures(checks: &[RunCheck], quantile: Quantile) -> impl Iterator<Item = &FigureCheck> {
    let both = [Metric::Ttft, Metric::Tpot];
    counted(checks).flat_map(move |check| both.into_iter().filter_map(move |m| check.figure(m, quantile)))
}

/// Returns how far the worst of these is off. It is infinitely so where one could be measured and not be reproduced.
/// `None` where none could be measured.
pub(super) fn worst(checks: &[RunCheck], quantile: Quantile) -> Option<f64> {
    figures(checks, quantile).map(|figure| figure.off.map_or(f64::INFINITY, f64::abs)).max_by(f64::total_cmp)
}

impl Grade {
    /// Grades by the worst median. It is poor where one that was measured could not be reproduced, as by an engine that
    /// does not keep up with what was sent, and where there is none.
    pub(super) fn from_checks(checks: &[RunCheck]) -> Self {
        match worst(checks, Quantile::P50) {
            Some(off) if off <= GOOD => Self::Good,
            Some(off) if off <= ROUGH => Self::Rough,
            _ => Self::Poor,
        }
    }
}

/// Rates that differ by no more than this share are the same.
pub(super) const SAME: f64 = 0.01;

/// Workload that a run sent, with the lengths of its prompts and answers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FitRange {
    pub(super) workload: WorkloadSpec,
    /// Tokens of its prompts and answers as asked, ascending.
    pub(super) prompts: Vec<u32>,
    pub(super) answers: Vec<u32>,
}

impl FitRange {
    pub(super) fn from_log(log: &RunLog) -> Self {
        let sent = || log.records.iter().filter(|record| record.sent.is_some());
        let mut prompts: Vec<u32> = sent().map(|record| record.input_tokens_asked).collect();
        let mut answers: Vec<u32> = sent().map(|record| record.output_tokens_asked).collect();
        prompts.sort_unstable();
        answers.sort_unstable();
        Self { workload: log.header.workload.without_texts(), prompts, answers }
    }

    /// Returns whether both sent the same kinds of request by the same arrivals. They have the same lengths and the
    /// same rate. What was set as their SLO changes no latency.
    pub(super) fn is_of(&self, other: &Self) -> bool {
        let [own, others] = [self, other].map(|reach| reach.workload.arrival.mean_rate_per_s());
        let same_rate = own > 0.0 && (others / own - 1.0).abs() <= SAME;
        let at = |reach: &Self| {
            let mut workload = reach.workload.clone();
            for share in workload.classes.iter_mut().flat_map(|class| &mut class.priorities) {
                share.slo = Slo::default();
            }
            workload.with(&Overrides { rate_per_s: Some(own), ..Overrides::default() }).ok()
        };
        let alike = |one: WorkloadSpec, other: WorkloadSpec| {
            (one.classes, one.models, one.arrival) == (other.classes, other.models, other.arrival)
        };
        same_rate && at(self).zip(at(other)).is_some_and(|(one, other)| alike(one, other))
    }
}

/// Returns the log as it would be if `fleet` had answered. It has the same requests at the same moments, with as many
/// tokens as they had. A request that failed in the run is left out: its cost is unknown.
///
/// The fleet has twice the time of the run. The run ended with its last answer, and a fleet that is a little slower
/// gives that answer a little later; one that needs more than twice the time does not keep up.
///
/// # Errors
///
/// When the fleet is impossible.
pub(super) fn replay(log: &RunLog, fleet: &Fleet) -> Result<RunLog, BadFleet> {
    let mut asked: Vec<RecordRef<'_>> = log
        .records
        .iter()
        .filter(|record| record.sent.is_some() && !matches!(record.outcome, Outcome::Failed(_)))
        .collect();
    asked.sort_unstable_by_key(|record| (record.sent, record.index));
    let by_id: HashMap<u64, &RequestRecord> = asked.iter().map(|record| (record.index, &**record)).collect();
    let end = log
        .footer
        .as_ref()
        .map_or(Timestamp::from_nanos(u64::MAX), |footer| footer.ended.after(footer.ended.since(Timestamp::ZERO)));
    let mut server = fleet.server()?;
    let mut driver = Driver::new(&mut *server);
    let mut records = Vec::new();
    let mut keep = |history: JobHistory| {
        if let Some(record) = by_id.get(&history.job.0) {
            records.push(answered(&unanswered(record), history, end));
        }
    };
    let mut coming = asked.iter().peekable();
    let mut prefixes = SessionPrefixes::default();
    loop {
        let next = coming.peek().and_then(|record| record.sent);
        let Some(now) = [next, driver.next_event()].into_iter().flatten().min() else { break };
        if now > end {
            break;
        }
        let mut refused = Vec::new();
        while let Some(record) = coming.next_if(|record| record.sent.is_some_and(|sent| sent <= now)) {
            refused.extend(driver.submit(now, job(record, &mut prefixes)));
        }
        refused.into_iter().for_each(&mut keep);
        driver.advance(now, &mut keep);
    }
    driver.stop().into_iter().for_each(keep);
    let mut footer = log.footer.clone();
    if let Some(footer) = &mut footer {
        footer.ended = records.iter().map(|record| record.ended).fold(footer.ended, Timestamp::max);
    }
    Ok(RunLog { records: records.into(), footer, ..log.clone() })
}

fn job(record: &RequestRecord, prefixes: &mut SessionPrefixes) -> Job {
    let input = record.prompt_tokens();
    let output = match record.outcome {
        Outcome::Completed => record.output_tokens,
        // Further turns are known to the plan alone.
        _ => u64::from(record.output_tokens_asked),
    };
    Job {
        priority: urgency(record.priority),
        class: Some(record.class),
        prefix: prefix(record, prefixes),
        ..Job::new(
            JobId(record.index),
            u32::try_from(input.max(1)).unwrap_or(u32::MAX),
            u32::try_from(output.max(1)).unwrap_or(u32::MAX),
        )
    }
}

/// Returns what a record's prompt has in common with others. That is a shared prefix, and the turns before it.
fn prefix(record: &RequestRecord, prefixes: &mut SessionPrefixes) -> PrefixHashes {
    let begins = record.prefix.map(|prefix| declared(record.model, record.class, prefix)).unwrap_or_default();
    let tokens = record.input_tokens_asked.saturating_add(record.output_tokens_asked);
    match record.turn() {
        Some(turn) => prefixes.add(turn, begins, tokens, true),
        None => begins,
    }
}

/// The request as it was before anything answered it.
fn unanswered(record: &RequestRecord) -> RequestRecord {
    RequestRecord {
        headers: None,
        first_answer: None,
        whole_answer: None,
        merged_reads: 0,
        late_stamps: None,
        validity: None,
        ..record.clone()
    }
}
