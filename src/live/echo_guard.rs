//! Keeps what is typed off the screen while a dashboard stands there.
//!
//! The terminal goes on to turn Ctrl-C into an interrupt: only the echo is off, and Ctrl-Z, for a run that is put to sleep
//! is spoiled. It is the terminal of standard error, where the dashboard stands, whatever standard input is; one that
//! somebody else works with is left alone, for who sets it from the background is stopped.

#[cfg(unix)]
mod unix {
    use std::io;

    use rustix::process::{Signal, getpgrp, getpid, kill_process};
    use rustix::termios::{
        LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcsetattr,
    };

    /// What switches a key's meaning off (`_POSIX_VDISABLE`).
    const NO_KEY: u8 = if cfg!(target_os = "linux") { 0 } else { 0xff };

    /// How the terminal was before, to be put back.
    #[derive(Debug)]
    pub(in crate::live) struct Typing(Termios);

    impl Typing {
        /// Puts the echo out; `None` where nothing is echoed.
        pub(in crate::live) fn hide() -> Option<Self> {
            let before = tcgetattr(io::stderr()).ok().filter(|_| is_in_foreground())?;
            let mut hidden = before.clone();
            hidden.local_modes -= LocalModes::ECHO;
            hidden.special_codes[SpecialCodeIndex::VSUSP] = NO_KEY;
            tcsetattr(io::stderr(), OptionalActions::Now, &hidden).ok()?;
            Some(Self(before))
        }

        /// Puts it back.
        pub(in crate::live) fn show(self) {
            if is_in_foreground() {
                // A terminal that has gone away needs none.
                let _ = tcsetattr(io::stderr(), OptionalActions::Now, &self.0);
            }
        }
    }

    /// Stops this process until it is told to go on.
    pub(in crate::live) fn sleep() {
        // It cannot fail for a process that signals itself.
        let _ = kill_process(getpid(), Signal::STOP);
    }

    /// Whether this process is the one that the terminal's person works with.
    pub(in crate::live) fn is_in_foreground() -> bool {
        tcgetpgrp(io::stderr()).is_ok_and(|group| group == getpgrp())
    }
}

#[cfg(not(unix))]
mod elsewhere {
    /// Nothing to put back.
    #[derive(Debug)]
    pub(in crate::live) struct Typing;

    impl Typing {
        /// Consoles elsewhere are left as they are.
        pub(in crate::live) fn hide() -> Option<Self> {
            None
        }

        /// Puts nothing back.
        pub(in crate::live) fn show(self) {}
    }

    /// There is no background.
    pub(in crate::live) fn is_in_foreground() -> bool {
        true
    }
}

#[cfg(not(unix))]
pub(super) use elsewhere::{Typing, is_in_foreground};
#[cfg(unix)]
pub(super) use unix::{Typing, is_in_foreground, sleep};
