#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| skyline::engine::fuzzing::whole_answer(data));
