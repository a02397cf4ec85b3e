//! What each objective of a sweep allows, the tokens at its answer, and whether that was sustained.

use super::*;
use crate::experiment::ObjectiveLimit;

fn screen(sweep: &Sweep) -> String {
    render::text(&document(sweep), Style { width: 80, ..Style::PLAIN }, Extent::Summary)
}

/// The p95 of TTFT is over 500 ms at 20 a second alone. The p50 of TPOT is over its bound at no load.
#[test]
fn each_objective_has_its_own_limit_and_the_answer_its_tokens() {
    let (sweep, _) = swept([300, 350, 900], &["p95 ttft < 500ms", "p50 tpot < 50ms"], |_, _| {});
    let answer = sweep.answer.as_ref().unwrap();
    let [ttft, tpot] = answer.limits.as_slice() else { panic!("{:?}", answer.limits) };
    assert_eq!((ttft.estimate, ttft.allows_more), (answer.estimate, false));
    assert!((8.0..20.0).contains(&ttft.estimate.unwrap()));
    assert_eq!((tpot.estimate, tpot.allows_more), (None, true));
    let text = screen(&sweep);
    assert!(text.lines().count() <= 24, "{text}");
    let limits = text.lines().find(|line| line.starts_with("  limits")).unwrap();
    assert!(limits.contains("p95 TTFT allows ") && limits.ends_with("p50 TPOT more than 20.0/s"), "{limits}");
    // Forty tokens of eight requests, of which the last ones come after the window, by two GPUs.
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let throughput = "throughput 317 output tokens/s, 158/s per GPU at 8.00/s, at an ITL of 22.0 ms (p50)";
    assert!(words.contains(throughput), "{text}");
    let page = sweep_page(&sweep);
    let headline = page.split("class=\"headline\"").nth(1).unwrap();
    assert!(headline.split("</section>").next().unwrap().contains("/s per GPU at 8.00/s"), "{headline:.900}");
}

#[test]
fn an_objective_that_no_load_meets_allows_none_and_one_alone_has_no_line() {
    let (sweep, _) = swept([300, 350, 900], &["p95 ttft < 500ms", "p50 tpot < 1ms"], |_, _| {});
    let text = shown(&sweep);
    assert!(text.contains(", p50 TPOT no measured load\n"), "{text}");
    assert!(!text.contains("  throughput "), "no load passed: {text}");
    let (alone, _) = swept([300, 350, 900], &["p95 ttft < 500ms"], |_, _| {});
    assert!(!shown(&alone).contains("  limits ") && alone.answer.as_ref().unwrap().limits.is_empty());
    let stored = serde_json::to_value(&alone).unwrap();
    assert!(stored["answer"].get("limits").is_none());
    assert_eq!(serde_json::from_value::<Sweep>(stored).unwrap().answer, alone.answer);
}

#[test]
fn the_interval_of_a_limit_is_shown_where_there_is_one() {
    let (mut sweep, _) = swept([300, 350, 900], &["p95 ttft < 500ms", "p50 tpot < 50ms"], |_, _| {});
    let answer = sweep.answer.as_mut().unwrap();
    let limit = |text: &str, at: f64| ObjectiveLimit {
        objective: text.parse().unwrap(),
        estimate: Some(at),
        interval_low: Some(at - 2.0),
        interval_high: Some(at + 3.0),
        allows_more: false,
    };
    answer.limits = vec![limit("p95 ttft of chat < 500ms", 73.8), limit("p50 tpot < 50ms", 68.6)];
    let text = shown(&sweep);
    let said = "p95 TTFT of chat allows 73.8/s (71.8 to 76.8), p50 TPOT 68.6/s (66.6 to 71.6)";
    assert!(text.contains(said), "{text}");
}

