//! Advice on a p99 of all that covers several kinds of requests.

use crate::analysis::figures::{Figure, Metric, Quantile, SampleWarning};
use crate::analysis::latency::row::Percentile;
use crate::analysis::parts::part::Part;
use crate::analysis::rules::{RuleFact, facts};
use crate::analysis::summary::run::Summary;
use crate::record::PartKind;
use crate::units::{listed, three_digits};

/// Smallest ratio of two p99 that are not one.
const APART: f64 = 2.0;
/// Most kinds that a sentence names beside the one whose p99 it is.
const NAMED: usize = 3;
/// Kinds of parts that a user distinguishes.
const DISTINGUISHED: [PartKind; 3] = [PartKind::Class, PartKind::Tag, PartKind::Phase];

/// A part with its latency.
struct Tail<'a> {
    name: &'a str,
    p50: f64,
    p90: f64,
    p99: f64,
}

impl<'a> Tail<'a> {
    /// Returns the tail of a part, if it has requests enough for a p90.
    fn new(part: &'a Part, metric: Metric) -> Option<Self> {
        let of = |quantile| part.latency.percentile(metric, quantile);
        let p90 = of(Quantile::P90).filter(|p90| p90.mark != Some(SampleWarning::TooFewSamples))?;
        let exact = |percentile: &Percentile| percentile.figure.exact();
        let [p50, p99] = [Quantile::P50, Quantile::P99].map(|quantile| of(quantile).and_then(exact));
        Some(Self { name: &part.name, p50: p50?, p90: exact(p90)?, p99: p99? })
    }

    /// Returns whether another part has a p99 of its own. Nine in ten of one are then faster than half of the other, so
    /// that no outliers make the difference.
    fn is_apart(&self, other: &Self) -> bool {
        let (fast, slow) = if self.p99 < other.p99 { (self, other) } else { (other, self) };
        slow.p99 >= APART * fast.p99 && fast.p90 <= slow.p50
    }
}

/// Finds the kind of requests that sets the p99 of all, and others.
pub(super) fn several(run: &Summary) -> Option<Vec<RuleFact>> {
    Metric::MAIN.into_iter().find_map(|metric| DISTINGUISHED.into_iter().find_map(|kind| apart(run, metric, kind)))
}

fn apart(run: &Summary, metric: Metric, kind: PartKind) -> Option<Vec<RuleFact>> {
    let all = run.latency.percentile(metric, Quantile::P99).map(|p99| p99.figure).and_then(Figure::exact)?;
    let tails: Vec<_> = run.parts_of(kind).into_iter().filter_map(|part| Tail::new(part, metric)).collect();
    let from_all = |tail: &Tail<'_>| (tail.p99 / all).ln().abs();
    let own = tails.iter().min_by(|a, b| from_all(a).total_cmp(&from_all(b)))?;
    let mut others: Vec<_> = tails.iter().filter(|tail| tail.is_apart(own)).collect();
    others.sort_by(|a, b| from_all(b).total_cmp(&from_all(a)));
    let first = others.first()?.name;
    let said = others.iter().take(NAMED).map(|tail| format!("{} has {} ms", tail.name, three_digits(tail.p99)));
    let said = listed(said, ", ")?;
    let objective = match kind {
        PartKind::Phase => "read each phase by itself (--full, the page)".to_owned(),
        _ => format!(
            "give each a figure of its own, such as --objective \"p99 {metric} of {} {first} < …\"",
            kind.name()
        ),
    };
    Some(facts![metric.title(), all, own.name, own.p99, said, APART.to_string(), objective])
}

#[cfg(test)]
mod tests {
    use crate::analysis::judgements::FindingKind;
    use crate::analysis::summarise::summarise;
    use crate::analysis::test_runs::{class, record, run};
    use crate::workload::{Priority, Slo};

    /// The finding of 300 requests, every third of which is of the class `long`. `wait` is their time to first token.
    fn found(wait: impl Fn(bool, u64) -> u64) -> Option<String> {
        let records = (0..300).map(|i| {
            let (at, is_long) = (i * 100, i % 3 == 0);
            let mut record = record(i).sent_at(at, at, at).paced(at + wait(is_long, i), 10, 4).build();
            record.class = u16::from(is_long);
            record
        });
        let mut log = run(30_000, records.collect());
        log.header.workload.classes =
            ["short", "long"].map(|name| class(name, &[(Priority::High, Slo::default())])).to_vec();
        let findings = summarise(&log, &[]).findings;
        let found = findings.into_iter().find(|finding| finding.kind == FindingKind::SeveralKinds);
        found.map(|finding| format!("{}; {}", finding.sentence, finding.cure))
    }

    #[test]
    fn a_p99_of_all_that_is_of_one_class_is_a_finding() {
        assert_eq!(
            found(|is_long, i| if is_long { 1_000 + i } else { 100 + i % 10 }).unwrap(),
            "the p99 TTFT of all, 1,288 ms, is that of long (1,294 ms); short has 109 ms; limit: 2 times apart; give \
             each a figure of its own, such as --objective \"p99 ttft of class short < …\""
        );
    }

    #[test]
    fn classes_that_are_alike_and_outliers_are_none() {
        assert_eq!(found(|is_long, i| if is_long { 150 + i % 10 } else { 100 + i % 10 }), None);
        // A few long waits are chance, and no class of their own.
        assert_eq!(found(|is_long, i| if is_long && i % 30 == 0 { 2_000 } else { 100 + i % 10 }), None);
    }
}
