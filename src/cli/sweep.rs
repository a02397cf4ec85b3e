//! `skyline sweep`: one workload under rising load, and the highest load that meets the objectives.

use std::sync::Arc;
use std::time::Duration;

use clap::Args;

use super::output::{exits, planned_limits, planned_requests, planned_server, say_saved, show_dry_run};
use crate::analysis::{FigureKind, Objective, Quantile};
use crate::cli::args::{
    CampaignArgs, ObjectiveArgs, TargetArgs, WorkArgs, above_zero, rates, share_up_to_half, some_time, users,
    whole,
};
use crate::clock::RunClock;
use crate::experiment::{
    Experiment, InvalidRuns, Load, LoadAxis, Search, SearchStep, StopReason, Sweep, SweepExperiment,
    SweepPlan, Swept, TrialRequest, drive, either_way,
};
use crate::generator::Datasets;
use crate::report::documents;
use crate::session::campaign::executor::CampaignExecutor;
use crate::session::campaign::sweep::{
    MORE, SweepCampaign, SweepManifest, SweepStart, at_load, check_axis, measure_capacity, pace_of_users,
};
use crate::session::run::{CheckedWorkload, PlannedLoad, RunContext, announce_load};
use crate::session::settings::{LoadOption, MachineCheck};
use crate::session::{
    Exit, ExperimentDir, Interrupts, PlannedRun, Printer, ServerManifest, Stop, both, datasets, folder,
};
use crate::units::spoken;
use crate::workload::{Overrides, WorkloadSpec};

/// Measure a server from low load to high, and find the highest that meets the objectives
#[derive(Debug, Args)]
pub(super) struct SweepArgs {
    #[command(flatten)]
    workload: WorkArgs,
    #[command(flatten, next_help_heading = "Loads")]
    loads: SweepLoadArgs,
    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    objectives: ObjectiveArgs,
    #[command(flatten)]
    campaign: CampaignArgs,
}

/// Which loads are measured, how often and for how long.
#[derive(Debug, Args)]
struct SweepLoadArgs {
    /// Rates to measure, requests per second: a list such as 1,2,4,8, or a ladder FROM:TO:xFACTOR such as 1:64:x2;
    /// for conversations, how many begin a second [default: a search finds them, near what a burst of a few seconds shows
    /// that the server completes]
    #[arg(long, value_name = "RATES", value_parser = rates, conflicts_with = "users", allow_hyphen_values = true)]
    rates: Option<LoadAxis>,

    /// Users of closed loops to measure in place of rates: a list such as 1,2,4, or a ladder such as 1:64:x2
    /// [default: none]
    #[arg(long, value_name = "USERS", value_parser = users, allow_hyphen_values = true)]
    users: Option<LoadAxis>,

    /// After each closed loop run the same work with open (Poisson) arrivals at the rate that its users reached, and
    /// show what the closed loop hides
    #[arg(long, requires = "users")]
    paired_open: bool,

    /// The rate at which the search begins, requests per second, and from which it is doubled until one fails [default: a
    /// little below what a burst of a few seconds shows that the server completes]
    #[arg(long, value_name = "PER_S", value_parser = above_zero, conflicts_with_all = ["rates", "users"],
          allow_negative_numbers = true)]
    start_rate: Option<f64>,

    /// Runs of each load, each with a seed of its own; the search runs more where they do not decide
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = whole::<u64>(1..=100),
          allow_negative_numbers = true)]
    repeats: u64,

    /// Requests that each run is to measure; its length follows from it and the rate [default: what the highest
    /// percentile of the objectives needs: 662 for p99, 130 for p95]
    #[arg(long, value_name = "N", value_parser = whole::<u64>(1..=u64::MAX), allow_negative_numbers = true)]
    samples: Option<u64>,

    /// The longest run, whatever its rate; one that is too short for its percentile says so
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = some_time, allow_hyphen_values = true)]
    max_seconds: Duration,

    /// Search until the highest rate that meets the objectives is known to plus or minus this share: half the width of its 95 %
    /// interval; also with --resume, of a search that is over [default: as exact as --within allows, ±5% at most]
    #[arg(long, value_name = "SHARE", value_parser = share_up_to_half, allow_hyphen_values = true)]
    bracket: Option<f64>,

    /// End the search after this time, once the answer has an interval [default: 5m; with --bracket, no such end]
    #[arg(long, value_name = "TIME", value_parser = some_time, allow_hyphen_values = true)]
    within: Option<Duration>,

    /// The search ends after this many runs, whatever it has found
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = whole::<u64>(1..=10_000),
          allow_negative_numbers = true)]
    max_runs: u64,

    /// Try no higher load after this many in a row that saturate the server
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = whole::<u64>(1..=100),
          allow_negative_numbers = true)]
    stop_after_saturated: u64,

    /// Requests sent before the first run, a few at a time and not counted, so that the server is warm
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = whole::<u64>(0..=10_000),
          allow_negative_numbers = true)]
    warmup_requests: u64,

    /// At the end, run the highest load that passed for this long, and report whether it meets the objectives
    /// [default: no such run]
    #[arg(long, value_name = "TIME", value_parser = some_time, requires = "objectives", allow_hyphen_values = true)]
    sustain: Option<Duration>,
}

