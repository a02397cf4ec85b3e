//! Files that are read and refused, claims that are held against figures, variants that are decided on.

mod per_gpu;
mod rows;

use super::tested::TrustedRuns;
use super::*;
use crate::analysis::test_runs::{RecordBuilder, record, run};
use crate::analysis::{Reason, Rule, Status, Summary, Verdict, VerdictOutcome, summarise};
use crate::record::Repeat;
use crate::workload::{ArrivalPattern, Distribution, library};

fn read(text: &str) -> Experiments {
    Experiments::from_toml(text, "t.toml").unwrap()
}

fn mistakes(text: &str) -> String {
    Experiments::from_toml(text, "t.toml").unwrap_err().to_string()
}

/// Returns run number `number` of `of`. It has a first token after so many milliseconds and a token each 10 ms then.
fn completed(number: u64, of: u64, ttft: u64) -> Summary {
    let records = (0..40).map(|i| record(i).sent_at(i * 100, i * 100, i * 100).paced(i * 100 + ttft, 10, 11));
    let mut log = run(4_000, records.map(RecordBuilder::build).collect());
    log.header.repeat = (of > 1).then_some(Repeat { number, of, first_seed: 7 });
    summarise(&log, &[])
}

fn runs(ttfts: &[u64]) -> Vec<Summary> {
    let of = ttfts.len() as u64;
    ttfts.iter().zip(1..).map(|(ttft, number)| completed(number, of, *ttft)).collect()
}

fn cell(row: usize, variant: usize, ttfts: &[u64]) -> CellRuns {
    let runs = runs(ttfts).into_iter().map(|summary| RowRun { folder: "row".to_owned(), summary });
    CellRuns { slot: MatrixSlot { row, variant }, runs: runs.collect(), failed: None }
}

/// Runs of a row that can be trusted.
fn trusted(runs: &[Summary]) -> TrustedRuns<'_> {
    Ok((runs.iter().collect(), None))
}

#[test]
fn the_example_is_sound_and_asks_what_its_table_says() {
    let example = Experiments::load("rows_a_to_f").unwrap();
    assert_eq!(example, read(Experiments::example()));
    let names: Vec<_> = example.rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["A", "B", "C", "D", "E-cold", "E", "F"]);
    let lengths = |name: &str| {
        let row = &example.rows[example.row(name).unwrap()];
        let spec = row.settings.spec(&row.name).unwrap();
        let class = &spec.classes[0];
        let prefix = class.shared_prefix.as_ref().map(|prefix| (prefix.tokens.clone(), prefix.warmed()));
        (class.input_tokens.clone(), class.output_tokens.clone(), prefix, spec.arrival)
    };
    let constant = |value| Distribution::Constant { value };
    let (input, output, prefix, arrival) = lengths("B");
    assert_eq!((input, output, prefix), (constant(2_048), constant(128), None));
    assert_eq!(arrival, ArrivalPattern::Constant { rate_per_s: 1.0 });
    let (.., arrival) = lengths("D");
    assert_eq!(arrival.users(), Some(8));
    // Half of the prompt is the prefix, which is sent before the run; where it is cold the prompt is as long.
    let (input, _, prefix, _) = lengths("E");
    assert_eq!((input, prefix), (constant(2_048), Some((constant(2_048), 1))));
    let (input, _, prefix, _) = lengths("E-cold");
    assert_eq!((input, prefix), (constant(4_096), None));
    let production = &example.rows[example.row("F").unwrap()].settings;
    let spec = production.spec("F").unwrap();
    assert_eq!((spec.name.as_str(), spec.arrival.mean_rate_per_s()), ("short_chat", 2.0));
    assert!(library::source("short_chat").is_some());
}

