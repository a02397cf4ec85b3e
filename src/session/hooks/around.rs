//! `--before` and `--after`: the user's commands around a run.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use super::command::{Hook, Line, Output, Variable, Variables};
use crate::live::Screen;
use crate::session::console::{Interrupts, Printer, Stop};

/// The file in a run's folder that has what its commands wrote.
const LOG: &str = "commands.log";

/// The commands around each run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Around {
    /// The command before anything is sent.
    pub(crate) before: Option<String>,
    /// The command after the last answer.
    pub(crate) after: Option<String>,
}

/// A run whose first command has ended well.
pub(crate) struct SurroundedRun<'a> {
    after: Option<&'a str>,
    variables: Variables,
    output: Output,
    /// File of what the commands write, until the run has a folder.
    apart: PathBuf,
    screen: Screen,
}

impl Around {
    /// Runs the first command. There is nothing to run later where no command was given.
    ///
    /// # Errors
    ///
    /// A command that fails: nothing has been sent then.
    pub(crate) fn begin(
        &self,
        urls: &str,
        screen: Screen,
        interrupts: &Interrupts,
    ) -> Result<Option<SurroundedRun<'_>>, Stop> {
        let Self { before, after } = self;
        if before.is_none() && after.is_none() {
            return Ok(None);
        }
        let apart = std::env::temp_dir().join(format!("skyline-{:016x}-{LOG}", rand::random::<u64>()));
        own_file(&apart)
            .map_err(|error| Stop::impossible(format!("{} cannot be written: {error}", apart.display())))?;
        let variables = Variables::default().with(Variable::Url, urls);
        let after = after.as_deref();
        let mut run = SurroundedRun { after, variables, output: Output::to(apart.clone()), apart, screen };
        if let Some(command) = before {
            // If it fails, what it wrote stays where the error says.
            run.run("before", command, Some(interrupts))?;
        }
        Ok(Some(run))
    }
}

/// Creates a file that nobody else on this machine can read.
fn own_file(path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop)
}

impl SurroundedRun<'_> {
    /// Runs the last command, and keeps what both wrote in the run's folder.
    ///
    /// It runs whatever became of the run. A command that fails is named. The run stays what it is: it has ended.
    pub(crate) fn end(mut self, folder: Option<&Path>, printer: Printer) {
        if let Some(folder) = folder {
            let place = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
            self.variables = self.variables.with(Variable::Folder, place.display().to_string());
            let kept = folder.join(LOG);
            if fs::metadata(&self.apart).is_ok_and(|file| file.len() > 0) {
                match fs::copy(&self.apart, &kept) {
                    Ok(_) => drop(fs::remove_file(&self.apart)),
                    Err(error) => printer.words(&format!(
                        "warning: what the before command wrote cannot be stored in {}: {error}",
                        kept.display()
                    )),
                }
            }
            self.output = Output::to(kept);
        }
        if let Some(command) = self.after
            && let Err(stop) = self.run("after", command, None)
        {
            printer.words(&format!("warning: {}", stop.message()));
        }
        let _ = fs::remove_file(&self.apart);
    }

    fn run(&mut self, name: &str, command: &str, interrupts: Option<&Interrupts>) -> Result<(), Stop> {
        let hook = Hook { name, line: Line::Typed(command), limit: Hook::USUAL_LIMIT, screen: self.screen };
        hook.run(&self.variables, &mut self.output, interrupts)
    }
}
