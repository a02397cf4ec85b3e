//! A process with all that it starts, signalled together, and a guard that ends it should this process die.

use std::io;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::clock::with_users_limit;

/// Between two looks at whether processes have ended.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// A child that leads a process group of its own.
#[derive(Debug)]
pub(super) struct ProcessGroup {
    leader: Child,
    /// How the leader ended, once it has.
    ended: Option<ExitStatus>,
}

impl ProcessGroup {
    /// Starts `command` as the leader of a new group.
    pub(super) fn spawn(mut command: Command) -> io::Result<Self> {
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        Ok(Self { leader: with_users_limit(|| command.spawn())?, ended: None })
    }

    /// Number of the group: that of its leader.
    pub(super) fn id(&self) -> u32 {
        self.leader.id()
    }

    /// How the leader ended, if it has.
    pub(super) fn leader_ended(&mut self) -> Option<ExitStatus> {
        if self.ended.is_none() {
            self.ended = self.leader.try_wait().ok().flatten();
        }
        self.ended
    }

    /// Waits for the leader until `give_up` says that it has lasted long enough. Returns how it ended, if it did.
    pub(super) fn await_leader(&mut self, give_up: impl Fn() -> bool) -> Option<ExitStatus> {
        while self.leader_ended().is_none() && !give_up() {
            std::thread::sleep(LOOK_EVERY);
        }
        self.ended
    }

    /// Asks all of the group to end, and after `grace` ends what is still there. The leader is gone afterwards.
    pub(super) fn end(&mut self, grace: Duration) {
        self.ask_to_end();
        let limit = Instant::now() + grace;
        while self.is_there() && Instant::now() < limit {
            std::thread::sleep(LOOK_EVERY);
        }
        self.kill();
        if self.ended.is_none() {
            self.ended = self.leader.wait().ok();
        }
    }

    /// Whether any process of it is there.
    fn is_there(&mut self) -> bool {
        // Reaped first: a leader that nobody has waited for still counts as there.
        self.leader_ended().is_none() || self.has_members()
    }
}

#[cfg(unix)]
mod signals {
    use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

    use super::ProcessGroup;

    impl ProcessGroup {
        pub(super) fn ask_to_end(&self) {
            self.signal(Signal::TERM);
        }

        pub(super) fn kill(&self) {
            self.signal(Signal::KILL);
        }

        /// Whether any process bears the group's number.
        pub(super) fn has_members(&self) -> bool {
            self.pid().is_some_and(|pid| test_kill_process_group(pid).is_ok())
        }

        /// Sends the signal to whatever is left of the group. A group that is gone needs none.
        fn signal(&self, signal: Signal) {
            if let Some(pid) = self.pid() {
                let _ = kill_process_group(pid, signal);
            }
        }

        fn pid(&self) -> Option<Pid> {
            i32::try_from(self.id()).ok().and_then(Pid::from_raw)
        }
    }
}

/// Where there are no process groups, only the leader can be ended.
#[cfg(not(unix))]
impl ProcessGroup {
    fn ask_to_end(&mut self) {
        let _ = self.leader.kill();
    }

    fn kill(&mut self) {
        let _ = self.leader.kill();
    }

    fn has_members(&self) -> bool {
        false
    }
}

/// Script that waits until nobody holds the other end of its standard input. It then ends the group `$1`, for good
/// after `$2` seconds.
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
    pub(super) fn over(group: &ProcessGroup, grace: Duration) -> io::Result<Self> {
        let mut shell = Command::new("sh");
        shell.args(["-c", SCRIPT, "sh", &group.id().to_string(), &grace.as_secs().to_string()]);
        shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // What is sent to the group of this process must not end who outlives it.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut shell, 0);
        Ok(Self { shell: with_users_limit(|| shell.spawn())? })
    }

    /// Closes this process's end of the pipe. The system does the same when the process is gone.
    #[cfg(test)]
    pub(super) fn let_go(&mut self) {
        self.shell.stdin = None;
    }
}

impl Drop for Guard {
    /// Ends the guard's shell after the group has been ended. Nothing is left to guard, and the group's number may be
    /// given to others.
    fn drop(&mut self) {
        // Killed while the pipe is open, it has no moment in which to wake; the `cat` that it waits for ends
        // with the pipe.
        let _ = self.shell.kill();
        let _ = self.shell.wait();
    }
}
