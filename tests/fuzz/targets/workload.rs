//! A workload that is read, in TOML or JSON, reads back from what is stored of it.
#![no_main]
use skyline::workload::WorkloadSpec;

libfuzzer_sys::fuzz_target!(|text: &str| {
    for read in [WorkloadSpec::from_toml, WorkloadSpec::from_json] {
        if let Ok(spec) = read(text, "fuzz") {
            let stored = serde_json::to_string(&spec).expect("a workload can be stored");
            let again = WorkloadSpec::from_json(&stored, "stored").expect("what is stored can be read");
            assert_eq!(again, spec);
        }
    }
});
