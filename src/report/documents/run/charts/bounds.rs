//! The bounds that objectives and SLO targets set on a latency, as far as a picture has room for them.

use std::collections::BTreeSet;

use crate::analysis::{Metric, SloTarget, Summary};
use crate::record::PartKind;
use crate::units::joined;

/// Bounds that have room in one picture.
const MOST: usize = 5;

/// Bounds on a latency, milliseconds, each with its label. They are what objectives demand, then the SLO targets.
pub(super) struct Bounds {
    pub(super) drawn: Vec<(f64, String)>,
    /// Number of further bounds.
    left_out: usize,
}

impl Bounds {
    pub(super) fn new(summary: &Summary, metric: Metric) -> Self {
        let objectives = summary
            .objectives
            .iter()
            .map(|judged| &judged.objective)
            .filter(|objective| objective.key.metric == metric);
        // A bound for some of the requests is none for all of those in the picture.
        let (whole, parts): (Vec<_>, Vec<_>) = objectives.partition(|objective| objective.key.part.is_none());
        let classes = summary.parts_of(PartKind::Class);
        let targets: Vec<&SloTarget> = classes.into_iter().flat_map(|class| &class.slo_targets).collect();
        let mut drawn: Vec<(f64, String)> =
            whole.into_iter().map(|objective| (objective.bound, objective.text.clone())).collect();
        drawn.extend(slo_bounds(&targets, metric));
        let left_out = drawn.len().saturating_sub(MOST) + parts.len();
        drawn.truncate(MOST);
        Self { drawn, left_out }
    }

    /// Returns where they are, milliseconds.
    pub(super) fn places(&self) -> impl Iterator<Item = f64> {
        self.drawn.iter().map(|(bound, _)| *bound)
    }

    /// Says that there are more bounds; `None` where all are drawn.
    pub(super) fn hint(&self) -> Option<String> {
        let (drawn, all) = (self.drawn.len(), self.drawn.len() + self.left_out);
        (self.left_out > 0).then(|| format!("{drawn} of {all} bounds are drawn, the others are in the tables"))
    }
}

/// Each bound of an SLO once, with all whose it is.
fn slo_bounds(targets: &[&SloTarget], metric: Metric) -> Vec<(f64, String)> {
    let bound = |target: &SloTarget| match metric {
        Metric::Ttft => target.slo.ttft_ms,
        Metric::Tpot => target.slo.tpot_ms,
        Metric::E2e => target.slo.e2e_ms,
        _ => None,
    };
    let mut bounds: Vec<(f64, BTreeSet<String>)> = Vec::new();
    for target in targets {
        let Some(ms) = bound(target) else { continue };
        let of_class = || targets.iter().filter(|other| other.class == target.class);
        let who = if of_class().all(|other| bound(other) == Some(ms)) {
            target.class.clone()
        } else {
            let tenant = target.tenant.as_ref().map(|name| format!(", {name}")).unwrap_or_default();
            format!("{}, {}{tenant}", target.class, target.priority)
        };
        match bounds.iter_mut().find(|(other, _)| *other == ms) {
            Some((_, all)) => _ = all.insert(who),
            None => bounds.push((ms, BTreeSet::from([who]))),
        }
    }
    let label = |(ms, who): (f64, BTreeSet<String>)| (ms, format!("SLO {ms} ms: {}", joined(who, "; ")));
    bounds.into_iter().map(label).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::summarise;
    use crate::analysis::test_runs::{class, record, run};
    use crate::workload::{Priority, RequestClass, Slo};

    fn ttft(ms: f64) -> Slo {
        Slo { ttft_ms: Some(ms), ..Slo::default() }
    }

    fn bounds(classes: Vec<RequestClass>, objectives: &[&str]) -> Bounds {
        let mut log = run(
            1_000,
            (0..60)
                .map(|i| {
                    let of = (i % classes.len() as u64) as u16;
                    record(i).class(of, Priority::High).sent_at(i, i, i).paced(i + 50, 1, 3).build()
                })
                .collect(),
        );
        log.header.workload.classes = classes;
        let objectives: Vec<_> = objectives.iter().map(|text| text.parse().unwrap()).collect();
        Bounds::new(&summarise(&log, &objectives), Metric::Ttft)
    }

    #[test]
    fn a_name_within_another_is_a_name_of_its_own() {
        let of = bounds(
            vec![class("chatty", &[(Priority::High, ttft(200.0))]), class("chat", &[(Priority::High, ttft(200.0))])],
            &[],
        );
        assert_eq!(of.drawn, [(200.0, "SLO 200 ms: chat; chatty".to_owned())]);
        assert_eq!(of.hint(), None);
    }

    #[test]
    fn who_is_promised_what_is_told_as_far_as_it_must_be() {
        let both = [(Priority::High, ttft(100.0)), (Priority::Low, ttft(900.0))];
        let of = bounds(vec![class("chat", &both), class("batch", &[(Priority::High, ttft(900.0))])], &[]);
        let labels: Vec<&str> = of.drawn.iter().map(|(_, label)| label.as_str()).collect();
        assert_eq!(labels, ["SLO 100 ms: chat, high", "SLO 900 ms: batch; chat, low"]);
    }

    #[test]
    fn what_a_person_demands_comes_first_and_what_has_no_room_is_counted() {
        let classes = (0..7).map(|i| class(&format!("c{i}"), &[(Priority::High, ttft(f64::from(100 + i)))]));
        let of = bounds(classes.collect(), &["p95 ttft < 1s", "p99 tpot < 1s"]);
        assert_eq!((of.drawn.len(), of.drawn[0].clone()), (5, (1_000.0, "p95 ttft < 1s".to_owned())));
        assert!(of.hint().unwrap().starts_with("5 of 8 bounds are drawn"));
    }
}
