//! What a run log has lost since it was written.

use serde::Serialize;

use crate::units::count;

/// Losses of a run log since it was written, and what it has beside. Nearly all logs have none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LogDamage {
    /// Lines that were written and are lost. They are not there, or cannot be read, or are not believed.
    pub lost_lines: u64,
    /// Places in the file at which something is wrong.
    pub faults: u64,
    /// The first few of them, in words.
    pub first: Vec<String>,
}

impl LogDamage {
    /// Faults that are put into words.
    const NAMED: usize = 3;

    /// Whether the log is as it was written, as far as it shows.
    pub const fn is_none(&self) -> bool {
        self.faults == 0
    }

    /// Notes a fault, in words.
    pub(super) fn note(&mut self, what: impl FnOnce() -> String) {
        self.faults += 1;
        if self.first.len() < Self::NAMED {
            self.first.push(what());
        }
    }

    /// Sentence that the log is damaged; `None` where it is not.
    pub fn warning(&self) -> Option<String> {
        (!self.is_none()).then(|| format!("the log is not as it was written: {}", self.in_words()))
    }

    /// Returns the faults in words, and how many lines are lost. An example is `line 7 was altered; 1 line is lost`.
    pub fn in_words(&self) -> String {
        let more = self.faults - self.first.len() as u64;
        let more = if more > 0 { format!(", and {} more", count(more)) } else { String::new() };
        let lost = match self.lost_lines {
            0 => "no line is lost".to_owned(),
            1 => "1 line is lost".to_owned(),
            lost => format!("{} lines are lost", count(lost)),
        };
        format!("{}{more}; {lost}", self.first.join(", "))
    }
}
