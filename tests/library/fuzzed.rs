//! What fuzzing has found or gathered is read again in each test run.

use std::fs;
use std::path::Path;

#[path = "../fuzz/readers.rs"]
mod readers;

#[test]
fn the_corpus_is_read() {
    type Reader = fn(&[u8]);
    let readers: [(&str, Reader); 3] =
        [("run_log", readers::run_log), ("trace", readers::trace), ("workload", readers::workload)];
    for (target, read) in readers {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus").join(target);
        let inputs: Vec<_> = fs::read_dir(&corpus).expect("a corpus").collect();
        assert!(!inputs.is_empty(), "{}", corpus.display());
        for input in inputs {
            read(&fs::read(input.unwrap().path()).unwrap());
        }
    }
}
