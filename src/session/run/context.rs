//! One run from end to end: prepare → start → execute → collect → summarise.

use std::cell::Cell;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::connect::ServerConnection;
use super::context_fit::Context;
use super::golden::Golden;
use super::sending::{Connections, Sending, connection_warning};
use super::together::Start;
use super::{answers, cache, clocks, connect, machine, pages};
use crate::analysis::LoadForm;
use crate::clock::RunClock;
use crate::engine::{AnswerLimits, CaptureText, CounterReading, OpenAiEngine, Router, Targets};
use crate::experiment::seed_of_run;
use crate::generator::{PromptBuilder, Schedule, TokenCounter};
use crate::live::{LiveView, StepLine, WatchedRun};
use crate::record::{
    CachePreparation, Calibration, ClockOffset, ColdStart, EngineFacts, PlanFacts, PromptFacts, Repeat, RunEnding,
    RunFooter, RunHeader, RunLog, RunLogWriter,
};
use crate::runner::{FinishedCheck, Progress, Readers, RecordWriter, RequestFeed, Run, RunOptions};
use crate::session::console::{Interrupts, Printer, Stop};
use crate::session::planned::PlannedRun;
use crate::session::profiling;
use crate::session::settings::RunSettings;
use crate::session::stored_run::JudgedRun;
use crate::session::{command_line, folder, save};
use crate::telemetry::{FoundPage, ScrapeTimes, Scraper, read_samples};
use crate::units::{counted, listed};
use crate::workload::WorkloadSpec;

/// Time between the reading of the clock and the run's zero. In it the log is opened, on a slow disk too.
const LEAD: Duration = Duration::from_millis(30);

/// A server, a machine and prompts that are ready for runs.
pub(crate) struct RunContext {
    pub(super) settings: RunSettings,
    pub(super) server: ServerConnection,
    /// Pages of metrics.
    pub(super) pages: Vec<FoundPage>,
    pub(crate) interrupts: Interrupts,
    pub(crate) conditions: Conditions,
    /// Tokens that the server adds to a prompt.
    pub(super) template_tokens: Option<u64>,
    /// Requests that were sent before the runs, of which no log has a record.
    pub(super) warmed: Cell<u64>,
    /// The start of the server, for the first run after it.
    pub(super) cold_start: Cell<Option<ColdStart>>,
    pub(crate) printer: Printer,
}

/// Conditions that runs against two servers have in common. With them both are asked the same.
#[derive(Clone)]
pub(crate) struct Conditions {
    /// The capacity of this machine to measure.
    pub(super) calibration: Option<Calibration>,
    /// Makes the prompts of the first run.
    pub(super) prompts: PromptBuilder,
    pub(super) salt: u64,
}

/// A run that has ended, what it says, and where it is stored.
pub(crate) struct StoredRun {
    pub(crate) run: JudgedRun,
    pub(crate) folder: PathBuf,
    /// Whether all of it could be written.
    pub(crate) stored: Result<(), Stop>,
}

impl StoredRun {
    pub(crate) fn ending(&self) -> RunEnding {
        self.run.log.footer.as_ref().map_or(RunEnding::Interrupted, |footer| footer.ending)
    }
}

/// A run for which all is ready but its connections.
struct PreparedRun<'a> {
    repeat: Option<Repeat>,
    workload: WorkloadSpec,
    plan: PlanFacts,
    /// The whole that the run is part of, in words.
    part: Option<String>,
    options: RunOptions,
    sending: Sending,
    engine: Arc<Router<OpenAiEngine>>,
    feed: RequestFeed,
    keep: CaptureText,
    counter: Option<TokenCounter>,
    prompts: PromptFacts,
    cache: Option<CachePreparation>,
    golden: Option<Golden<'a>>,
    /// Golden prompts that were sent before the load.
    checked: Vec<FinishedCheck>,
    /// The reading of each server's counters before the run.
    counted: Targets<Option<CounterReading>>,
    pages: Vec<FoundPage>,
    /// Offsets of other clocks, of a share.
    clocks: Vec<ClockOffset>,
}

/// A run whose log is open and whose clock runs.
struct StartedRun {
    clock: RunClock,
    header: RunHeader,
    folder: PathBuf,
    writer: RecordWriter,
    readers: Arc<Readers<Router<OpenAiEngine>>>,
}

impl RunContext {
    /// The servers, as they describe themselves.
    pub(crate) fn engines(&self) -> impl Iterator<Item = &EngineFacts> {
        self.server.engines()
    }

    /// The first server, by which results are named. All serve one model in one dialect.
    pub(crate) fn engine(&self) -> &EngineFacts {
        self.server.router.targets().first().facts()
    }

