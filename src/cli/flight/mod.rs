//! One run against a server: what every verb that flies shares, from the checks before it to its folder.

mod answers;
mod asked;
mod connections;
mod machine;
mod marks;
mod pages;
mod plan;
mod prompts;
mod start;
mod warm;

use crate::session::save;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::args::{DeploymentArgs, MachineArgs, RunArgs, Server, ServerArgs, ShareArgs};
use super::golden;
use super::golden::Golden;
use super::session::{Asked, InVain, Session};
use crate::analysis::{self, Objective, Summary};
use crate::clock::RunClock;
use crate::engine::{ConnectionLimits, Engine};
use crate::experiment::{Diagnosis, seed_of_run};
use crate::generator::{Datasets, PromptBuilder};
use crate::live::{LiveView, Screen, WatchedRun};
use crate::record::{
    Calibration, EngineFacts, PageKind, PlanFacts, PromptFacts, RunEnding, RunHeader, RunLog, RunLogWriter,
};
use crate::runner::{
    AnswerJudge, FinishedRun, Progress, RecordWriter, RequestFeed, Run, RunOptions, SampleSink,
};
use crate::session::{Interrupts, PlannedRun, Printer, Stop, command_line, datasets, host};
use crate::telemetry::{FoundPage, Scraper};
use crate::workload::WorkloadSpec;

pub(super) use self::asked::AskedOfServer;
pub(super) use self::machine::Lowered;
pub(super) use self::pages::of_one_server;

/// Time between the reading of the clock and the run's zero, in which the log is opened: on a slow disk too.
const LEAD: Duration = Duration::from_millis(50);

/// What was typed about how runs are flown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setup<'a> {
    pub(super) server: &'a ServerArgs,
    pub(super) deployment: &'a DeploymentArgs,
    pub(super) run: &'a RunArgs,
    pub(super) machine: MachineArgs,
    /// The default for verbs that know no other generators.
    pub(super) share: ShareArgs,
    /// What each run is held against.
    pub(super) objectives: &'a [Objective],
    /// How the load is lowered that is too much.
    pub(super) lowered: Lowered,
    /// Whether progress is shown.
    pub(super) screen: Screen,
}

/// A workload that can be flown as it was typed, as far as can be known before the server is asked.
pub(super) struct Checked {
    asked: Asked,
    /// Prompts, where a tokenizer here counts them.
    exact: Option<PromptBuilder>,
    /// What varies the texts of the first run.
    salt: u64,
}

impl<'a> Setup<'a> {
    /// Finds what is wrong with flying `spec`, whose datasets are these, before anything is sent.
    pub(super) fn check(self, spec: &WorkloadSpec, datasets: &Datasets) -> Result<Checked, Stop> {
        datasets::fit(spec, datasets, self.server.endpoint())?;
        golden::fit(spec, self.server.endpoint())?;
        save::check_objectives(self.objectives, spec)?;
        let salt = self.run.salt.unwrap_or_else(rand::random);
        let exact = prompts::exact(spec, salt, self.run.tokenizer.as_deref())?;
        self.common_server()?;
        self.run.telemetry.urls()?;
        Ok(Checked { asked: marks::asked(self, spec)?, exact, salt })
    }

    /// Several generators that each start a mock of their own would not fly one run.
    fn common_server(self) -> Result<(), Stop> {
        match (self.share.shard, self.server.server()?) {
            (Some(shard), Server::EmbeddedMock) => Err(Stop::usage(format!(
                "--shard {shard} needs a server that all generators share\n\
                 hint: name it with --url; `skyline mock` starts one"
            ))),
            _ => Ok(()),
        }
    }

    /// Makes all ready for runs of `spec`, which was checked: this machine calibrated, the server waited for and asked one
    /// question.
    pub(super) fn open(
        self,
        spec: &WorkloadSpec,
        datasets: Arc<Datasets>,
        checked: Checked,
        interrupts: &'a Interrupts,
        printer: Printer,
    ) -> Result<Field<'a>, Stop> {
        self.open_unless(&|| None, spec, datasets, checked, interrupts, printer)
    }

    /// The same, unless `in_vain` comes to know a reason why the server will never be ready.
    pub(super) fn open_unless(
        self,
        in_vain: InVain<'_>,
        spec: &WorkloadSpec,
        datasets: Arc<Datasets>,
        checked: Checked,
        interrupts: &'a Interrupts,
        printer: Printer,
    ) -> Result<Field<'a>, Stop> {
        let Checked { asked, exact, salt } = checked;
        marks::advise(self, printer);
        start::in_time(self.share.start_at)?;
        let calibration = machine::calibrated(self.machine, printer);
        machine::bears(self, calibration.as_ref(), spec)?;
        let session = Session::open_unless(in_vain, self.server, asked, printer)?;
        let pages = pages::find(&self.run.telemetry, &session, printer)?;
        let prompts = match exact {
            Some(exact) => exact,
            None if datasets.writes_words() => prompts::counted(spec, salt, &session, printer)?,
            None => PromptBuilder::with_word_list(&spec.classes, salt),
        };
        let prompts = prompts.with_datasets(datasets);
        let template_tokens = prompts::template_tokens(&session, &prompts, printer);
        let setup = self;
        Ok(Field { setup, session, pages, interrupts, calibration, prompts, salt, template_tokens, printer })
    }
}

