//! Switches the terminal's echo off while the dashboard is on.
//!
//! The terminal still turns Ctrl-C into an interrupt. Only the echo and Ctrl-Z are off, since suspending a
//! run spoils it. The terminal is that of standard error, where the dashboard is, whatever standard input is.
//! In the background it is left alone, since setting it from there stops the process.

#[cfg(unix)]
mod unix {
    use std::io;

    use rustix::process::{Signal, getpgrp, getpid, kill_process};
    use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcsetattr};

    /// Disables a key (`_POSIX_VDISABLE`).
    const NO_KEY: u8 = if cfg!(target_os = "linux") { 0 } else { 0xff };

    /// The terminal's settings before, to be restored.
    #[derive(Debug)]
    pub(crate) struct EchoGuard(Termios);

    impl EchoGuard {
        /// Switches the echo off; `None` where nothing is echoed.
        pub(crate) fn hide() -> Option<Self> {
            let before = tcgetattr(io::stderr()).ok().filter(|_| is_in_foreground())?;
            let mut hidden = before.clone();
            hidden.local_modes -= LocalModes::ECHO;
            hidden.special_codes[SpecialCodeIndex::VSUSP] = NO_KEY;
            tcsetattr(io::stderr(), OptionalActions::Now, &hidden).ok()?;
            Some(Self(before))
        }

        /// Restores the settings.
        pub(crate) fn show(self) {
            if is_in_foreground() {
                // A terminal that is gone needs nothing.
                let _ = tcsetattr(io::stderr(), OptionalActions::Now, &self.0);
            }
        }
    }

    /// Stops this process until it gets SIGCONT.
    pub(crate) fn sleep() {
        // It cannot fail for a process that signals itself.
        let _ = kill_process(getpid(), Signal::STOP);
    }

    /// Whether this process is in the terminal's foreground.
    pub(crate) fn is_in_foreground() -> bool {
        tcgetpgrp(io::stderr()).is_ok_and(|group| group == getpgrp())
    }
}

#[cfg(not(unix))]
mod elsewhere {
    #[derive(Debug)]
    pub(crate) struct EchoGuard;

    impl EchoGuard {
        /// Consoles elsewhere are left as they are.
        pub(crate) fn hide() -> Option<Self> {
            None
        }

        pub(crate) fn show(self) {}
    }

    /// There is no background.
    pub(crate) fn is_in_foreground() -> bool {
        true
    }
}

#[cfg(not(unix))]
pub(super) use elsewhere::{EchoGuard, is_in_foreground};
#[cfg(unix)]
pub(super) use unix::{EchoGuard, is_in_foreground, sleep};
