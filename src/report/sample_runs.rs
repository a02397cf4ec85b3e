//! Runs that the writers of formats are tested with.

use super::{Beside, Told};
use crate::analysis::summarise;
use crate::analysis::test_runs::{class, record, run};
use crate::record::{Failure, FailureKind, RunLog};
use crate::workload::{Priority, Slo};

/// Signs that mean something to Markdown, HTML, XML, a terminal, `OpenMetrics` or `GitHub`.
pub(super) const HOSTILE: &str = "a|b\\|c `x` ``` *d* _e_ <script>alert(1)</script> ]]> & \"q\" 'q' @all #1 ![i](u)\n# EOF\n\u{1b}[31m\u{202e}\0$f$";

/// What `write` makes of a run with these objectives.
pub(super) fn told<T>(log: &RunLog, objectives: &[&str], write: impl FnOnce(Told<'_>) -> T) -> T {
    let objectives: Vec<_> = objectives.iter().map(|text| text.parse().unwrap()).collect();
    let summary = summarise(log, &objectives);
    write(Told { log, summary: &summary, beside: Beside::default() })
}

/// A promise of this TTFT in milliseconds, and of a TPOT of 50.
pub(super) fn slo(ttft: f64) -> Slo {
    Slo { ttft_ms: Some(ttft), tpot_ms: Some(50.0), e2e_ms: None }
}

/// Ten requests a second for a minute by vLLM, two priorities with an SLO each, TTFT from 100 to 400 ms.
pub(super) fn minute() -> RunLog {
    let records = (0..600).map(|i| {
        let at = i * 100;
        let priority = if i % 10 < 7 { Priority::High } else { Priority::Medium };
        let first = at + 100 + (i * 37) % 300;
        record(i)
            .class(0, priority)
            .sent_at(at, at, at + 1)
            .paced(first, 20 + i % 7, 40)
            .usage(112, 40)
            .build()
    });
    let mut log = run(60_000, records.collect());
    log.header.workload.name = "short_chat".to_owned();
    log.header.workload.classes =
        vec![class("chat", &[(Priority::High, slo(200.0)), (Priority::Medium, slo(500.0))])];
    log
}

/// Three requests: one came whole, one broke off after two tokens, one was cut off without any.
pub(super) fn three() -> RunLog {
    let whole = record(0).sent_at(0, 2, 10).chunks(&[(110, 1), (130, 2), (160, 1)]).usage(112, 4).build();
    let broken = record(1)
        .sent_at(500, 500, 501)
        .chunks(&[(601, 1), (651, 1)])
        .failed(700, Failure::new(FailureKind::Truncated, "the stream ended without a finish reason"))
        .build();
    let censored = record(2).sent_at(900, 900, 905).asked(8).censored(5_000).build();
    run(1_000, vec![censored, broken, whole])
}

/// A run in which all that a server or a person says is [`HOSTILE`].
pub(super) fn hostile() -> RunLog {
    let mut log = three();
    let failed = record(3).sent_at(950, 950, 951);
    log.records.push(failed.failed(960, Failure::new(FailureKind::HttpStatus(500), HOSTILE)).build());
    log.header.plan.measured_requests += 1;
    let own = |name: &str| format!("{name} {HOSTILE}");
    log.header.workload.name = own("workload");
    log.header.engine.model = own("model");
    log.header.engine.server_version = Some(own("version"));
    log.header.deployment.hardware = Some(own("hardware"));
    log.header.deployment.labels.insert("flags".to_owned(), own("flags"));
    log.header.command.push(own("argument"));
    let two = [(Priority::High, Slo::default()), (Priority::Low, Slo::default())];
    log.header.workload.classes = vec![class(&own("class"), &two), class("other", &two)];
    log.records[0].class = 1;
    log.records[0].priority = Priority::Low;
    log
}
