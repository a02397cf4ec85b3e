//! Keeps what is typed off the screen while a dashboard stands there.
//!
//! The terminal goes on to turn Ctrl-C into an interrupt: only the echo is off, and Ctrl-Z, for a run that is put to sleep
//! is spoiled and its dashboard would stay behind.

#[cfg(unix)]
mod unix {
    use std::io;

    use rustix::process::getpgrp;
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
            let before = tcgetattr(io::stdin()).ok()?;
            let mut hidden = before.clone();
            hidden.local_modes -= LocalModes::ECHO;
            hidden.special_codes[SpecialCodeIndex::VSUSP] = NO_KEY;
            tcsetattr(io::stdin(), OptionalActions::Now, &hidden).ok()?;
            Some(Self(before))
        }

        /// Puts it back.
        pub(in crate::live) fn show(self) {
            // A terminal that has gone away needs none.
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
        }
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
pub(super) use unix::{Typing, is_in_foreground};
