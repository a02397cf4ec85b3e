//! A server that is started for the experiment and ended with it.

use std::cell::RefCell;
use std::time::Duration;

use super::command::{Line, Output, Variables, begin, said};
use super::group::{Group, Guard};
use crate::session::exit::Stop;

/// How long a server that is asked to end may take before it is killed: for one that frees a GPU, not too short.
const GRACE: Duration = Duration::from_secs(15);

/// A server that runs for as long as this value lives: when it goes, by whatever way, the server and all that it started
/// are asked to end, and after a grace of 15 s killed.
#[derive(Debug)]
pub(crate) struct ServerProcess {
    command: String,
    group: RefCell<Group>,
    /// Sees to its end where no code of this process can: dropped after the group has been ended.
    _guard: Guard,
    output: Output,
}

impl ServerProcess {
    /// Starts it. It need not be ready: whoever talks to it first waits for that.
    ///
    /// # Errors
    ///
    /// When no shell can be started or the file for its output cannot be written.
    pub(crate) fn start(command: &str, variables: &Variables, mut output: Output) -> Result<Self, Stop> {
        let mut group = begin("serve", Line::Filed(command), variables, &mut output)?;
        match Guard::over(&group, GRACE) {
            Ok(guard) => {
                Ok(Self { command: command.to_owned(), group: RefCell::new(group), _guard: guard, output })
            }
            Err(error) => {
                group.end(GRACE);
                Err(Stop::impossible(format!("`sh` cannot be started to guard the server: {error}")))
            }
        }
    }

    /// Why there is no server to wait for any more: it has ended by itself.
    pub(crate) fn ended(&self) -> Option<Stop> {
        let status = self.group.borrow_mut().leader_ended()?;
        Some(
            Stop::impossible(format!(
                "the server ended by itself: {}: `{}`\n{}\nhint: run it by itself until it serves",
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
        self.group.get_mut().end(GRACE);
    }
}
