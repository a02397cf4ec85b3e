//! The kinds of request in a trace, and their classes.

use std::collections::BTreeMap;

use crate::workload::{TraceFindings, TraceKind, WorkloadSpec, as_name};

/// Most classes made of kinds; rarer kinds share the last class.
const MOST_KINDS: usize = 16;
/// Most kinds that are counted apart; later ones count as one.
const MOST_COUNTED: usize = 4_096;
/// Longest name of a class.
const LONGEST_NAME: usize = 64;

/// Counts kinds.
#[derive(Debug, Default)]
pub(super) struct KindCounts {
    counted: BTreeMap<Box<str>, u64>,
    /// Requests of kinds that came after those.
    late: u64,
}

impl KindCounts {
    pub(super) fn add(&mut self, kind: &str) {
        let kind = kind.trim();
        if let Some(requests) = self.counted.get_mut(kind) {
            *requests += 1;
        } else if self.counted.len() < MOST_COUNTED {
            self.counted.insert(kind.into(), 1);
        } else {
            self.late += 1;
        }
    }

    /// The kinds with unique class names, sorted by name. Of more than 16 kinds the 15 most frequent are kept, and
    /// one for all others comes last.
    pub(super) fn named(self) -> Vec<TraceKind> {
        let mut kinds: Vec<_> = self.counted.into_iter().collect();
        let mut rarer = Vec::new();
        if kinds.len() > MOST_KINDS {
            // Equally frequent kinds in alphabetical order.
            kinds.sort_by_key(|(_, requests)| std::cmp::Reverse(*requests));
            rarer = kinds.split_off(MOST_KINDS - 1);
            kinds.sort();
        }
        let mut named: Vec<TraceKind> = Vec::with_capacity(kinds.len() + 1);
        for (kind, requests) in kinds {
            let name = distinct_name(&as_name(&kind), &named);
            let called = (*name != *kind).then(|| kind.into());
            named.push(TraceKind { name, requests, called, rarer_kinds: 0 });
        }
        named.sort_by(|one, other| one.name.cmp(&other.name));
        if !rarer.is_empty() {
            named.push(TraceKind {
                name: distinct_name("other", &named),
                requests: rarer.iter().map(|(_, requests)| requests).sum::<u64>() + self.late,
                called: None,
                rarer_kinds: rarer.len() as u64 + u64::from(self.late > 0),
            });
        }
        named
    }
}

/// The name, with a number if another kind has it.
fn distinct_name(name: &str, taken: &[TraceKind]) -> String {
    let free = |name: &String| taken.iter().all(|kind| kind.name != *name);
    let numbered = (2..).map(|number| {
        let number = format!("-{number}");
        let kept: String = name.chars().take(LONGEST_NAME - number.len()).collect();
        kept + &number
    });
    std::iter::once(name.to_owned()).chain(numbered).find(free).unwrap_or_default()
}

/// Finds the class of a kind.
#[derive(Debug)]
pub(super) struct ClassOfKind {
    found: Option<TraceFindings>,
    classes: Vec<String>,
}

impl ClassOfKind {
    pub(super) fn new(workload: &WorkloadSpec) -> Self {
        Self {
            found: workload.arrival.found().cloned(),
            classes: workload.classes.iter().map(|class| class.name.clone()).collect(),
        }
    }

    /// The class with the name of this kind, if any.
    pub(super) fn find(&self, kind: &str) -> Option<usize> {
        let called = |name: &str| self.classes.iter().position(|class| class == name);
        let found = self.found.as_ref()?;
        let own = found.kind(kind);
        if let Some(own) = own.filter(|own| own.rarer_kinds == 0) {
            return called(&own.name);
        }
        // A rare kind may have its own class in the workload.
        let name = as_name(kind);
        let taken = found.kinds.iter().any(|kind| kind.name == name);
        called(&name).filter(|_| !taken).or_else(|| called(&own?.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(kinds: &[(&str, u64)]) -> Vec<(String, u64, u64)> {
        let mut counts = KindCounts::default();
        for (kind, requests) in kinds {
            (0..*requests).for_each(|_| counts.add(kind));
        }
        counts.named().into_iter().map(|kind| (kind.name, kind.requests, kind.rarer_kinds)).collect()
    }

    #[test]
    fn kinds_whose_names_would_be_one_keep_apart() {
        let one = |name: &str, requests| (name.to_owned(), requests, 0);
        assert_eq!(
            named(&[("聊天", 1), ("图像", 2), ("/a_b", 3), ("/a/b", 4), ("a-b", 5)]),
            [one("__", 2), one("__-2", 1), one("_a_b", 4), one("_a_b-2", 3), one("a-b", 5)]
        );
        let long = "x".repeat(70);
        let both = named(&[(&long, 1), (&long[..66], 2)]);
        assert_eq!((both[0].0.len(), both[1].0.len()), (64, 64));
        assert_ne!(both[0].0, both[1].0);
    }

    #[test]
    fn of_many_kinds_the_rarest_are_one() {
        let names: Vec<String> = (0..20).map(|place| format!("k{place:02}")).collect();
        // The last are the most frequent: k05 to k19 stay.
        let kinds: Vec<_> = names.iter().zip(1..).map(|(name, requests)| (name.as_str(), requests)).collect();
        let found = named(&kinds);
        assert_eq!(found.len(), 16);
        assert_eq!((found[0].0.as_str(), found[14].0.as_str()), ("k05", "k19"));
        assert_eq!(found[15], ("other".to_owned(), 1 + 2 + 3 + 4 + 5, 5));
        assert_eq!(named(&kinds[..16]).len(), 16);
        assert!(named(&kinds[..16]).iter().all(|kind| kind.2 == 0), "sixteen are not too many");
        // More kinds than are counted: nothing is lost.
        let mut counts = KindCounts::default();
        (0..10_000).for_each(|place| counts.add(&place.to_string()));
        let many = counts.named();
        assert_eq!(many.iter().map(|kind| kind.requests).sum::<u64>(), 10_000);
        assert_eq!(many[15].rarer_kinds, 4_096 - 15 + 1);
    }
}
