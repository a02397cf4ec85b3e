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

/// A run log that is read has a summary: as it is, and as a log of the schema before lines had checksums, so that what is
/// altered is not left out for that alone. Whether it can be read.
pub(super) fn run_log(data: &[u8]) -> bool {
    let read = |data: &[u8]| {
        let (_folder, path) = file("run.jsonl", data);
        let log = RunLog::read(&path);
        let _ = log.as_ref().map(|log| summarise(log, &[]));
        log.is_ok()
    };
    let unsealed = String::from_utf8_lossy(data).replacen("\"schema\":8", "\"schema\":5", 1);
    let unsealed: Vec<_> = unsealed.lines().map(without_seal).collect();
    read(unsealed.join("\n").as_bytes()) | read(data)
}

/// A line of a log without its number and checksum.
fn without_seal(line: &str) -> String {
    match line.rfind(",\"line\":") {
        Some(seal) => format!("{}}}", &line[..seal]),
        None => line.to_owned(),
    }
}

/// A trace is surveyed, or refused in words. The first byte chooses the format. Whether it is surveyed.
pub(super) fn trace(data: &[u8]) -> bool {
    let Some((first, lines)) = data.split_first() else { return false };
    let (_folder, path) = file("trace", lines);
    let mut trace = Trace::whole(&path.to_string_lossy());
    trace.format = FORMATS[usize::from(first & 7) % FORMATS.len()];
    trace.bad_lines = if first & 8 == 0 { BadLines::Refuse } else { BadLines::Skip };
    survey(&trace, 1).is_ok()
}

/// A workload that is read, in TOML or JSON, reads back from what is stored of it. Whether it is read.
pub(super) fn workload(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else { return false };
    let mut is_read = false;
    for read in [WorkloadSpec::from_toml, WorkloadSpec::from_json] {
        if let Ok(spec) = read(text, "fuzz") {
            let stored = serde_json::to_string(&spec).expect("a workload can be stored");
            let again = WorkloadSpec::from_json(&stored, "stored").expect("what is stored can be read");
            assert_eq!(again, spec);
            is_read = true;
        }
    }
    is_read
}
