//! Runs that the measurement spoiled: which runs those are, how many are replaced, and the words for it.
//!
//! One spoiled run says nothing about the server, so it must not take the whole experiment with it. Each part of an
//! experiment (the repeats of a run, of a row under a variant or of a load; the rounds of an A/B test) replaces up to
//! [`Repeat::MOST_SPARE`] spoiled runs by spare ones, which come after the planned ones and have seeds of their own.
//! What the server did never spoils a run: leaving out that it was overloaded or failed requests would make a server
//! near its limit look better, and where its tokens do not add up, a spare run would find the same. What heat
//! or the power supply did to its devices does: the next run may find them cool.

use std::fmt::Display;

use crate::analysis::{FindingKind, Rule, Summary, VerdictOutcome};
use crate::record::Repeat;
use crate::units::counted;

/// Treatment of INVALID runs: whether they count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InvalidRuns {
    /// Exclusion of all that rests on an INVALID run. Spare runs replace those that were spoiled.
    #[default]
    LeftOut,
    /// Inclusion of INVALID runs as if they were valid (`--allow-invalid`). None of them is replaced.
    Counted,
}

impl InvalidRuns {
    /// Most spare runs that a part of an experiment has.
    pub(crate) const fn most_spare(self) -> u64 {
        match self {
            Self::LeftOut => Repeat::MOST_SPARE,
            Self::Counted => 0,
        }
    }

    /// Number of the last run where `planned` are planned and so many are `spoiled`.
    pub(super) fn last_run(self, planned: u64, spoiled: u64) -> u64 {
        planned + spoiled.min(self.most_spare())
    }

    /// Says which spare run replaces the one of this number. It is the last of `spoiled` ones where `planned` are
    /// planned; `None` where none is left. `name` gives the run of a number its name.
    pub(super) fn replacement(
        self,
        number: u64,
        planned: u64,
        spoiled: u64,
        why: &str,
        name: impl Fn(u64) -> String,
    ) -> Option<String> {
        let spare = planned + spoiled;
        (1..=self.most_spare())
            .contains(&spoiled)
            .then(|| format!("{} was spoiled ({why}): {} replaces it", name(number), name(spare)))
    }
}

/// Returns a caution that `spoiled` of `all` things are INVALID and count on request. It is `None` where none is.
pub(crate) fn caution(spoiled: usize, all: usize, thing: &str) -> Option<String> {
    let of = counted(all as u64, thing);
    let are = if spoiled == 1 { "is INVALID and counts" } else { "are INVALID and count" };
    (spoiled > 0).then(|| format!("{spoiled} of {of} {are} because of --allow-invalid"))
}

/// Rules that a server breaks. They are no reason to distrust the measurement.
pub(super) const SERVER_RULES: [Rule; 4] =
    [Rule::ServerStayed, Rule::SteadyState, Rule::ErrorRate, Rule::SomethingCompleted];

/// Rules that a server breaks in every run, if in one. The run is INVALID, and no spare one replaces it. A proxy that
/// holds streams back counts as the server.
const LASTING: [Rule; 4] = [Rule::TokenIdentity, Rule::CounterIdentity, Rule::CacheHits, Rule::StreamsWhole];

/// Returns why `run` is INVALID by the rules that `counts` picks, a sentence each.
fn broken(run: &Summary, counts: impl Fn(Rule) -> bool) -> impl Iterator<Item = &str> {
    let reasons = run.verdict.reasons.iter();
    let such = reasons.filter(move |reason| reason.outcome == VerdictOutcome::Invalid && counts(reason.rule));
    such.map(|reason| reason.sentence.as_str())
}

/// Returns why the measurement of a run cannot be trusted, a sentence each. Overload and failures are left aside.
pub(super) fn distrust(run: &Summary) -> impl Iterator<Item = &str> {
    broken(run, |rule| !SERVER_RULES.contains(&rule))
}

/// Returns why the devices of a run were slower than they are otherwise. It is `None` where they were as fast. It is no
/// reason to distrust what was measured, but a run that was slowed by heat says nothing beside one that was not.
pub(super) fn slowed(run: &Summary) -> Option<&str> {
    let finding = run.findings.iter().find(|finding| finding.kind == FindingKind::Throttled)?;
    Some(&finding.sentence)
}

/// Returns why a run that came to its end is spoiled. It is `None` where it is not.
pub(crate) fn spoiled_by(run: &Summary) -> Option<&str> {
    let mut reasons = broken(run, |rule| !SERVER_RULES.contains(&rule) && !LASTING.contains(&rule));
    reasons.next().or_else(|| slowed(run)).filter(|_| run.window.is_whole())
}

/// Returns why it was this machine that spoiled the run; `None` where it was not.
pub(super) fn spoiled_here(run: &Summary) -> Option<&str> {
    let of_machine = |rule| Rule::OF_CLIENT.contains(&rule) || rule == Rule::DeliveredArrivals;
    broken(run, of_machine).next().filter(|_| run.window.is_whole())
}

/// Returns the `runs` that count, in their order. They are those that are not spoiled where they are as many as
/// planned, else all, spare ones included.
pub(super) fn counting<R: Copy>(runs: &[R], planned: u64, is_spoiled: impl Fn(R) -> bool) -> Vec<R> {
    let trusted: Vec<_> = runs.iter().copied().filter(|run| !is_spoiled(*run)).collect();
    if trusted.len() as u64 >= planned { trusted } else { runs.to_vec() }
}

/// Lists the `spoiled` ones of `all` runs or rounds by name, with the reasons. `None` where no spare one ran.
pub(super) fn in_words<W: Display>(
    noun: &str,
    all: u64,
    planned: u64,
    spoiled: impl Iterator<Item = (String, W)>,
) -> Option<String> {
    let spoiled: Vec<String> = spoiled.map(|(name, why)| format!("{name} ({why})")).collect();
    let lost = spoiled.len() as u64;
    if all <= planned || lost == 0 {
        return None;
    }
    let (of, were) = (counted(all, noun), if lost == 1 { "was" } else { "were" });
    let replaced = if all - lost >= planned {
        " and replaced".to_owned()
    } else {
        format!(", and {} did not replace them all", counted(all - planned, &format!("spare {noun}")))
    };
    Some(format!("{lost} of {of} {were} spoiled{replaced}: {}", spoiled.join(", ")))
}

#[cfg(test)]
mod tests;
