//! What the answers of a run cost, in every form.

use super::{run_page, run_text};
use crate::analysis::{EnergySource, summarise};
use crate::record::{DeploymentFacts, RunLog};
use crate::report::data::summary_csv;
use crate::report::interchange::openmetrics;
use crate::report::sample_runs::{minute, observed, report};
use crate::report::{Extent, Style};

fn priced(mut log: RunLog, gpus: Option<u32>) -> RunLog {
    let currency = Some("EUR".to_owned());
    log.header.deployment = DeploymentFacts { gpus, gpu_hour: Some(9.0), currency, ..DeploymentFacts::default() };
    log
}

fn text(log: &RunLog, extent: Extent) -> String {
    let style = Style { width: 80, ..Style::PLAIN };
    run_text(&summarise(log, &[]), None, style, extent)
}

/// 0.005 a second by two GPUs, and about ten answers of 40 tokens.
#[test]
fn a_price_adds_one_line_to_a_screen_and_none_is_there_without_it() {
    let (plain, screen) = (text(&minute(), Extent::Summary), text(&priced(minute(), Some(2)), Extent::Summary));
    assert!(!plain.contains("cost") && screen.lines().count() == plain.lines().count() + 1, "{screen}");
    let line = screen.lines().find(|line| line.starts_with("  cost  ")).unwrap();
    assert!(line.contains(" EUR an acceptable answer; 0.0005") && line.ends_with(" an answer"), "{line}");
    assert!(line.chars().count() <= 80, "{line}");
    let unknown = text(&priced(minute(), None), Extent::Summary);
    assert!(unknown.contains("  cost  not known: the number of GPUs is not given (--gpus)\n"), "{unknown}");
    let full = text(&priced(minute(), Some(2)), Extent::Full).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(full.contains("2 GPUs, 9.00 EUR for a GPU hour"), "{full}");
    assert!(full.contains(" an answer; 12.6 for 1M output tokens"), "{full}");
}

#[test]
fn money_and_energy_are_in_every_form() {
    let log = priced(observed(), Some(2));
    let full = text(&log, Extent::Full);
    let table = full.split("Cost of what was answered\n").nth(1).unwrap();
    assert!(table.lines().next().unwrap().trim_start().starts_with("EUR"), "{table}");
    assert!(table.contains("  an acceptable answer"), "{table}");
    assert!(run_page(&log, &summarise(&log, &[]), None).contains("an acceptable answer"));
    let mut csv = Vec::new();
    report(&log, &[], |report| summary_csv(report, &mut csv)).unwrap();
    let csv = String::from_utf8(csv).unwrap();
    for (name, unit) in [("cost_per_acceptable_answer", "currency"), ("energy_per_answer", "J")] {
        let row = csv.lines().find(|line| line.contains(&format!(",{name},,"))).unwrap();
        assert!(row.contains(&format!(",{unit},")), "{row}");
    }
    let series = report(&log, &[], |report| openmetrics(report.summary)).unwrap();
    for name in ["skyline_cost_by_answer{", "skyline_energy_by_acceptable_answer_joules{"] {
        assert!(series.contains(name), "{name}: {series}");
    }
    let stored = serde_json::to_value(summarise(&log, &[])).unwrap();
    let joules = stored["costs"]["joules"]["per_answer"].as_f64().unwrap();
    let completed = stored["rates"]["completed_requests_per_s"].as_f64().unwrap();
    assert!((joules * completed - 400.0).abs() < 1e-6, "{joules}");
    assert!(serde_json::to_value(summarise(&minute(), &[])).unwrap().get("costs").is_none());
}

/// Two GPUs of 450 W at 10 for a kWh cost 9 an hour.
#[test]
fn energy_has_a_price_by_a_claimed_power_unless_a_power_was_measured() {
    let by_energy = |mut log: RunLog, gpu_watts| {
        log.header.deployment =
            DeploymentFacts { gpus: Some(2), kwh_price: Some(10.0), gpu_watts, ..DeploymentFacts::default() };
        log
    };
    let costs = |log: &RunLog| summarise(log, &[]).costs.unwrap();
    let claimed = costs(&by_energy(minute(), Some(450.0)));
    let (money, joules) = (claimed.money.unwrap(), claimed.joules.unwrap());
    let ratio = joules.per_answer.unwrap() / money.per_answer.unwrap();
    assert!((ratio / 360_000.0 - 1.0).abs() < 1e-9, "{ratio}");
    assert_eq!((claimed.power_w, claimed.power_source), (Some(900.0), Some(EnergySource::Claimed)));
    let screen = text(&by_energy(minute(), Some(450.0)), Extent::Summary);
    assert!(screen.contains(" an answer; claimed 900 W\n"), "{screen}");
    let full = text(&by_energy(minute(), Some(450.0)), Extent::Full);
    assert!(full.contains("2 GPUs, 10.0 for a kWh, 450 W a GPU claimed"), "{full}");
    assert!(full.contains("claimed 900 W"), "{full}");
    // Both prices are one cost.
    let mut both = by_energy(minute(), Some(450.0));
    both.header.deployment.gpu_hour = Some(4.5);
    let twice = costs(&both).money.unwrap().per_answer.unwrap() / money.per_answer.unwrap();
    assert!((twice - 2.0).abs() < 1e-9, "{twice}");
    let measured = costs(&by_energy(observed(), Some(450.0)));
    assert_eq!((measured.power_w, measured.power_source), (Some(400.0), Some(EnergySource::Counters)));
    // A part of the money is not the money.
    both.header.deployment.gpu_watts = None;
    let unknown = text(&both, Extent::Summary);
    let words = unknown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("cost not known: the devices' power is not known (--metrics-url, --watts)"), "{unknown}");
}

/// 0.005 a second for a minute are 0.3.
#[test]
fn without_acceptable_answers_one_costs_more_than_all_of_the_time() {
    let mut log = priced(minute(), Some(2));
    let slo = crate::workload::Slo { e2e_ms: Some(0.001), ..Default::default() };
    log.header.workload.classes.iter_mut().for_each(|class| {
        class.priorities.iter_mut().for_each(|share| share.slo = slo);
    });
    let full = text(&log, Extent::Full);
    let row = full.lines().rfind(|line| line.contains("  an acceptable answer")).unwrap();
    assert!(row.trim_end().ends_with("> 0.300"), "{row}");
}