/// The p95 of TTFT is over 500 ms at 20 a second alone.
#[test]
fn tiers_have_a_table_that_fits_a_terminal() {
    let tiers = ["fast=p95 ttft < 330ms,tokens_per_s_per_user > 30/s", "usual=p95 ttft < 500ms", "slow=p95 ttft < 9s"];
    let (sweep, _) = swept_by([300, 350, 900], &["error_rate < 1%"], &tiers, |_, _| {});
    let text = render::text(&document(&sweep), Style { width: 100, ..Style::PLAIN }, Extent::Summary);
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    insta::assert_snapshot!(text);
    let of = |name: &str| sweep.tiers.iter().find(|tier| tier.name == name).unwrap();
    let alone = |objectives: &[&str]| swept([300, 350, 900], objectives, |_, _| {}).0.answer.unwrap();
    let fast = ["error_rate < 1%", "p95 ttft < 330ms", "tokens_per_s_per_user > 30/s"];
    assert_eq!(of("fast").answer, alone(&fast));
    assert_eq!(of("usual").answer, alone(&["error_rate < 1%", "p95 ttft < 500ms"]));
    assert_eq!(of("slow").answer.failed, None);
    // The answer of all is that of the strictest.
    assert_eq!(sweep.answer.as_ref().unwrap().passed, of("fast").answer.passed);
    let stored = serde_json::to_string(&sweep).unwrap();
    let again: Sweep = serde_json::from_str(&stored).unwrap();
    assert_eq!((&again.tiers, &again.plan), (&sweep.tiers, &sweep.plan));
    let mut table = Vec::new();
    crate::report::data::answers_csv(&sweep, &mut table).unwrap();
    let table = String::from_utf8(table).unwrap();
    assert_eq!(table.lines().count(), 4, "{table}");
    assert!(
        table.lines().nth(1).unwrap().starts_with("fast,rate_per_s,") && table.contains("slow,rate_per_s,"),
        "{table}"
    );
    assert!(sweep_page(&sweep).contains("usual: error_rate &lt; 1%; p95 ttft &lt; 500ms"), "the page names them");
}

/// Costs are figures of a load where a price is given, and nothing where not.
#[test]
fn loads_have_their_costs_where_a_price_is_given() {
    let price = |_, log: &mut RunLog| log.header.deployment.gpu_hour = Some(1.8);
    let (priced, _) = swept([300, 350, 900], &["p95 ttft < 500ms"], price);
    let cost = |sweep: &Sweep| sweep.points[1].figures.metric(Metric::CostPerAnswer).and_then(|figure| figure.mean);
    // Two GPUs for 0.001 a second and about eight answers.
    assert!(cost(&priced).is_some_and(|cost| (cost * 8_000.0 - 1.0).abs() < 0.02), "{:?}", cost(&priced));
    let stored = serde_json::to_string(&priced).unwrap();
    assert!(stored.contains("\"cost_per_acceptable_answer\"") && !stored.contains("energy_per"));
    assert_eq!(serde_json::from_str::<Sweep>(&stored).unwrap().points[1].figures, priced.points[1].figures);
    let (plain, _) = swept([300, 350, 900], &["p95 ttft < 500ms"], |_, _| {});
    assert_eq!(cost(&plain), None);
    assert!(!serde_json::to_string(&plain).unwrap().contains("cost_per"));
}

#[test]
fn what_held_and_what_did_not() {
    let (mut sweep, trial) = swept([300, 350, 450], &["p95 ttft < 500ms"], |_, _| {});
    sweep.sustained = Some(Sustained::from_trial(&trial));
    assert!(shown(&sweep).contains("✓ 20.0/s was sustained for 1 min: every objective was met"), "{}", shown(&sweep));
    let (mut sweep, trial) = swept([300, 350, 900], &["p95 ttft < 500ms"], |_, _| {});
    sweep.sustained = Some(Sustained::from_trial(&trial));
    assert!(shown(&sweep).contains("✗ 20.0/s was not sustained for 1 min: p95 ttft < 500ms was missed"));
}
