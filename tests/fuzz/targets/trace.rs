//! A trace is surveyed, or refused in words, whatever is in it. The first byte chooses the format.
#![no_main]
use skyline::generator::survey;
use skyline::workload::{BadLines, Trace, TraceFormat};

const FORMATS: [Option<TraceFormat>; 6] = [
    None,
    Some(TraceFormat::Mooncake),
    Some(TraceFormat::Azure),
    Some(TraceFormat::BurstGpt),
    Some(TraceFormat::Bailian),
    Some(TraceFormat::Skyline),
];

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some((first, lines)) = data.split_first() else { return };
    let folder = tempfile::tempdir_in("/dev/shm").expect("a folder in memory");
    let path = folder.path().join("trace");
    std::fs::write(&path, lines).expect("a file in memory");
    let mut trace = Trace::whole(&path.to_string_lossy());
    trace.format = FORMATS[usize::from(first & 7) % FORMATS.len()];
    trace.bad_lines = if first & 8 == 0 { BadLines::Refuse } else { BadLines::Skip };
    let _ = survey(&trace, 1);
});
