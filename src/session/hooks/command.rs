//! A command: what it learns of its place in the experiment, where its output goes, and its run to its end.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use strum::{EnumString, IntoStaticStr};

use super::group::{Guard, ProcessGroup};
use crate::live::{Screen, StepLine};
use crate::session::console::{Interrupts, Stop};
use crate::units;

/// How long a command that is cut off may take to tidy up.
const GRACE: Duration = Duration::from_secs(5);

/// One line for the shell, by where it comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Line<'a> {
    /// A line from a file, where it is there to be read.
    Filed(&'a str),
    /// A line that was typed: it may hold a secret, and is not repeated.
    Typed(&'a str),
}

impl<'a> Line<'a> {
    /// The line, where it may be shown.
    fn shown(self) -> Option<&'a str> {
        match self {
            Self::Filed(line) => Some(line),
            Self::Typed(_) => None,
        }
    }

    /// Returns what the line adds to a sentence about it.
    fn quoted(self) -> String {
        self.shown().map_or_else(String::new, |line| format!(": `{line}`"))
    }
}

/// A command with a time limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hook<'a> {
    /// The name of the command where something is said of it: `reset`, say.
    pub(crate) name: &'a str,
    pub(crate) line: Line<'a>,
    /// The time that it may take.
    pub(crate) limit: Duration,
    /// The screen on which it is shown that it runs.
    pub(crate) screen: Screen,
}

impl Hook<'_> {
    /// Long enough for a server to load a large model.
    pub(crate) const USUAL_LIMIT: Duration = Duration::from_secs(15 * 60);

    /// Runs it and waits for its end; what it leaves running in the background stays. A second Ctrl-C cuts it off: the
    /// first lets it bring what it began to an end. Without `interrupts` only its time limit cuts it off: a
    /// command that tidies up is wanted most when the user leaves.
    ///
    /// # Errors
    ///
    /// When it cannot be started, fails, takes too long or is cut off, with the end of what it wrote.
    pub(crate) fn run(
        self,
        variables: &Variables,
        output: &mut Output,
        interrupts: Option<&Interrupts>,
    ) -> Result<(), Stop> {
        let Self { name, line, limit, screen } = self;
        let shown = format!("running the {name} command, up to {}", units::spoken(limit));
        let _line = StepLine::start(screen, shown);
        let cut_off = || interrupts.is_some_and(Interrupts::leave_is_wished);
        let mut group = begin(name, line, variables, output)?;
        let end = Instant::now() + limit;
        match group.await_leader(|| cut_off() || Instant::now() >= end) {
            Some(status) if status.success() => return Ok(()),
            Some(status) => return Err(self.failure(&format!("failed: {}", said(status)), output)),
            None => group.end(GRACE),
        }
        Err(if cut_off() {
            Stop::interrupted(format!("the {name} command was cut off{}", line.quoted()))
        } else {
            self.failure(&format!("took longer than {} and was ended", units::spoken(limit)), output)
        })
    }

    fn failure(self, what: &str, output: &Output) -> Stop {
        let Self { name, line, .. } = self;
        Stop::impossible(format!(
            "the {name} command {what}{}\n{}\nhint: run it by hand until it works",
            line.quoted(),
            output.end()
        ))
    }
}

/// How a process ended, in words.
pub(super) fn said(status: ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("it exited with {code}"),
        // Without a code there was a signal, which the status names.
        None => format!("it was ended by a {status}"),
    }
}

/// Begins a command, which is called `name` where something is said of it.
pub(super) fn begin(
    name: &str,
    line: Line<'_>,
    variables: &Variables,
    output: &mut Output,
) -> Result<ProcessGroup, Stop> {
    let (out, err) = output.begin(name, line.shown())?;
    let (Line::Filed(text) | Line::Typed(text)) = line;
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(text).envs(variables.named());
    if let Ok(program) = std::env::current_exe() {
        shell.env("SKYLINE", program);
    }
    shell.stdin(Stdio::null()).stdout(out).stderr(err);
    ProcessGroup::spawn(shell)
        .map_err(|error| Stop::impossible(format!("`sh` cannot be started for the {name} command: {error}")))
}

/// Most lines that are shown of what a command wrote.
const LINES: usize = 12;
/// Nothing before so many bytes from the end is looked at.
const BYTES: u64 = 16_384;

/// A file to which commands append their output.
#[derive(Debug)]
pub(crate) struct Output {
    path: PathBuf,
    /// Where the latest command's part begins.
    from: u64,
}

impl Output {
    /// The file at `path`, which need not be there yet.
    pub(crate) fn to(path: PathBuf) -> Self {
        Self { path, from: 0 }
    }

