//! `skyline ab`: compares two servers, or two configurations of one, in interleaved rounds.

use clap::Args;
use sha2::{Digest as _, Sha256};

use super::output::{planned_limits, planned_load, planned_requests, planned_server, show_dry_run};
use crate::cli::args::{
    CampaignArgs, DesignArgs, FiledServer, LoadArgs, SideArgs, TargetArgs, WorkArgs, share_up_to_half, whole,
};
use crate::engine::{BaseUrl, DEFAULT_WAIT};
use crate::experiment::{AbDesign, AbExperiment, AbOrder};
use crate::record::DeploymentFacts;
use crate::session::campaign::ab::{AbManifest, AbPlan, AbQuestion, AbTargets};
use crate::session::campaign::conduct::conduct;
use crate::session::campaign::reported::Reported as _;
use crate::session::exits::ExitRules;
use crate::session::run::{CheckedWorkload, announce_load, check_before_load};
use crate::session::settings::{LoadOption, RunSettings, ServerAddress};
use crate::session::stored::experiments::variation_before;
use crate::session::{
    Exit, ExperimentDir, Interrupts, PlannedRun, Printer, ServerManifest, Stop, all, both, datasets, folder,
};
use crate::units::{hexadecimal, percent};
use crate::workload::WorkloadSpec;

/// Compare two servers, or two configurations of one, in interleaved rounds
#[derive(Debug, Args)]
pub(super) struct AbArgs {
    #[command(flatten)]
    load: LoadArgs,
    #[command(flatten)]
    work: WorkArgs,
    #[command(flatten, next_help_heading = "Sides")]
    sides: SideArgs,
    #[command(flatten, next_help_heading = "Experiment")]
    design: DesignArgs,

    /// Known spread of the ratio of B to A from round to round, for what the rounds can find [default: that of the
    /// latest comparison of this workload in --out, else an estimate after the first run]
    #[arg(long, value_name = "SHARE", help_heading = "Experiment", value_parser = share_up_to_half,
          allow_hyphen_values = true)]
    expected_spread: Option<f64>,

    /// Requests sent to each side before its first run and after each switch, a few at a time and not
    /// counted, so that it is warm; the workload's own warm-up comes on top in each run
    #[arg(long, value_name = "N", help_heading = "Experiment", default_value_t = 20,
          value_parser = whole::<u64>(0..=10_000), allow_negative_numbers = true)]
    warmup_requests: u64,

    #[command(flatten)]
    target: TargetArgs,

    #[command(flatten)]
    campaign: CampaignArgs,
}

