//! The server of a variant, from the command that starts it to the one that stops it.

use std::time::{Duration, Instant};

use super::dir::ExperimentDir;
use super::start_watch::{StartWatch, answering};
use crate::experiment::matrix::{FailedBy, RunFailure, Unstopped, Variant};
use crate::experiment::{FailureReach, RunOutcome, Trial};
use crate::live::Screen;
use crate::record::RunEnding;
use crate::session::console::{Exit, Interrupts, Printer, Stop};
use crate::session::hooks::{Hook, Line, Output, ServerProcess, Variable, Variables};
use crate::session::run::{CheckedWorkload, RunContext, StoredRun};
use crate::session::settings::RunSettings;
use crate::units::listed;

/// How long a server may take to be gone once its `stop` command has ended.
const GOING: Duration = Duration::from_secs(15);
/// Between two looks at whether it is.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The server of a variant. When the value is dropped, the process that it `serve`s with is ended.
pub(crate) struct Serving<'a> {
    variant: &'a Variant,
    variables: Variables,
    output: Output,
    process: Option<ServerProcess>,
    /// The hosts and ports at which it is about to serve. None unless it is started for this table.
    places: Vec<(String, u16)>,
    interrupts: &'a Interrupts,
    screen: Screen,
    /// Watch of its start, until it is connected to.
    watch: Option<StartWatch>,
    /// Whether the server has been found ready.
    served: bool,
}

impl<'a> Serving<'a> {
    /// A variant that is to be started; refused where something answers in its place already.
    pub(crate) fn about_to_start(
        variant: &'a Variant,
        run: &RunSettings,
        dir: &ExperimentDir,
        interrupts: &'a Interrupts,
    ) -> Result<Self, Stop> {
        let settings = &variant.server;
        let mut variables = Variables::default()
            .with(Variable::Variant, &variant.name)
            .with(Variable::Flags, settings.flags.clone().unwrap_or_default());
        let mut places = Vec::new();
        for url in run.server.address.urls().filter(|url| url.way().is_none()) {
            if settings.serve.is_some() || settings.start.is_some() {
                refuse_another(url.host(), url.port(), &variant.name)?;
                places.push((url.host().to_owned(), url.port()));
            }
        }
        if let Some(urls) = listed(run.server.address.urls(), " ") {
            variables = variables.with(Variable::Url, settings.url.clone().unwrap_or(urls));
        }
        let output = Output::to(dir.folder().join("commands.log"));
        let (screen, process) = (run.screen, None);
        Ok(Self { variant, variables, output, process, places, interrupts, screen, watch: None, served: false })
    }

    /// Starts its server, where the file says how, without waiting until it is ready. Stop it in any case: a
    /// command that fails may leave half a server behind.
    pub(crate) fn start(&mut self, logs: &ExperimentDir, printer: Printer) -> Result<(), Stop> {
        let Variant { name, server: settings } = self.variant;
        self.watch = (!self.places.is_empty()).then(|| StartWatch::begin(self.places.clone()));
        if let Some(command) = &settings.start {
            printer.words(&format!("starting variant {name}: {}", settings.with_flags(command)));
            self.run("start", command, Some(self.interrupts)).map_err(Stop::of_server)?;
        }
        if let Some(command) = &settings.serve {
            let command = settings.with_flags(command);
            printer.words(&format!("starting variant {name}: {command}"));
            let output = Output::to(logs.folder().join(format!("server-{name}.log")));
            self.process = Some(ServerProcess::start(&command, &self.variables, output)?);
        }
        Ok(())
    }

    /// Name of the variant.
    pub(crate) fn variant(&self) -> &'a str {
        &self.variant.name
    }

    /// Notes that it has been found ready, and times its start.
    fn serves(&mut self, context: &RunContext, printer: Printer) {
        self.served = true;
        if let Some(watch) = self.watch.take() {
            let start = context.time_start(watch.began, watch.listens());
            printer.words(&format!("variant {} is started: {start}", self.variant.name));
        }
    }

    /// Whether it has been, and has not ended since.
    pub(crate) fn has_served(&self) -> bool {
        self.served && self.process.as_ref().is_none_or(|process| process.ended().is_none())
    }

    /// Makes it ready for the next run of a row.
    pub(crate) fn reset(&mut self, row: &str) -> Result<(), Stop> {
        self.variables = self.variables.clone().with(Variable::Row, row);
        match &self.variant.server.reset {
            Some(command) => self.run("reset", command, Some(self.interrupts)),
            None => Ok(()),
        }
    }

    /// Why there is no use in waiting for it, if there is a reason.
    pub(crate) fn in_vain(&self) -> Option<Stop> {
        self.interrupts.in_vain().or_else(|| self.process.as_ref().and_then(ServerProcess::ended))
    }

    /// Ends it. Where a `stop` command does that, waits until nothing answers at its address any more.
    pub(crate) fn stop(mut self) -> Result<(), Stop> {
        drop(self.process.take());
        let Variant { name, server: settings } = self.variant;
        let Some(command) = &settings.stop else { return Ok(()) };
        self.run("stop", command, None)?;
        let end = Instant::now() + GOING;
        while let Some(address) = self.places.iter().find_map(|(host, port)| answering(host, *port)) {
            if Instant::now() >= end {
                return Err(Stop::impossible(format!(
                    "the stop command of variant {name} has ended, and a server still answers at {address}: `{command}`"
                )));
            }
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }

    /// Runs one of its commands to its end.
    fn run(&mut self, name: &str, command: &str, interrupts: Option<&Interrupts>) -> Result<(), Stop> {
        let settings = &self.variant.server;
        let limit = settings.limit_s.map_or(Hook::USUAL_LIMIT, Duration::from_secs_f64);
        let hook = Hook { name, line: Line::Filed(&settings.with_flags(command)), limit, screen: self.screen };
        hook.run(&self.variables, &mut self.output, interrupts)
    }
}

