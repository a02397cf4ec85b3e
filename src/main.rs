//! The `skyline` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    skyline::cli::main()
}