pub(super) fn run(args: &SweepArgs, printer: Printer) -> Result<Exit, Stop> {
    args.campaign.show.check()?;
    let interrupts = Interrupts::listen(printer);
    // Everything that can be wrong with what was typed is found before anything is sent.
    let plan = args.plan(printer)?;
    if args.campaign.dry_run {
        return args.show_plan(&plan, printer).map(|()| Exit::Fine);
    }
    let progress = args.campaign.live.announce(printer);
    announce_load(&args.load(&plan)?, [&plan.checked.settings], progress, printer)?;
    folder::base(&args.campaign.out)?;
    // Locked first: to calibrate this machine would disturb another process that runs the sweep.
    let resumed = args.campaign.resume.as_deref().map(ExperimentDir::locked).transpose()?;
    let context = plan.checked.connect(&interrupts, printer)?;
    interrupts.series_begins();
    let Some((manifest, dir)) = plan.begin(args, resumed, &context)? else { return Ok(Exit::Interrupted) };
    let settings = &plan.checked.settings;
    let forced = plan.checked.settings.machine == MachineCheck::Overridden;
    let mut experiment = experiment(&manifest, &context, forced)?;
    if let (LoadAxis::Automatic { from_per_s, .. }, Some(printer)) = (&manifest.plan.axis, progress) {
        printer.words(&begins(experiment.search(), *from_per_s));
    }
    let campaign = SweepCampaign {
        context: &context,
        workload: &manifest.workload,
        datasets: &plan.checked.datasets,
        objectives: &settings.objectives,
        pause: args.campaign.pause,
        progress,
    };
    let mut executor = CampaignExecutor::new(campaign, &dir, &interrupts, progress);
    // Spoiled runs of a sweep are repeated even where INVALID ones are allowed.
    executor = executor.forced(settings.machine, InvalidRuns::LeftOut);
    let driven = drive(&mut experiment, &mut executor);
    if driven.is_err() && !experiment.search().trials().is_empty() {
        printer.words(&format!("what was measured is stored; resume with: {}", dir.command_to_resume(&[])));
    }
    driven?;
    executor.say_what_was_read(progress);
    finish(args, &experiment.result(), &dir, printer)
}

/// Where a search begins, and how long it takes.
fn begins(search: &Search, from_per_s: f64) -> String {
    let takes = spoken(Duration::from_secs_f64(search.expected_s()));
    format!("searching from {} on, which takes about {takes}", Load::Rate(from_per_s))
}

/// The runs of the sweep.
fn experiment(manifest: &SweepManifest, context: &RunContext, forced: bool) -> Result<SweepExperiment, Stop> {
    let swept = Swept {
        started_at: jiff::Timestamp::now(),
        workload: manifest.workload.clone(),
        engine: context.engine().clone(),
        deployment: manifest.server.deployment.clone(),
    };
    let search = Search::new(manifest.plan.clone()).map_err(Stop::usage)?.forced(forced);
    let mut experiment = SweepExperiment::new(search, swept);
    if manifest.paired_open {
        experiment = experiment.with_pairs();
    }
    if let Some(seconds) = manifest.sustain_s {
        experiment = experiment.holding_for(seconds);
    }
    Ok(experiment)
}