pub(super) fn run(args: &AbArgs, printer: Printer) -> Result<Exit, Stop> {
    let campaign = &args.campaign;
    campaign.show.check()?;
    let interrupts = Interrupts::listen(printer)?;
    // Everything that can be wrong with what was typed is found before anything is sent.
    let plan = args.plan(printer)?;
    let resume = campaign.resume.as_deref();
    let resumed = resume.map(|at| ExperimentDir::resume(at, &plan.manifest)).transpose()?;
    if campaign.dry_run {
        let sides = &plan.runs.sides;
        sides.iter().try_for_each(CheckedWorkload::check_begin)?;
        let settings = sides.each_ref().map(|side| &side.settings);
        check_before_load(&plan.runs.load(), settings, Some(&campaign.out), printer)?;
        return args.show_plan(&plan, printer).map(|()| Exit::Fine);
    }
    let variation = args.variation(&plan);
    let PlannedAb { runs, design, manifest } = plan;
    let workload = &manifest.question.workload;
    let announce = campaign.live.announce(printer);
    let mut load = runs.load();
    load.resumed = resumed.is_some();
    announce_load(&load, runs.sides.each_ref().map(|side| &side.settings), announce, printer)?;
    folder::base(&campaign.out)?;
    let empties_cache = runs.sides[0].settings.requests.reset_cache || runs.reset.is_some();
    let power = variation.and_then(|(known, by)| design.can_find_in_words(runs.length(), &known, &by));
    let unsaid = announce.filter(|_| power.is_none());
    if let Some((printer, words)) = announce.zip(power.or_else(|| design.can_find_by_variation(runs.length()))) {
        printer.words(&words);
    }
    advise(args, &design, workload, empties_cache, printer);

    let mut targets = AbTargets::new(&runs, design.clone(), &interrupts, printer, unsaid);
    interrupts.series_begins();
    let dir = if let Some(dir) = resumed {
        dir
    } else {
        targets.connect_both()?;
        ExperimentDir::create(&campaign.out, &workload.name, "ab", &manifest)?
    };
    targets.logging_to(&dir);
    let rules = ExitRules { require: args.design.require, ..campaign.validity.rules() };
    let mut experiment = AbExperiment::new(design, rules.invalid);
    let machine = runs.sides[0].settings.machine;
    let how = campaign.conduct(&dir, &interrupts, (machine, rules.invalid), printer);
    let again = || dir.command_to_resume(&[]);
    let test = conduct(&mut experiment, targets, how).inspect_err(|_| {
        printer.words(&format!("what was measured is stored; resume with: {}", again()));
    })?;
    let exit = if let Some(test) = test {
        campaign.finish(&test, &dir, printer)?;
        test.exit(rules, printer)
    } else {
        let folder = dir.folder().display();
        printer.words(&format!("no round is complete; saved to {folder}; resume with: {}", again()));
        Exit::Interrupted
    };
    Ok(if experiment.is_aborted() { Exit::Missed } else { exit })
}

/// Says what may spoil the rounds.
fn advise(args: &AbArgs, design: &AbDesign, workload: &WorkloadSpec, empties_cache: bool, printer: Printer) {
    let classes: Vec<_> = workload.classes.iter().map(|class| class.name.clone()).collect();
    if let Some(note) = design.too_few_for_classes(&classes) {
        printer.words(&note);
    }
    if args.sides.are_one_address() && !empties_cache {
        printer.words(
            "note: --a and --b are one server, which gets the same requests twice in each round: a prefix cache is \
             warm the second time; --reset-cache empties it before each run",
        );
    }
    if design.rounds % 2 == 1 {
        printer.words(
            "note: with an odd number of rounds one side goes first once more than the other; an even number is \
                fair",
        );
    }
}

/// A test that passes every check possible before a server is asked.
struct PlannedAb {
    runs: AbPlan,
    design: AbDesign,
    manifest: AbManifest,
}

impl AbArgs {
    /// Returns the plan of what is executed, what decides, and the manifest of both. An error names the mistakes in it.
    fn plan(&self, printer: Printer) -> Result<PlannedAb, Stop> {
        let begun = self.campaign.resume.as_deref().and_then(AbQuestion::read);
        let stored_salt = begun.as_ref().map(|question| question.salt);
        let salt = self.target.salt().or(stored_salt).unwrap_or_else(rand::random);
        // One machine is switched once a round; an experiment goes on in the order in which it began.
        let usual = if self.sides.switch_cmd.is_some() { AbOrder::Alternating } else { AbOrder::Drawn };
        let order = begun.map_or(usual, |question| question.order);
        let (spec, [a, b]) =
            both(self.load.spec_of(&self.work, self.target.max_concurrency(), None, printer), self.settings(salt))?;
        let (workload, datasets) = datasets::open(spec, a.requests.tokenizer.as_deref(), a.screen, printer)?;
        let design = self.design.design(&workload, self.target.server.form())?.ordered(order, workload.seed);
        [&a, &b].into_iter().try_for_each(|side| side.check_figures("metric", design.metrics.iter()))?;
        let manifest = self.manifest([&a, &b], &workload, &design, salt)?;
        let (a, b) = both(a.check(&workload, &datasets), b.check(&workload, &datasets))?;
        let rounds = PlannedRun::all(&workload, &datasets, design.rounds)?;
        PlannedRun::check_all(&rounds, true)?;
        let runs = AbPlan {
            sides: [a, b],
            rounds,
            warmup_requests: self.warmup_requests,
            switch: self.sides.switch_cmd.clone(),
            reset: self.sides.reset_cmd.clone(),
        };
        Ok(PlannedAb { runs, design, manifest })
    }

