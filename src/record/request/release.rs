//! The release of a request: its moment, or the ends of others.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;

/// The event that releases a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Release {
    /// Its planned moment.
    At(Timestamp),
    /// The ends of all of these: it is due at the latest of their moments.
    All(Vec<Predecessor>),
    /// The first end among these.
    Any(Vec<Predecessor>),
    /// The ends of all of these, and no sooner than this moment.
    From(Timestamp, Vec<Predecessor>),
}

/// A request that another waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Predecessor {
    /// Index of the request.
    pub index: u64,
    /// The delay after its end, nanoseconds.
    pub delay_ns: u64,
}

impl Predecessor {
    /// The moment that its end gives.
    fn moment(&self, ended: Timestamp) -> Timestamp {
        ended.after(Duration::from_nanos(self.delay_ns))
    }
}

impl Release {
    /// A delay after the end of one other request.
    pub fn after(index: u64, delay: Duration) -> Self {
        let delay_ns = u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX);
        Self::All(vec![Predecessor { index, delay_ns }])
    }

    /// The requests that it waits for.
    pub fn predecessors(&self) -> &[Predecessor] {
        match self {
            Self::At(_) => &[],
            Self::All(of) | Self::Any(of) | Self::From(_, of) => of,
        }
    }

    /// The planned moment, which no end can bring forward.
    pub(crate) const fn planned(&mut self) -> Option<&mut Timestamp> {
        match self {
            Self::At(moment) | Self::From(moment, _) => Some(moment),
            Self::All(_) | Self::Any(_) => None,
        }
    }

    /// Returns its moment, where `ended` says when each request ended that has. It is `None` while that is not known.
    pub fn moment(&self, ended: impl Fn(u64) -> Option<Timestamp>) -> Option<Timestamp> {
        let moment = |before: &Predecessor| ended(before.index).map(|at| before.moment(at));
        match self {
            Self::At(moment) => Some(*moment),
            Self::All(of) => of.iter().map(moment).collect::<Option<Vec<_>>>()?.into_iter().max(),
            Self::Any(of) => of.iter().filter_map(moment).min(),
            Self::From(least, of) => {
                let ends = of.iter().map(moment).collect::<Option<Vec<_>>>()?;
                Some(ends.into_iter().fold(*least, Timestamp::max))
            }
        }
    }

    /// Its numbers, which differ from request to request.
    pub(super) fn numbers(&mut self) -> impl Iterator<Item = &mut u64> {
        let of: &mut [Predecessor] = match self {
            Self::At(_) => &mut [],
            Self::All(of) | Self::Any(of) | Self::From(_, of) => of,
        };
        of.iter_mut().flat_map(|before| [&mut before.index, &mut before.delay_ns])
    }

    /// Bytes that it takes in memory.
    pub(super) fn bytes(&self) -> usize {
        let list = match self {
            Self::At(_) => 0,
            Self::All(of) | Self::Any(of) | Self::From(_, of) => of.capacity(),
        };
        size_of_val(self) + list * size_of::<Predecessor>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(delays: &[(u64, u64)]) -> Vec<Predecessor> {
        delays.iter().map(|&(index, delay_ns)| Predecessor { index, delay_ns }).collect()
    }

    #[test]
    fn releases_survive_json() {
        for (release, text) in [
            (Release::At(Timestamp::from_nanos(7)), r#"{"at":7}"#),
            (Release::after(3, Duration::from_nanos(5)), r#"{"all":[{"index":3,"delay_ns":5}]}"#),
            (Release::From(Timestamp::from_nanos(7), waits(&[(3, 5)])), r#"{"from":[7,[{"index":3,"delay_ns":5}]]}"#),
            (Release::Any(waits(&[(3, 0), (4, 0)])), r#"{"any":[{"index":3,"delay_ns":0},{"index":4,"delay_ns":0}]}"#),
        ] {
            assert_eq!(serde_json::to_string(&release).unwrap(), text);
            assert_eq!(serde_json::from_str::<Release>(text).unwrap(), release);
        }
    }

    #[test]
    fn the_latest_of_all_and_the_first_of_any_release() {
        let ended = |index| [10, 20].get(index as usize).map(|nanos| Timestamp::from_nanos(*nanos));
        let moment = |release: Release| release.moment(ended).map(Timestamp::as_nanos);
        assert_eq!(moment(Release::All(waits(&[(0, 15), (1, 3)]))), Some(25));
        assert_eq!(moment(Release::Any(waits(&[(0, 4), (1, 4)]))), Some(14));
        assert_eq!(moment(Release::All(waits(&[(0, 0), (2, 0)]))), None, "the last has not ended");
        assert_eq!(moment(Release::Any(waits(&[(2, 1), (1, 1)]))), Some(21));
        let from = |least| moment(Release::From(Timestamp::from_nanos(least), waits(&[(0, 15), (1, 3)])));
        assert_eq!((from(7), from(30)), (Some(25), Some(30)));
    }
}
