//! `skyline ab`: compares two servers, or two configurations of one, in interleaved rounds.

use clap::Args;

use super::args::{CampaignArgs, DesignArgs, LoadArgs, SideArgs, TargetArgs, WorkArgs, share_up_to_half, whole};
use super::output::{DryRun, planned_load};
use crate::experiment::{AbExperiment, AbOrder};
use crate::session::campaign::ab::{AbManifest, AbPlan, AbQuestion, AbTargets};
use crate::session::exits::ExitRules;
use crate::session::run::{CheckedWorkload, announce_load, check_before_load};
use crate::session::stored::experiments::variation_before;
use crate::session::{Exit, ExperimentDir, Interrupts, PlannedRun, Printer, Stop, both, folder};
use crate::units::percent;

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
    let AbPlan { design, manifest, sides, .. } = &plan;
    let mut load = plan.load();
    let settings = sides.each_ref().map(|side| &side.settings);
    if campaign.dry_run {
        sides.iter().try_for_each(CheckedWorkload::check_begin)?;
        check_before_load(&load, settings, Some(&campaign.out), printer)?;
        return args.show_plan(&plan, printer).map(|()| Exit::Fine);
    }
    let variation = args.variation(&plan);
    let announce = campaign.live.announce(printer);
    load.resumed = resumed.is_some();
    announce_load(&load, settings, announce, printer)?;
    folder::base(&campaign.out)?;
    let power = variation.and_then(|(known, by)| design.can_find_in_words(plan.length(), &known, &by));
    let unsaid = announce.filter(|_| power.is_none());
    if let Some((printer, words)) = announce.zip(power.or_else(|| design.can_find_by_variation(plan.length()))) {
        printer.words(&words);
    }
    plan.notes(args.sides.are_one_address()).iter().for_each(|note| printer.words(note));

    let mut targets = AbTargets::new(&plan, &interrupts, printer, unsaid);
    interrupts.series_begins();
    let dir = if let Some(dir) = resumed {
        dir
    } else {
        targets.connect_both()?;
        ExperimentDir::create(&campaign.out, &manifest.question.workload.name, "ab", manifest)?
    };
    targets.logging_to(&dir);
    let rules = ExitRules { require: args.design.require, ..campaign.validity.rules() };
    let mut experiment = AbExperiment::new(design.clone(), rules.invalid);
    let spoiled = (settings[0].machine, rules.invalid);
    campaign.conduct(&mut experiment, targets, (&dir, &interrupts), spoiled, rules, printer)
}

impl AbArgs {
    /// Returns the plan of what is executed, what decides, and the manifest of both. An error names the mistakes in it.
    fn plan(&self, printer: Printer) -> Result<AbPlan, Stop> {
        let Self { load, work, sides, target, campaign, warmup_requests, .. } = self;
        let begun = campaign.resume.as_deref().and_then(AbQuestion::read);
        let stored_salt = begun.as_ref().map(|question| question.salt);
        let salt = target.requests.salt.or(stored_salt).unwrap_or_else(rand::random);
        // One machine is switched once a round; an experiment goes on in the order in which it began.
        let usual = if sides.switch_cmd.is_some() { AbOrder::Alternating } else { AbOrder::Drawn };
        let order = begun.map_or(usual, |question| question.order);
        let settings = sides.settings(target, load.is_rate_inf(), salt, campaign.live.screen());
        let (spec, [a, b]) = both(load.spec_of(work, target.max_concurrency(), None, printer), settings)?;
        let (workload, datasets) = work.opened(spec, &a, printer)?;
        b.check_requests(&workload, printer)?;
        let design = self.design.design(&workload, target.server.form())?.ordered(order, workload.seed);
        [&a, &b].into_iter().try_for_each(|side| side.check_figures("metric", design.metrics.iter()))?;
        let question = AbQuestion::new(workload.clone(), &design, self.design.require, salt);
        let (switch, reset) = (sides.switch_cmd.clone(), sides.reset_cmd.clone());
        let paced = (*warmup_requests, campaign.pause);
        let manifest = AbManifest::new(question, [&a, &b], paced, [&switch, &reset])?;
        let (a, b) = both(a.check(&workload, &datasets), b.check(&workload, &datasets))?;
        let rounds = PlannedRun::all(&workload, &datasets, design.rounds)?;
        PlannedRun::check_all(&rounds, true)?;
        Ok(AbPlan { sides: [a, b], rounds, switch, reset, design, manifest })
    }

    /// Returns the spread of the ratio of B to A that is expected between rounds. It is by metric, with words that say
    /// by what it is known before the first round.
    fn variation(&self, plan: &AbPlan) -> Option<(Vec<(String, f64)>, String)> {
        let AbPlan { rounds, design, manifest, .. } = plan;
        if let Some(share) = self.expected_spread {
            return Some((vec![("each metric".to_owned(), share)], format!("--expected-spread {}", percent(share))));
        }
        let hash = &rounds.first()?.plan.hash;
        variation_before(&self.campaign.out, design, &manifest.question.workload, hash)
    }

    /// Shows what would be run.
    fn show_plan(&self, plan: &AbPlan, printer: Printer) -> Result<(), Stop> {
        let AbPlan { rounds, sides, design, manifest, .. } = plan;
        let mut facts = vec![("rounds", format!("{}, each with a run of A and one of B", design.rounds))];
        facts.extend(planned_load(rounds, &plan.load()));
        match self.variation(plan).and_then(|(variation, by)| Some((design.can_find(&variation)?, by))) {
            Some(((change, more), by)) => {
                facts.extend([("find", change), ("known by", by)]);
                facts.extend(more.map(|more| ("for less", more)));
            }
            None => facts.extend(design.can_find_by_variation(plan.length()).map(|words| ("find", words))),
        }
        let [a, b] = sides.each_ref().map(|side| &side.settings);
        let (spec, servers) = (&manifest.question.workload, &[("A", a), ("B", b)]);
        let dry = DryRun { verb: "ab", spec, servers, warmup_requests: self.warmup_requests, out: &self.campaign.out };
        dry.show(facts, printer, self.campaign.show.shown())
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::experiment::{AbDesign, AbSide};
    use crate::session::campaign::dir::ServerManifest;

    #[derive(Debug, Parser)]
    struct Typed {
        #[command(flatten)]
        ab: AbArgs,
    }

    fn plan(typed: &[&str]) -> Result<AbPlan, Stop> {
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
