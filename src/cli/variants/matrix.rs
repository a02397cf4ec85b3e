//! `skyline matrix`: runs a table of experiments row by row, and judges it by its hypotheses and its contract.

use clap::Args;

use super::{begin, settings};
use crate::cli::args::{CampaignArgs, TargetArgs, seconds, whole};
use crate::cli::output::planned_settings;
use crate::experiment::matrix::{Experiments, MatrixExperiment, MatrixRow, Variant};
use crate::report::{self, documents};
use crate::session::campaign::matrix::{MatrixCampaign, MatrixManifest, MatrixPlan};
use crate::session::campaign::serving::Servers;
use crate::session::run::{announce_load, check_before_load};
use crate::session::settings::RunSettings;
use crate::session::{Exit, Interrupts, Printer, Stop};

pub(in crate::cli) fn run(args: &MatrixArgs, printer: Printer) -> Result<Exit, Stop> {
    if args.example {
        printer.data(Experiments::example())?;
        return Ok(Exit::Fine);
    }
    let campaign = &args.campaign;
    campaign.show.check()?;
    let interrupts = Interrupts::listen(printer)?;
    // Everything that can be wrong with the file is found before anything is sent or started.
    let plan = args.plan(printer)?;
    let manifest = MatrixManifest::from_plan(&plan);
    let servers = || plan.wanted().map(|cell| &cell.checked.settings);
    let load = plan.load(campaign.resume.is_some());
    if args.plan || campaign.dry_run {
        check_before_load(&load, servers(), campaign.begins_in(&manifest)?, printer)?;
        let load = format!("{}: {load}", load.label());
        let document = || documents::matrix_plan(&plan.experiments, &plan.rows(), &load);
        let document = || documents::with_settings(document(), &planned_settings());
        // As JSON the manifest of the whole table.
        campaign.show.with_json(printer, document, || report::json(&manifest))?;
        return Ok(Exit::Fine);
    }
    announce_load(&load, servers(), campaign.live.announce(printer), printer)?;
    let first = plan.cells.first().map(|cell| &cell.checked.settings);
    let (dir, machine) = begin(campaign, first, (&plan.experiments.name, "matrix"), &manifest, printer)?;
    let rules = campaign.validity.rules();
    let mut experiment = MatrixExperiment::new(plan.experiments.clone(), rules.invalid).only(args.only.clone());
    let runs = MatrixCampaign { plan: &plan, servers: Servers::new(&dir, &interrupts, printer) };
    let spoiled = (machine, rules.invalid);
    campaign.conduct(&mut experiment, runs, (&dir, &interrupts), spoiled, rules, printer)
}

/// Run a table of experiments: rows with a hypothesis each, under one server or several variants of it.
#[derive(Debug, Args)]
pub(in crate::cli) struct MatrixArgs {
    /// The table: a TOML or JSON file, or `rows_a_to_f`, the built-in one
    #[arg(required_unless_present = "example", value_name = "FILE")]
    file: Option<String>,

    /// Print the built-in table, as a start for your own
    #[arg(long, exclusive = true)]
    example: bool,

    /// The same as --dry-run
    #[arg(long)]
    plan: bool,

    /// Run this row only; may be repeated [default: all rows]
    #[arg(long, value_name = "ROW")]
    only: Vec<String>,

    /// Length of every run, in place of the file's; with shorter ones the table is a rehearsal: the warm-up
    /// is shorter in proportion, a row of few requests is as long as it must be, and nothing is confirmed or
    /// accepted [default: as the file says]
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    seconds: Option<f64>,

    /// Runs of every row, in place of the file's [default: as the file says]
    #[arg(long, value_name = "N", value_parser = whole::<u64>(1..=1000))]
    repeats: Option<u64>,

    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    campaign: CampaignArgs,
}

impl MatrixArgs {
    /// The table and its runs, or all that is wrong with its rows.
    fn plan(&self, printer: Printer) -> Result<MatrixPlan, Stop> {
        let experiments = self.experiments()?;
        MatrixPlan::new(experiments, self.only.clone(), printer, |table, row, variant| {
            self.settings(table, row, variant)
        })
    }

    /// The table that was meant.
    fn experiments(&self) -> Result<Experiments, Stop> {
        let file = self.file.as_deref().unwrap_or_default();
        let mut experiments = Experiments::load(file).map_err(Stop::usage)?;
        for row in &mut experiments.rows {
            row.settings.repeats = self.repeats.or(row.settings.repeats);
        }
        if let Some(seconds) = self.seconds {
            experiments.shorten(seconds);
        }
        let typed = self.target.deployment();
        for variant in &mut experiments.variants {
            variant.server.fill_deployment(&typed);
        }
        let of = |variant: &Variant| (variant.name.clone(), variant.server.hardware.clone());
        let names: Vec<_> = experiments.variants.iter().map(of).collect();
        for (variant, price) in experiments.variants.iter_mut().zip(self.target.prices.of(&names, "variant")?) {
            variant.server.gpu_hour = price.or(variant.server.gpu_hour);
        }
        experiments.currency = self.target.prices.currency.clone().or(experiments.currency);
        for name in &self.only {
            experiments.row(name).map_err(|unknown| Stop::usage(format!("--only names {unknown}")))?;
        }
        Ok(experiments)
    }

