//! `skyline tune`: which flags of a server serve most within the objectives, for each GPU.

use clap::Args;

use super::{begin, settings};
use crate::analysis::Objective;
use crate::cli::args::{CampaignArgs, TargetArgs, predictor, seconds, whole};
use crate::cli::output::planned_settings;
use crate::experiment::InvalidRuns;
use crate::experiment::tune::{TuneExperiment, TuneRuns, TuneSpec};
use crate::report::{self, documents};
use crate::session::campaign::serving::Servers;
use crate::session::campaign::tune::{TuneCampaign, TuneManifest, TunePlan};
use crate::session::run::{CheckedWorkload, announce_load, check_before_load};
use crate::session::stored_run::completed;
use crate::session::{Exit, Interrupts, Opened, Printer, Stop};
use crate::workload::library;

/// Find the flags with which a server serves most within the objectives, for each GPU.
#[derive(Debug, Args)]
pub(in crate::cli) struct TuneArgs {
    /// The tuning: a TOML or JSON file, or `tune_seqs`, the built-in one
    #[arg(required_unless_present = "example", value_name = "FILE")]
    file: Option<String>,

    /// Print the built-in file, as a start for your own
    #[arg(long, exclusive = true)]
    example: bool,

    /// The same as --dry-run
    #[arg(long)]
    plan: bool,

    /// Length of the runs of the first round; those of each later one are twice as long [default: as long as
    /// 10 requests take for each that the strictest objective lets miss, 20s to 5m]
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    seconds: Option<f64>,

    /// Seed of the runs of the first round, from which the others are drawn [default: the file's, or the workload's]
    #[arg(long, value_name = "N", value_parser = whole::<u64>(0..=u64::MAX), allow_negative_numbers = true)]
    seed: Option<u64>,

    /// The search ends after this many runs, with the best variant so far [default: 3 for each variant, and 30]
    #[arg(long, value_name = "N", value_parser = whole::<u64>(1..=10_000), allow_negative_numbers = true)]
    max_runs: Option<u64>,

    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    campaign: CampaignArgs,
}

pub(in crate::cli) fn run(args: &TuneArgs, printer: Printer) -> Result<Exit, Stop> {
    if args.example {
        printer.data(TuneSpec::example())?;
        return Ok(Exit::Fine);
    }
    let campaign = &args.campaign;
    campaign.show.check()?;
    let interrupts = Interrupts::listen(printer)?;
    // Everything that can be wrong with the file is found before anything is sent or started.
    let plan = args.planned(printer)?;
    let manifest = TuneManifest::from_plan(&plan);
    let servers = || plan.variants.iter().map(|(_, checked)| &checked.settings);
    let mut load = plan.load();
    load.resumed = campaign.resume.is_some();
    if args.plan || campaign.dry_run {
        check_before_load(&load, servers(), campaign.begins_in(&manifest)?, printer)?;
        return show_plan(args, &plan, printer).map(|()| Exit::Fine);
    }
    let announce = campaign.live.announce(printer);
    announce_load(&load, servers(), announce, printer)?;
    let (dir, machine) = begin(campaign, servers().next(), (&plan.spec.name, "tune"), &manifest, printer)?;
    let log = |name: &str| completed(&dir.folder().join(name)).ok().flatten();
    let forecaster = Box::new(predictor(&plan.spec, &plan.workload, log, printer));
    let rules = campaign.validity.rules();
    let mut experiment = TuneExperiment::new(plan.spec.clone(), plan.runs, rules.invalid, forecaster);
    let servers = Servers::new(&dir, &interrupts, printer);
    let runs = TuneCampaign { plan: &plan, progress: announce, servers };
    let spoiled = (machine, rules.invalid);
    campaign.conduct(&mut experiment, runs, (&dir, &interrupts), spoiled, rules, printer)
}

fn show_plan(args: &TuneArgs, plan: &TunePlan, printer: Printer) -> Result<(), Stop> {
    let log = |_: &str| None;
    let forecaster = Box::new(predictor(&plan.spec, &plan.workload, log, printer));
    let experiment = TuneExperiment::new(plan.spec.clone(), plan.runs, InvalidRuns::LeftOut, forecaster);
    let document = || {
        let lengths = (experiment.first_window_s(), args.campaign.pause);
        let takes = (&experiment.forecast(), experiment.most_runs());
        let document = documents::tune_plan(&plan.spec, &plan.runs, lengths, takes);
        documents::with_settings(document, &planned_settings())
    };
    args.campaign.show.with_json(printer, document, || report::json(&TuneManifest::from_plan(plan)))
}

impl TuneArgs {
    /// The tuning and its variants, or what is wrong with them.
    fn planned(&self, printer: Printer) -> Result<TunePlan, Stop> {
        let file = self.file.as_deref().unwrap_or_default();
        let mut spec = TuneSpec::load(file).map_err(Stop::usage)?;
        spec.server.fill_deployment(&self.target.deployment());
        let named = [(spec.name.clone(), spec.server.hardware.clone())];
        let price = self.target.prices.of(&named, "server")?.into_iter().flatten().next();
        spec.server.gpu_hour = price.or(spec.server.gpu_hour);
        let filed = spec.server.serve.as_ref().or(spec.server.start.as_ref());
        if filed.is_none() {
            return Err(Stop::usage(format!(
                "`{}` has no `serve` command, so that its variants cannot be started\nhint: write one into [server], \
                 such as serve = \"exec vllm serve MODEL {{flags}}\"; skyline tune --example has one",
                spec.name
            )));
        }
        let workload = spec.workload().map_err(Stop::usage)?;
        let mut opened = Opened::default();
        let variants = spec.candidates().into_iter().map(|candidate| {
            let variant = candidate.variant(&spec.server);
            let screen = self.campaign.live.screen();
            let filed = (&variant, None, spec.requests.max_concurrency);
            let mut settings = settings(&self.target, filed, &[("tune", &spec.name)], screen)?;
            settings.objectives.clone_from(&spec.objectives);
            settings.check_breakers()?;
            let tokenizer = settings.requests.tokenizer.clone();
            let is_own = library::source(&workload.name).is_none();
            let workload = settings.fitted(workload.clone(), is_own, printer)?;
            let (workload, datasets) = opened.open(workload, tokenizer.as_deref(), screen, printer)?;
            Ok((variant, settings.check(&workload, &datasets)?))
        });
        let variants = variants.collect::<Result<Vec<_>, Stop>>()?;
        let Some((_, CheckedWorkload { spec: workload, datasets, .. })) = variants.first().cloned() else {
            return Err(Stop::impossible("a tuning without variants"));
        };
        Objective::check_all(&spec.objectives, &workload).map_err(Stop::usage)?;
        let runs = TuneRuns::new(&workload, self.seconds, self.seed, self.max_runs);
        Ok(TunePlan { spec, runs, workload, datasets, variants })
    }
}