/// Refuses a plan whose arrivals hardly ever come of the process that its workload declares.
pub(super) fn check_plan(run: &PlannedRun) -> Result<(), Stop> {
    plan::check(&run.workload, &run.schedule, &run.plan)
}

/// Where runs are flown from: what was typed, and what is ready.
pub(super) struct Field<'a> {
    setup: Setup<'a>,
    /// The server.
    pub(super) session: Session,
    /// Pages of metrics.
    pages: Vec<FoundPage>,
    pub(super) interrupts: &'a Interrupts,
    /// What this machine was found to do.
    calibration: Option<Calibration>,
    /// Makes the prompts of the first run.
    prompts: PromptBuilder,
    salt: u64,
    /// What the server was found to add to a prompt.
    template_tokens: Option<u64>,
    pub(super) printer: Printer,
}

/// What a run leaves behind.
pub(super) struct Flown {
    pub(super) log: RunLog,
    pub(super) summary: Summary,
    pub(super) diagnosis: Diagnosis,
    pub(super) folder: PathBuf,
    /// Whether all of it could be written.
    pub(super) stored: Result<(), Stop>,
    pub(super) ending: RunEnding,
}

impl Flown {
    /// What `log`, which was `written` to `folder`, says; kept beside it.
    fn of(
        log: RunLog,
        objectives: &[Objective],
        folder: PathBuf,
        written: Result<(), Stop>,
        ending: RunEnding,
    ) -> Self {
        let summary = analysis::summarise(&log, objectives);
        let diagnosis = Diagnosis::of_run(&log, &summary);
        let stored = save::run(&log, &summary, &diagnosis, &folder);
        Self { log, summary, diagnosis, folder, stored: written.and(stored), ending }
    }
}

/// What makes runs against two servers ask the same: their texts, and the machine that sends them.
#[derive(Clone)]
pub(super) struct Common {
    calibration: Option<Calibration>,
    prompts: PromptBuilder,
    salt: u64,
}