    /// Returns the spread of the ratio of B to A that is expected between rounds. It is by metric, with words that say
    /// by what it is known before the first round.
    fn variation(&self, plan: &PlannedAb) -> Option<(Vec<(String, f64)>, String)> {
        let PlannedAb { runs, design, manifest } = plan;
        if let Some(share) = self.expected_spread {
            return Some((vec![("each metric".to_owned(), share)], format!("--expected-spread {}", percent(share))));
        }
        let hash = &runs.rounds.first()?.plan.hash;
        variation_before(&self.campaign.out, design, &manifest.question.workload, hash)
    }

    /// Shows what would be run.
    fn show_plan(&self, plan: &PlannedAb, printer: Printer) -> Result<(), Stop> {
        let PlannedAb { runs, design, manifest } = plan;
        let workload = &manifest.question.workload;
        let [a, b] = &runs.sides;
        let mut facts = planned_requests(workload);
        facts.push(("rounds", format!("{}, each with a run of A and one of B", design.rounds)));
        facts.extend(planned_load(&runs.rounds, &runs.load()));
        match self.variation(plan).and_then(|(variation, by)| Some((design.can_find(&variation)?, by))) {
            Some(((change, more), by)) => {
                facts.extend([("find", change), ("known by", by)]);
                facts.extend(more.map(|more| ("for less", more)));
            }
            None => facts.extend(design.can_find_by_variation(runs.length()).map(|words| ("find", words))),
        }
        facts.extend([planned_server("A", &a.settings), planned_server("B", &b.settings)]);
        facts.extend(planned_limits(&a.settings, workload));
        facts.push(("warm-up requests", self.warmup_requests.to_string()));
        facts.push(("stored in", self.campaign.out.display().to_string()));
        show_dry_run(&format!("ab {}", workload.name), facts, printer, self.campaign.show.shown())
    }

    fn manifest(
        &self,
        [a, b]: [&RunSettings; 2],
        workload: &WorkloadSpec,
        design: &AbDesign,
        salt: u64,
    ) -> Result<AbManifest, Stop> {
        let hashed = |command: &Option<String>| command.as_ref().map(|line| hexadecimal(&Sha256::digest(line)));
        Ok(AbManifest {
            question: AbQuestion::new(workload.clone(), design, self.design.require, salt),
            a: side(a)?,
            b: side(b)?,
            warmup_requests: self.warmup_requests,
            pause_s: self.campaign.pause.as_secs_f64(),
            switch_cmd_sha256: hashed(&self.sides.switch_cmd),
            reset_cmd_sha256: hashed(&self.sides.reset_cmd),
        })
    }

    /// How runs of A and of B are executed, whose prompts vary by this salt.
    fn settings(&self, salt: u64) -> Result<[RunSettings; 2], Stop> {
        let SideArgs { a, b, b_engine, b_model, a_labels, b_labels, a_gpus, b_gpus, .. } = &self.sides;
        all([("--a", a), ("--b", b)].map(|(name, url)| {
            let parsed = url.as_ref().map(|url| url.parse::<BaseUrl>()).transpose();
            parsed.map(drop).map_err(|error| Stop::usage(format!("{name}: {error}")))
        }))?;
        let at_b = FiledServer { url: b.as_deref(), engine: *b_engine, model: b_model.as_deref(), wait: None };
        let at_a = FiledServer { url: a.as_deref(), ..FiledServer::default() };
        let hardware = self.target.deployment().hardware;
        let names = ["a", "b"].map(|side| (side.to_owned(), hardware.clone()));
        let prices = self.target.prices.of(&names, "side")?;
        let facts = |place: usize, labels: &[(String, String)], gpus: Option<u32>| {
            let (labels, gpu_hour) = (labels.iter().cloned().collect(), prices.get(place).copied().flatten());
            DeploymentFacts { gpus, gpu_hour, labels, ..DeploymentFacts::default() }
        };
        let settings = |server, facts: DeploymentFacts| {
            let target = self.target.with(server, facts);
            let screen = self.campaign.live.screen();
            let mut settings = target.settings(LoadOption::OfAllRuns, screen)?;
            settings.requests.salt = Some(salt);
            if self.sides.switch_cmd.is_some() {
                // The command starts a server, which loads its model.
                settings.server.wait.get_or_insert(DEFAULT_WAIT);
            }
            if self.load.is_rate_inf() {
                settings.requests.cap(None);
            }
            Ok::<_, Stop>(settings)
        };
        let server = &self.target.server;
        let [a, b] = [facts(0, a_labels, *a_gpus), facts(1, b_labels, *b_gpus)];
        Ok([settings(server.at(at_a), a)?, settings(server.at(at_b), b)?])
    }
}

