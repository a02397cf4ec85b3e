//! The user at the terminal: words and data for them, why a verb stops and with which exit code, and their Ctrl-C, or
//! SIGTERM or SIGHUP in its place.

mod end;
mod interrupts;
mod printer;
mod stop;

pub(crate) use self::end::wait_for_the_end;
pub(crate) use self::interrupts::Interrupts;
pub(crate) use self::printer::{Printer, outlive_file_limits};
pub(crate) use self::stop::{Exit, Stop, all, both};
