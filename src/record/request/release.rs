//! The release of a request: its moment, or the ends of others.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;

/// The event that releases a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Release {
    /// Its planned moment.
    At(Timestamp),
    /// The ends of other requests.
    After {
        /// The requests that it waits for.
        of: Join,
        /// The delay after the end that releases it, nanoseconds.
        delay_ns: u64,
    },
}

/// The requests that another waits for, by their indices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Join {
    /// One.
    One(u64),
    /// Several, until all of them have ended.
    All(Vec<u64>),
    /// Several, until one of them has ended.
    Any(Vec<u64>),
}

impl Join {
    /// The indices of those that it waits for.
    pub fn indices(&self) -> &[u64] {
        match self {
            Self::One(index) => std::slice::from_ref(index),
            Self::All(indices) | Self::Any(indices) => indices,
        }
    }
}

impl Release {
    /// A delay after the end of one other request.
    pub fn after(index: u64, delay: Duration) -> Self {
        let delay_ns = u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX);
        Self::After { of: Join::One(index), delay_ns }
    }

    /// Returns its planned moment, or the one after an end `at` this moment.
    pub fn moment(&self, at: Timestamp) -> Timestamp {
        match self {
            Self::At(moment) => *moment,
            Self::After { delay_ns, .. } => at.after(Duration::from_nanos(*delay_ns)),
        }
    }

    /// Its numbers, which differ from request to request.
    pub(super) fn numbers(&mut self) -> impl Iterator<Item = &mut u64> {
        let (indices, delay_ns): (&mut [u64], _) = match self {
            Self::At(_) => (&mut [], None),
            Self::After { of: Join::One(index), delay_ns } => (std::slice::from_mut(index), Some(delay_ns)),
            Self::After { of: Join::All(indices) | Join::Any(indices), delay_ns } => (indices, Some(delay_ns)),
        };
        indices.iter_mut().chain(delay_ns)
    }

    /// Bytes that it takes in memory.
    pub(super) fn bytes(&self) -> usize {
        let list = match self {
            Self::After { of: Join::All(indices) | Join::Any(indices), .. } => indices.capacity(),
            Self::At(_) | Self::After { of: Join::One(_), .. } => 0,
        };
        size_of_val(self) + list * size_of::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_survive_json() {
        let after = |of| Release::After { of, delay_ns: 5 };
        for (release, text) in [
            (Release::At(Timestamp::from_nanos(7)), r#"{"at":7}"#),
            (after(Join::One(3)), r#"{"after":{"of":{"one":3},"delay_ns":5}}"#),
            (after(Join::All(vec![3, 4])), r#"{"after":{"of":{"all":[3,4]},"delay_ns":5}}"#),
            (after(Join::Any(vec![3, 4])), r#"{"after":{"of":{"any":[3,4]},"delay_ns":5}}"#),
        ] {
            assert_eq!(serde_json::to_string(&release).unwrap(), text);
            assert_eq!(serde_json::from_str::<Release>(text).unwrap(), release);
        }
    }
}
