//! Variants of several GPUs, and what they cost.

use super::*;

const PRICED: &str = r#"
name = "t"
currency = "EUR"
[defaults]
input_tokens = 100
output_tokens = 10
rate_per_s = 10
repeats = 3
[server]
gpu_hour = 3.6
[[variants]]
name = "tp1"
gpus = 1
[[variants]]
name = "tp2"
gpus = 2
[[rows]]
name = "A"
expect = ["output_tokens_per_s_per_gpu < 0.6 x @tp1"]
[accept]
objectives = ["p50 ttft < 500ms"]
"#;

/// Three runs of the row under a variant, as their headers have it.
fn priced(variant: usize, gpus: Option<u32>, ttfts: [u64; 3]) -> CellRuns {
    let runs = ttfts.into_iter().zip(1..).map(|(ttft, number)| {
        let request = |i: u64| {
            record(i).sent_at(i * 100, i * 100, i * 100).paced(i * 100 + ttft, 10, 11 + i % (1 + number)).build()
        };
        let mut log = run(4_000, (0..40).map(request).collect());
        log.header.repeat = Some(Repeat { number, of: 3, first_seed: 7 });
        log.header.deployment.gpus = gpus;
        log.header.deployment.gpu_hour = Some(3.6);
        RowRun { folder: "row".to_owned(), summary: summarise(&log, &[]) }
    });
    CellRuns { slot: MatrixSlot { row: 0, variant }, runs: runs.collect(), failed: None }
}

fn matrix(cells: &[CellRuns]) -> Matrix {
    Matrix::new(&read(PRICED), cells, MatrixStopped::AllRun, InvalidRuns::LeftOut)
}

#[test]
fn accepted_variants_are_ranked_by_the_cost_of_an_acceptable_answer() {
    let found = matrix(&[priced(0, Some(2), [200, 202, 201]), priced(1, Some(1), [100, 101, 103])]);
    let decision = found.decision.as_ref().unwrap();
    assert!(decision.variants.iter().all(|variant| variant.standing == Status::Met));
    let ranked: Vec<_> = decision.ranking.iter().map(|ranked| ranked.variant.as_str()).collect();
    assert_eq!(ranked, ["tp2", "tp1"]);
    // One GPU at 0.001 a second, and between nine and ten answers in it.
    let cost = decision.ranking[0].cost_per_acceptable_answer;
    assert!((1.0e-4..1.1e-4).contains(&cost), "{cost}");
    assert_eq!(decision.accepted().map(|accepted| accepted.variant.as_str()), Some("tp2"));
    // Of whom the number of GPUs is not known, the cost is not.
    let unknown = matrix(&[priced(0, None, [200, 202, 201]), priced(1, None, [100, 101, 103])]);
    let decision = unknown.decision.as_ref().unwrap();
    assert_eq!((decision.ranking.len(), decision.accepted().unwrap().variant.as_str()), (0, "tp1"));
    // One without a cost may be the cheapest.
    let part = matrix(&[priced(0, None, [200, 202, 201]), priced(1, Some(1), [100, 101, 103])]).decision.unwrap();
    assert_eq!((part.ranking.len(), part.accepted().unwrap().variant.as_str()), (0, "tp1"));
    let stored = serde_json::to_value(decision).unwrap();
    assert!(stored.get("ranking").is_none(), "{stored}");
}

#[test]
fn a_variant_that_answers_faster_and_makes_less_with_each_gpu_is_noted() {
    let of = |other: CellRuns| {
        let mut found = matrix(&[priced(0, Some(1), [200, 202, 201]), other]);
        (found.cells[0].per_gpu_trade.take(), found.cells.remove(1))
    };
    let (first, second) = of(priced(1, Some(2), [100, 101, 103]));
    assert_eq!(first, None, "others are compared with it");
    let trade = second.per_gpu_trade.unwrap();
    assert_eq!(trade.latency.to_string(), "p50 ttft");
    assert!(trade.latency_change < -0.49 && (trade.per_gpu_change + 0.5).abs() < 0.02, "{trade:?}");
    assert_eq!(second.tests[0].standing, Status::Met, "{:?}", second.tests);
    let (_, as_many) = of(priced(1, Some(1), [100, 101, 103]));
    assert_eq!(as_many.per_gpu_trade, None);
}
