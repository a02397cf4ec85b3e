//! The share of a plan that one of several generators runs.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// One of `of` shares of a plan: every `of`-th request, beginning with the `number`-th. Written `1/2`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Shard {
    /// Which of them, from 1.
    pub number: u64,
    /// How many there are.
    pub of: u64,
}

impl Shard {
    /// Most shards of a plan.
    pub const MOST: u64 = 10_000;

    /// Whether this share contains the request at `index` of the whole plan, from 0.
    pub const fn has(self, index: u64) -> bool {
        index % self.of == self.number - 1
    }

    /// Number of this share's requests among the first `requests` of the whole plan.
    pub const fn among_first(self, requests: u64) -> u64 {
        (requests + self.of - self.number) / self.of
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let read = || {
            let (number, of) = text.split_once('/')?;
            let shard = Self { number: number.trim().parse().ok()?, of: of.trim().parse().ok()? };
            (shard.of <= Self::MOST && (1..=shard.of).contains(&shard.number)).then_some(shard)
        };
        read().ok_or_else(|| {
            format!(
                "`{text}` is not a share of a plan; write 1/2 for the first of two, 2/2 for the second; \
                 there are {} at most",
                Self::MOST
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_read_as_written() {
        assert_eq!("2/3".parse(), Ok(Shard { number: 2, of: 3 }));
        assert_eq!(Shard { number: 2, of: 3 }.to_string(), "2/3");
        for text in ["0/2", "3/2", "1/0", "1", "a/b", "-1/2", "", "1/10001", "1/18446744073709551615"] {
            assert!(text.parse::<Shard>().unwrap_err().contains("write 1/2"), "{text}");
        }
    }

    #[test]
    fn shares_add_up() {
        for first in 0..20 {
            let shares = (1..=3).map(|number| Shard { number, of: 3 }.among_first(first));
            assert_eq!(shares.sum::<u64>(), first);
        }
        let second = Shard { number: 2, of: 3 };
        assert_eq!([1, 2, 4, 5].map(|first| second.among_first(first)), [0, 1, 1, 2]);
        assert_eq!([0, 1, 2, 3, 4].map(|index| second.has(index)), [false, true, false, false, true]);
    }
}
