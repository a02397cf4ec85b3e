//! What an answer had that answers do not need.

use serde::{Deserialize, Serialize};

/// Something odd of which an answer did not fail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Oddity {
    /// Its kind.
    pub kind: OddityKind,
    /// The field, event or content type.
    pub what: String,
    /// Number of times that it came.
    pub count: u32,
}

/// Kinds of oddity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum OddityKind {
    /// A field could not be read, and counts as absent.
    Unread,
    /// An event was no chunk.
    PassedOver,
    /// A line had no field that event streams have.
    Line,
    /// The content type was that of something else.
    ContentType,
    /// A field that is not read had text, where no other had any.
    Elsewhere,
    /// The finish reason is of no known kind. The record itself has it.
    FinishReason,
}

/// All oddities of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Oddities(pub Vec<Oddity>);

impl Oddities {
    /// Most kinds of one answer that are kept apart.
    const MOST: usize = 8;

    /// Counts one more, with a text no longer than a name.
    pub fn note(&mut self, kind: OddityKind, what: &str) {
        let what = crate::units::cut(what.to_owned(), 60);
        if let Some(odd) = self.0.iter_mut().find(|odd| odd.kind == kind && odd.what == what) {
            odd.count = odd.count.saturating_add(1);
        } else if self.0.len() < Self::MOST {
            self.0.push(Oddity { kind, what, count: 1 });
        }
    }

    /// Adds those of `other`.
    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
        self.0.truncate(Self::MOST);
    }

    /// The oddities in the form of a record.
    pub fn into_record(self) -> Option<Box<Vec<Oddity>>> {
        (!self.0.is_empty()).then(|| Box::new(self.0))
    }
}