/// The server of the variant whose turn it is, and the connection to it. The connection is for what runs now, which `K`
/// names.
pub(crate) struct Servers<'a, K> {
    dir: &'a ExperimentDir,
    interrupts: &'a Interrupts,
    printer: Printer,
    serving: Option<Serving<'a>>,
    context: Option<(K, RunContext)>,
    /// Servers that could not be stopped.
    pub(crate) unstopped: Vec<Unstopped>,
}

impl<'a, K: Copy + PartialEq> Servers<'a, K> {
    pub(crate) fn new(dir: &'a ExperimentDir, interrupts: &'a Interrupts, printer: Printer) -> Self {
        Self { dir, interrupts, printer, serving: None, context: None, unstopped: Vec::new() }
    }

    /// The connection for what runs now, or ran last.
    pub(crate) fn context(&self) -> Option<&RunContext> {
        self.context.as_ref().map(|(_, context)| context)
    }

    /// Whether the connection is that for `key`.
    pub(crate) fn is_connected(&self, key: K) -> bool {
        self.context.as_ref().is_some_and(|(connected, _)| *connected == key)
    }

    /// Makes the server of `variant` ready for a run of `row`. It starts the server unless it serves already, connects
    /// for `key` unless that is done, and resets it. `pages` are all that named pages of metrics would count for, where
    /// they could be of one of several servers.
    pub(crate) fn ready(
        &mut self,
        key: K,
        variant: &'a Variant,
        checked: &CheckedWorkload,
        row: &str,
        pages: Option<&str>,
    ) -> Result<&RunContext, Stop> {
        if self.serving.is_none() {
            let serving = Serving::about_to_start(variant, &checked.settings, self.dir, self.interrupts)?;
            self.serving.insert(serving).start(self.dir, self.printer)?;
        }
        self.connect(key, checked, pages)?;
        if let Some(serving) = &mut self.serving {
            serving.in_vain().map_or(Ok(()), Err)?;
            serving.reset(row)?;
        }
        self.context().ok_or_else(|| Stop::impossible("the server is not connected"))
    }

    fn connect(&mut self, key: K, checked: &CheckedWorkload, pages: Option<&str>) -> Result<(), Stop> {
        if self.is_connected(key) {
            return Ok(());
        }
        self.context = None;
        let give_up = || self.serving.as_ref().and_then(Serving::in_vain);
        let context = checked.connect_unless(&give_up, self.interrupts, self.printer)?;
        if let Some(serving) = &mut self.serving {
            serving.serves(&context, self.printer);
        }
        pages.map_or(Ok(()), |all| context.check_pages(all))?;
        self.context = Some((key, context));
        Ok(())
    }

    /// Stops the server of a variant whose runs are over.
    pub(crate) fn stop(&mut self) {
        self.context = None;
        let Some(serving) = self.serving.take() else { return };
        let variant = serving.variant().to_owned();
        if let Err(stop) = serving.stop() {
            self.printer.words(&format!("error: {}", stop.message()));
            self.unstopped.push(Unstopped { variant, why: stop.first_line() });
        }
    }

    /// Decides what it means that a run of `key` could not be carried out. The run is called `what`. Where that is its
    /// own failure, or its server's, the experiment goes on.
    pub(crate) fn failed(&mut self, key: K, what: &str, stop: Stop) -> Result<RunOutcome, Stop> {
        // Once connected, what is refused is this run alone: its prompts are too long for the server, say.
        let is_own = self.is_connected(key);
        match stop.exit() {
            Exit::Interrupted => Ok(RunOutcome::Interrupted(None)),
            exit if exit == Exit::Invalid || (exit == Exit::Usage && is_own) => {
                self.printer.words(&format!("error: {what}: {}", stop.message()));
                let by = if stop.of_server { FailedBy::Server } else { FailedBy::Client };
                // Where the server never served, or has ended, no other run can be against it.
                let serves = self.serving.as_ref().is_some_and(Serving::has_served);
                let reach = if serves { FailureReach::Run } else { FailureReach::Server };
                Ok(RunOutcome::Failed { failure: RunFailure { why: stop.first_line(), by }, reach })
            }
            _ => {
                self.stop();
                Err(stop)
            }
        }
    }
}

/// Refuses a run that ended without saying anything of its server's capacity. The run has this `number`.
pub(crate) fn check_finished(number: u64, run: &StoredRun) -> Result<(), Stop> {
    let gone = Trial::server_gone(&run.run.summary);
    match gone {
        // An interrupted run says nothing of its server.
        Some(_) if run.ending() == RunEnding::Interrupted => Ok(()),
        None => Ok(()),
        Some(why) => Err(Stop::impossible(format!(
            "in run {number} the server was gone, or answered nothing: {why}\nhint: look at its log, and continue with \
             --resume, which runs it again"
        ))
        .of_server()),
    }
}

/// Refuses to start a server where one answers already: figures would be of that one.
fn refuse_another(host: &str, port: u16, variant: &str) -> Result<(), Stop> {
    match answering(host, port) {
        None => Ok(()),
        Some(address) => Err(Stop::impossible(format!(
            "a server already answers at {address}, where variant {variant} is to start\nhint: stop it (a `stop` \
             command does after every variant), or give the variant a port of its own"
        ))),
    }
}
