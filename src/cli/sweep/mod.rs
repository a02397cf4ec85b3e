//! `skyline sweep`: one workload under rising load, and the highest load that meets the objectives.

mod loads;

use std::sync::Arc;
use std::time::Duration;

use clap::Args;

use self::loads::SweepLoadArgs;
use super::output::{planned_limits, planned_requests, planned_server, show_dry_run};
use crate::analysis::{Objective, statistics::OrderedShare};
use crate::cli::args::{CampaignArgs, ObjectiveArgs, TargetArgs, WorkArgs, note_idle};
use crate::clock::RunClock;
use crate::experiment::{
    InvalidRuns, Load, LoadAxis, Search, SearchStep, StopReason, SweepExperiment, SweepPlan, Swept, TrialRequest,
};
use crate::generator::Datasets;
use crate::session::campaign::conduct::conduct;
use crate::session::campaign::reported::Reported as _;
use crate::session::campaign::sweep::{
    MORE, SweepCampaign, SweepManifest, SweepStart, at_load, check_axis, measure_capacity, pace_of_users,
};
use crate::session::exits::Undecided;
use crate::session::run::{CheckedWorkload, PlannedLoad, RunContext, announce_load, check_before_load};
use crate::session::settings::{LoadOption, MachineCheck};
use crate::session::{
    Exit, ExperimentDir, Interrupts, PlannedRun, Printer, ServerManifest, Stop, both, datasets, folder, stored,
};
use crate::units::{count, spoken};
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

pub(super) fn run(args: &SweepArgs, printer: Printer) -> Result<Exit, Stop> {
    args.campaign.show.check()?;
    let interrupts = Interrupts::listen(printer)?;
    // Everything that can be wrong with what was typed is found before anything is sent.
    let plan = args.plan(printer)?;
    if args.loads.plan || args.campaign.dry_run {
        args.campaign.resume.as_deref().map(ExperimentDir::locked).transpose()?;
        plan.checked.check_begin()?;
        let out = Some(&*args.campaign.out);
        check_before_load(&args.load(&plan)?, [&plan.checked.settings], out, printer)?;
        return args.show_plan(&plan, printer).map(|()| Exit::Fine);
    }
    let progress = args.campaign.live.announce(printer);
    announce_load(&args.load(&plan)?, [&plan.checked.settings], progress, printer)?;
    if let Some(printer) = progress {
        args.too_short(&plan)?.iter().for_each(|short| printer.words(short));
        if plan.finds_start {
            printer.words(&format!("first: {}", args.loads.bursts_in_words()));
        }
    }
    folder::base(&args.campaign.out)?;
    // Locked first: to calibrate this machine would disturb another process that runs the sweep.
    let resumed = args.campaign.resume.as_deref().map(ExperimentDir::locked).transpose()?;
    let context = plan.checked.connect(&interrupts, printer)?;
    interrupts.series_begins();
    let Some((manifest, dir)) = plan.begin(args, resumed, &context)? else { return Ok(Exit::Interrupted) };
    let settings = &plan.checked.settings;
    let forced = settings.machine == MachineCheck::Overridden;
    let mut experiment = experiment(&manifest, &context, forced)?;
    if let (LoadAxis::Automatic { from_per_s, .. }, Some(printer)) = (&manifest.plan.axis, progress) {
        printer.words(&begins(experiment.search(), *from_per_s));
    }
    let campaign = SweepCampaign {
        context: &context,
        workload: &manifest.workload,
        datasets: &plan.checked.datasets,
        objectives: &settings.objectives,
        progress,
        curve: settings.screen.is_redrawn(),
    };
    // Spoiled runs of a sweep are repeated even where INVALID ones are allowed.
    let spoiled = (settings.machine, InvalidRuns::LeftOut);
    let how = args.campaign.conduct(&dir, &interrupts, spoiled, printer);
    let found = conduct(&mut experiment, campaign, how);
    if found.is_err() && !experiment.search().trials().is_empty() {
        printer.words(&format!("what was measured is stored; resume with: {}", dir.command_to_resume(&[])));
    }
    let Some(sweep) = found? else { return Ok(Exit::Interrupted) };
    args.campaign.finish(&sweep, &dir, printer)?;
    Ok(match sweep.stopped {
        StopReason::Interrupted => Exit::Interrupted,
        _ => sweep.exit(args.objectives.undecided.rules(args.campaign.validity), printer),
    })
}

