//! What the fuzz targets of `tests/fuzz` may call that no other crate may.

use super::dialect_traits::MetricNames;
pub use super::stream::fuzzing::{answer, event_stream, response, whole_answer};

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
    if let Some(names) = MetricNames::on(page) {
        let series = names.series(page);
        let _ = (names.gauges_of(&series), names.counters_of(&series));
        let of_times = |known: &[&str]| names.histogram_of(known, &series);
        names.times.iter().for_each(|row| _ = of_times(row.1));
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    /// Inputs that fuzzing has found or gathered are read again in each test run.
    #[test]
    fn the_corpus_is_read() {
        type Reader = fn(&[u8]);
        let readers: [(&str, Reader); 5] = [
            ("event_stream", super::event_stream),
            ("answer", super::answer),
            ("whole_answer", super::whole_answer),
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