#[test]
fn every_mistake_is_reported_with_its_line() {
    insta::assert_snapshot!(mistakes(
        r#"
name = "t"
[defaults]
inptu_tokens = 3
rate_per_s = 1
users = 2
[server]
engine = "vlm"
serve = "x"
start = "y"
[[variants]]
name = "a"
[[variants]]
name = "a"
gpus = 0
[[rows]]
name = "A"
prefix_reuse = "hot"
expect = ["p95 ttft < 500", "p50 ttft within 10 of B", "tpot < A", "p50 ttft is good", "p50 ttft < 2 x B!"]
[accept]
objectives = ["p95 tft < 1s"]
stop_when = "bored"
"#
    ));
}

#[test]
fn names_that_stand_for_nothing_are_reported() {
    insta::assert_snapshot!(mistakes(
        r#"
name = "t"
[[variants]]
name = "base"
[[variants]]
name = "fast"
[[rows]]
name = "A"
variants = ["bsae"]
expect = ["p50 ttft < B", "p50 ttft < A", "p50 ttft < @fats", "p50 ttft < A@fast"]
[accept]
rows = ["C"]
objectives = ["mlperf:llama-3.1-8b:interactive"]
max_cost_per_million_output_tokens = 3
"#
    ));
    assert!(mistakes("name = \"t\"").contains("has nothing to run"));
    let both = mistakes("name = \"t\"\n[grid]\nusers = [1]\n[one_at_a_time]\nusers = [1]");
    assert!(both.contains("rows of several kinds"), "{both}");
}

#[test]
fn axes_make_rows() {
    let head = "name = \"t\"\n[defaults]\ninput_tokens = 256\noutput_tokens = 64\nrate_per_s = 1\n";
    let grid = read(&format!("{head}[grid]\ninput_tokens = [256, 2048]\nrate_per_s = [0.5, 4]\n"));
    let names: Vec<_> = grid.rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["in256-rate0_5", "in256-rate4", "in2048-rate0_5", "in2048-rate4"]);
    assert_eq!(grid.rows[3].settings.input_tokens, Some(2_048));
    assert_eq!(grid.rows[3].settings.output_tokens, Some(64));

    let variants = "[[variants]]\nname = \"x\"\n[[variants]]\nname = \"y\"\n";
    let one = read(&format!("{head}{variants}[one_at_a_time]\ninput_tokens = [256, 2048]\nusers = [8]\n"));
    let names: Vec<_> = one.rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["baseline", "in2048", "users8"]);
    let changed: Vec<_> = one.rows.iter().map(|row| row.settings.differences(&one.rows[0].settings)).collect();
    assert_eq!(changed, [vec![], vec![MatrixVariable::InputTokens], vec![MatrixVariable::Load]]);
    assert_eq!((one.rows[2].settings.rate_per_s, one.rows[2].settings.users), (None, Some(8)));
    // The variant is a variable too: the baseline is run under both, the others under the first.
    let order: Vec<_> = one.order().iter().map(|slot| (slot.variant, slot.row)).collect();
    assert_eq!(order, [(0, 0), (0, 1), (0, 2), (1, 0)]);
}

#[test]
fn what_a_row_lacks_is_named() {
    let spec = |settings: Settings| settings.spec("A").unwrap_err();
    let lengths = Settings { input_tokens: Some(100), output_tokens: Some(10), ..Settings::default() };
    assert!(spec(Settings::default()).contains("`input_tokens` is missing"));
    assert!(spec(lengths.clone()).contains("`rate_per_s` or `users` is missing"));
    let warm = Settings { rate_per_s: Some(1.0), prefix_reuse: Some(PrefixReuse::Warm), ..lengths };
    assert!(spec(warm.clone()).contains("`prefix_tokens` is missing"));
    let all = Settings { prefix_tokens: Some(100), ..warm };
    assert!(spec(all).contains("something must follow it"));
    let timed =
        Settings { workload: Some("short_chat".to_owned()), arrival: Some(Spacing::Constant), ..Settings::default() };
    assert!(spec(timed).contains("says when requests arrive"));
}

