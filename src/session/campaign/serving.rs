//! The server of a variant, from the command that starts it to the one that stops it.

use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use super::dir::ExperimentDir;
use crate::experiment::matrix::Variant;
use crate::live::Screen;
use crate::session::console::{Interrupts, Printer, Stop};
use crate::session::hooks::{Hook, Line, Output, ServerProcess, Variable, Variables};
use crate::session::settings::{RunSettings, ServerAddress};

/// Time limit of a connection that finds out whether an address is taken.
const TRIAL: Duration = Duration::from_secs(1);
/// How long a server may take to be gone once its `stop` command has ended.
const GOING: Duration = Duration::from_secs(15);
/// Between two looks at whether it is.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The server of a variant; when the value is dropped, the process that it `serve`s with is ended.
pub(crate) struct Serving<'a> {
    variant: &'a Variant,
    variables: Variables,
    output: Output,
    process: Option<ServerProcess>,
    /// Where it is about to serve, if it is started for this table.
    place: Option<(String, u16)>,
    interrupts: &'a Interrupts,
    screen: Screen,
    /// It has been found ready.
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
        let mut place = None;
        if let ServerAddress::At(url) = &run.server.address {
            if settings.serve.is_some() || settings.start.is_some() {
                refuse_another(url.host(), url.port(), &variant.name)?;
                place = Some((url.host().to_owned(), url.port()));
            }
            variables =
                variables.with(Variable::Url, settings.url.clone().unwrap_or_else(|| url.to_string()));
        }
        let output = Output::to(dir.folder().join("commands.log"));
        let (screen, process) = (run.screen, None);
        Ok(Self { variant, variables, output, process, place, interrupts, screen, served: false })
    }

    /// Starts its server, where the file says how, without waiting until it is ready. Stop it in any case: a command that
    /// fails may leave half a server behind.
    pub(crate) fn start(&mut self, logs: &ExperimentDir, printer: Printer) -> Result<(), Stop> {
        let Variant { name, server: settings } = self.variant;
        if let Some(command) = &settings.start {
            printer.words(&format!("starting variant {name}: {}", settings.filled(command)));
            self.run("start", command, Some(self.interrupts)).map_err(Stop::of_server)?;
        }
        if let Some(command) = &settings.serve {
            let command = settings.filled(command);
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

    /// Notes that it has been found ready.
    pub(crate) fn serves(&mut self) {
        self.served = true;
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
        let Some((host, port)) = self.place else { return Ok(()) };
        let end = Instant::now() + GOING;
        while let Some(address) = answering(&host, port) {
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
        let hook = Hook { name, line: Line::Filed(&settings.filled(command)), limit, screen: self.screen };
        hook.run(&self.variables, &mut self.output, interrupts)
    }
}

/// The address at which something answers there, if something does.
fn answering(host: &str, port: u16) -> Option<SocketAddr> {
    let mut addresses = (host, port).to_socket_addrs().into_iter().flatten();
    addresses.find(|address| TcpStream::connect_timeout(address, TRIAL).is_ok())
}

/// Refuses to start a server where one answers already: figures would be of that one.
fn refuse_another(host: &str, port: u16, variant: &str) -> Result<(), Stop> {
    match answering(host, port) {
        None => Ok(()),
        Some(address) => Err(Stop::impossible(format!(
            "a server already answers at {address}, where variant {variant} is to start\nhint: stop it (a `stop` command \
             does after every variant), or give the variant a port of its own"
        ))),
    }
}
