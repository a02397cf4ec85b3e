//! The table inside the program, flown in virtual time: its hypotheses are those of the physics that the model has.

use skyline::analysis::{Status, summarise};
use skyline::experiment::matrix::{CellRuns, Experiments, InvalidRuns, Matrix, MatrixStopped, RowRun};
use skyline::experiment::repeats_of;
use skyline::record::{RunHeader, RunLog};
use skyline::report::{Extent, Style, documents, render};
use skyline::simulator::{BatchingConfig, BatchingEngine, Deployment, Efficiency};

use crate::virtual_time::{fly, header};

/// One H100 that serves an 8B model, with vLLM's defaults.
fn h100() -> BatchingConfig {
    let deployment = Deployment::new("h100".parse().unwrap(), "llama-3.1-8b".parse().unwrap());
    BatchingConfig::vllm(&deployment, Efficiency::default()).unwrap()
}

#[test]
fn the_rows_a_to_f_confirm_their_hypotheses() {
    let table = Experiments::load("rows_a_to_f").unwrap();
    let cells = table.order().into_iter().map(|slot| {
        let row = &table.rows[slot.row];
        let spec = row.settings.spec(&row.name).unwrap();
        let runs = repeats_of(&spec, row.repeats()).into_iter().map(|(repeat, spec)| {
            let flown = fly(&spec, &mut BatchingEngine::new(h100()));
            let header = RunHeader { repeat, ..header(&spec) };
            let log = RunLog::of_requests(header, flown.records, flown.footer);
            RowRun { folder: row.name.clone(), summary: summarise(&log, &[]) }
        });
        CellRuns { slot, runs: runs.collect(), failed: None }
    });
    let cells: Vec<_> = cells.collect();
    let matrix = Matrix::new(&table, &cells, MatrixStopped::AllRun, InvalidRuns::Counted);
    let report: Vec<_> = matrix.cells.iter().flat_map(|cell| &cell.tests).map(|test| test.line.as_str()).collect();
    assert!(
        matrix.cells.iter().all(|cell| cell.standing.is_none_or(|standing| standing == Status::Met)),
        "{report:#?}"
    );
    assert_eq!(report.len(), 7);
    assert!(matrix.is_as_hoped(), "{:#?}", matrix.decision);

    // The guide shows a part of it; its figures are those of the model when it was written.
    let guide = include_str!("../../../src/guide/matrix.md");
    let (_, shown) = guide.split_once("in\nvirtual time:\n\n```text\n").unwrap();
    let text = render::text(&documents::matrix(&matrix, None), Style::PLAIN, Extent::Full);
    println!("{text}");
    let words = |text: &str| {
        let masked = text.replace(|c: char| c.is_ascii_digit() || matches!(c, '.' | ','), "");
        masked.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let claims: Vec<_> = shown.split("```").next().unwrap().split("✓ ").skip(1).collect();
    for claim in &claims {
        let claim = words(claim.split("runs)").next().unwrap());
        assert!(words(&text).contains(&claim), "no {claim:?} in {text}");
    }
    assert_eq!(claims.len(), 4);
}
