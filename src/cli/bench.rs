//! `skyline bench`: one workload, one server, one run or several.

use clap::Args;

use super::args::{BesideArgs, ObjectiveArgs, RunOutputArgs, TargetArgs, WorkloadArgs, note_idle, whole};
use super::output::{DryRun, Outputs, advise_repeats, planned_load};
use crate::experiment::RepeatsExperiment;
use crate::record::RunEnding;
use crate::report::Format;
use crate::session::campaign::conduct::{Conduct, conduct};
use crate::session::campaign::repeats::RepeatsCampaign;
use crate::session::exits::{self, ExitRules};
use crate::session::run::{CheckedWorkload, PlannedLoad, RunContext, StoredRun, announce_load, check_before_load};
use crate::session::settings::{LoadOption, RunSettings};
use crate::session::{Exit, ExperimentDir, Interrupts, PlannedRun, Printer, Stop, both, folder, save, stored};

/// Run a workload against a server and report how it did.
#[derive(Debug, Args)]
pub(super) struct BenchArgs {
    #[command(flatten)]
    pub(super) workload: WorkloadArgs,
    #[command(flatten)]
    pub(super) target: TargetArgs,

    /// Requests sent before the first run, a few at a time and not counted, so that the server is warm
    #[arg(long, visible_alias = "num-warmups", value_name = "N", help_heading = "Run", default_value_t = 0,
          value_parser = whole::<u64>(0..=10_000), allow_negative_numbers = true)]
    warmup_requests: u64,

    /// Show what would be run, for how long and against what, and send nothing
    #[arg(long, help_heading = "Run")]
    pub(super) dry_run: bool,
    #[command(flatten)]
    pub(super) beside: BesideArgs,

    #[command(flatten)]
    objectives: ObjectiveArgs,

    #[command(flatten)]
    pub(super) output: RunOutputArgs,
}

/// Runs of a workload that pass every check possible before the server is asked.
pub(super) struct BenchPlan {
    pub(super) checked: CheckedWorkload,
    pub(super) runs: Vec<PlannedRun>,
    pub(super) rules: ExitRules,
    pub(super) outputs: Outputs,
}

pub(super) fn run(args: &BenchArgs, printer: Printer) -> Result<Exit, Stop> {
    let interrupts = Interrupts::listen(printer)?;
    let mut plan = args.plan(printer)?;
    if args.dry_run {
        plan.checked.check_begin()?;
        check_before_load(&args.load(&plan), [&plan.checked.settings], Some(&args.output.out), printer)?;
        return args.show_plan(&plan, printer).map(|()| Exit::Fine);
    }
    if args.output.save_result {
        printer.words(&format!("--save-result: each run is stored anyway, in {}", args.output.out.display()));
    }
    announce_load(&args.load(&plan), [&plan.checked.settings], args.output.live.announce(printer), printer)?;
    folder::base(&args.output.out)?;
    let context = plan.checked.connect(&interrupts, printer)?;
    stored::warn_of_salt(&args.output.out, plan.checked.settings.requests.salt, &context);
    if let Some(first) = plan.runs.first() {
        context.warm_server(first, args.warmup_requests);
    }
    match <[PlannedRun; 1]>::try_from(std::mem::take(&mut plan.runs)) {
        Ok([run]) => args.once(&plan, &context, run),
        Err(runs) => args.repeatedly(&plan, &context, runs),
    }
}

impl BenchArgs {
    /// The load of all that is planned.
    pub(super) fn load(&self, plan: &BenchPlan) -> PlannedLoad {
        let settings = &plan.checked.settings;
        PlannedLoad::of_all(&plan.runs, settings).warmed_with(self.warmup_requests)
    }

    /// Shows what would be run.
    fn show_plan(&self, plan: &BenchPlan, printer: Printer) -> Result<(), Stop> {
        let CheckedWorkload { spec, settings, .. } = &plan.checked;
        let format = plan.outputs.shown().unwrap_or(Format::Json);
        let (servers, warmup_requests, out) = (&[("server", settings)], self.warmup_requests, &self.output.out);
        let facts = planned_load(&plan.runs, &self.load(plan));
        DryRun { verb: "bench", spec, servers, warmup_requests, out }.show(facts, printer, format)
    }

    /// Returns the plan of what is executed. An error names all mistakes that can be found before anything is sent.
    pub(super) fn plan(&self, printer: Printer) -> Result<BenchPlan, Stop> {
        let repeats = self.workload.repeats;
        let (outputs, (spec, settings)) = both(
            self.output.outputs(repeats),
            both(self.workload.spec(self.target.max_concurrency(), None, printer), self.settings()),
        )?;
        let (spec, datasets) = self.workload.what.opened(spec, &settings, printer)?;
        let spec = self.beside.fit(spec)?;
        note_idle(spec.clients.as_ref(), &settings.requests.limits(spec.clients.as_ref()), printer);
        let checked = settings.of_share(&spec, printer)?.check(&spec, &datasets)?;
        let mut runs = PlannedRun::all(&spec, &datasets, repeats)?;
        advise_repeats(repeats, printer);
        if repeats > 1 && !self.output.percentiles.is_empty() {
            printer.words("note: --percentiles are in each run's own report, not in that of all runs");
        }
        PlannedRun::check_all(&runs, repeats > 1)?;
        if let Some(shard) = self.beside.share.shard {
            runs = runs.into_iter().map(|run| run.share(shard)).collect::<Result<_, _>>()?;
        }
        Ok(BenchPlan { checked, runs, rules: self.objectives.undecided.rules(self.output.validity), outputs })
    }