    /// Executes `run` and stores it in the folder that `folder` creates for it. Runs of different `texts`,
    /// counted from 1, send different prompts, so that none finds the prefix cache warm from another.
    pub(crate) fn execute(
        &self,
        run: PlannedRun,
        texts: u64,
        folder: impl FnOnce(&RunHeader) -> Result<PathBuf, Stop>,
    ) -> Result<StoredRun, Stop> {
        let urls = listed(self.settings.server.address.urls(), " ").unwrap_or_default();
        let around = self.settings.around.begin(&urls, self.settings.screen, &self.interrupts)?;
        let (mut counter, mut kept) = (None, None);
        let sent = self.prepare(run, texts).and_then(|mut prepared| {
            let started = self.start(&mut prepared, folder)?;
            (counter, kept) = (prepared.counter.take(), Some(started.folder.clone()));
            self.send(prepared, started)
        });
        let kept_run = sent.and_then(|(started, footer)| self.collect(started, &footer, counter.as_ref()));
        if let Some(around) = around {
            around.end(kept.as_deref(), self.printer);
        }
        let (log, folder, written) = kept_run?;
        self.summarise(log, folder, written)
    }

    /// Executes a run by itself, and stores it in a new folder in `out`.
    pub(crate) fn execute_alone(&self, run: PlannedRun, out: &Path) -> Result<StoredRun, Stop> {
        self.execute(run, 1, |header| {
            folder::create(out, &header.workload.name, &header.engine().engine, header.started_at)
        })
    }

