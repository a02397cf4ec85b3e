//! The workload that the tests of several binaries fly against a real server.

/// Two seconds of tiny requests: 40 of them, eight tokens each.
pub(crate) const QUICK: &str = r#"
name = "quick"
description = "Two seconds of tiny requests."
horizon_s = 2
warmup_s = 0
drain_s = 20
seed = 1

[arrival]
kind = "constant"
rate_per_s = 20

[[classes]]
name = "tiny"
input_tokens = { kind = "uniform", min = 4, max = 12 }
output_tokens = { kind = "constant", value = 8 }
slo = { ttft_ms = 10000 }
[classes.prompt]
kind = "templates"
templates = ["Say something short.", "And now?"]
"#;
