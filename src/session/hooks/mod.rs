//! Shell commands of the person's own around an experiment: run to their end, or kept running as its server.
//!
//! A command is one line for `sh -c`. It learns of its place in the experiment from environment variables whose names
//! begin with `SKYLINE_`, and from `SKYLINE` where this program is; it has no standard input, and writes to a file in the experiment's folder. It runs in a process
//! group of its own: a Ctrl-C that is meant for the experiment does not reach it, and whatever it starts can be ended
//! with it.

mod group;
mod guard;
mod hook;
mod output;
mod server_process;
#[cfg(test)]
mod tests;
mod variables;

pub(crate) use self::{
    hook::{Hook, Line},
    output::Output,
    server_process::ServerProcess,
    variables::{Variable, Variables},
};

use std::process::{Command, Stdio};

use crate::session::exit::Stop;
use group::Group;

/// Begins a command, which is called `name` where something is said of it.
fn begin(name: &str, line: Line<'_>, variables: &Variables, output: &mut Output) -> Result<Group, Stop> {
    let (out, err) = output.begin(name, line.shown())?;
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(line.text()).envs(variables.named());
    if let Ok(program) = std::env::current_exe() {
        shell.env("SKYLINE", program);
    }
    shell.stdin(Stdio::null()).stdout(out).stderr(err);
    Group::spawn(shell)
        .map_err(|error| Stop::impossible(format!("`sh` cannot be started for the {name} command: {error}")))
}
