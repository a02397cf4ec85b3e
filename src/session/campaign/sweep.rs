//! A sweep against a server: its manifest, what is measured before its first run, and its runs.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::conduct::{Campaign, CampaignStep, runs_left};
use super::dir::{ExperimentDir, ServerManifest};
use crate::analysis::{Objective, Status};
use crate::experiment::{
    CapacityProbe, JudgedObjective, Load, LoadAxis, MeasuredCapacity, RunRequest, Search, SweepExperiment, SweepPlan,
    SweepRun, Trial, TrialRequest,
};
use crate::generator::Datasets;
use crate::session::console::{Printer, Stop};
use crate::session::planned::{PlannedRun, with_seed};
use crate::session::run::RunContext;
use crate::units::{counted, cut, from_json_value, percent, seconds, spoken};
use crate::workload::{ArrivalPattern, ThinkTime, Trace, WorkloadSpec};

/// Advice on how to give a run of a sweep more to measure.
pub(crate) const MORE: &str = "give its runs more time (--max-seconds), or begin at a higher load (--rates, \
    --start-rate, --users, --agents)";

/// Requests of each user of a burst at most, and of all.
const OF_EACH: u64 = 10;
const FEWEST: u64 = 50;
/// Characters of the reason in the line of a run that does not count.
const REASON: usize = 100;

/// All that decides which runs a sweep has.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct SweepManifest {
    pub(crate) workload: WorkloadSpec,
    pub(crate) plan: SweepPlan,
    pub(crate) server: ServerManifest,
    pub(crate) warmup_requests: u64,
    pub(crate) pause_s: f64,
    pub(crate) sustain_s: Option<f64>,
}

/// Measurements from before the first run of a stored sweep, which decide its course.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct SweepStart {
    /// The loads of a search; absent where no search was asked for.
    pub(crate) axis: Option<LoadAxis>,
    /// Requests in the window of each run, and of the first ones.
    pub(crate) samples: Option<u64>,
    pub(crate) first_samples: Option<u64>,
    /// Time of a run beside its window, seconds.
    pub(crate) between_s: f64,
    /// Moment when the search was to end, seconds.
    pub(crate) within_s: Option<f64>,
    /// The time in which its runs were to fit, seconds.
    pub(crate) sized_for_s: Option<f64>,
    /// Rate at which the fewest users were answered, requests per second. Absent where no users were swept.
    pub(crate) fewest_users_per_s: Option<f64>,
}

impl SweepStart {
    /// Reads the start of the sweep in `folder`.
    pub(crate) fn read(folder: &Path) -> Result<Self, Stop> {
        let manifest = ExperimentDir::manifest_in(folder)?;
        let plan = manifest.get("plan").cloned().unwrap_or_default();
        let start: Self = from_json_value(&plan).unwrap_or_default();
        Ok(Self { axis: start.axis.filter(|axis| axis.searched().is_some()), ..start })
    }
}

/// `spec` under the load, length and seed of a run. Of a trace, whose slice lasts as long as it does, more or
/// fewer requests are replayed until their mean rate is that of the load.
pub(crate) fn at_load(spec: &WorkloadSpec, wanted: &TrialRequest) -> Result<WorkloadSpec, Stop> {
    let (ArrivalPattern::Trace(trace), Load::Rate(per_s)) = (&spec.arrival, wanted.load) else {
        return wanted.workload(spec).map_err(Stop::usage);
    };
    let rate_scale = trace.rate_scale * per_s / spec.arrival.mean_rate_per_s();
    let arrival = ArrivalPattern::Trace(Box::new(Trace { rate_scale, ..Trace::clone(trace) }));
    with_seed(WorkloadSpec { arrival, ..spec.clone() }, wanted.seed)
}

/// Measures how much the server completes. It sends bursts of a few seconds of at most so many users at once. `None`
/// where the user stopped it.
pub(crate) fn measure_capacity(
    context: &RunContext,
    spec: &WorkloadSpec,
    lowest: &PlannedRun,
    most_users: u64,
) -> Result<Option<MeasuredCapacity>, Stop> {
    let mut probe = CapacityProbe::up_to(most_users);
    while let Some(users) = probe.next() {
        let asking = asking(spec, lowest, (users * OF_EACH).max(FEWEST))?;
        let schedule = asking.as_ref().map_or(&lowest.schedule, |run| &run.schedule);
        let Some(per_s) = context.burst(schedule, users, CapacityProbe::LOOK)? else { return Ok(None) };
        probe.record(per_s);
    }
    let nothing = "the server completed no request before the search\nhint: look at the server's log, or name \
        --start-rate";
    let mut found = probe.capacity().ok_or_else(|| Stop::impossible(nothing))?;
    // A server may be faster than this machine can be trusted with.
    let at = |per_s| WorkloadSpec { arrival: ArrivalPattern::Poisson { rate_per_s: per_s }, ..spec.clone() };
    while found.per_s > 1.0 && !context.is_trusted_with(&at(found.per_s)) {
        found.per_s /= 2.0;
    }
    Ok(Some(found))
}

