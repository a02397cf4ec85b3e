//! Tests of the room as a whole.

mod behaviours;
mod changes;
mod checks;
mod datasets;
mod expectation;
mod mistakes;
mod ready_made;
mod round_trip;
mod sessions;
mod tables;
mod tags;
mod trace;

use super::spec::WorkloadSpec;

/// The shortest spec there is.
const LEAST: &str = r#"
name = "least"
arrival = { kind = "poisson", rate_per_s = 2 }
[[classes]]
name = "only"
input_tokens = { kind = "constant", value = 10 }
output_tokens = { kind = "constant", value = 5 }
"#;

fn least() -> WorkloadSpec {
    WorkloadSpec::from_toml(LEAST, "least").unwrap()
}

/// The error message for a wrong TOML text.
fn said_of(toml: &str) -> String {
    WorkloadSpec::from_toml(toml, "my.toml").unwrap_err().to_string()
}
