//! How evenly tenants were served.

use std::collections::BTreeMap;

use serde::Serialize;

use super::part::Part;
use crate::analysis::figures::Metric;
use crate::analysis::requests::{Measured, Observed};
use crate::record::{Outcome, PartKind};

/// Jain's fairness index over the tenants, (Σx)² ÷ (n Σx²). It runs from 1/n (one gets everything) to 1 (all get the
/// same).
///
/// Jain, Chiu and Hawe, *A quantitative measure of fairness and discrimination for resource allocation in
/// shared computer systems* (DEC TR-301, 1984). An index is absent where some tenant has no such figure, or
/// all have none of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Fairness {
    /// How many tenants had a request.
    pub tenants: u64,
    /// Fairness of x = a tenant's attainment; absent unless each has an SLO.
    pub attainment: Option<f64>,
    /// Fairness of x = answer tokens of its completed requests ÷ those that it requested.
    pub service: Option<f64>,
    /// Fairness of x = 1 ÷ its mean TTFT: whether some wait longer than others.
    pub promptness: Option<f64>,
}

impl Fairness {
    /// Fairness over the tenants among the `parts` of a run; absent with fewer than two.
    pub(crate) fn new(observed: &Observed<'_>, parts: &[Part]) -> Option<Self> {
        let tenants = || parts.iter().filter(|part| part.kind == PartKind::Tenant);
        let waited = |part: &Part| part.latency.row(Metric::Ttft)?.mean_ms.filter(|&mean| mean > 0.0);
        (tenants().count() >= 2).then(|| Self {
            tenants: tenants().count() as u64,
            attainment: index(tenants().map(|part| part.slo.slo_attainment)),
            service: index(service(observed).into_iter()),
            promptness: index(tenants().map(|part| waited(part).map(|mean| 1.0 / mean))),
        })
    }
}

/// Returns the answer tokens that each tenant got whole. They are a share of those that it asked for.
fn service(observed: &Observed<'_>) -> Vec<Option<f64>> {
    let mut tokens: BTreeMap<Option<u16>, (u64, u64)> = BTreeMap::new();
    for record in observed.requests.iter().map(Measured::record) {
        let (asked, got) = tokens.entry(record.tenant).or_default();
        *asked += u64::from(record.output_tokens_asked);
        *got += if record.outcome == Outcome::Completed { record.output_tokens } else { 0 };
    }
    tokens.into_values().map(|(asked, got)| (asked > 0).then(|| got as f64 / asked as f64)).collect()
}

pub(super) fn index(shares: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let shares: Vec<f64> = shares.collect::<Option<_>>()?;
    let (sum, squares) = shares.iter().fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
    (squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::figures::{Quantile, Unresolvable};
    use crate::analysis::summarise::summarise;
    use crate::analysis::test_runs::{record, run};
    use crate::random::RandomStream;
    use crate::record::RunLog;
    use crate::workload::{Slo, Tenant};

    #[test]
    fn the_index_is_that_of_the_paper() {
        let of = |shares: &[f64]| index(shares.iter().copied().map(Some));
        assert_eq!(of(&[3.0, 3.0, 3.0]), Some(1.0));
        // One of four gets everything.
        assert_eq!(of(&[8.0, 0.0, 0.0, 0.0]), Some(0.25));
        // (1 + 2 + 3)² ÷ (3 × 14), by hand.
        assert_eq!(of(&[1.0, 2.0, 3.0]), Some(36.0 / 42.0));
        assert_eq!(of(&[0.0, 0.0]), None);
        assert_eq!(index([Some(1.0), None].into_iter()), None);
    }

    fn tenant(name: &str, slo: Option<Slo>) -> Tenant {
        Tenant { name: name.to_owned(), weight: 1.0, slo, classes: Vec::new() }
    }

    /// A run of two tenants. `a` waits for 100 ms and gets all, `b` for 300 ms and gets half of it.
    fn shared() -> RunLog {
        let records = (0..4).map(|i| {
            let wait = if i % 2 == 0 { 100 } else { 300 };
            let mut record = record(i).sent_at(0, 0, 0).paced(wait, 10, 10).build();
            record.tenant = Some((i % 2) as u16);
            record.output_tokens_asked = if i % 2 == 0 { 10 } else { 20 };
            record
        });
        let mut log = run(1_000, records.collect());
        log.header.workload.tenants =
            vec![tenant("a", Some(Slo { ttft_ms: Some(200.0), ..Slo::default() })), tenant("b", None)];
        log
    }

    #[test]
    fn tenants_are_told_apart() {
        let mut log = shared();
        let summary = summarise(&log, &[]);
        let fairness = summary.fairness.unwrap();
        assert_eq!(fairness.tenants, 2);
        assert_eq!(fairness.attainment, None, "b is promised nothing");
        assert_eq!(fairness.service, Some(2.25 / 2.5));
        // x = 1/100 and 1/300: (4/3)² ÷ (2 × 10/9).
        assert!((fairness.promptness.unwrap() - 0.8).abs() < 1e-12);
        let [a, b] = summary.parts_of(PartKind::Tenant)[..] else { panic!("{:?}", summary.parts) };
        assert_eq!((a.name.as_str(), a.requests, b.name.as_str(), b.requests), ("a", 2, "b", 2));
        assert_eq!((a.slo.declared, b.slo.declared), (true, false));
        log.header.workload.tenants[1].slo = log.header.workload.tenants[0].slo;
        let summary = summarise(&log, &[]);
        assert_eq!(summary.fairness.unwrap().attainment, Some(0.5), "a met all of it, b nothing");
        assert_eq!(summary.slo.slo_attainment, Some(0.5));
    }

    #[test]
    fn one_tenant_is_served_as_itself() {
        let mut log = shared();
        log.header.workload.tenants.truncate(1);
        log.records.iter_mut().for_each(|record| record.tenant = Some(0));
        let summary = summarise(&log, &[]);
        assert_eq!((summary.fairness, summary.parts_of(PartKind::Tenant).len()), (None, 1));
    }

    /// TTFTs are independent, and the pace of tokens changes every 500 requests.
    #[test]
    fn each_latency_of_a_group_is_resolved_by_its_own_memory() {
        let mut stream = RandomStream::named(1, "groups");
        let records = (0..2_000).map(|i| {
            let (wait, gap) = (100 + stream.below(50), 10 + 20 * (i / 500 % 2));
            record(i).sent_at(20 * i, 20 * i, 20 * i).paced(20 * i + wait, gap, 10).build()
        });
        let summary = summarise(&run(50_000, records.collect()), &[]);
        let [class] = summary.parts_of(PartKind::Class)[..] else { panic!("{:?}", summary.parts) };
        let unresolvable = |metric| {
            let row = class.latency.row(metric).unwrap();
            (row.percentile(Quantile::P50).unresolvable, row.correlation_times.unwrap() < 20.0)
        };
        assert_eq!(unresolvable(Metric::Ttft), (None, false));
        assert_eq!(unresolvable(Metric::E2e), (Some(Unresolvable::WindowTooShort), true));
    }
}
