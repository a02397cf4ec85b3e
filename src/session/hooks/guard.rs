//! Ends a server whose experiment has died without a chance to do so: killed, or left by a third Ctrl-C.

use std::io;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::group::Group;

/// Waits until nobody holds the other end of its standard input, then ends the group `$1`, for good after `$2` seconds.
const SCRIPT: &str = r#"cat >/dev/null; kill -TERM -"$1"; sleep "$2"; kill -KILL -"$1""#;

/// A shell that sleeps for as long as this process lives.
///
/// It holds the reading end of a pipe of which this process alone has the writing end. However this process ends, the
/// system closes that end, and the shell wakes.
#[derive(Debug)]
pub(super) struct Guard {
    shell: Child,
}

impl Guard {
    /// Guards `group`.
    pub(super) fn over(group: &Group, grace: Duration) -> io::Result<Self> {
        let mut shell = Command::new("sh");
        shell.args(["-c", SCRIPT, "sh", &group.id().to_string(), &grace.as_secs().to_string()]);
        shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // What is sent to the group of this process must not end who outlives it.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut shell, 0);
        Ok(Self { shell: shell.spawn()? })
    }

    /// Closes this process's end of the pipe, as the system does when the process is gone.
    #[cfg(test)]
    pub(super) fn let_go(&mut self) {
        self.shell.stdin = None;
    }
}

impl Drop for Guard {
    /// The group has been ended: nothing is left to guard, and its number may be given to others.
    fn drop(&mut self) {
        // Killed while the pipe is open, it has no moment in which to wake; the `cat` that it waits for ends with the pipe.
        let _ = self.shell.kill();
        let _ = self.shell.wait();
    }
}