    /// Draws the prompts and prepares the server for the run. It brings the server's cache into its declared state,
    /// sends the golden prompts and reads what the server has counted so far.
    fn prepare(&self, run: PlannedRun, texts: u64) -> Result<PreparedRun<'_>, Stop> {
        let Self { settings, server, conditions, .. } = self;
        let PlannedRun { repeat, workload, schedule, plan, part } = run;
        let asked_alike = server.router.targets().first();
        if asked_alike.sends_planned_lengths() {
            let tokens = self.engines().filter_map(|engine| engine.max_model_len).min();
            let template = self.template_tokens.unwrap_or(0);
            let context = Context { tokens, template, option: asked_alike.context_option() };
            if let Some(warning) = context.check(&schedule, &plan, workload.requests)? {
                self.printer.words(&warning);
            }
        }
        let shard = settings.share.shard;
        let options = RunOptions { pacing: settings.pacing, ..settings.requests.options(&workload) };
        let sending = Sending::new(&workload, shard);
        let connections = Connections::to(server, settings.requests.connections_per_host);
        if let Some(warning) = connection_warning(connections, &options, &plan, sending) {
            self.printer.words(&warning);
        }
        let prompts = conditions.prompts.clone().with_salt(seed_of_run(conditions.salt, texts));
        let counter = prompts.counter();
        let (keep, captured) = answers::kept(&workload, &server.smokes, counter.as_ref())?;
        let all = settings.requests.answers();
        let each = AnswerLimits { memory: all.memory / u64::from(server.router.targets().count().get()), ..all };
        let of_run = |engine: &OpenAiEngine| engine.for_another_run().capturing(captured).limiting(each);
        let engine = Arc::new(server.router.map(of_run));
        let prompt_facts = PromptFacts { template_tokens: self.template_tokens, ..prompts.facts() };
        let prompts = Arc::new(prompts);
        let requests = plan.warmup_requests + plan.measured_requests;
        let line = StepLine::counting(settings.screen, "building prompts", requests.min(RequestFeed::READY));
        let (openers, written_by) = (line.count(schedule.requests()), Arc::clone(&prompts));
        let write = move |planned| Schedule::with_prompt(planned, &written_by);
        let later = schedule.sessions(&plan).map(|sessions| (sessions, Arc::clone(&prompts)));
        let feed = RequestFeed::start(Arc::clone(&engine), openers, write, later).map_err(Stop::impossible)?;
        drop(line);
        // After the feed has begun, which needs no server, and before the server is asked what it has counted so far.
        let cache = cache::prepare(settings, &workload, server, &prompts, self.printer)?;
        let golden =
            Golden::new(server, &engine, &workload, shard, options.timeouts.total, settings.requests.save_text);
        let before_load =
            golden.as_ref().map(|golden| golden.before(settings.screen, self.printer)).unwrap_or_default();
        // Each of several generators would count what all of them send.
        let before = match shard {
            Some(_) => engine.targets().map(|_| None),
            None => server.runtime.block_on(engine.counters()),
        };
        let mut pages = server.runtime.block_on(FoundPage::again(&self.pages));
        FoundPage::leave_out_repeated(&mut pages);
        let clocks = clocks::compared(settings, server, &plan, self.printer)?;
        Ok(PreparedRun {
            repeat,
            workload,
            plan,
            part,
            options,
            sending,
            engine,
            feed,
            keep,
            counter,
            prompts: prompt_facts,
            cache,
            golden,
            checked: before_load,
            counted: before,
            pages,
            clocks,
        })
    }

    /// Waits for the common moment, then starts the clock and opens the log. Before the clock starts it opens
    /// connections, which servers close again soon.
    fn start(
        &self,
        prepared: &mut PreparedRun<'_>,
        folder: impl FnOnce(&RunHeader) -> Result<PathBuf, Stop>,
    ) -> Result<StartedRun, Stop> {
        let PreparedRun { engine, options, sending, plan, clocks, .. } = prepared;
        let Start { at: start_at, offset } = Start::find(&self.settings, plan)?;
        clocks.extend(offset);
        connect::wait_for_start(start_at, self.settings.screen, self.printer);
        let found = self.conditions.calibration.as_ref();
        let readers = machine::readers(&self.settings, found, &prepared.workload, engine)?;
        self.server.runtime.block_on(readers.warm_up(sending.opened_ahead(options.caps.total)));
        for missing in engine.targets().iter().filter_map(OpenAiEngine::missing_addresses) {
            self.printer.words(&format!("warning: {missing}"));
        }
        let clock = match start_at {
            Some(moment) => RunClock::starting_at(moment).ok_or_else(|| connect::missed(moment))?,
            None => RunClock::starting_in(LEAD),
        };
        let header = self.header(prepared, clock);
        let folder = folder(&header)?;
        let (secrets, save_text) = (prepared.engine.secrets(), self.settings.requests.save_text);
        let judge = answers::judge(&prepared.workload, secrets, save_text, &self.conditions.prompts);
        let log = RunLogWriter::create(&folder, &header).map_err(Stop::impossible)?;
        let writer = RecordWriter::start(log, prepared.keep, judge).map_err(Stop::impossible)?;
        for check in std::mem::take(&mut prepared.checked) {
            writer.keep_check(check);
        }
        Ok(StartedRun { clock, header, folder, writer, readers: Arc::new(readers) })
    }

    fn header(&self, prepared: &PreparedRun<'_>, clock: RunClock) -> RunHeader {
        let settings = &self.settings;
        let reported = |(engine, counted): (&OpenAiEngine, &Option<CounterReading>)| {
            let (facts, block_tokens) = (engine.facts().clone(), counted.and_then(|counted| counted.block_tokens));
            EngineFacts { cache_block_tokens: block_tokens.or(facts.cache_block_tokens), ..facts }
        };
        RunHeader {
            schema: RunHeader::SCHEMA,
            skyline_version: env!("CARGO_PKG_VERSION").to_owned(),
            started_at: clock.started_at(),
            command: command_line::masked(command_line::arguments()),
            repeat: prepared.repeat,
            plan: prepared.plan.clone(),
            prompts: prepared.prompts.clone(),
            cache: prepared.cache,
            warming_requests: Some(self.warmed.get()).filter(|requests| *requests > 0),
            cold_start: self.cold_start.take(),
            engines: prepared.engine.targets().iter().zip(prepared.counted.iter()).map(reported).collect(),
            routing: settings.server.several().cloned(),
            deployment: settings.deployment.clone(),
            limits: settings.requests.limits(prepared.workload.clients.as_ref()),
            objectives: settings.objectives.iter().map(ToString::to_string).collect(),
            percentiles: settings.percentiles.clone(),
            host: machine::host_facts(Some(settings.pacing.priority())),
            shard: settings.share.shard,
            shard_delays_ns: Vec::new(),
            clock_offsets: prepared.clocks.clone(),
            shard_skew_ns: None,
            calibration: self.conditions.calibration,
            telemetry: prepared.pages.iter().map(|page| page.source.clone()).collect(),
            stamps: prepared.engine.stamp_source(),
            workload: if settings.requests.save_text {
                prepared.workload.clone()
            } else {
                prepared.workload.without_texts()
            },
        }
    }

    /// Sends the plan, open loop, while pages of metrics are read and progress is shown.
    fn send(&self, prepared: PreparedRun<'_>, started: StartedRun) -> Result<(StartedRun, RunFooter), Stop> {
        let PreparedRun { plan, part, options, engine, feed, golden, counted, pages, .. } = prepared;
        let StartedRun { clock, header, writer, readers, .. } = &started;
        let (clock, readers) = (*clock, Arc::clone(readers));
        let Self { settings, interrupts, printer, .. } = self;
        let progress = Arc::new(Progress::from_form(LoadForm::from_workload(&header.workload)));
        let (every, PlanFacts { window_start, window_end, .. }) = (settings.telemetry.interval, &plan);
        let times = ScrapeTimes { every, window_start: *window_start, window_end: *window_end };
        let latest = pages::latest(writer.reading_keeper(), Arc::clone(&progress), every);
        let scraping = Scraper::start(&pages, times, clock, latest);
        let samples = Some(Box::new(writer.client_keeper()) as Box<_>);
        let watched =
            WatchedRun::new(header, (part, &settings.objectives), (Arc::clone(&progress), clock, options.drain));
        let live = LiveView::start(settings.screen, watched);
        let footer = self.server.runtime.block_on(async {
            let interrupt = interrupts.run_begins();
            let server = Arc::clone(&engine);
            let times = Golden::times(&header.workload, &plan);
            let (stop, leave) = (interrupt.clone(), interrupt.clone());
            let dispatches = Some(writer.dispatch_keeper());
            let known_end = (!header.workload.ends_by_count()).then_some(plan.window_end);
            let (profiling, tail) = settings.profile.map(|wish| wish.start(known_end)).unzip();
            let (tail, interrupt_of_run) = (tail.flatten(), stop);
            let run =
                Run { readers, clock, plan, options, samples, dispatches, progress, interrupt: interrupt_of_run, tail };
            let sent = run.execute(feed, |finished| writer.keep(finished));
            let sent = async {
                match golden {
                    None => sent.await,
                    Some(golden) => Box::pin(golden.beside(sent, clock, times, interrupt, writer.check_keeper())).await,
                }
            };
            let (sent, profile) = Box::pin(profiling::beside(profiling, sent, (&server, clock, leave), *printer)).await;
            let mut footer = RunFooter { profile, ..sent? };
            footer.server = server.counted_since(&counted).await;
            let addresses = server.targets().iter().map(OpenAiEngine::addresses);
            footer.addresses =
                if addresses.clone().all(|used| used.is_empty()) { Vec::new() } else { addresses.collect() };
            if let Some(client) = &mut footer.client {
                (client.read_delay, client.stream_reads) = (server.read_delays(), server.stream_reads());
            }
            Ok::<_, io::Error>(footer)
        });
        drop(live);
        let mut problems = scraping.finish();
        if footer.is_ok() && pages.iter().any(|page| page.sampled_every().is_some()) {
            let _line = StepLine::start(settings.screen, "asking Prometheus for the samples of the run");
            let wishes = (interrupts.stop_wished(), interrupts.leave_wished());
            let reading = read_samples(&pages, times, clock, wishes, writer.reading_keeper());
            problems.extend(self.server.runtime.block_on(reading));
        }
        for problem in &problems {
            printer.words(problem);
        }
        let footer = match footer {
            Ok(footer) => footer,
            Err(error) => {
                // What was sent is stored all the same.
                started.writer.stop();
                return Err(Stop::impossible(error));
            }
        };
        Ok((started, footer))
    }

    /// Counts tokens that the server did not count, closes the log and reads it back.
    fn collect(
        &self,
        started: StartedRun,
        footer: &RunFooter,
        counter: Option<&TokenCounter>,
    ) -> Result<(RunLog, PathBuf, Result<(), Stop>), Stop> {
        let StartedRun { header, folder, writer, .. } = started;
        let mut collected = writer.stop();
        let (interrupts, screen) = (&self.interrupts, self.settings.screen);
        let unscored = answers::complete(&mut collected, &self.conditions.prompts, counter, interrupts, screen);
        if let Some(problem) = unscored {
            self.printer.words(&problem);
        }
        let line = StepLine::start(self.settings.screen, "reading the run");
        let (log, written) = collected.finish(header, footer).map_err(Stop::impossible)?;
        drop(line);
        // Only now: until all is stored, no signal may end the program.
        self.interrupts.run_ends();
        if let Err(error) = &written {
            self.printer
                .words(&format!("error: {error}; what follows is computed from memory too, and the log is not whole"));
        }
        Ok((log, folder, written.map_err(Stop::impossible)))
    }

    /// Computes what the run says, and stores it beside the log.
    fn summarise(&self, log: RunLog, folder: PathBuf, written: Result<(), Stop>) -> Result<StoredRun, Stop> {
        let requests = counted(log.records.len() as u64, "request");
        let _line = StepLine::start(self.settings.screen, format!("computing the figures of {requests}"));
        let run = JudgedRun::new(log, &self.settings.objectives);
        let stored = written.and(save::run(run.report(), &folder));
        Ok(StoredRun { run, folder, stored })
    }
}