    /// Notes that a command begins, with its line where that may be `shown`. Returns the files for its standard output
    /// and standard error.
    fn begin(&mut self, name: &str, shown: Option<&str>) -> Result<(File, File), Stop> {
        let moment = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ");
        let opened = (|| {
            let mut file = OpenOptions::new().create(true).append(true).open(&self.path)?;
            match shown {
                Some(command) => writeln!(file, "--- {moment} {name}: {command}")?,
                None => writeln!(file, "--- {moment} {name}")?,
            }
            self.from = file.metadata()?.len();
            Ok::<_, io::Error>((file.try_clone()?, file))
        })();
        opened.map_err(|error| {
            Stop::impossible(format!(
                "cannot write to {}, where the {name} command's output belongs: {error}",
                self.path.display()
            ))
        })
    }

    /// The last lines of the latest command, indented, with where all of them are.
    pub(super) fn end(&self) -> String {
        let path = self.path.display();
        match self.last_lines() {
            Ok(lines) if lines.is_empty() => "it wrote nothing".to_owned(),
            Ok(lines) => {
                format!("the end of what it wrote (all of it is in {path}):\n  {}", lines.join("\n  "))
            }
            Err(error) => format!("what it wrote should be in {path}, which cannot be read: {error}"),
        }
    }

    fn last_lines(&self) -> io::Result<Vec<String>> {
        let mut file = File::open(&self.path)?;
        let from = self.from.max(file.metadata()?.len().saturating_sub(BYTES));
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<_> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
        Ok(lines[lines.len().saturating_sub(LINES)..].iter().map(|line| (*line).to_owned()).collect())
    }
}

/// One thing that a command learns. Its name in the environment is `SKYLINE_SIDE`, say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, EnumString, IntoStaticStr)]
#[strum(serialize_all = "SCREAMING_SNAKE_CASE", ascii_case_insensitive)]
pub(crate) enum Variable {
    /// Name of the variant of the server that is to serve.
    Variant,
    /// The side of a comparison that is next: `a` or `b`.
    Side,
    /// The variant's flags, as they were typed.
    Flags,
    /// Address at which the server is expected.
    Url,
    /// Name of the row that is next.
    Row,
    /// Folder of the run that has ended.
    Folder,
}

/// All that a command learns.
#[derive(Clone, Debug, Default)]
pub(crate) struct Variables(BTreeMap<Variable, String>);

impl Variables {
    /// Returns the variables with `value` for `variable`.
    #[must_use]
    pub(crate) fn with(mut self, variable: Variable, value: impl Into<String>) -> Self {
        self.0.insert(variable, value.into());
        self
    }

    /// Returns the variables as the environment has them.
    fn named(&self) -> impl Iterator<Item = (String, &str)> {
        self.0.iter().map(|(variable, value)| (format!("SKYLINE_{}", <&str>::from(variable)), value.as_str()))
    }
}

/// Time that a server which is asked to end has before it is killed. For one that frees a GPU it is not too short.
const SERVER_GRACE: Duration = Duration::from_secs(15);

/// A server that runs for as long as this value lives. When the value goes, by whatever way, the server and all that it
/// started are asked to end, and after a grace of 15 s killed.
#[derive(Debug)]
pub(crate) struct ServerProcess {
    command: String,
    group: RefCell<ProcessGroup>,
    /// Guard that sees to the server's end where no code of this process can. It is dropped after the group has been
    /// ended.
    _guard: Guard,
    output: Output,
}

impl ServerProcess {
    /// Starts it, without waiting until it is ready.
    ///
    /// # Errors
    ///
    /// When no shell can be started or the file for its output cannot be written.
    pub(crate) fn start(command: &str, variables: &Variables, mut output: Output) -> Result<Self, Stop> {
        let mut group = begin("serve", Line::Filed(command), variables, &mut output)?;
        match Guard::over(&group, SERVER_GRACE) {
            Ok(guard) => Ok(Self { command: command.to_owned(), group: RefCell::new(group), _guard: guard, output }),
            Err(error) => {
                group.end(SERVER_GRACE);
                Err(Stop::impossible(format!("`sh` cannot be started to guard the server: {error}")))
            }
        }
    }

    /// Why there is no server to wait for any more: it has ended by itself.
    pub(crate) fn ended(&self) -> Option<Stop> {
        let status = self.group.borrow_mut().leader_ended()?;
        Some(
            Stop::impossible(format!(
                "the server ended by itself: {}: `{}`\n{}\nhint: run it by hand until it serves",
                said(status),
                self.command,
                self.output.end()
            ))
            .of_server(),
        )
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        self.group.get_mut().end(SERVER_GRACE);
    }
}
