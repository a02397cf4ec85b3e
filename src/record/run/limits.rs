//! Limits that the client enforces: on requests in flight, and on the time of an answer.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::client::Shard;
use crate::units::{count, counted, listed};
use crate::workload::WorkloadSpec;

/// Limits that the client enforces; absent: none.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ClientLimits {
    /// Most requests in flight; the others wait, and their wait counts in latency.
    pub max_concurrency: Option<u64>,
    /// Most requests in flight of classes, by their names. The others wait, and their wait counts in latency.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub class_concurrency: BTreeMap<String, u64>,
    /// Connections kept open to each address of a server. Requests beyond them opened others, which were closed then.
    pub connections_per_host: Option<u64>,
    /// Seconds to the first token, from dispatch or from admission under the cap.
    pub first_token_timeout_s: Option<f64>,
    /// Seconds between two tokens.
    pub between_tokens_timeout_s: Option<f64>,
    /// Seconds to the end, from dispatch or from admission under the cap.
    pub total_timeout_s: Option<f64>,
}

impl ClientLimits {
    /// Whether requests may have waited for a slot.
    pub fn is_capped(&self) -> bool {
        self.max_concurrency.is_some() || !self.class_concurrency.is_empty()
    }

    /// Refuses caps of classes that a workload does not have.
    ///
    /// # Errors
    ///
    /// Such a class, with those that it has.
    pub fn check_classes(&self, workload: &WorkloadSpec) -> Result<(), String> {
        let known: Vec<_> = workload.classes.iter().map(|class| class.name.as_str()).collect();
        let unknown = self.class_concurrency.keys().find(|name| !known.contains(&name.as_str()));
        let Some(unknown) = unknown else { return Ok(()) };
        Err(format!("`{}` has no class `{unknown}`; its classes are {}", workload.name, known.join(", ")))
    }

    /// Returns the limits of one shard of a run with these. Its caps are equal parts of the run's, what is left over
    /// goes to the first shards.
    ///
    /// # Errors
    ///
    /// The cap that has no part for each shard, with the cure.
    pub fn shared(&self, shard: Shard) -> Result<Self, String> {
        let part = |cap: u64, of_what: String| match shard.among_first(cap) {
            _ if cap < shard.of => Err(format!(
                "{}{of_what} in flight cannot be divided over {} shards, each of which sends at least one at a time\n\
                 hint: allow at least {1}, or run fewer shards",
                counted(cap, "request"),
                count(shard.of)
            )),
            part => Ok(part),
        };
        let of_class = |(class, cap): (&String, &u64)| Ok((class.clone(), part(*cap, format!(" of `{class}`"))?));
        Ok(Self {
            max_concurrency: self.max_concurrency.map(|cap| part(cap, String::new())).transpose()?,
            class_concurrency: self.class_concurrency.iter().map(of_class).collect::<Result<_, String>>()?,
            ..self.clone()
        })
    }

    /// Splits them into the limits on time, and the names of what is capped. Shards of one run are alike in both.
    pub(in crate::record) fn but_for_caps(&self) -> (Self, Vec<&str>) {
        let all = self.max_concurrency.map(|_| "all requests");
        let capped = all.into_iter().chain(self.class_concurrency.keys().map(String::as_str)).collect();
        (Self { max_concurrency: None, class_concurrency: BTreeMap::new(), ..self.clone() }, capped)
    }

    /// Returns the limits with the caps of all shards together.
    pub(in crate::record) fn with_caps_of<'a>(self, all: impl Iterator<Item = &'a Self> + Clone) -> Self {
        let mut class_concurrency = BTreeMap::new();
        for (class, cap) in all.clone().flat_map(|limits| &limits.class_concurrency) {
            *class_concurrency.entry(class.clone()).or_default() += cap;
        }
        Self { max_concurrency: all.map(|limits| limits.max_concurrency).sum(), class_concurrency, ..self }
    }

    /// Returns the caps on requests in flight, or `None` where there is none. Examples are `64 requests` and
    /// `chat 16, batch 4`.
    pub(crate) fn caps_in_words(&self) -> Option<String> {
        let total = self.max_concurrency.map(|cap| counted(cap, "request"));
        let classes = self.class_concurrency.iter().map(|(class, cap)| format!("{class} {}", count(*cap)));
        listed(total.into_iter().chain(classes), ", ")
    }
}

impl FromStr for ClientLimits {
    type Err = String;

    /// Reads caps: `64`, `chat=16,batch=4`, or both as `64,batch=4`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = |part: &str| {
            let number = part.trim().parse::<NonZeroU64>();
            number.map(NonZeroU64::get).map_err(|_| format!("`{part}` is not a whole number from 1 on"))
        };
        let mut limits = Self::default();
        for part in text.split(',') {
            let Some((name, limit)) = part.split_once('=') else {
                if limits.max_concurrency.replace(number(part)?).is_some() {
                    return Err(format!("`{text}` limits all requests twice; leave one of the numbers out"));
                }
                continue;
            };
            let name = name.trim();
            if limits.class_concurrency.insert(name.to_owned(), number(limit)?).is_some() {
                return Err(format!("`{text}` limits the class `{name}` twice; leave one of the limits out"));
            }
        }
        Ok(limits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caps_are_divided_over_shards() {
        let whole: ClientLimits = "11,chat=3".parse().unwrap();
        let parts = (1..=3).map(|number| whole.shared(Shard { number, of: 3 }).unwrap());
        let parts: Vec<_> = parts.map(|part| (part.max_concurrency.unwrap(), part.class_concurrency["chat"])).collect();
        assert_eq!(parts, [(4, 1), (4, 1), (3, 1)]);
        let refused = whole.shared(Shard { number: 1, of: 4 }).unwrap_err();
        assert!(refused.starts_with("3 requests of `chat` in flight cannot be divided over 4 shards"), "{refused}");
        assert!(refused.ends_with("hint: allow at least 4, or run fewer shards"), "{refused}");
    }

    #[test]
    fn caps_are_of_all_or_of_classes() {
        let read = |text: &str| text.parse::<ClientLimits>();
        let workload = WorkloadSpec::load("bursty_mix").unwrap();
        let class = &workload.classes[0].name;
        let both = read(&format!("64, {class}=4")).unwrap();
        assert_eq!((both.max_concurrency, both.class_concurrency[class]), (Some(64), 4));
        assert_eq!(both.check_classes(&workload), Ok(()));
        assert!(read("nope=4").unwrap().check_classes(&workload).unwrap_err().contains("its classes are"));
        for (text, problem) in [
            ("0", "`0` is not a whole number"),
            ("chat=x", "`x` is not"),
            ("1,2", "limits all requests twice"),
            ("chat=1,chat=2", "limits the class `chat` twice"),
        ] {
            assert!(read(text).unwrap_err().contains(problem), "{text}");
        }
    }
}
