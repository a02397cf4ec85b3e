//! What must hold of every file that Skyline reads, whatever is in it.

use std::path::PathBuf;

use skyline::analysis::summarise;
use skyline::generator::survey;
use skyline::record::RunLog;
use skyline::workload::{BadLines, Trace, TraceFormat, WorkloadSpec};

const FORMATS: [Option<TraceFormat>; 6] = [
    None,
    Some(TraceFormat::Mooncake),
    Some(TraceFormat::Azure),
    Some(TraceFormat::BurstGpt),
    Some(TraceFormat::Bailian),
    Some(TraceFormat::Skyline),
];

fn file(name: &str, data: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(name);
    std::fs::write(&path, data).expect("a file");
    (folder, path)
}

/// A run log that is read has a summary.
pub(super) fn run_log(data: &[u8]) {
    let (_folder, path) = file("run.jsonl", data);
    if let Ok(log) = RunLog::read(&path) {
        let _ = summarise(&log, &[]);
    }
}

/// A trace is surveyed, or refused in words. The first byte chooses the format.
pub(super) fn trace(data: &[u8]) {
    let Some((first, lines)) = data.split_first() else { return };
    let (_folder, path) = file("trace", lines);
    let mut trace = Trace::whole(&path.to_string_lossy());
    trace.format = FORMATS[usize::from(first & 7) % FORMATS.len()];
    trace.bad_lines = if first & 8 == 0 { BadLines::Refuse } else { BadLines::Skip };
    let _ = survey(&trace, 1);
}

/// A workload that is read, in TOML or JSON, reads back from what is stored of it.
pub(super) fn workload(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    for read in [WorkloadSpec::from_toml, WorkloadSpec::from_json] {
        if let Ok(spec) = read(text, "fuzz") {
            let stored = serde_json::to_string(&spec).expect("a workload can be stored");
            let again = WorkloadSpec::from_json(&stored, "stored").expect("what is stored can be read");
            assert_eq!(again, spec);
        }
    }
}