/// Shows the sweep, says where it is stored, and gives its exit code.
fn finish(args: &SweepArgs, sweep: &Sweep, dir: &ExperimentDir, printer: Printer) -> Result<Exit, Stop> {
    args.campaign.show.result(printer, sweep, || documents::sweep(sweep))?;
    say_saved(dir.folder(), None, printer);
    if matches!(sweep.stopped, StopReason::Interrupted | StopReason::ServerGone | StopReason::Untrusted) {
        printer.words(&format!("resume with: {}", dir.command_to_resume(&[])));
    }
    Ok(match sweep.stopped {
        StopReason::Interrupted => Exit::Interrupted,
        _ => exits::of_sweep(sweep, args.objectives.rules(args.campaign.validity), printer),
    })
}

/// Requests that tell a mean.
const FOR_A_MEAN: u64 = 130;
/// Where the length and the load of its runs come from.
const TYPED: &str = "in a sweep the loads are those of --rates, --start-rate or --users, and no run is longer than --max-seconds";
/// A rate of an automatic search before it is known where that begins, requests per second.
const ANY_RATE: f64 = 1.0;
/// Requests of the first runs of a search, which only show where to measure.
const TO_BEGIN: u64 = 75;
/// How exact an answer is at most where nothing else is said, either way.
const EXACT: f64 = 0.05;
/// How long a search takes where nothing else is said.
const WITHIN: Duration = Duration::from_secs(300);

/// A sweep that can begin, as far as can be known before the server is asked.
struct PlannedSweep {
    spec: WorkloadSpec,
    /// The workload at the lowest load.
    checked: CheckedWorkload,
    plan: SweepPlan,
    /// The run at the lowest load.
    lowest: PlannedRun,
    /// What was measured before the first run of the sweep that is resumed.
    start: SweepStart,
    /// Whether the rate is to be measured at which the search begins.
    finds_start: bool,
}

impl SweepArgs {
    fn plan(&self, printer: Printer) -> Result<PlannedSweep, Stop> {
        let objectives = self.objectives.objectives();
        let settings = self.target.settings(LoadOption::OfLoads, self.campaign.live.screen());
        let users = self.workload.users_of(self.loads.users.as_ref());
        let load = Overrides { users, ..Overrides::default() };
        let (spec, mut settings) = both(self.workload.spec(&load, printer), settings)?;
        let (spec, datasets) =
            datasets::open(spec, settings.requests.tokenizer.as_deref(), settings.screen, printer)?;
        let start = self.campaign.resume.as_deref().map(SweepStart::read).transpose()?.unwrap_or_default();
        let typed = self.loads.rates.as_ref().or(self.loads.users.as_ref()).cloned();
        let typed = typed.or_else(|| self.loads.start_rate.map(LoadAxis::search_from));
        let known = typed.or_else(|| start.axis.clone());
        let finds_start = known.is_none();
        let search = || LoadAxis::search_from(ANY_RATE);
        let plan = self.search_plan(&spec, known.unwrap_or_else(search), &objectives, &start);
        settings.objectives = objectives;
        let lowest = check_loads(&spec, &plan, &datasets)?;
        let checked = settings.check(&lowest.workload, &datasets)?;
        Ok(PlannedSweep { spec, checked, plan, lowest, start, finds_start })
    }

    /// Shows what would be run.
    fn show_plan(&self, planned: &PlannedSweep, printer: Printer) -> Result<(), Stop> {
        let SweepPlan { axis, repeats, most_trials, longest_s, samples, .. } = &planned.plan;
        let loads: Vec<_> = axis.loads().iter().map(ToString::to_string).collect();
        let loads = match axis {
            LoadAxis::Automatic { .. } if planned.finds_start => {
                "searched near what a burst of a few seconds shows that the server completes".to_owned()
            }
            LoadAxis::Automatic { from_per_s, .. } => {
                format!("searched from {} on", Load::Rate(*from_per_s))
            }
            _ => loads.join(", "),
        };
        let mut facts = planned_requests(&planned.spec);
        facts.push(("loads", loads));
        let longest = spoken(Duration::from_secs_f64(*longest_s));
        if matches!(axis, LoadAxis::Automatic { .. }) {
            let runs = format!("{most_trials} at most, of up to {longest} and about {samples} requests each");
            facts.push(("runs", runs));
            facts.push(("ends", self.end_in_words(&planned.plan)));
        } else {
            facts.push(("runs", format!("{repeats} of each load at least")));
            let lasts = format!("{longest} a run at most, less where {samples} requests are measured sooner");
            facts.push(("lasts", lasts));
        }
        let load = self.load(planned)?;
        facts.push((load.label(), load.to_string()));
        if let Some(sustain) = self.loads.sustain {
            facts.push(("then", format!("the highest load that passed, held for {}", spoken(sustain))));
        }
        facts.push(planned_server("server", &planned.checked.settings));
        facts.extend(planned_limits(&planned.checked.settings));
        facts.push(("warm-up requests", self.loads.warmup_requests.to_string()));
        facts.push(("stored in", self.campaign.out.display().to_string()));
        show_dry_run(&format!("sweep {}", planned.spec.name), facts, printer, self.campaign.show.shown())
    }