/// Plans so many requests, one of each of as many users. `None` where the workload is a trace, whose own are to be
/// taken. Sessions begin at their beginning, for what primes a cache is no measure of answers.
fn asking(spec: &WorkloadSpec, lowest: &PlannedRun, requests: u64) -> Result<Option<PlannedRun>, Stop> {
    if spec.arrival.trace().is_some() {
        return Ok(None);
    }
    // A schedule has the first request of each user alone: more users have as many as are needed.
    let arrival = ArrivalPattern::Users { users: requests, think_time_s: ThinkTime::default(), ramp_s: 0.0 };
    PlannedRun::like(&lowest.schedule, WorkloadSpec { arrival, requests: None, ..spec.with_whole_sessions() }).map(Some)
}

/// Measures the requests per second of so many users. It takes a few answers to each, so that the first run is as long
/// as its samples need. `None` where the user stopped it. The rate is rounded, so that it is read again as it was
/// written.
pub(crate) fn pace_of_users(
    users: u64,
    context: &RunContext,
    spec: &WorkloadSpec,
    lowest: &PlannedRun,
) -> Result<Option<f64>, Stop> {
    let asking = asking(spec, lowest, RunContext::asked_by(users))?;
    let asking = asking.as_ref().map_or(&lowest.schedule, |run| &run.schedule);
    let think_s = match &lowest.workload.arrival {
        ArrivalPattern::Users { think_time_s, .. } => think_time_s.mean_s(),
        _ => 0.0,
    };
    let answered = context.shared(asking, users)?;
    let per_s = |answered: Duration| users as f64 / (answered.as_secs_f64() + think_s).max(1e-3);
    Ok(answered.map(|answered| (per_s(answered) * 1e3).round().max(1.0) / 1e3))
}

/// The runs of a sweep.
pub(crate) struct SweepCampaign<'a> {
    pub(crate) context: &'a RunContext,
    pub(crate) workload: &'a WorkloadSpec,
    pub(crate) datasets: &'a Arc<Datasets>,
    pub(crate) objectives: &'a [Objective],
    /// Printer of progress. Absent where none is shown.
    pub(crate) progress: Option<Printer>,
    /// Whether the curve is drawn after each run, as on a terminal.
    pub(crate) curve: bool,
}

impl Campaign<SweepExperiment> for SweepCampaign<'_> {
    fn plan(&mut self, request: &RunRequest<SweepRun>) -> Result<PlannedRun, Stop> {
        let (SweepRun::Load(wanted) | SweepRun::Sustained(wanted)) = &request.part;
        PlannedRun::alone(at_load(self.workload, wanted)?, self.datasets, MORE)
    }

    fn objectives(&self, _request: &RunRequest<SweepRun>) -> &[Objective] {
        self.objectives
    }

    fn refuses(&self, _request: &RunRequest<SweepRun>, run: &PlannedRun) -> Option<String> {
        self.context.check_load(&run.workload).err().map(|stop| stop.first_line())
    }

    fn runs_left(&self, next: &CampaignStep<'_, SweepExperiment>, run: &PlannedRun) -> String {
        let search = next.experiment.search();
        match (&next.request.part, search.left(), search.plan().axis.searched()) {
            (SweepRun::Load(_), Some((_, left_s)), Some(_)) => {
                format!("; about {} left", spoken(Duration::from_secs_f64(left_s.round())))
            }
            (SweepRun::Load(_), ..) => match runs_left(self, next, run) {
                left if left.is_empty() => left,
                left => left + ", beside those for INVALID runs",
            },
            _ => runs_left(self, next, run),
        }
    }

    fn resting(&self, _after: &RunRequest<SweepRun>) -> Option<&RunContext> {
        Some(self.context)
    }

    fn ready(&mut self, _request: &RunRequest<SweepRun>) -> Result<&RunContext, Stop> {
        Ok(self.context)
    }

    fn title(&self, next: &CampaignStep<'_, SweepExperiment>, _run: &PlannedRun) -> Option<String> {
        match &next.request.part {
            SweepRun::Load(wanted) => Some(title(wanted, self.workload.warmup_s)),
            SweepRun::Sustained(wanted) => {
                let lasts = with_warm_up(wanted.window_s, self.workload.warmup_s);
                Some(format!("holding {} for {lasts}", wanted.load))
            }
        }
    }

    fn recorded(&mut self, done: &CampaignStep<'_, SweepExperiment>) -> Result<(), Stop> {
        let CampaignStep { request, experiment, .. } = done;
        let trial = experiment.search().trials().last();
        if let (SweepRun::Load(wanted), Some(trial), Some(printer)) = (&request.part, trial, self.progress)
            && trial.number == wanted.number
        {
            let (found, known) = (finding(trial), known(experiment.search()));
            printer.words(&format!("  run {}, {}: {found}{known}", trial.number, trial.load));
            if self.curve {
                experiment.search().strip().iter().for_each(|line| printer.words(line));
            }
        }
        Ok(())
    }

    fn over(&mut self, read: Option<u64>) {
        if let (Some(printer), Some(read @ 1..)) = (self.progress, read) {
            printer.words(&format!("{} had been stored before and were read", counted(read, "run")));
        }
    }
}

