//! `skyline matrix`: tables of experiments against servers that it starts itself.

mod decided;
mod servers;
mod table;

use std::path::Path;

use serde_json::Value;

use crate::quick::QUICK;
use crate::support::Desk;

/// Two variants of a mock without physics that differ in their time to the first token, in runs of a second.
fn two_variants(desk: &Desk, port: u16) -> String {
    desk.file("quick.toml", &QUICK.replace("horizon_s = 2", "horizon_s = 1"));
    format!(
        r#"
name = "delays"
[defaults]
workload = "quick.toml"
repeats = 2
[server]
url = "http://127.0.0.1:{port}"
engine = "mock"
serve = "exec $SKYLINE mock --port {port} --itl 1ms {{flags}}"
reset = "echo reset $SKYLINE_ROW of $SKYLINE_VARIANT"
[[variants]]
name = "slow"
flags = "--ttft 600ms"
[[variants]]
name = "quick"
flags = "--ttft 20ms"
[[rows]]
name = "A"
question = "Does the delay show?"
hypothesis = "It is all there is."
expect = ["mean ttft < 1200ms"]
[[rows]]
name = "B"
expect = ["p50 ttft < 0.8 x @slow"]
variants = ["slow", "quick"]
[accept]
objectives = ["mean ttft < 300ms"]
"#
    )
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}