    /// When a search ends.
    fn end_in_words(&self, plan: &SweepPlan) -> String {
        let exact = format!("once the answer is known to {}", either_way(plan.precision));
        match (self.within(), self.loads.bracket) {
            (Some(within), None) => {
                format!("after about {}, longer where the answer has no interval by then", spoken(within))
            }
            (Some(within), Some(_)) => format!("{exact}, or after about {}", spoken(within)),
            (None, _) => format!("{exact}; how long that takes is said after the burst"),
        }
    }

    /// What is sent at most.
    fn load(&self, planned: &PlannedSweep) -> Result<PlannedLoad, Stop> {
        let PlannedSweep { spec, checked, plan, .. } = planned;
        let cap = checked.settings.requests.max_concurrency;
        let seconds = |window_s| spec.arrival.trace().map_or(spec.warmup_s + window_s, |_| spec.horizon_s);
        let lasting = |(load, window_s)| PlannedLoad::lasting(seconds(window_s), load, spec, cap);
        let mut listed = Search::new(plan.clone()).map_err(Stop::usage)?.listed();
        let highest = listed.last().map_or(Load::Rate(1.0), |(load, _)| *load);
        let all = |runs: &[_]| runs.iter().copied().map(lasting).reduce(PlannedLoad::and);
        let searched = lasting((highest, plan.longest_s)).times(plan.most_trials).searched().at_most();
        let mut load = all(&listed).map_or(searched, PlannedLoad::about);
        if self.loads.paired_open {
            listed.dedup_by_key(|(load, _)| *load);
            load = all(&listed).map_or(load, |paired| load.with_open_pairs(paired, cap));
        }
        if let Some(sustain) = self.loads.sustain {
            load = load.and(lasting((highest, sustain.as_secs_f64())));
        }
        Ok(load.warmed_with(self.loads.warmup_requests).resumed(self.campaign.resume.is_some()))
    }

    /// When a search ends, however exact its answer is.
    fn within(&self) -> Option<Duration> {
        self.loads.within.or(self.loads.bracket.is_none().then_some(WITHIN))
    }

    fn search_plan(
        &self,
        spec: &WorkloadSpec,
        axis: LoadAxis,
        objectives: &[Objective],
        start: &SweepStart,
    ) -> SweepPlan {
        let SweepLoadArgs { repeats, samples, max_seconds, max_runs, stop_after_saturated, .. } = self.loads;
        let is_search = matches!(axis, LoadAxis::Automatic { .. });
        let within_s = self.within().filter(|_| is_search).map(|within| within.as_secs_f64());
        let is_default = self.loads.within.is_none() && self.loads.bracket.is_none();
        let samples = samples.or(start.samples).unwrap_or_else(|| samples_for(objectives));
        SweepPlan {
            requests_per_arrival: SweepPlan::requests_per_arrival(spec, &axis),
            axis,
            objectives: objectives.to_vec(),
            repeats,
            samples,
            first_samples: is_search.then_some(TO_BEGIN).filter(|first| *first < samples),
            shortest_s: self.workload.seconds(),
            longest_s: max_seconds.as_secs_f64(),
            fewest_users_per_s: None,
            precision: 2.0 * self.loads.bracket.unwrap_or(EXACT),
            within_s: start.within_s.filter(|_| is_default).or(within_s),
            between_s: if is_search { start.between_s } else { 0.0 },
            most_trials: max_runs,
            saturated_in_a_row: stop_after_saturated,
            first_seed: spec.seed,
        }
    }
}

