//! The server of a variant, from the command that starts it to the one that stops it.

use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use crate::cli::args::{Server, ServerArgs};
use crate::cli::exit::Stop;
use crate::cli::hooks::{Hook, Line, Output, ServerProcess, Variable, Variables};
use crate::cli::interrupts::Interrupts;
use crate::cli::printer::Printer;
use crate::cli::shelf::Shelf;
use crate::experiment::matrix::Variant;

/// How long an address that may be taken already is tried.
const TRIAL: Duration = Duration::from_secs(1);

/// A variant whose commands have been run; when it goes, its server is ended.
pub(super) struct Serving<'a> {
    variant: &'a Variant,
    variables: Variables,
    output: Output,
    process: Option<ServerProcess>,
    interrupts: &'a Interrupts,
    /// It has been found ready.
    served: bool,
}

impl<'a> Serving<'a> {
    /// Starts the variant's server, where the file says how. Whoever talks to it first waits until it is ready.
    pub(super) fn start(
        variant: &'a Variant,
        server: &ServerArgs,
        shelf: &Shelf,
        interrupts: &'a Interrupts,
        printer: Printer,
    ) -> Result<Self, Stop> {
        let settings = &variant.server;
        let mut variables = Variables::default()
            .with(Variable::Variant, &variant.name)
            .with(Variable::Flags, settings.flags.clone().unwrap_or_default());
        if let Server::At(url) = server.server()? {
            if settings.serve.is_some() {
                refuse_another(url.host(), url.port(), &variant.name)?;
            }
            variables =
                variables.with(Variable::Url, settings.url.clone().unwrap_or_else(|| url.to_string()));
        }
        let output = Output::to(shelf.folder().join("commands.log"));
        let mut serving = Self { variant, variables, output, process: None, interrupts, served: false };
        if let Some(command) = &settings.start {
            printer.words(&format!("starting variant {}: {}", variant.name, settings.filled(command)));
            serving.hook("start", command)?;
        }
        if let Some(command) = &settings.serve {
            let command = settings.filled(command);
            printer.words(&format!("starting variant {}: {command}", variant.name));
            let output = Output::to(shelf.folder().join(format!("server-{}.log", variant.name)));
            serving.process = Some(ServerProcess::start(&command, &serving.variables, output)?);
        }
        Ok(serving)
    }

    /// Notes that it has been found ready.
    pub(super) fn serves(&mut self) {
        self.served = true;
    }

    /// Whether it has been, and has not ended since.
    pub(super) fn has_served(&self) -> bool {
        self.served && self.process.as_ref().is_none_or(|process| process.ended().is_none())
    }

    /// Makes it ready for the next run of a row.
    pub(super) fn reset(&mut self, row: &str) -> Result<(), Stop> {
        self.variables = self.variables.clone().with(Variable::Row, row);
        match &self.variant.server.reset {
            Some(command) => self.hook("reset", command),
            None => Ok(()),
        }
    }

    /// Why it is in vain to wait for it, where it is.
    pub(super) fn in_vain(&self) -> Option<Stop> {
        if self.interrupts.stop_is_wished() {
            return Some(Stop::interrupted("stopped while the server was awaited"));
        }
        self.process.as_ref().and_then(ServerProcess::ended)
    }

    /// Ends it.
    pub(super) fn stop(mut self) -> Result<(), Stop> {
        if let Some(process) = self.process.take() {
            process.stop();
        }
        match &self.variant.server.stop {
            Some(command) => self.hook("stop", command),
            None => Ok(()),
        }
    }

    fn hook(&mut self, name: &str, command: &str) -> Result<(), Stop> {
        let settings = &self.variant.server;
        let limit = settings.limit_s.map_or(Hook::USUAL_LIMIT, Duration::from_secs_f64);
        let command = settings.filled(command);
        let hook = Hook { name, line: Line::Filed(&command), limit };
        hook.run(&self.variables, &mut self.output, self.interrupts)
    }
}

/// Refuses to start a server where one answers already: figures would be of that one.
fn refuse_another(host: &str, port: u16, variant: &str) -> Result<(), Stop> {
    let addresses = (host, port).to_socket_addrs().into_iter().flatten();
    let mut taken = addresses.filter(|address| TcpStream::connect_timeout(address, TRIAL).is_ok());
    match taken.next() {
        None => Ok(()),
        Some(address) => Err(Stop::impossible(format!(
            "something answers at {address} already, where variant {variant} is about to be started\n\
             hint: stop it, or give the variant a port of its own"
        ))),
    }
}