    /// Returns how runs of a row under a variant are executed. What the file says takes the place of what was typed.
    fn settings(&self, experiments: &Experiments, row: &MatrixRow, variant: &Variant) -> Result<RunSettings, Stop> {
        let labels = [("matrix", experiments.name.as_str()), ("row", &row.name)];
        let filed = (variant, experiments.currency.as_deref(), row.settings.max_concurrency);
        let screen = self.campaign.live.screen();
        let mut settings = settings(&self.target, filed, &labels, screen)?;
        let contract = experiments.accept.as_ref().filter(|accept| accept.counts(&row.name));
        settings.objectives = contract.map(|accept| accept.objectives.clone()).unwrap_or_default();
        // A claim about a percentile is tested by the same requests.
        let claimed = row.bounds().into_iter().filter(|bound| !settings.objectives.contains(bound));
        settings.objectives = settings.objectives.iter().cloned().chain(claimed).collect();
        settings.server.common.sampling = row.settings.sampled(&settings.server.common.sampling);
        settings.server.common.extra_body.0.extend(row.settings.extra_body.clone().unwrap_or_default());
        Ok(settings)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use clap::Parser;

    use super::*;
    use crate::experiment::{Experiment as _, InvalidRuns};
    use crate::session::ExperimentDir;
    use crate::session::campaign::conduct::{Campaign as _, CampaignStep};

    #[derive(Debug, Parser)]
    struct Typed {
        #[command(flatten)]
        matrix: MatrixArgs,
    }

    fn plan(typed: &[&str]) -> Result<MatrixPlan, Stop> {
        Typed::parse_from([&["matrix", "--seconds", "5s"], typed].concat()).matrix.plan(Printer)
    }

    #[test]
    fn a_plan_has_every_row_and_only_asks_for_rows_that_are_there() {
        let all = plan(&["rows_a_to_f", "--repeats", "2"]).unwrap();
        assert_eq!(all.cells.len(), all.experiments.order().len());
        assert!(all.cells.iter().all(|cell| cell.runs.len() == 2 && cell.folder.starts_with("row-")));
        let unknown = plan(&["rows_a_to_f", "--only", "Z"]).err().unwrap();
        assert!(unknown.message().contains("--only names"), "{}", unknown.message());
    }

    #[test]
    fn prices_are_typed_in_a_currency() {
        let typed = ["rows_a_to_f", "--hardware", "h100", "--gpu-hour", "h100=2.5", "--currency", "EUR"];
        let priced = plan(&typed).unwrap().experiments;
        assert_eq!((priced.variants[0].server.gpu_hour, priced.currency.as_deref()), (Some(2.5), Some("EUR")));
        let by_energy = plan(&["rows_a_to_f", "--price-per-kwh=0.3"]).err().unwrap();
        assert!(by_energy.message().contains("put the energy into that price (--gpu-hour)"), "{}", by_energy.message());
        let refusal = plan(&["rows_a_to_f", "--hardware=h100", "--gpu-hour=h100=2,h100=3"]).err().unwrap();
        assert!(refusal.message().contains("two prices of "), "{}", refusal.message());
    }

    #[test]
    fn the_time_that_is_left_is_that_of_the_rows_asked_for() {
        let mut plan = plan(&["rows_a_to_f", "--repeats", "1", "--only", "A", "--only", "C"]).unwrap();
        let slow = &mut plan.cells[1].runs[0].plan;
        slow.window_end = slow.window_end.after(Duration::from_secs(1_000));
        let (dir, interrupts) = (ExperimentDir::unlocked("nowhere".into()), Interrupts::default());
        let servers = Servers::new(&dir, &interrupts, Printer);
        let mut campaign = MatrixCampaign { plan: &plan, servers };
        let only = vec!["A".to_owned(), "C".to_owned()];
        let experiment = MatrixExperiment::new(plan.experiments.clone(), InvalidRuns::LeftOut).only(only);
        let request = experiment.next().unwrap();
        let run = campaign.plan(&request).unwrap();
        let left = campaign
            .runs_left(&CampaignStep { request: &request, experiment: &experiment, pause: Duration::ZERO }, &run);
        assert_eq!(left, "; at most 2 runs left, up to 10 s");
    }

    #[test]
    fn every_row_that_cannot_be_run_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.toml");
        let row = |name: &str| format!("[[rows]]\nname = \"{name}\"\nworkload = \"no_such_workload_{name}\"\n");
        std::fs::write(&path, format!("name = \"t\"\n{}{}", row("A"), row("B"))).unwrap();
        let stop = plan(&[path.to_str().unwrap()]).err().unwrap();
        assert!(stop.message().contains("row A: ") && stop.message().contains("row B: "), "{}", stop.message());
    }
}