/// Returns the manifest of what is requested of one side.
fn side(settings: &RunSettings) -> Result<ServerManifest, Stop> {
    match settings.server.address {
        ServerAddress::At(_) => Ok(ServerManifest::from_settings(settings)),
        // The embedded mock lives with one connection: there is nothing to compare.
        ServerAddress::EmbeddedMock(_) => Err(Stop::usage(
            "there are no two servers to compare\nhint: name them with --a and --b, or with --switch-cmd the one \
             address with --url; `skyline mock` starts one",
        )),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::experiment::AbSide;

    #[derive(Debug, Parser)]
    struct Typed {
        #[command(flatten)]
        ab: AbArgs,
    }

    fn plan(typed: &[&str]) -> Result<PlannedAb, Stop> {
        let sides = ["ab", "short_chat", "5", "--a", "http://x:1", "--b", "http://x:2", "--quiet"];
        Typed::parse_from([&sides[..], typed].concat()).ab.plan(Printer)
    }

    fn design(typed: &[&str]) -> AbDesign {
        plan(typed).unwrap().design
    }

    #[test]
    fn sides_have_gpus_and_prices_of_their_own() {
        let AbManifest { a, b, .. } = plan(&["--gpus=1", "--b-gpus=2", "--gpu-hour=a=3,b=2"]).unwrap().manifest;
        let of = |side: ServerManifest| (side.deployment.gpus, side.deployment.gpu_hour);
        assert_eq!([of(a), of(b)], [(Some(1), Some(3.0)), (Some(2), Some(2.0))]);
        let refusal = plan(&["--metric=cost_per_answer", "--gpu-hour=2", "--a-gpus=1"]).err().unwrap();
        assert!(refusal.message().contains("will not be known: the number of GPUs"), "{}", refusal.message());
    }

    /// `tests/data/experiments/ab-schema-1` was stored before the order was drawn.
    #[test]
    fn an_experiment_goes_on_in_the_order_in_which_it_began() {
        let old = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/experiments/ab-schema-1");
        let resumed = design(&["--resume", old]);
        assert_eq!(resumed.order(), AbOrder::Alternating);
        let first = |design: &AbDesign| (1..=8).map(|round| design.order_of(round)[0]).collect::<Vec<_>>();
        let [a, b] = AbSide::BOTH;
        assert_eq!(first(&resumed), [a, b, a, b, a, b, a, b]);
        // A new one is drawn, and goes on so.
        let drawn = design(&["--seed", "3"]);
        assert_eq!(drawn.order(), AbOrder::Drawn);
        assert_ne!(first(&drawn), first(&resumed));
        let folder = tempfile::tempdir().unwrap();
        let manifest = std::fs::read_to_string(format!("{old}/asked.json")).unwrap();
        let manifest = manifest.replacen("\"kind\": \"ab\"", "\"kind\": \"ab\", \"order\": \"drawn\"", 1);
        std::fs::write(folder.path().join("asked.json"), manifest).unwrap();
        let again = design(&["--seed", "3", "--resume", folder.path().to_str().unwrap()]);
        assert_eq!(first(&again), first(&drawn));
    }
}
