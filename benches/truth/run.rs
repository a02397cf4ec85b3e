//! The truth experiment at three loads, as the rows of a table.
//!
//! `cargo run --release --example truth [SKYLINE]`; the binary beside it when none is given.

#![allow(clippy::unwrap_used, reason = "a benchmark that cannot go on should panic")]
#![allow(clippy::panic, reason = "a benchmark that cannot go on should panic")]
#![allow(clippy::print_stdout, reason = "its words are its result")]

#[path = "../../tests/cli/runs/truth/experiment.rs"]
mod experiment;
#[path = "../../tests/cli/mock_process.rs"]
mod mock_process;

use std::path::PathBuf;

use experiment::{Load, Row, fly};

/// Llama-3.1-8B on an H100: short chats at these rates, requests per second.
const RATES: [&str; 3] = ["5", "20", "60"];

fn main() {
    let built = || std::env::current_exe().unwrap().parent().unwrap().with_file_name("skyline");
    let skyline = std::env::args().nth(1).map_or_else(built, PathBuf::from);
    println!("| load | metric | quantile | reported, ms | true, ms | off by, µs |\n|---|---|---|---|---|---|");
    for rate in RATES {
        let folder = tempfile::tempdir().unwrap();
        let load = Load {
            mock: &["--hardware", "h100", "--no-async-scheduling"],
            bench: &["short_chat", "30", "--rate", rate, "--warmup", "3s"],
        };
        for Row { metric, quantile, reported_ms, true_ms } in fly(&skyline, folder.path(), load) {
            let off = (reported_ms - true_ms) * 1e3;
            println!("| {rate}/s | {metric} | {quantile} | {reported_ms:.3} | {true_ms:.3} | {off:+.0} |");
        }
    }
}
