//! The same of tables of experiments, row by row.

use super::*;
use crate::analysis::Status;
use crate::experiment::matrix::{Experiments, Matrix, MatrixExperiment, MatrixRun};

fn table(repeats: u64) -> Experiments {
    let text = format!(
        r#"
name = "t"
[defaults]
input_tokens = 100
output_tokens = 10
rate_per_s = 10
repeats = {repeats}
[[rows]]
name = "A"
[[rows]]
name = "B"
expect = ["p50 ttft > 1.2 x A"]
[accept]
objectives = ["p50 ttft < 900ms"]
"#
    );
    Experiments::from_toml(&text, "t.toml").unwrap()
}

fn matrix_of(
    repeats: u64,
    invalid: InvalidRuns,
    is_late: impl Fn(&MatrixRun) -> bool,
) -> (Vec<String>, Vec<String>, Matrix) {
    let find = |run: &MatrixRun| {
        let found = valid(run.repeat, run.of, 100 + 100 * run.slot.row as u64 + run.repeat);
        if is_late(run) { late(found) } else { found }
    };
    let (executor, matrix) = resumed(|| MatrixExperiment::new(table(repeats), invalid), find);
    (executor.ran, executor.said, matrix)
}

#[test]
fn a_spoiled_run_of_a_row_is_replaced_before_the_next_row() {
    let first_of_a = |run: &MatrixRun| (run.slot.row, run.repeat) == (0, 1);
    let (ran, said, matrix) = matrix_of(3, InvalidRuns::LeftOut, first_of_a);
    let names = ["row-A/run-3", "row-A/run-4", "row-B/run-1", "row-B/run-2", "row-B/run-3"];
    assert_eq!(ran[2..], names);
    assert_eq!(said, ["row-A/run-1 was spoiled (it was late): row-A/run-4 replaces it"]);
    let [a, b] = matrix.cells.as_slice() else { panic!("two rows") };
    assert_eq!((a.outcome, a.planned_runs, a.runs.len()), (Some(VerdictOutcome::Valid), 3, 4));
    let words = "1 of 4 runs was spoiled and replaced: row-A/run-1 (it was late)";
    assert_eq!((a.spoiled.as_deref(), &b.spoiled), (Some(words), &None));
    assert!(a.runs[0].replaced && !a.runs[3].replaced);
    // Runs 2 and 3 make pairs by their seeds, and the spare one with what is left: 101/104, 102/102 and
    // 103/103 ms more.
    let ratio = ((202.0_f64 / 102.0) * (203.0 / 103.0) * (201.0 / 104.0)).cbrt();
    assert!((b.tests[0].ratio.unwrap() - ratio).abs() < 1e-9, "{:?}", b.tests);
    assert!(b.tests[0].line.contains("over 3 pairs of runs"), "{:?}", b.tests);
    let low = paired_low(&[202.0 / 102.0, 203.0 / 103.0, 201.0 / 104.0]);
    assert!((b.tests[0].ratio_low.unwrap() - low).abs() < 1e-9, "{:?}", b.tests);
    assert_eq!(matrix.decision.unwrap().variants[0].standing, Status::Met);
}

/// The lower end of the interval of the mean logarithm: `t.ppf(0.975, 2)` is 4.302653.
fn paired_low(ratios: &[f64; 3]) -> f64 {
    let logs = ratios.map(f64::ln);
    let mean = logs.iter().sum::<f64>() / 3.0;
    let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / 2.0;
    (mean - 4.302_652_729_696_144 * (variance / 3.0).sqrt()).exp()
}

#[test]
fn a_row_of_one_run_has_a_spare_one_too() {
    let (ran, _, matrix) = matrix_of(1, InvalidRuns::LeftOut, |run| run.slot.row == 0 && run.repeat < 3);
    assert_eq!(ran, ["row-A/run-1", "row-A/run-2", "row-A/run-3", "row-B/run-1"]);
    let a = &matrix.cells[0];
    assert_eq!(
        (a.outcome, a.contract.as_ref().map(|contract| contract.met)),
        (Some(VerdictOutcome::Valid), Some(true))
    );
}

#[test]
fn a_row_whose_runs_are_all_spoiled_is_invalid_and_the_next_one_runs() {
    let (ran, said, matrix) = matrix_of(2, InvalidRuns::LeftOut, |run| run.slot.row == 0);
    assert_eq!((ran.len(), said.len()), (6, 2));
    let [a, b] = matrix.cells.as_slice() else { panic!("two rows") };
    assert_eq!((a.valid, a.runs.len(), b.valid), (Some(false), 4, Some(true)));
    assert!(a.spoiled.as_ref().unwrap().starts_with("4 of 4 runs were spoiled, and 2 spare runs did not"));
    assert!(matrix.has_unbelievable_rows() && !matrix.has_failed_rows());

    let (ran, said, matrix) = matrix_of(2, InvalidRuns::Counted, |run| run.slot.row == 0);
    assert_eq!((ran.len(), said.len(), matrix.cells[0].runs.len()), (4, 0, 2));
}