/// A length of time to the second, in words.
fn words(length_s: f64) -> String {
    spoken(Duration::from_secs_f64(length_s.round()))
}

/// Where a search begins, and how long it takes.
fn begins(search: &Search, from_per_s: f64) -> String {
    let takes_s = search.expected_s();
    let short = search.lacks_s(0.0).map_or(String::new(), |least_s| {
        let judged = !search.plan().objectives.is_empty();
        let exit = if judged { "; the exit code will probably be 1" } else { "" };
        format!(", too short for an interval: that takes {}{exit}", words(least_s))
    });
    let from = Load::Rate(from_per_s);
    match search.plan().within_s {
        Some(_) => format!("searching from {from} on, which takes about {}{short}", words(takes_s)),
        None => format!(
            "searching from {from} on, which takes {} to {}: that depends on how much the runs vary",
            words(takes_s * LEAST_OF_FORECAST),
            words(takes_s * MOST_OF_FORECAST)
        ),
    }
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
    let experiment = SweepExperiment::new(search, swept);
    Ok(match manifest.sustain_s {
        Some(seconds) => experiment.holding_for(seconds),
        None => experiment,
    })
}

/// Where the length and the load of its runs come from.
const TYPED: &str = "in a sweep the loads are those of --rates, --start-rate or --users, and no run is longer than \
    --max-seconds";
