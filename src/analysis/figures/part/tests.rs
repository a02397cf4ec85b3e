//! Holds objectives of parts of a run to the figures of those parts.

use super::*;
use crate::analysis::figures::catalogue::Metric;
use crate::analysis::figures::key::FigureKey;
use crate::analysis::figures::quantile::Quantile;
use crate::analysis::slo::judgement::Status;
use crate::analysis::slo::objective::Objective;
use crate::analysis::summarise::summarise;
use crate::analysis::test_runs::{class, record, run};
use crate::record::{Failure, FailureKind, RunLog};
use crate::workload::{Slo, Tenant};

fn objective(text: &str) -> Objective {
    text.parse().unwrap()
}

fn tenant(name: &str, classes: &[&str], weight: f64) -> Tenant {
    let classes = classes.iter().map(ToString::to_string).collect();
    Tenant { name: name.to_owned(), weight, slo: None, classes }
}

/// Two tenants: `victim` waits for 900 ms and one of its four requests is refused, `noisy` waits for 100 ms.
fn shared() -> RunLog {
    let refused = || Failure::new(FailureKind::HttpStatus(503), "busy");
    let records = (0..12).map(|i| {
        let victim = i % 3 == 0;
        let (number, priority) = if victim { (0, Priority::High) } else { (1, Priority::Low) };
        let begun = record(i).class(number, priority).sent_at(0, 0, 0);
        let ended = match i {
            9 => begun.failed(20, refused()),
            _ => begun.paced(if victim { 900 } else { 100 }, 10, 11),
        };
        let mut record = ended.build();
        record.tenant = Some(number);
        record
    });
    let mut log = run(1_000, records.collect());
    let bounds = Slo { ttft_ms: Some(500.0), ..Slo::default() };
    log.header.workload.classes =
        vec![class("chat", &[(Priority::High, bounds)]), class("batch", &[(Priority::Low, Slo::default())])];
    log.header.workload.tenants = vec![tenant("victim", &["chat"], 1.0), tenant("noisy", &["batch"], 2.0)];
    log
}

#[test]
fn a_figure_can_be_one_partys() {
    for (text, kind, name) in [
        ("p95 ttft of chat < 500ms", None, "chat"),
        ("P95 ttft  of tenant  Chat < 500 ms", Some(PartKind::Tenant), "Chat"),
        ("p95 ttft of of < 1s", None, "of"),
        ("p95 ttft of model meta/llama-3.1 < 1s", Some(PartKind::Model), "meta/llama-3.1"),
    ] {
        let read = objective(text);
        let part = Some(PartName { kind, name: name.to_owned() });
        let p95 = FigureKey::percentile(Quantile::P95, Metric::Ttft);
        assert_eq!(read.key, FigureKey { part, ..p95 }, "{text}");
    }
    for (text, problem) in [
        ("p95 ttft of < 1s", "`of` needs a name after it"),
        (
            "p95 ttft of team a < 1s",
            "`team` is not a group of requests; use class, priority, tenant, model or tag, or slice for checks",
        ),
        ("p95 ttft of class a b < 1s", "`class a b` is more than a name"),
        ("p95 itl of a < 1s", "`p95 itl` exists only for the whole run"),
        ("output_tokens_per_s of a > 1/s", "`output_tokens_per_s` exists only for the whole run"),
    ] {
        let error = text.parse::<Objective>().unwrap_err().to_string();
        assert!(error.contains(problem) && error.contains("p95 ttft of chat"), "{error}");
    }
}

#[test]
fn a_victim_is_judged_by_its_own_figures() {
    let log = shared();
    let judged = |text: &str| {
        let objective = objective(text);
        objective.check(&log.header.workload).unwrap();
        let judgement = summarise(&log, &[objective]).objectives.remove(0);
        (judgement.status, judgement.value)
    };
    for (text, value, over) in [
        ("p50 ttft < 500ms", 100.0, "3 of 11 requests over"),
        ("p50 ttft of victim < 901ms", 900.0, "0 of 3 requests over"),
        ("p95 ttft of noisy < 1s", 100.0, "0 of 8 requests over; would take about "),
    ] {
        let judgement = summarise(&log, &[objective(text)]).objectives.remove(0);
        assert_eq!((judgement.status, judgement.value), (Status::Undecided, Some(value)), "{text}");
        assert!(judgement.line.contains(over), "{}", judgement.line);
    }
    for (text, status, value) in [
        ("p50 ttft of victim < 500ms", Status::Missed, 900.0),
        ("p50 ttft of chat < 500ms", Status::Missed, 900.0),
        ("max ttft of priority high < 1s", Status::Met, 900.0),
        ("mean ttft of noisy < 500ms", Status::Met, 100.0),
        ("mean tpot of noisy <= 10ms", Status::Met, 10.0),
        ("slo_attainment of victim > 95%", Status::Missed, 0.0),
        ("goodput of victim > 1/s", Status::Missed, 0.0),
        ("error_rate of victim < 10%", Status::Missed, 0.25),
        ("reject_rate of tenant victim < 10%", Status::Missed, 0.25),
        ("timeout_rate of victim < 10%", Status::Met, 0.0),
        ("error_rate of noisy < 10%", Status::Met, 0.0),
    ] {
        assert_eq!(judged(text), (status, Some(value)), "{text}");
    }
}

#[test]
fn what_one_party_may_lose_says_nothing_of_the_others() {
    let log = shared();
    let valid = |text: &str| summarise(&log, &[objective(text)]).verdict.reasons.is_empty();
    assert!(valid("error_rate < 50%"));
    assert!(!valid("error_rate of victim < 50%"), "one of twelve requests failed");
}

#[test]
fn a_name_that_says_not_which_requests_are_meant_is_refused() {
    let mut log = shared();
    let refusal =
        |text: &str, log: &RunLog| objective(text).check(&log.header.workload).unwrap_err().to_string();
    let unknown = refusal("p95 ttft of vicitm < 1s", &log);
    assert!(
        unknown.contains(
            "no request belongs to `vicitm`; known: class chat, class batch, priority high, priority low, \
                          tenant victim, tenant noisy"
        ),
        "{unknown}"
    );
    assert!(refusal("p95 ttft of class victim < 1s", &log).contains("known: class chat, class batch"));
    assert!(refusal("p95 ttft of model m < 1s", &log).contains("known: none"));
    assert!(
        refusal("slo_attainment of noisy > 90%", &log).contains("no request of `noisy` has an SLO"),
        "nothing to attain"
    );

    log.header.workload.tenants[0].name = "chat".to_owned();
    let several = refusal("p50 ttft of chat < 1s", &log);
    assert!(several.contains("write `of class chat` or `of tenant chat`"), "{several}");
    assert!(objective("p50 ttft of tenant chat < 1s").check(&log.header.workload).is_ok());
    let unclear = summarise(&log, &[objective("p50 ttft of chat < 1s")]).objectives.remove(0);
    assert_eq!(unclear.status, Status::Undecided);

    // Nobody sends for a tenant without weight, and no class without weight has a request.
    log.header.workload.tenants.push(tenant("idle", &[], 0.0));
    assert!(refusal("p50 ttft of idle < 1s", &log).contains("no request belongs to `idle`"));
    log.header.workload.classes[1].weight = 0.0;
    assert!(refusal("p50 ttft of batch < 1s", &log).contains("no request belongs to `batch`"));
}