/// Four rows of a run each.
fn four_rows() -> Experiments {
    let row = |name| format!("[[rows]]\nname = \"{name}\"\ninput_tokens = 100\noutput_tokens = 10\nrate_per_s = 10\n");
    let rows = ["A", "B", "C", "D"].map(row).concat();
    Experiments::from_toml(&format!("name = \"t\"\n{rows}"), "t.toml").unwrap()
}

/// Returns what runs of four rows where `is_broken` runs break `rule`. It also returns why the rows did not run.
fn four_rows_run(
    invalid: InvalidRuns,
    rule: Rule,
    is_broken: impl Fn(&MatrixRun) -> bool,
) -> (Vec<String>, BTreeMap<String, Summary>, Vec<Option<String>>) {
    let mut executor = Folder::new(|run: &MatrixRun| {
        let found = valid(run.repeat, run.of, 100);
        if is_broken(run) { broken(rule, VerdictOutcome::Invalid, found) } else { found }
    });
    executor.forced = false;
    let mut matrix = MatrixExperiment::new(four_rows(), invalid);
    let Ok(()) = drive(&mut matrix, &mut executor);
    let why = matrix.result().cells.into_iter().map(|cell| cell.failed).collect();
    (executor.ran, executor.stored, why)
}

#[test]
fn three_spoiled_rows_in_a_row_end_a_table_and_it_can_be_resumed() {
    let (ran, stored, why) = four_rows_run(InvalidRuns::LeftOut, Rule::ScheduleLag, |_| true);
    assert_eq!((ran.len(), ran[8].as_str()), (9, "row-C/run-3"));
    let ended = Some("3 rows in a row were spoiled: it was late".to_owned());
    assert_eq!(why, [None, None, None, ended.clone()]);
    // Where INVALID runs count, a row has no spare ones.
    let (ran, _, why) = four_rows_run(InvalidRuns::Counted, Rule::ScheduleLag, |_| true);
    assert_eq!((ran.len(), &why[3]), (3, &ended));
    // The machine was freed.
    let mut executor = Folder { stored, ..Folder::new(|run: &MatrixRun| valid(run.repeat, run.of, 100)) };
    executor.forced = false;
    let mut again = MatrixExperiment::new(four_rows(), InvalidRuns::LeftOut);
    let Ok(()) = drive(&mut again, &mut executor);
    assert_eq!(executor.ran, ["row-D/run-1"]);
    assert!(!again.result().has_failed_rows());
}

#[test]
fn a_row_that_this_machine_cannot_send_does_not_end_the_others() {
    let (ran, _, why) = four_rows_run(InvalidRuns::LeftOut, Rule::ScheduleLag, |run| run.slot.row == 1);
    assert_eq!((ran.len(), why), (6, vec![None; 4]));
}

#[test]
fn what_the_server_does_in_every_row_ends_no_table_and_replaces_no_run() {
    for rule in [Rule::TokenIdentity, Rule::CounterIdentity] {
        let (ran, _, why) = four_rows_run(InvalidRuns::LeftOut, rule, |_| true);
        assert_eq!((ran.len(), why), (4, vec![None; 4]));
    }
}

/// Only what this machine did counts towards an end.
#[test]
fn runs_that_another_rule_spoils_are_replaced_and_end_no_table() {
    let (ran, _, why) = four_rows_run(InvalidRuns::LeftOut, Rule::LittlesLaw, |_| true);
    assert_eq!((ran.len(), why), (12, vec![None; 4]));
}

#[test]
fn a_row_whose_spare_run_is_refused_did_run() {
    let mut matrix = MatrixExperiment::new(table(2), InvalidRuns::LeftOut);
    for number in 1..=2 {
        let request = matrix.next().unwrap();
        let found = valid(number, 2, 100);
        let found = if number == 2 { late(found) } else { found };
        matrix.record(&request, RunOutcome::Completed(found.into()));
    }
    let spare = matrix.next().unwrap();
    assert_eq!(spare.name, "row-A/run-3");
    matrix.record(&spare, RunOutcome::Refused("3 runs in a row were spoiled".to_owned()));
    assert_eq!(matrix.next().unwrap().name, "row-B/run-1");
    let cells = matrix.result().cells;
    assert_eq!((cells[0].failed.as_ref(), cells[0].outcome), (None, Some(VerdictOutcome::Invalid)));
}

#[test]
fn the_runs_left_of_a_table_count_spare_ones() {
    let mut matrix = MatrixExperiment::new(table(2), InvalidRuns::LeftOut);
    assert_eq!(matrix.remaining(), RunsLeft::AtMost(4));
    let request = matrix.next().unwrap();
    matrix.record(&request, RunOutcome::Completed(late(valid(1, 2, 100)).into()));
    assert_eq!((matrix.remaining(), matrix.left_in(request.part.slot)), (RunsLeft::AtMost(4), 2));
}
