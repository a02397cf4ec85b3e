//! The `skyline` binary.

fn main() {}