/// Compares the interval of the geometric mean with scipy. The ratios are 100/50, 110/52 and 95/51. The interval is
/// `exp(mean ± t.ppf(0.975, 2) · std(ddof=1) / √3)` of the logarithms.
#[test]
fn a_ratio_has_the_interval_of_its_logarithms() {
    let (one, two) = (runs(&[100, 110, 95]), runs(&[50, 52, 51]));
    let test = |claim: &str| {
        let claim: Claim = claim.parse().unwrap();
        claim.test(&trusted(&one), Some(&trusted(&two)))
    };
    let twice = test("p50 ttft > 1.5 x B");
    let close = |value: Option<f64>, truth: f64| (value.unwrap() - truth).abs() < 1e-9;
    assert!(close(twice.ratio, 1.990_020_676_497_920_2), "{twice:?}");
    assert!(close(twice.ratio_low, 1.698_602_594_941_545_3), "{twice:?}");
    assert!(close(twice.ratio_high, 2.331_435_442_688_419_6), "{twice:?}");
    for (claim, standing) in [
        ("p50 ttft > 1.5 x B", Status::Met),
        ("p50 ttft > 150% of B", Status::Met),
        ("p50 ttft > 2 x B", Status::Undecided),
        ("p50 ttft < B", Status::Missed),
        ("p50 ttft > 3 × B", Status::Missed),
        ("p50 tpot within 1% of B", Status::Met),
        ("p50 ttft within 10% of B", Status::Missed),
        ("p50 ttft < 200ms", Status::Met),
        ("p50 ttft < 100ms", Status::Undecided),
        ("p50 ttft < 50ms", Status::Missed),
        ("p99 ttft < 200ms", Status::Undecided),
        ("error_rate < 2 x B", Status::Undecided),
    ] {
        let tested = test(claim);
        assert_eq!(tested.standing, standing, "{}", tested.line);
    }
    insta::assert_snapshot!(
        [test("p50 ttft > 1.5 x B"), test("p50 ttft < 100ms"), test("p99 ttft < 200ms"), test("error_rate < B")]
            .map(|tested| tested.line)
            .join("\n")
    );
}

#[test]
fn single_runs_without_an_interval_do_not_tell() {
    let (one, two) = (runs(&[100]), runs(&[50]));
    let claim: Claim = "mean ttft > B".parse().unwrap();
    let tested = claim.test(&trusted(&one), Some(&trusted(&two)));
    assert_eq!((tested.standing, tested.ratio), (Status::Undecided, Some(2.0)), "{}", tested.line);
    assert!(tested.line.contains("run as many repeats of both"), "{}", tested.line);
}

const TWO_VARIANTS: &str = r#"
name = "batch"
[defaults]
input_tokens = 100
output_tokens = 10
rate_per_s = 10
horizon_s = 4
repeats = 3
[server]
gpu_hour = 3.6
gpus = 2
[[variants]]
name = "base"
[[variants]]
name = "fast"
flags = "--max-num-seqs 64"
[[rows]]
name = "A"
[[rows]]
name = "B"
input_tokens = 200
output_tokens = 20
hypothesis = "Twice the prompt, twice the prefill."
expect = ["p50 ttft > 1.2 x A", "p50 ttft < @base"]
[accept]
rows = ["A"]
objectives = ["p50 ttft < 90ms"]
max_cost_per_million_output_tokens = 50
"#;

