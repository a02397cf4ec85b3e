#![no_main]
#[allow(dead_code, reason = "each target has one reader")]
#[path = "../readers.rs"]
mod readers;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    readers::workload(data);
});
