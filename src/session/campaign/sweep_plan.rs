//! A sweep that is planned: its load, what is measured before its first run, and its experiment.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::axis::check_axis;
use super::dir::{ExperimentDir, ServerManifest};
use super::sweep::{MORE, SweepManifest, SweepStart, at_load, measure_capacity, pace_of_users};
use crate::analysis::{Objective, statistics::OrderedShare};
use crate::clock::RunClock;
use crate::experiment::{Load, Search, SearchStep, SweepExperiment, SweepPlan, Swept, TrialRequest};
use crate::generator::Datasets;
use crate::session::console::Stop;
use crate::session::exits::{ExitRules, Undecided};
use crate::session::planned::PlannedRun;
use crate::session::run::{CheckedWorkload, PlannedLoad, RunContext};
use crate::session::settings::MachineCheck;
use crate::units::{count, spoken};
use crate::workload::WorkloadSpec;

/// Source of the length and the load of its runs.
const TYPED: &str = "in a sweep the loads are those of --rates, --start-rate, --users or --agents, and no run is \
    longer than --max-seconds";
/// Bounds of the time of a search, as multiples of what is expected. The search has no end in time.
const LEAST_OF_FORECAST: f64 = 0.5;
const MOST_OF_FORECAST: f64 = 2.0;
/// Bursts before a search take at least so long, seconds.
const FEWEST_BURSTS_S: f64 = 8.0;
/// First words of the announcement of a sweep that is too short for a decision.
const SHORT: &str = "the exit code will probably be 1, because";

/// A sweep that passes every check possible before the server is asked.
pub(crate) struct PlannedSweep {
    pub(crate) spec: WorkloadSpec,
    /// The workload at the lowest load.
    pub(crate) checked: CheckedWorkload,
    pub(crate) plan: SweepPlan,
    /// The run at the lowest load.
    pub(crate) lowest: PlannedRun,
    /// Measurements from before the first run of the sweep that is resumed.
    pub(crate) start: SweepStart,
    /// Whether the rate is to be measured at which the search begins.
    pub(crate) finds_start: bool,
    pub(crate) is_resumed: bool,
    /// Requests sent before the first run.
    pub(crate) warmup_requests: u64,
    /// The most users of the bursts before a search.
    pub(crate) most_users: u64,
    /// Whether nothing was said of how many requests a run measures.
    pub(crate) are_samples_usual: bool,
    /// How long the highest load is held at the end; absent: it is not.
    pub(crate) sustain: Option<Duration>,
    /// Time between two runs.
    pub(crate) pause: Duration,
}

/// A length of time to the second, in words.
fn words(length_s: f64) -> String {
    spoken(Duration::from_secs_f64(length_s.round()))
}

/// Start of a search from this load on, and the time that it takes.
pub(crate) fn begins(search: &Search, from: Load) -> String {
    let takes_s = search.expected_s();
    let short = search.lacks_s(0.0).map_or(String::new(), |least_s| {
        let judged = !search.plan().objectives.is_empty();
        let exit = if judged { "; the exit code will probably be 1" } else { "" };
        format!(", too short for an interval: that takes {}{exit}", words(least_s))
    });
    match search.plan().within_s {
        Some(_) => format!("searching from {from} on, which takes about {}{short}", words(takes_s)),
        None => format!(
            "searching from {from} on, which takes {} to {}: that depends on how much the runs vary",
            words(takes_s * LEAST_OF_FORECAST),
            words(takes_s * MOST_OF_FORECAST)
        ),
    }
}

impl PlannedSweep {
    /// Returns a sentence about runs that are too short for a decision. It says what is long enough. `None` where they
    /// are not too short, or where that counts as met.
    pub(crate) fn too_short(&self, rules: ExitRules) -> Result<Option<String>, Stop> {
        let plan = &self.plan;
        if plan.objectives.is_empty() || rules.undecided == Some(Undecided::Pass) {
            return Ok(None);
        }
        let search = Search::new(plan.clone()).map_err(Stop::usage)?;
        let bursts_s = if self.finds_start { FEWEST_BURSTS_S } else { 0.0 };
        if let Some(least_s) = search.lacks_s(bursts_s) {
            let least = words(least_s);
            return Ok(Some(format!("{SHORT} the search is too short: give it --within {least} or more")));
        }
        let per_arrival = plan.requests_per_arrival.unwrap_or(1.0) * plan.repeats as f64;
        let requests = |(load, window_s): &(Load, f64)| match load {
            Load::Rate(per_s) => per_s * window_s * per_arrival,
            Load::Users(_) | Load::Agents(_) => f64::INFINITY,
        };
        let needed = |of: &Objective| OrderedShare::new(&[Some(false)], None)?.needed(of.most_over()?);
        let needed = plan.objectives.iter().filter_map(needed).max();
        let most = search.listed().iter().map(requests).reduce(f64::max);
        Ok(most.zip(needed).filter(|(most, needed)| *most < *needed as f64).map(|(most, needed)| {
            let [most, needed] = [most as u64, needed].map(count);
            format!(
                "{SHORT} each load has at most {most} requests, and a decision takes about {needed}: raise \
                --samples, --max-seconds or --repeats"
            )
        }))
    }

