//! How much memory a stored run takes to be reported.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::support::{Desk, peak_kib};

/// The most memory that `skyline report` takes for the run in `folder`, KiB. One arena: how many threads happen to
/// allocate at once, which the machine and its other work decide, is no part of it.
fn peak_of_report(folder: &Path) -> u64 {
    let mut report = Command::new(assert_cmd::cargo::cargo_bin("skyline"));
    report.env("MALLOC_ARENA_MAX", "1").arg("report").arg(folder);
    let mut report = report.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut peak = 0;
    let ended = loop {
        if let Some(ended) = report.try_wait().unwrap() {
            break ended;
        }
        peak = peak_kib(report.id()).unwrap_or(peak);
        std::thread::sleep(Duration::from_millis(2));
    };
    assert!(ended.success(), "{ended}");
    peak
}

#[test]
fn a_report_takes_some_hundred_bytes_a_request() {
    let desk = Desk::new();
    let peak = |requests: u64| {
        let (requests, out) = (requests.to_string(), format!("results/{requests}"));
        let of_short_answers = ["--input-tokens", "8", "--output-tokens", "2", "--rate", "500", "--warmup", "0"];
        let plain = ["--ttft", "5ms", "--itl", "2ms", "--slots", "64", "--requests", &requests, "--out", &out];
        desk.skyline(&[&["simulate"][..], &of_short_answers, &plain].concat()).assert().code(0);
        let run = std::fs::read_dir(desk.path().join(&out)).unwrap().next().unwrap().unwrap();
        peak_of_report(&run.path()).min(peak_of_report(&run.path()))
    };
    let (few, many) = (peak(1_000), peak(11_000));
    let each = (many.saturating_sub(few)) * 1024 / 10_000;
    // 350 to 500, and what the heap keeps free; a second copy of the records would double it.
    assert!((100..700).contains(&each), "{each} bytes a request: {few} and {many} KB");
}
