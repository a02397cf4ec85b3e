//! What priorities threads have here, and which of them is for what.

use std::fmt;

/// What a thread of a higher priority is for. A later one runs before an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rank {
    /// It sends, reads or paces.
    Measuring,
    /// It watches whether the others can run.
    Watching,
    /// It gives the others their normal priority back.
    Guarding,
}

impl Rank {
    /// Its real-time priority: low, beneath the system's own threads.
    pub(super) const fn level(self) -> u8 {
        match self {
            Self::Measuring => 5,
            Self::Watching => 6,
            Self::Guarding => 7,
        }
    }
}

/// A thread's priority. Written `fifo 5`, `nice -20`, `normal`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadPriority {
    /// Real time, first in, first out.
    Fifo(u8),
    /// A greater share of the time than others have.
    Nice(i32),
    /// As the process was started.
    Normal,
}

impl fmt::Display for ThreadPriority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fifo(level) => write!(f, "fifo {level}"),
            Self::Nice(level) => write!(f, "nice {level}"),
            Self::Normal => f.write_str("normal"),
        }
    }
}