#[test]
fn a_variant_is_accepted_when_every_row_that_counts_keeps_the_contract() {
    let experiments = read(TWO_VARIANTS);
    let cells = [cell(0, 0, &[100, 101, 102]), cell(0, 1, &[50, 51, 52]), cell(1, 1, &[150, 151, 149])];
    let matrix = Matrix::new(&experiments, &cells, MatrixStopped::AllRun, InvalidRuns::Counted);
    let decision = matrix.decision.as_ref().unwrap();
    assert_eq!(decision.accepted().map(|variant| variant.variant.as_str()), Some("fast"));
    assert_eq!(decision.variants[0].standing, Status::Missed);
    assert!(decision.variants[0].reasons[0].starts_with("row A: missed: p50 ttft < 90ms (101 ms"), "{decision:?}");
    // 40 answers of 11 tokens, of which 6 come after the 4 s, are 108.5 tokens/s; two GPUs at 3.6 an hour are 7.2 for
    // 390,600 of them.
    let cost = matrix.cells[1].cost_per_million_output_tokens.unwrap();
    assert!((cost - 7.2 / 390_600.0 * 1e6).abs() < 1e-9, "{cost}");
    let priced = Experiments { currency: Some("EUR".to_owned()), ..experiments.clone() };
    let stored = Experiments::from_stored(&serde_json::to_value(&priced).unwrap()).unwrap();
    let in_euros = Matrix::new(&stored, &cells, MatrixStopped::AllRun, InvalidRuns::Counted);
    let demand = &in_euros.cells[1].contract.as_ref().unwrap().judgements[1].line;
    assert!(demand.contains("cost of 1M output tokens <= 50.0 EUR (was 18.4"), "{demand}");
    assert_eq!(in_euros.currency.as_deref(), Some("EUR"));
    let row = &matrix.cells[2];
    assert_eq!(row.tests[0].standing, Status::Met);
    assert_eq!(row.tests[0].differing, [MatrixVariable::InputTokens, MatrixVariable::OutputTokens]);
    // The row was not run under `base`.
    assert_eq!(row.tests[1].standing, Status::Undecided);
    assert_eq!(row.standing, Some(Status::Undecided));
    assert!(!matrix.is_as_hoped());
    assert_eq!(serde_json::to_value(&matrix).unwrap()["schema"], 2);
}

#[test]
fn nothing_is_decided_by_rows_that_are_not_whole_or_not_believed() {
    let experiments = read(TWO_VARIANTS);
    let mut partial = cell(0, 0, &[50, 51, 52]);
    partial.runs.pop();
    let mut failed = cell(0, 1, &[]);
    failed.failed = Some(RunFailure { why: "out of memory".to_owned(), by: FailedBy::Server });
    let matrix = Matrix::new(&experiments, &[partial, failed], MatrixStopped::Interrupted, InvalidRuns::Counted);
    let decided = |matrix: &Matrix| {
        let variants = matrix.decision.iter().flat_map(|decision| &decision.variants);
        variants.map(|variant| (variant.standing, variant.reasons[0].clone())).collect::<Vec<_>>()
    };
    assert_eq!(
        decided(&matrix),
        [
            (Status::Undecided, "row A: 2 of 3 runs completed".to_owned()),
            (Status::Missed, "row A could not be run: out of memory".to_owned()),
        ]
    );
    assert!(matrix.has_failed_rows());
    // A failure of the client says nothing about the variant.
    let mut refused = cell(0, 1, &[]);
    refused.failed = Some(RunFailure { why: "something answers already".to_owned(), by: FailedBy::Client });
    let matrix = Matrix::new(&experiments, &[refused], MatrixStopped::AllRun, InvalidRuns::Counted);
    assert_eq!(
        decided(&matrix)[1],
        (Status::Undecided, "row A could not be run: something answers already".to_owned())
    );
    assert!(matrix.has_failed_rows());

    let invalid = spoiled(0, 0, &[50, 51, 52]);
    let matrix = Matrix::new(&experiments, &[invalid], MatrixStopped::AllRun, InvalidRuns::LeftOut);
    assert_eq!(decided(&matrix)[0], (Status::Undecided, "row A is INVALID".to_owned()));
    assert!(matrix.has_unbelievable_rows());
    assert_eq!(matrix.caution, None);
}

/// A row of runs that the machine spoiled.
fn spoiled(row: usize, variant: usize, ttfts: &[u64]) -> CellRuns {
    let mut spoiled = cell(row, variant, ttfts);
    for run in &mut spoiled.runs {
        let sentence = "the machine was busy".to_owned();
        let (rule, outcome) = (Rule::ClientStarved, VerdictOutcome::Invalid);
        let reason = Reason { rule, outcome, runs: None, sentence, cure: String::new() };
        run.summary.verdict = Verdict::new(vec![reason], Vec::new());
    }
    spoiled
}

