//! `skyline sweep`: one workload under rising load, and the highest load that meets the objectives.

use clap::Args;

use super::args::{CampaignArgs, ObjectiveArgs, SweepLoadArgs, TargetArgs, WorkArgs, note_idle};
use super::output::DryRun;
use crate::experiment::InvalidRuns;
use crate::session::campaign::sweep::{SweepCampaign, SweepStart};
use crate::session::campaign::sweep_plan::{PlannedSweep, begins, check_loads};
use crate::session::exits::ExitRules;
use crate::session::run::{PlannedLoad, announce_load, check_before_load};
use crate::session::settings::LoadOption;
use crate::session::{Exit, ExperimentDir, Interrupts, Printer, Stop, both, folder, stored};
use crate::units::spoken;
use crate::workload::Overrides;

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
    let SweepArgs { campaign, loads, .. } = args;
    campaign.show.check()?;
    let interrupts = Interrupts::listen(printer)?;
    // Everything that can be wrong with what was typed is found before anything is sent.
    let plan = args.plan(printer)?;
    let (settings, load) = (&plan.checked.settings, plan.load()?);
    let rules = args.objectives.undecided.rules(campaign.validity);
    if loads.plan || campaign.dry_run {
        campaign.resume.as_deref().map(ExperimentDir::locked).transpose()?;
        plan.checked.check_begin()?;
        check_before_load(&load, [settings], Some(&campaign.out), printer)?;
        return args.show_plan(&plan, &load, rules, printer).map(|()| Exit::Fine);
    }
    let progress = campaign.live.announce(printer);
    announce_load(&load, [settings], progress, printer)?;
    if let Some(printer) = progress {
        plan.too_short(rules)?.iter().for_each(|short| printer.words(short));
        if plan.finds_start {
            printer.words(&format!("first: {}", loads.bursts_in_words()));
        }
    }
    folder::base(&campaign.out)?;
    // Locked first: to calibrate this machine would disturb another process that runs the sweep.
    let resumed = campaign.resume.as_deref().map(ExperimentDir::locked).transpose()?;
    let context = plan.checked.connect(&interrupts, printer)?;
    interrupts.series_begins();
    let warn = || stored::warn_of_salt(&campaign.out, settings.requests.salt, &context);
    let Some((manifest, dir)) = plan.begin(&campaign.out, resumed, &context, warn)? else {
        return Ok(Exit::Interrupted);
    };
    let mut experiment = manifest.experiment(&context, settings.machine)?;
    if let (Some((from, _)), Some(printer)) = (manifest.plan.axis.searched(), progress) {
        printer.words(&begins(experiment.search(), from));
    }
    let runs = SweepCampaign {
        context: &context,
        workload: &manifest.workload,
        datasets: &plan.checked.datasets,
        objectives: &settings.objectives,
        progress,
        curve: settings.screen.is_redrawn(),
    };
    // Spoiled runs of a sweep are repeated even where INVALID ones are allowed.
    let spoiled = (settings.machine, InvalidRuns::LeftOut);
    campaign.conduct(&mut experiment, runs, (&dir, &interrupts), spoiled, rules, printer)
}

impl SweepArgs {
    fn plan(&self, printer: Printer) -> Result<PlannedSweep, Stop> {
        let Self { campaign, loads, workload, .. } = self;
        let settings = self.target.settings(LoadOption::OfLoads, campaign.live.screen());
        let load = Overrides { users: workload.users_of(loads.axis().as_ref()), ..Overrides::default() };
        let (spec, mut settings) = both(workload.spec(&load, false, printer), settings)?;
        let (spec, datasets) = workload.opened(spec, &settings, printer)?;
        note_idle(spec.clients.as_ref(), &settings.requests.limits(spec.clients.as_ref()), printer);
        let start = match &campaign.resume {
            Some(folder) => SweepStart::read(folder)?,
            None => SweepStart { between_s: spec.warmup_s + campaign.pause.as_secs_f64(), ..SweepStart::default() },
        };
        let tiers = loads.tiers.of_search(&self.objectives, &mut settings.objectives)?;
        let known = loads.axis().or_else(|| start.axis.clone());
        let (finds_start, axis) = (known.is_none(), known.unwrap_or_default());
        let plan = loads.plan_of(&spec, axis, (&settings.objectives, tiers), &start, workload.named().1);
        let lowest = check_loads(&spec, &plan, &datasets)?;
        let checked = settings.check(&lowest.workload, &datasets)?;
        Ok(PlannedSweep {
            spec,
            checked,
            plan,
            lowest,
            start,
            finds_start,
            is_resumed: campaign.resume.is_some(),
            warmup_requests: loads.warmup_requests,
            most_users: loads.max_users,
            are_samples_usual: loads.samples.is_none(),
            sustain: loads.sustain,
            pause: campaign.pause,
        })
    }

    /// Shows what would be run.
    fn show_plan(
        &self,
        planned: &PlannedSweep,
        load: &PlannedLoad,
        rules: ExitRules,
        printer: Printer,
    ) -> Result<(), Stop> {
        let Self { campaign, loads, .. } = self;
        let mut facts = loads.facts(&planned.plan, planned.finds_start);
        facts.extend(planned.too_short(rules)?.map(|short| ("too short", short)));
        facts.push((load.label(), load.to_string()));
        let held = |sustain| ("then", format!("the highest load that passed, held for {}", spoken(sustain)));
        facts.extend(loads.sustain.map(held));
        let servers = &[("server", &planned.checked.settings)];
        let (spec, out, warmup_requests) = (&planned.spec, &campaign.out, loads.warmup_requests);
        DryRun { verb: "sweep", spec, servers, warmup_requests, out }.show(facts, printer, campaign.show.shown())
    }
}
