//! A run log that is read has a summary, whatever is in it.
#![no_main]
use skyline::analysis::summarise;
use skyline::record::RunLog;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let folder = tempfile::tempdir_in("/dev/shm").expect("a folder in memory");
    let path = folder.path().join("run.jsonl");
    std::fs::write(&path, data).expect("a file in memory");
    if let Ok(log) = RunLog::read(&path) {
        let _ = summarise(&log, &[]);
    }
});
