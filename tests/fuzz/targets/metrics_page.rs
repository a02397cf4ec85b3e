#![no_main]
libfuzzer_sys::fuzz_target!(|page: &str| skyline::engine::fuzzing::metrics_page(page));