impl Field<'_> {
    /// What runs elsewhere are to have in common with those from here.
    pub(super) fn common(&self) -> Common {
        Common { calibration: self.calibration, prompts: self.prompts.clone(), salt: self.salt }
    }

    /// The same server, asked what another is asked.
    #[must_use]
    pub(super) fn having(self, common: Common) -> Self {
        let Common { calibration, prompts, salt } = common;
        Self { calibration, prompts, salt, ..self }
    }

    /// Refuses a page that was named and is of an engine, be it the server's own, because it would count for `all`.
    pub(super) fn no_page_of_engine(&self, all: &str) -> Result<(), Stop> {
        let named: Vec<_> = self.setup.run.telemetry.urls()?.iter().map(ToString::to_string).collect();
        let of_engine = self.pages.iter().filter(|page| page.source.kind.is_some_and(PageKind::is_of_engine));
        match of_engine.map(|page| &page.source.url).find(|url| named.contains(url)) {
            Some(page) => Err(of_one_server(page, all)),
            None => Ok(()),
        }
    }

    /// Refuses a workload that asks for more than this machine can be trusted with.
    pub(super) fn bears(&self, spec: &WorkloadSpec) -> Result<(), Stop> {
        machine::bears(self.setup, self.calibration.as_ref(), spec)
    }

    /// Says what connections a run may come to lack.
    fn warn_of_connections(&self, options: &RunOptions, plan: &PlanFacts, sending: connections::Sending) {
        let (limits, files_each) = (ConnectionLimits::raised(), self.session.files_per_connection());
        if let Some(warning) = connections::warning(limits, options, plan, sending, files_each) {
            self.printer.words(&warning);
        }
    }

    /// Flies `run` and keeps it in the folder that `folder` creates for it. Runs of different `texts`, counted from 1, say
    /// different things, so that none finds the prefix cache warm from another; runs of the same texts say the same.
    pub(super) fn fly(
        &self,
        run: PlannedRun,
        texts: u64,
        folder: impl FnOnce(&RunHeader) -> Result<PathBuf, Stop>,
    ) -> Result<Flown, Stop> {
        let Self { setup, session, pages, interrupts, calibration, template_tokens, printer, .. } = self;
        let Setup { share, .. } = *setup;
        let prompts = self.prompts.clone().with_salt(seed_of_run(self.salt, texts));
        let PlannedRun { repeat, workload: spec, schedule, plan, part } = run;
        let options = setup.run.options(&spec);
        let sending = connections::Sending::of(&spec, share.shard);
        self.warn_of_connections(&options, &plan, sending);
        let counter = prompts.counter();
        let keep = answers::keep(&session.smoke, counter.as_ref());
        let engine = Arc::new(session.engine.for_another_run().capturing(keep));
        let prompt_facts = PromptFacts { template_tokens: *template_tokens, ..prompts.facts() };
        let prompts = Arc::new(prompts);
        let openers = schedule.generate_stream(Arc::clone(&prompts));
        let feed = RequestFeed::with_sessions(
            Arc::clone(&engine),
            openers,
            schedule.sessions(&plan),
            Arc::clone(&prompts),
        );

        // After the feed has begun, which needs no server, and before the server is asked what it has counted so far.
        let cache = marks::prepare_cache(*setup, &spec, session, &prompts, *printer)?;
        let golden = Golden::of(session, &engine, &spec, share.shard, options.timeouts.total);
        let asked = golden.as_ref().map(|golden| golden.before(*printer)).unwrap_or_default();
        // Of several generators each would count what all of them send.
        let counted_before = match share.shard {
            Some(_) => None,
            None => session.runtime.block_on(engine.counters()),
        };
        let told = counted_before.and_then(|reading| reading.block_tokens());
        let cache_block_tokens = told.or(engine.facts().cache_block_tokens);
        let pages = session.runtime.block_on(FoundPage::again(pages));
        // All that may take long is done; connections are opened last, before servers close them again.
        start::wait(share.start_at, *printer);
        session.runtime.block_on(engine.warm_up(sending.opened_ahead(options.max_concurrency)));
        let clock = match share.start_at {
            Some(moment) => RunClock::starting_at(moment).ok_or_else(|| start::missed(moment))?,
            None => RunClock::starting_in(LEAD),
        };
        let header = RunHeader {
            schema: RunHeader::SCHEMA,
            skyline_version: env!("CARGO_PKG_VERSION").to_owned(),
            started_at: clock.started_at(),
            command: command_line::masked(std::env::args_os()),
            repeat,
            plan: plan.clone(),
            prompts: prompt_facts,
            cache,
            engine: EngineFacts { cache_block_tokens, ..engine.facts().clone() },
            deployment: setup.deployment.facts(),
            limits: setup.run.limits(),
            objectives: setup.objectives.iter().map(ToString::to_string).collect(),
            host: host::facts(),
            shard: share.shard,
            calibration: *calibration,
            telemetry: pages.iter().map(|page| page.source.clone()).collect(),
            stamps: engine.stamp_source(),
            workload: spec,
        };
        let folder = folder(&header)?;
        let judge = AnswerJudge::new(&header.workload, engine.secrets());
        let log = RunLogWriter::create(&folder, &header).map_err(Stop::impossible)?;
        let keeper = RecordWriter::start(log, keep, judge);
        for asked in asked {
            keeper.keep_check(asked);
        }

        let progress = Arc::new(Progress::default());
        let times = pages::times(&setup.run.telemetry, &plan);
        let told = pages::told(keeper.reading_keeper(), Arc::clone(&progress), times.every);
        let scraping = Scraper::start(&pages, times, clock, told);
        let samples = Some(SampleSink::new(keeper.client_keeper()));
        let watched =
            WatchedRun::of(&header, (part, setup.objectives), (Arc::clone(&progress), clock, options.drain));
        let live = LiveView::start(setup.screen, watched);
        let footer = session.runtime.block_on(async {
            let interrupt = interrupts.run_begins();
            let server = Arc::clone(&engine);
            let times = Golden::times(&header.workload, &plan);
            let stop = interrupt.clone();
            let run = Run { engine, clock, plan, options, samples, progress, interrupt: stop };
            let flown = run.execute(feed, |landed| keeper.keep(landed));
            let mut footer = match golden {
                None => flown.await,
                Some(golden) => golden.beside(flown, clock, times, interrupt, keeper.check_keeper()).await,
            };
            if let Some(before) = counted_before {
                footer.server = server.counters().await.and_then(|after| after.since(&before));
            }
            if let Some(client) = &mut footer.client {
                client.read_delay = server.read_delays();
            }
            footer
        });
        drop(live);
        scraping.finish().iter().for_each(|problem| printer.words(problem));
        let mut gathered = keeper.stop();
        answers::count(&mut gathered, counter.as_ref(), interrupts, setup.screen);
        let FinishedRun { records, checks, telemetry, written } = gathered.finish(&footer);
        // Only now: until all is stored, no signal may end the program.
        interrupts.run_ends();
        if let Err(error) = &written {
            printer.words(&format!(
                "error: {error}; what follows is computed from memory, and the log is not whole"
            ));
        }
        let ending = footer.ending;
        let log = RunLog { header, records, checks, telemetry, footer: Some(footer) };
        Ok(Flown::of(log, setup.objectives, folder, written.map_err(Stop::impossible), ending))
    }
}