/// Bounds of the time of a search, as multiples of what is expected. The search has no end in time.
const LEAST_OF_FORECAST: f64 = 0.5;
const MOST_OF_FORECAST: f64 = 2.0;
/// Bursts before a search take at least so long, seconds.
const FEWEST_BURSTS_S: f64 = 8.0;
/// First words of the announcement of a sweep that is too short for a decision.
const SHORT: &str = "the exit code will probably be 1, because";
/// A sweep that passes every check possible before the server is asked.
struct PlannedSweep {
    spec: WorkloadSpec,
    /// The workload at the lowest load.
    checked: CheckedWorkload,
    plan: SweepPlan,
    /// The run at the lowest load.
    lowest: PlannedRun,
    /// Measurements from before the first run of the sweep that is resumed.
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
        let (spec, datasets) = datasets::open(spec, settings.requests.tokenizer.as_deref(), settings.screen, printer)?;
        note_idle(spec.clients.as_ref(), &settings.requests.limits(spec.clients.as_ref()), printer);
        let between_s = spec.warmup_s + self.campaign.pause.as_secs_f64();
        let start = match &self.campaign.resume {
            Some(folder) => SweepStart::read(folder)?,
            None => SweepStart { between_s, ..SweepStart::default() },
        };
        let typed = self.loads.rates.as_ref().or(self.loads.users.as_ref()).cloned();
        let typed = typed.or_else(|| self.loads.start_rate.map(LoadAxis::search_from));
        let known = typed.or_else(|| start.axis.clone());
        let finds_start = known.is_none();
        let plan = self.loads.plan_of(&spec, known.unwrap_or_default(), &objectives, &start, self.workload.named().1);
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
                format!("searched near what the server completes: {}", self.loads.bursts_in_words())
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
            facts.push(("ends", self.loads.end_in_words(&planned.plan)));
        } else {
            facts.push(("runs", format!("{repeats} of each load at least")));
            let lasts = format!("{longest} a run at most, less where {samples} requests are measured sooner");
            facts.push(("lasts", lasts));
        }
        facts.extend(self.too_short(planned)?.map(|short| ("too short", short)));
        let load = self.load(planned)?;
        facts.push((load.label(), load.to_string()));
        if let Some(sustain) = self.loads.sustain {
            facts.push(("then", format!("the highest load that passed, held for {}", spoken(sustain))));
        }
        facts.push(planned_server("server", &planned.checked.settings));
        facts.extend(planned_limits(&planned.checked.settings, &planned.spec));
        facts.push(("warm-up requests", self.loads.warmup_requests.to_string()));
        facts.push(("stored in", self.campaign.out.display().to_string()));
        show_dry_run(&format!("sweep {}", planned.spec.name), facts, printer, self.campaign.show.shown())
    }

    /// Returns a sentence about runs that are too short for a decision. It says what is long enough. `None` where they
    /// are not too short, or where that counts as met.
    fn too_short(&self, planned: &PlannedSweep) -> Result<Option<String>, Stop> {
        let plan = &planned.plan;
        let rules = self.objectives.undecided.rules(self.campaign.validity);
        if plan.objectives.is_empty() || rules.undecided == Some(Undecided::Pass) {
            return Ok(None);
        }
        let search = Search::new(plan.clone()).map_err(Stop::usage)?;
        let bursts_s = if planned.finds_start { FEWEST_BURSTS_S } else { 0.0 };
        if let Some(least_s) = search.lacks_s(bursts_s) {
            let least = words(least_s);
            return Ok(Some(format!("{SHORT} the search is too short: give it --within {least} or more")));
        }
        let per_arrival = plan.requests_per_arrival.unwrap_or(1.0) * plan.repeats as f64;
        let requests = |(load, window_s): &(Load, f64)| match load {
            Load::Rate(per_s) => per_s * window_s * per_arrival,
            Load::Users(_) => f64::INFINITY,
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
    fn load(&self, planned: &PlannedSweep) -> Result<PlannedLoad, Stop> {
        let PlannedSweep { spec, checked, plan, .. } = planned;
        let cap = checked.settings.requests.caps().max_concurrency;
        let seconds = |window_s| spec.arrival.trace().map_or(spec.warmup_s + window_s, |_| spec.horizon_s);
        let lasting = |(load, window_s)| {
            PlannedLoad::lasting(seconds(window_s), load, spec, cap).with_lengths_of(&planned.lowest)
        };
        let listed = Search::new(plan.clone()).map_err(Stop::usage)?.listed();
        let highest = listed.last().map_or(Load::Rate(1.0), |(load, _)| *load);
        let all = |runs: &[_]| runs.iter().copied().map(lasting).reduce(PlannedLoad::and);
        let searched = match plan.within_s {
            Some(within_s) => {
                PlannedLoad::lasting(within_s, highest, spec, cap).with_lengths_of(&planned.lowest).searched()
            }
            None => lasting((highest, plan.longest_s)).times(plan.most_trials).searched(),
        };
        let mut load = all(&listed).unwrap_or(searched);
        load.about = !listed.is_empty();
        load.at_most = listed.is_empty() && plan.within_s.is_none();
        load.resumed = self.campaign.resume.is_some();
        if let Some(sustain) = self.loads.sustain {
            load = load.and(lasting((highest, sustain.as_secs_f64())));
        }
        Ok(load.warmed_with(self.loads.warmup_requests))
    }
}

impl PlannedSweep {
    /// Warms the server and measures what decides the first run. Where no sweep is resumed, it creates the folder of a
    /// new one. `None` where the user stopped it.
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
        let clock = RunClock::starting_in(Duration::ZERO);
        context.warm_server(lowest, warmup_requests);
        if self.finds_start {
            let Some(found) = measure_capacity(context, spec, lowest, args.loads.max_users)? else {
                return Ok(None);
            };
            let rest_s = spec.warmup_s + args.campaign.pause.as_secs_f64();
            let is_default = args.loads.samples.is_none();
            manifest.plan = manifest.plan.shorter_by(clock.now().as_secs_f64()).below(found, rest_s, is_default);
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
            let salt = self.checked.settings.requests.salt;
            stored::warn_of_salt(&args.campaign.out, salt, context);
            let name = format!("{}-sweep", spec.name);
            ExperimentDir::create(&args.campaign.out, &name, &context.engine().engine, &manifest)?
        };
        Ok(Some((manifest, dir)))
    }

    fn manifest(&self, args: &SweepArgs, context: &RunContext) -> SweepManifest {
        let mut server = ServerManifest::from_settings(&self.checked.settings);
        // Another model may be the first that the server lists now.
        server.model = Some(context.engine().model.clone());
        SweepManifest {
            workload: self.spec.clone(),
            plan: SweepPlan { fewest_users_per_s: self.start.fewest_users_per_s, ..self.plan.clone() },
            server,
            warmup_requests: args.loads.warmup_requests,
            pause_s: args.campaign.pause.as_secs_f64(),
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
