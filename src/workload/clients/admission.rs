//! How many requests may be in flight, of all classes together and of each.

use std::num::NonZeroUsize;
use std::str::FromStr;

use crate::workload::spec::WorkloadSpec;

/// Most requests in flight. Others wait in order of dispatch, and that wait counts in their latency.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AdmissionLimits {
    /// Slots of all classes together; `None`: no limit.
    pub total: Option<NonZeroUsize>,
    /// Slots of classes by their names, each once.
    pub classes: Vec<(String, NonZeroUsize)>,
}

impl AdmissionLimits {
    /// The limit of each class of a workload, in the workload's order.
    ///
    /// # Errors
    ///
    /// A class that the workload does not have, with those that it has.
    pub fn by_class(&self, workload: &WorkloadSpec) -> Result<Vec<Option<NonZeroUsize>>, String> {
        let names = || workload.classes.iter().map(|class| class.name.as_str());
        if let Some((unknown, _)) = self.classes.iter().find(|(name, _)| names().all(|known| known != name)) {
            let known: Vec<_> = names().collect();
            let (workload, known) = (&workload.name, known.join(", "));
            return Err(format!("`{workload}` has no class `{unknown}`; its classes are {known}"));
        }
        let of = |name: &str| self.classes.iter().find(|(limited, _)| limited == name).map(|(_, limit)| *limit);
        Ok(names().map(of).collect())
    }
}

impl FromStr for AdmissionLimits {
    type Err = String;

    /// Reads `64`, `chat=16,batch=4`, or both as `64,batch=4`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = |part: &str| {
            part.trim().parse::<NonZeroUsize>().map_err(|_| format!("`{part}` is not a whole number from 1 on"))
        };
        let mut limits = Self::default();
        for part in text.split(',') {
            let Some((name, limit)) = part.split_once('=') else {
                if limits.total.replace(number(part)?).is_some() {
                    return Err(format!("`{text}` limits all requests twice; leave one of the numbers out"));
                }
                continue;
            };
            let name = name.trim();
            if limits.classes.iter().any(|(limited, _)| limited == name) {
                return Err(format!("`{text}` limits the class `{name}` twice; leave one of the limits out"));
            }
            limits.classes.push((name.to_owned(), number(limit)?));
        }
        Ok(limits)
    }
}