/// A run after so many seconds of warm-up, in words.
fn title(wanted: &TrialRequest, warmup_s: f64) -> String {
    let TrialRequest { number, load, repeat, window_s, .. } = wanted;
    let repeat = if *repeat > 1 { format!(", repeat {repeat}") } else { String::new() };
    format!("run {number}: {load} for {}{repeat}", with_warm_up(*window_s, warmup_s))
}

/// The length of a window after its warm-up, in words.
pub(super) fn with_warm_up(window_s: f64, warmup_s: f64) -> String {
    let after = if warmup_s > 0.0 { format!(" after {} of warm-up", seconds(warmup_s)) } else { String::new() };
    seconds(window_s) + &after
}

/// Returns in words what a run found: figures, because one run by itself decides nothing.
fn finding(trial: &Trial) -> String {
    let found = match &trial.saturated {
        Some(_) => "the server did not keep up".to_owned(),
        None if trial.judged.is_empty() => "done".to_owned(),
        None => trial.judged.iter().map(figure).collect::<Vec<_>>().join(", "),
    };
    counted_or_not(found, &trial.invalid, trial.counts())
}

/// Finding of a run, or why it is INVALID, and whether it counts.
pub(super) fn counted_or_not(found: String, invalid: &[String], counts: bool) -> String {
    match invalid.first().map(|reason| cut(reason.clone(), REASON)) {
        None => found,
        Some(why) if counts => format!("{found}; INVALID, and counts all the same: {why}"),
        Some(why) => format!("INVALID, and does not count: {why}"),
    }
}

/// Shows the figure of a run for an objective. Of a percentile it also shows the share of its requests over the bound.
fn figure(judged: &JudgedObjective) -> String {
    let key = &judged.objective.key;
    let over = judged.over_share.zip(judged.objective.most_over());
    let over = over.map_or(String::new(), |(over, most)| {
        let is_open = over > most && judged.status == Status::Undecided;
        let open = if is_open { "; too few independent requests to tell" } else { "" };
        format!(" ({} over the bound, {} may be{open})", percent(over), percent(most))
    });
    match (judged.value, judged.at_least) {
        (Some(value), _) => format!("{key} {}{over}", key.show(value)),
        (None, Some(least)) => format!("{key} over {}{over}", key.show(least)),
        (None, None) => format!("no {key}{over}"),
    }
}

/// Highest load by all runs so far, and the number of runs left.
fn known(search: &Search) -> String {
    let so_far = search.so_far().map_or(String::new(), |so_far| format!("; the highest load is {so_far}"));
    let left = search.left().map_or(String::new(), |(runs, _)| format!(", {} left", counted(runs, "run")));
    so_far + &left
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::summarise;
    use crate::analysis::test_runs::{RecordBuilder, record, run};

    #[test]
    fn the_line_of_a_run_says_why_it_does_not_count() {
        let wanted = TrialRequest {
            number: 1,
            load: Load::Rate(2.0),
            repeat: 1,
            seed: 1,
            window_s: 60.0,
            run: "run-001".to_owned(),
        };
        let mut trial = Trial::new(&wanted, &summarise(&run(1_000, vec![record(0).build()]), &[]));
        trial.saturated = None;
        trial.invalid = vec!["late ".repeat(50), "another".to_owned()];
        let said = finding(&trial.clone().left_out());
        assert!(said.starts_with("INVALID, and does not count: late late") && !said.contains("another"));
        assert!(said.len() < 200 && said.contains('…'), "{said}");
        trial.invalid.clear();
        assert_eq!(finding(&trial), "done");
        // One run decides nothing by itself: its line has figures and no verdict.
        let records = (0..40).map(|i| record(i).sent_at(i * 25, i * 25, i * 25).paced(i * 25 + 100 + i * 10, 10, 3));
        let log = run(1_000, records.map(RecordBuilder::build).collect());
        let judged = Trial::new(&wanted, &summarise(&log, &["p50 ttft < 295ms".parse().unwrap()]));
        assert_eq!(figure(&judged.judged[0]), "p50 ttft 295 ms (50 % over the bound, 50 % may be)");
        trial.saturated = Some("it grew".to_owned());
        assert_eq!(finding(&trial), "the server did not keep up");
        trial.invalid = vec!["late".to_owned()];
        assert_eq!(finding(&trial), "the server did not keep up; INVALID, and counts all the same: late");
        assert_eq!(finding(&trial.left_out()), "INVALID, and does not count: late");
    }
}