    /// Returns the load that is sent at most.
    pub(crate) fn load(&self) -> Result<PlannedLoad, Stop> {
        let Self { spec, checked, plan, .. } = self;
        let cap = checked.settings.requests.caps().max_concurrency;
        let seconds = |window_s| spec.arrival.trace().map_or(spec.warmup_s + window_s, |_| spec.horizon_s);
        let lasting =
            |(load, window_s)| PlannedLoad::lasting(seconds(window_s), load, spec, cap).with_lengths_of(&self.lowest);
        let listed = Search::new(plan.clone()).map_err(Stop::usage)?.listed();
        let first = || plan.axis.fewest().unwrap_or(Load::Rate(1.0));
        let highest = listed.last().map_or_else(first, |(load, _)| *load);
        let all = |runs: &[_]| runs.iter().copied().map(lasting).reduce(PlannedLoad::and);
        let searched = match plan.within_s {
            Some(within_s) => {
                PlannedLoad::lasting(within_s, highest, spec, cap).with_lengths_of(&self.lowest).searched()
            }
            None => lasting((highest, plan.longest_s)).times(plan.most_trials).searched(),
        };
        let mut load = all(&listed).unwrap_or(searched);
        load.about = !listed.is_empty();
        load.at_most = listed.is_empty() && plan.within_s.is_none();
        load.resumed = self.is_resumed;
        if let Some(sustain) = self.sustain {
            load = load.and(lasting((highest, sustain.as_secs_f64())));
        }
        Ok(load.warmed_with(self.warmup_requests))
    }

    /// Warms the server and measures what decides the first run. Where no sweep is resumed, it creates the folder of a
    /// new one in `out`, after `warn`. `None` where the user stopped it.
    pub(crate) fn begin(
        &self,
        out: &Path,
        resumed: Option<ExperimentDir>,
        context: &RunContext,
        warn: impl FnOnce(),
    ) -> Result<Option<(SweepManifest, ExperimentDir)>, Stop> {
        let Self { spec, lowest, .. } = self;
        let mut manifest = self.manifest(context);
        let resumed = resumed.map(|dir| dir.with_manifest(&manifest)).transpose()?;
        let clock = RunClock::starting_in(Duration::ZERO);
        context.warm_server(lowest, self.warmup_requests);
        if self.finds_start {
            let Some(found) = measure_capacity(context, spec, lowest, self.most_users)? else { return Ok(None) };
            let rest_s = spec.warmup_s + self.pause.as_secs_f64();
            let shorter = manifest.plan.shorter_by(clock.now().as_secs_f64());
            manifest.plan = shorter.below(found, rest_s, self.are_samples_usual);
        }
        if let (Some(fewest), None) = (manifest.plan.axis.fewest().and_then(Load::users), &resumed) {
            match pace_of_users(fewest, context, spec, lowest)? {
                Some(per_s) => manifest.plan.fewest_users_per_s = Some(per_s),
                None => return Ok(None),
            }
        }
        let dir = if let Some(dir) = resumed {
            dir
        } else {
            warn();
            ExperimentDir::create(out, &format!("{}-sweep", spec.name), &context.engine().engine, &manifest)?
        };
        Ok(Some((manifest, dir)))
    }

    fn manifest(&self, context: &RunContext) -> SweepManifest {
        let mut server = ServerManifest::from_settings(&self.checked.settings);
        // Another model may be the first that the server lists now.
        server.model = Some(context.engine().model.clone());
        SweepManifest {
            workload: self.spec.clone(),
            plan: SweepPlan { fewest_users_per_s: self.start.fewest_users_per_s, ..self.plan.clone() },
            server,
            warmup_requests: self.warmup_requests,
            pause_s: self.pause.as_secs_f64(),
            sustain_s: self.sustain.map(|length| length.as_secs_f64()),
        }
    }
}

impl SweepManifest {
    /// The runs of the sweep.
    pub(crate) fn experiment(&self, context: &RunContext, machine: MachineCheck) -> Result<SweepExperiment, Stop> {
        let swept = Swept {
            started_at: jiff::Timestamp::now(),
            workload: self.workload.clone(),
            engine: context.engine().clone(),
            deployment: self.server.deployment.clone(),
        };
        let search = Search::new(self.plan.clone()).map_err(Stop::usage)?;
        let experiment = SweepExperiment::new(search.forced(machine == MachineCheck::Overridden), swept);
        Ok(match self.sustain_s {
            Some(seconds) => experiment.holding_for(seconds),
            None => experiment,
        })
    }
}

/// Finds what is wrong with the loads, and plans the run at the lowest.
pub(crate) fn check_loads(spec: &WorkloadSpec, plan: &SweepPlan, datasets: &Arc<Datasets>) -> Result<PlannedRun, Stop> {
    check_axis(spec, plan, "--users")?;
    let longest_s = plan.longest_s;
    if let Some(shortest_s) = plan.shortest_s.filter(|shortest_s| *shortest_s > longest_s) {
        return Err(Stop::usage(format!(
            "[seconds] is {shortest_s}, the shortest run, and --max-seconds, the longest, is {longest_s}\n\
             hint: raise --max-seconds"
        )));
    }
    let search = Search::new(plan.clone()).map_err(Stop::usage)?;
    let SearchStep::Measure(lowest) = search.next() else {
        return Err(Stop::usage("there is no load to measure\nhint: name one with --rates"));
    };
    let planned = |wanted: &TrialRequest| {
        at_load(spec, wanted).map_err(|stop| Stop::usage(format!("{}\nhint: {TYPED}", stop.message())))
    };
    if let Some(load) = plan.axis.loads().pop() {
        planned(&TrialRequest { load, ..lowest.clone() })?;
    }
    PlannedRun::alone(planned(&lowest)?, datasets, MORE)
}