    fn settings(&self) -> Result<RunSettings, Stop> {
        let settings = self.target.settings(LoadOption::OfOneRun, self.output.live.screen())?;
        let machine = if self.workload.repeats > 1 { settings.machine.of_series() } else { settings.machine };
        let (objectives, percentiles) = (self.objectives.objectives(), self.output.percentiles());
        let mut settings = self.beside.on(RunSettings { machine, objectives, percentiles, ..settings });
        if self.workload.load.is_rate_inf() {
            // So many users are never more.
            settings.requests.cap(None);
        }
        Ok(settings)
    }

    /// One run, one report.
    fn once(&self, plan: &BenchPlan, context: &RunContext, run: PlannedRun) -> Result<Exit, Stop> {
        let printer = context.printer;
        let run = context.execute_alone(run, &self.output.out)?;
        let report = run.run.report();
        plan.outputs.show_run(report, printer)?;
        let written = plan.outputs.write_run(report, &run.folder, printer);
        let ending = run.ending();
        run.stored.and(written)?;
        save::say_saved(&run.folder, Some(&format!("report: {}", save::PAGE)), true, printer);
        let exit = || exits::of_run(&run.run.summary, plan.rules, printer);
        Ok(if ending == RunEnding::Interrupted { Exit::Interrupted } else { exit() })
    }

