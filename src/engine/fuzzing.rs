//! What the fuzz targets of `tests/fuzz` may call that no other crate may.

pub use super::stream::fuzzing::{answer, event_stream};
pub use super::wire::fuzzing::response;

/// Reads a metrics page to its end.
///
/// # Panics
///
/// When a sample has no name.
pub fn metrics_page(page: &[u8]) {
    let Ok(page) = std::str::from_utf8(page) else { return };
    for sample in super::metrics::exposition::metric_samples(page) {
        assert!(!sample.name.is_empty());
        let _ = (sample.label("le"), sample.is_of_failures(), sample.is_of_one_priority());
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    /// What fuzzing has found or gathered is read again in each test run.
    #[test]
    fn the_corpus_is_read() {
        type Reader = fn(&[u8]);
        let readers: [(&str, Reader); 4] = [
            ("event_stream", super::event_stream),
            ("answer", super::answer),
            ("response", super::response),
            ("metrics_page", super::metrics_page),
        ];
        for (target, read) in readers {
            let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus").join(target);
            let inputs: Vec<_> = std::fs::read_dir(&corpus).expect("a corpus").collect();
            assert!(!inputs.is_empty(), "{}", corpus.display());
            for input in inputs {
                read(&std::fs::read(input.expect("an input").path()).expect("its bytes"));
            }
        }
    }
}