#[test]
fn invalid_rows_that_count_on_request_confirm_and_accept_nothing() {
    let experiments = read(TWO_VARIANTS);
    let judged = |cells: &[CellRuns]| {
        let matrix = Matrix::new(&experiments, cells, MatrixStopped::AllRun, InvalidRuns::Counted);
        let standings = matrix.cells.iter().map(|cell| cell.tests.first().map(|test| test.standing));
        let standings: Vec<_> = standings.collect();
        let decided = matrix.decision.as_ref().unwrap().variants[0].clone();
        (matrix, standings, decided)
    };
    let (good, long) = ([50, 51, 52], [150, 151, 149]);
    let (matrix, standings, decided) = judged(&[cell(0, 0, &good), cell(1, 0, &long)]);
    assert_eq!((matrix.caution, standings), (None, vec![None, Some(Status::Met)]));
    assert_eq!(decided.standing, Status::Met);

    // The row itself is spoiled, or the one that it is compared with.
    for cells in [[spoiled(0, 0, &good), cell(1, 0, &long)], [cell(0, 0, &good), spoiled(1, 0, &long)]] {
        let (matrix, standings, _) = judged(&cells);
        assert_eq!(standings[1], Some(Status::Undecided));
        let line = &matrix.cells[1].tests[0].line;
        assert!(line.starts_with("inconclusive: p50 ttft > 1.2 x A (150 ms against 51.0 ms: 2.94 x"), "{line}");
        assert!(line.ends_with(" is INVALID)"), "{line}");
        let caution = matrix.caution.as_deref().unwrap();
        assert_eq!(caution, "1 of 2 rows is INVALID and counts because of --allow-invalid");
    }
    let (matrix, _, decided) = judged(&[spoiled(0, 0, &good), cell(1, 0, &long)]);
    assert_eq!(
        (decided.standing, decided.reasons.as_slice()),
        (Status::Undecided, &["row A is INVALID".to_owned()][..])
    );
    assert!(!matrix.is_as_hoped());
    // They may refute and reject all the same.
    let (_, standings, decided) = judged(&[spoiled(0, 0, &long), spoiled(1, 0, &good)]);
    assert_eq!((standings[1], decided.standing), (Some(Status::Missed), Status::Missed));
}

#[test]
fn a_variant_that_does_not_keep_up_is_rejected_for_it() {
    let experiments = read(TWO_VARIANTS);
    let mut saturated = cell(0, 0, &[50, 51, 52]);
    for run in &mut saturated.runs {
        let sentence = "it grew".to_owned();
        let (rule, outcome) = (Rule::SteadyState, VerdictOutcome::Overloaded);
        let reason = Reason { rule, outcome, runs: None, sentence, cure: String::new() };
        run.summary.verdict = Verdict::new(vec![reason], Vec::new());
    }
    let matrix = Matrix::new(&experiments, &[saturated], MatrixStopped::AllRun, InvalidRuns::LeftOut);
    let decided = &matrix.decision.as_ref().unwrap().variants[0];
    assert_eq!(decided.standing, Status::Missed);
    assert!(decided.reasons[0].contains("the server keeps up (runs 1, 2, 3: it grew"), "{decided:?}");
    let cell = &matrix.cells[0];
    assert_eq!((cell.outcome, cell.valid), (Some(VerdictOutcome::Overloaded), Some(true)));
    assert!(cell.saturated && !matrix.has_unbelievable_rows());
}

#[test]
fn a_row_is_not_held_against_itself() {
    let experiments = read(TWO_VARIANTS);
    let cells = [cell(1, 0, &[200, 201, 199]), cell(1, 1, &[150, 151, 149])];
    let matrix = Matrix::new(&experiments, &cells, MatrixStopped::AllRun, InvalidRuns::Counted);
    let claims: Vec<usize> = matrix.cells.iter().map(|cell| cell.tests.len()).collect();
    assert_eq!(claims, [1, 2], "`< @base` is no claim about `base` itself");
    assert_eq!(matrix.cells[1].tests[1].standing, Status::Met);
    assert_eq!(matrix.cells[1].tests[1].differing, [MatrixVariable::Variant]);
}