    /// Executes `runs` one after another and reports them together. An interrupt ends the run that is under way
    /// and spares the rest; what had ended is reported.
    fn repeatedly(&self, plan: &BenchPlan, context: &RunContext, runs: Vec<PlannedRun>) -> Result<Exit, Stop> {
        let (interrupts, printer) = (&context.interrupts, context.printer);
        let name = &plan.checked.spec.name;
        let folder = folder::create(&self.output.out, name, &context.engine().engine, jiff::Timestamp::now())?;
        let dir = ExperimentDir::unlocked(folder);
        let RunSettings { objectives, machine, .. } = &plan.checked.settings;
        let mut experiment = RepeatsExperiment::new(runs.len() as u64, objectives.clone(), plan.rules.invalid);
        let campaign = RepeatsCampaign {
            context,
            runs,
            objectives,
            export: |run: &StoredRun| plan.outputs.write_run(run.run.report(), &run.folder, printer),
            failure: None,
        };
        let spoiled = (*machine, plan.rules.invalid);
        let how = Conduct::new(&dir, interrupts, spoiled, (self.output.live.announce(printer), printer));
        conduct(&mut experiment, campaign, how, plan.rules, |repeats| plan.outputs.show(repeats, printer))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::workload::{ArrivalPattern, ClientBehaviour, RetryCause, ThinkTime};

    #[derive(Debug, Parser)]
    struct Typed {
        #[command(flatten)]
        bench: BenchArgs,
    }

    fn plan(typed: &[&str]) -> Result<BenchPlan, Stop> {
        typed_alone(&[&["short_chat", "5"], typed].concat())
    }

    fn typed_alone(typed: &[&str]) -> Result<BenchPlan, Stop> {
        Typed::parse_from([&["bench", "--quiet"], typed].concat()).bench.plan(Printer)
    }

    #[test]
    fn options_alone_say_what_is_run() {
        let peers = ["--input-tokens=1024", "--output-tokens=128", "--requests=1000", "--rate=inf"];
        let plan = typed_alone(&[&peers[..], &["--max-concurrency=64"]].concat()).unwrap();
        let spec = &plan.checked.spec;
        assert_eq!((spec.name.as_str(), spec.arrival.users()), ("synthetic", Some(64)));
        assert_eq!((spec.requests, spec.warmup_s), (Some(1000), 0.0));
        assert_eq!(plan.checked.settings.requests.caps().max_concurrency, None);
        assert_eq!(plan.runs[0].plan.measured_requests, 64);
        assert!(plan.runs[0].plan.is_open_ended());
        let vllm = [
            "--random-input-len=100",
            "--random-output-len=10",
            "--num-prompts=8",
            "--request-rate=inf",
            "--max-concurrency=64",
            "--base-url=http://x",
            "--served-model-name=m",
            "--goodput",
            "ttft:500",
            "tpot:50",
        ];
        let plan = typed_alone(&vllm).unwrap();
        let spec = &plan.checked.spec;
        assert_eq!((spec.arrival.users(), spec.requests), (Some(8), Some(8)));
        let slo = spec.classes[0].priorities[0].slo;
        assert_eq!((slo.ttft_ms, slo.tpot_ms, slo.e2e_ms), (Some(500.0), Some(50.0), None));
        let burst = typed_alone(&["short_chat", "--rate=max", "--requests=30"]).unwrap();
        let at_once = ArrivalPattern::Users { users: 30, think_time_s: ThinkTime::default(), ramp_s: 0.0 };
        assert_eq!((&burst.checked.spec.arrival, burst.runs[0].plan.measured_requests), (&at_once, 30));
        let lone = typed_alone(&["20", "--output-tokens=normal:256:128", "--arrival=constant"]).unwrap();
        assert_eq!(lone.checked.spec.horizon_s, 20.0);
        for (typed, problem) in [
            (&[][..], "no WORKLOAD is named"),
            (&["short_chat", "--users=4", "--requests=9", "--shard=1/2"], "--shard cannot count"),
            (&["short_chat", "--rate=inf"], "--rate inf does not say how many requests are sent at once"),
            (
                &["short_chat", "--rate=inf", "--requests=200000"],
                "would send 200,000 requests at once; the most is 100,000",
            ),
        ] {
            let stop = typed_alone(typed).err().unwrap();
            assert!(stop.message().contains(problem), "{typed:?}: {}", stop.message());
        }
    }

    #[test]
    fn all_that_was_typed_wrong_is_said_at_once() {
        let wrong = ["--format=ab.txt", "--trace-from=5s", "--url=nowhere", "--header=x", "--metrics-url=y"];
        let stop = plan(&wrong).err().unwrap();
        for option in ["--format ab.txt", "--trace-from", "--url: ", "--header: ", "--metrics-url: "] {
            assert!(stop.message().contains(option), "{option} in {}", stop.message());
        }
        assert_eq!(stop.exit(), Exit::Usage);
    }

    #[test]
    fn a_price_is_stored_and_a_figure_without_one_is_refused() {
        let priced = ["--gpus=2", "--gpu-hour=2.5", "--currency=EUR", "--objective=cost_per_answer < 1"];
        let facts = plan(&priced).unwrap().checked.settings.deployment;
        assert_eq!((facts.cost_per_hour(), facts.currency.as_deref()), (Some(5.0), Some("EUR")));
        let by_energy = ["--gpus=2", "--price-per-kwh=0.3", "--watts=700", "--currency=EUR"];
        let facts = plan(&by_energy).unwrap().checked.settings.deployment;
        assert_eq!((facts.kwh_price, facts.claimed_power_w()), (Some(0.3), Some(1_400.0)));
        assert_eq!(facts.currency.as_deref(), Some("EUR"));
        let refusal = plan(&["--objective=cost_per_answer < 1"]).err().unwrap();
        assert!(refusal.message().contains("(--gpu-hour, --price-per-kwh)"), "{}", refusal.message());
    }

    #[test]
    fn a_plan_has_the_runs_that_were_typed() {
        let one = plan(&["--percentiles=99.5,50,p99.5"]).unwrap();
        assert_eq!(one.checked.settings.percentiles, [50.0, 99.5]);
        assert_eq!((one.runs.len(), one.runs[0].repeat), (1, None));
        let three = plan(&["--repeats=3", "--objective=p95 ttft < 1s", "--objective=p95 ttft < 1s"]).unwrap();
        assert_eq!((three.runs.len(), three.checked.settings.objectives.len()), (3, 1));
        assert_ne!(three.runs[0].workload.seed, three.runs[1].workload.seed);
    }

    #[test]
    fn clients_retry_and_classes_have_caps_where_that_was_typed() {
        let typed = plan(&["--retries=2", "--retry-on=429,timeout", "--timeout=9s"]).unwrap();
        let (requests, spec) = (&typed.checked.settings.requests, &typed.checked.spec);
        let retries = requests.options(spec).retries.unwrap();
        assert_eq!(retries.behaviour().retries, 2);
        assert_eq!(retries.behaviour().retry_on, [RetryCause::Status(429), RetryCause::Timeout]);
        // What is typed comes before what the workload says, and that before ten minutes.
        let usual = plan(&[]).unwrap().checked.settings.requests;
        for (requests, filed, limit_s) in [
            (requests, Some(5.0), 9.0),
            (requests, Some(20.0), 9.0),
            (&usual, Some(1_200.0), 1_200.0),
            (&usual, None, 600.0),
        ] {
            let clients = ClientBehaviour { timeout_s: filed, ..ClientBehaviour::default() };
            let limits = requests.limits(Some(&clients));
            assert_eq!(limits.total_timeout_s, Some(limit_s), "{filed:?}");
        }
        let class = &spec.classes[0].name;
        let capped = plan(&[&format!("--max-concurrency=64,{class}=4")]).unwrap();
        let options = capped.checked.settings.requests.options(&capped.checked.spec);
        assert_eq!((options.caps.total, options.caps.classes[0]), (Some(64), Some(4)));
        assert!(options.retries.is_none(), "by default each request is sent once");
        for (typed, problem) in [
            ("--max-concurrency=nope=4", "has no class `nope`"),
            ("--backoff=1s", "`--backoff` is about retries, and there are none"),
        ] {
            let stop = plan(&[typed]).err().unwrap();
            assert!(stop.message().contains(problem), "{}", stop.message());
        }
    }
}
