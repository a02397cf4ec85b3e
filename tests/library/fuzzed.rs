//! What fuzzing has found or gathered is read again in each test run.

use std::fs;
use std::path::Path;

#[path = "../fuzz/readers.rs"]
mod readers;

#[test]
fn the_corpus_is_read() {
    type Reader = fn(&[u8]) -> bool;
    let readers: [(&str, Reader, &str); 3] = [
        ("run_log", readers::run_log, "tests/data/runs/schema-8"),
        ("trace", readers::trace, "tests/data/traces"),
        ("workload", readers::workload, "workloads"),
    ];
    for (target, read, whole) in readers {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let corpus =
            [&format!("tests/fuzz/corpus/{target}"), whole].map(|folder| fs::read_dir(root.join(folder)).unwrap());
        let inputs = corpus.into_iter().flatten().map(|input| input.unwrap().path()).filter(|path| path.is_file());
        let accepted = inputs.filter(|input| read(&fs::read(input).unwrap())).count();
        // Most of what fuzzing gathers is refused in the end; what is not goes all the way.
        assert!(accepted >= 3, "{target}: {accepted}");
    }
}