impl PlannedSweep {
    /// Warms the server, measures what decides the first run, and creates the sweep's folder where none is resumed; `None`
    /// where the user stopped it.
    fn begin(
        &self,
        args: &SweepArgs,
        resumed: Option<ExperimentDir>,
        context: &RunContext,
    ) -> Result<Option<(SweepManifest, ExperimentDir)>, Stop> {
        let Self { spec, lowest, .. } = self;
        let warmup_requests = args.loads.warmup_requests;
        let mut manifest = self.manifest(args, context);
        let resumed = resumed.map(|dir| dir.with_manifest(&manifest)).transpose()?;
        context.warm_server(lowest, warmup_requests);
        if self.finds_start {
            let clock = RunClock::starting_in(Duration::ZERO);
            let Some(found) = measure_capacity(context, spec, lowest)? else { return Ok(None) };
            let rest_s = spec.warmup_s + args.campaign.pause.as_secs_f64();
            let is_default = args.loads.samples.is_none();
            manifest.plan =
                manifest.plan.below(found, rest_s, is_default).shorter_by(clock.now().as_secs_f64());
        }
        if let (LoadAxis::Users { users }, None) = (&manifest.plan.axis, &resumed) {
            let fewest = users.first().copied().unwrap_or(1);
            match pace_of_users(fewest, context, spec, lowest)? {
                Some(per_s) => manifest.plan.fewest_users_per_s = Some(per_s),
                None => return Ok(None),
            }
        }
        let dir = if let Some(dir) = resumed {
            dir
        } else {
            let name = format!("{}-sweep", spec.name);
            ExperimentDir::create(&args.campaign.out, &name, &context.engine().engine, &manifest)?
        };
        Ok(Some((manifest, dir)))
    }

    fn manifest(&self, args: &SweepArgs, context: &RunContext) -> SweepManifest {
        let mut server = ServerManifest::of(&self.checked.settings);
        // Another model may be the first that the server lists now.
        server.model = Some(context.engine().model.clone());
        SweepManifest {
            workload: self.spec.clone(),
            plan: SweepPlan { fewest_users_per_s: self.start.fewest_users_per_s, ..self.plan.clone() },
            server,
            warmup_requests: args.loads.warmup_requests,
            pause_s: args.campaign.pause.as_secs_f64(),
            paired_open: args.loads.paired_open,
            sustain_s: args.loads.sustain.map(|length| length.as_secs_f64()),
        }
    }
}

/// Finds what is wrong with the loads, and plans the run at the lowest.
fn check_loads(spec: &WorkloadSpec, plan: &SweepPlan, datasets: &Arc<Datasets>) -> Result<PlannedRun, Stop> {
    check_axis(spec, &plan.axis, "--users")?;
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
    let highest = match &plan.axis {
        LoadAxis::List { rates_per_s } => rates_per_s.last().copied().map(Load::Rate),
        LoadAxis::Geometric { to_per_s, .. } => Some(Load::Rate(*to_per_s)),
        LoadAxis::Users { users } => users.last().copied().map(Load::Users),
        LoadAxis::Automatic { .. } => None,
    };
    let planned = |wanted: &TrialRequest| {
        at_load(spec, wanted).map_err(|stop| Stop::usage(format!("{}\nhint: {TYPED}", stop.message())))
    };
    if let Some(load) = highest {
        planned(&TrialRequest { load, ..lowest.clone() })?;
    }
    PlannedRun::alone(planned(&lowest)?, datasets, MORE)
}

/// What the figures of the objectives need; without any the p99s of the table.
fn samples_for(objectives: &[Objective]) -> u64 {
    let needed = objectives.iter().map(|objective| match (objective.key.kind(), objective.key.quantile()) {
        (FigureKind::Share, _) => Quantile::P99.floor(),
        (_, Some(quantile)) => quantile.floor().max(FOR_A_MEAN),
        (_, None) => FOR_A_MEAN,
    });
    needed.max().unwrap_or_else(|| Quantile::P99.floor())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_measures_what_its_highest_percentile_needs() {
        let needed =
            |texts: &[&str]| samples_for(&texts.iter().map(|text| text.parse().unwrap()).collect::<Vec<_>>());
        assert_eq!(needed(&[]), 662);
        assert_eq!(needed(&["p50 ttft < 1s", "mean tpot < 50ms"]), 130);
        assert_eq!(needed(&["p95 ttft < 1s", "p99.9 e2e < 9s"]), 6_636);
        assert_eq!(needed(&["error_rate < 1%"]), 662);
    }
}
