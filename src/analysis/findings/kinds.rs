//! Advice on a tail of all that covers several kinds of requests.

use crate::analysis::figures::{Metric, Quantile, SampleWarning};
use crate::analysis::latency::row::Percentile;
use crate::analysis::parts::part::Part;
use crate::analysis::rules::{RuleFact, facts};
use crate::analysis::summary::run::Summary;
use crate::record::PartKind;
use crate::units::{listed, three_digits};

/// Smallest ratio of two tails that are not one.
const APART: f64 = 2.0;
/// Most kinds that a sentence names beside the one whose p99 it is.
const NAMED: usize = 3;
/// Kinds of parts that a user distinguishes, and can judge by figures of their own.
const DISTINGUISHED: [PartKind; 2] = [PartKind::Class, PartKind::Tag];
/// Percentiles that one sentence is about. A lower one takes the place of one with too few samples.
const TAILS: [Quantile; 2] = [Quantile::P99, Quantile::P90];

/// A part with its latency.
struct Tail<'a> {
    name: &'a str,
    p50: f64,
    p90: f64,
    /// Value of the percentile that the sentence is about.
    last: f64,
}

/// The value of a percentile with samples enough.
fn known(percentile: Option<&Percentile>) -> Option<f64> {
    percentile.filter(|known| known.mark != Some(SampleWarning::TooFewSamples))?.figure.exact()
}

impl<'a> Tail<'a> {
    /// Returns the tail of a part, if it has requests enough for it.
    fn new(part: &'a Part, metric: Metric, tail: Quantile) -> Option<Self> {
        let of = |quantile| known(part.latency.percentile(metric, quantile));
        Some(Self { name: &part.name, p50: of(Quantile::P50)?, p90: of(Quantile::P90)?, last: of(tail)? })
    }

    /// Returns whether another part has a tail of its own. Nine in ten of one are then faster than half of the other,
    /// so that no outliers make the difference.
    fn is_apart(&self, other: &Self) -> bool {
        let (fast, slow) = if self.last < other.last { (self, other) } else { (other, self) };
        slow.last >= APART * fast.last && fast.p90 <= slow.p50
    }
}

/// Finds the kind of requests that sets the tail of all, and others. Kinds that objectives judge one by one are no
/// finding.
pub(super) fn several(run: &Summary) -> Option<Vec<RuleFact>> {
    let is_judged = |kind: &PartKind| {
        let mut parts = run.objectives.iter().filter_map(|judged| judged.objective.key.part.as_ref());
        parts.any(|part| part.kind.is_none_or(|of| of == *kind))
    };
    let kinds = || DISTINGUISHED.into_iter().filter(|kind| !is_judged(kind));
    let of = |metric| kinds().find_map(|kind| TAILS.into_iter().find_map(|tail| apart(run, metric, kind, tail)));
    Metric::MAIN.into_iter().find_map(of)
}

fn apart(run: &Summary, metric: Metric, kind: PartKind, tail: Quantile) -> Option<Vec<RuleFact>> {
    let all = known(run.latency.percentile(metric, tail))?;
    let tails: Vec<_> = run.parts_of(kind).into_iter().filter_map(|part| Tail::new(part, metric, tail)).collect();
    let from_all = |part: &Tail<'_>| (part.last / all).ln().abs();
    let own = tails.iter().min_by(|a, b| from_all(a).total_cmp(&from_all(b)))?;
    let mut others: Vec<_> = tails.iter().filter(|part| part.is_apart(own)).collect();
    others.sort_by(|a, b| from_all(b).total_cmp(&from_all(a)));
    let first = others.first()?.name;
    let said = others.iter().take(NAMED).map(|part| format!("{} has {} ms", part.name, three_digits(part.last)));
    let said = listed(said, ", ")?;
    let kind = kind.name();
    let objective =
        format!("give each a figure of its own, such as --objective \"{tail} {metric} of {kind} {first} < …\"");
    Some(facts![tail.to_string(), metric.title(), all, own.name, own.last, said, APART.to_string(), objective])
}

#[cfg(test)]
mod tests {
    use crate::analysis::Objective;
    use crate::analysis::judgements::FindingKind;
    use crate::analysis::summarise::summarise;
    use crate::analysis::test_runs::{class, record, run};
    use crate::workload::{Priority, Slo};

    /// The finding of 300 requests, every third of which is of the class `long`. `wait` is their time to first token.
    fn found(wait: impl Fn(bool, u64) -> u64) -> Option<String> {
        judged(&[], wait)
    }

    fn judged(objectives: &[Objective], wait: impl Fn(bool, u64) -> u64) -> Option<String> {
        let records = (0..300).map(|i| {
            let (at, is_long) = (i * 100, i % 3 == 0);
            let mut record = record(i).sent_at(at, at, at).paced(at + wait(is_long, i), 10, 4).build();
            record.class = u16::from(is_long);
            record
        });
        let mut log = run(30_000, records.collect());
        log.header.workload.classes =
            ["short", "long"].map(|name| class(name, &[(Priority::High, Slo::default())])).to_vec();
        let findings = summarise(&log, objectives).findings;
        let found = findings.into_iter().find(|finding| finding.kind == FindingKind::SeveralKinds);
        found.map(|finding| format!("{}; {}", finding.sentence, finding.cure))
    }

    #[test]
    fn a_p99_of_all_that_is_of_one_class_is_a_finding() {
        assert_eq!(
            found(|is_long, i| if is_long { 1_000 + i } else { 100 + i % 10 }).unwrap(),
            "the p90 TTFT of all, 1,207 ms, is that of long (1,267 ms); short has 108 ms; limit: 2 times apart; give \
             each a figure of its own, such as --objective \"p90 ttft of class short < …\""
        );
    }

    #[test]
    fn classes_that_objectives_judge_one_by_one_are_none() {
        let wait = |is_long, i| if is_long { 1_000 + i } else { 100 + i % 10 };
        assert_eq!(judged(&["p90 ttft of class short < 200ms".parse().unwrap()], wait), None);
        assert!(judged(&["p90 ttft < 200ms".parse().unwrap()], wait).is_some());
    }

    #[test]
    fn classes_that_are_alike_and_outliers_are_none() {
        assert_eq!(found(|is_long, i| if is_long { 150 + i % 10 } else { 100 + i % 10 }), None);
        // A few long waits are chance, and no class of their own.
        assert_eq!(found(|is_long, i| if is_long && i % 30 == 0 { 2_000 } else { 100 + i % 10 }), None);
    }
}
