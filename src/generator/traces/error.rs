//! Why a trace cannot be read.

use std::io;

use super::requests::BadLine;
use crate::generator::datasets::DatasetError;

/// Reason why a trace cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    #[error("{path} cannot be read: {cause}")]
    Io { path: String, cause: io::Error },
    /// The first line matches no format.
    #[error("{path} has no known trace format ({begins:?}); {cure}")]
    Unknown { path: String, begins: String, cure: String },
    #[error("{path} is empty; name the file with the trace")]
    NoLine { path: String },
    /// No line of the file is a request.
    #[error("{path} holds no request{}; name the file with the trace", left_out(*skipped))]
    NoRequest { path: String, skipped: u64 },
    /// A file of sessions cannot be read.
    #[error(transparent)]
    Sessions(#[from] DatasetError),
    /// Sessions have no moments at which they could begin.
    #[error(
        "{path} is a file of sessions, and {} at which to begin (layout {layout}); say when they begin: \
         --rate or --agents{}",
        undated_of(*undated, *dated), if *dated == 0 { "" } else { "; or leave those out with --skip-bad" }
    )]
    Undated { path: String, layout: &'static str, undated: u64, dated: usize },
    /// A folder holds no client.
    #[error(
        "{path} holds no file chunk-N-trace.csv, and a pool of clients is a folder with two files of each (see \
         github.com/alibaba/ServeGen, data/language/m-small); name such a folder, or the file of another trace"
    )]
    NoClients { path: String },
    /// A line is no request; `cure` says what helps.
    #[error("{path}, line {line}, {bad}{cure}")]
    Line { path: String, line: u64, bad: BadLine, cure: &'static str },
    /// The first line lacks a needed column, or names an unknown schema.
    #[error("{path}, line {line}: {cause}")]
    Heading { path: String, line: u64, cause: String },
    /// A request came too late in the file to be put in order. It is late by so many seconds of the trace.
    #[error(
        "{path}, line {line}: its moment lies {late_s:.3} s before that of a line above, and a trace is put in order \
         over {bound_s} s and {bound} requests at most; sort the file by time"
    )]
    Disorder { path: String, line: u64, late_s: f64, bound_s: u32, bound: usize },
    /// Nothing of the trace is in the slice.
    #[error("{path} has no request {slice}; it ends {} s after its zero", to_the_millisecond(*last_s))]
    Empty { path: String, slice: String, last_s: f64 },
    /// The slice ends later than the trace.
    #[error(
        "{path} ends {} s after its zero, and the slice goes on until {} s; leave for_s (--trace-for) out \
         to replay the trace to its end",
        to_the_millisecond(*last_s), to_the_millisecond(*until_s)
    )]
    PastTheEnd { path: String, until_s: f64, last_s: f64 },
    /// Thinning left no request.
    #[error(
        "nothing of the slice of {path} is left with rate_scale = {rate_scale} (--rate-scale) and seed {seed}; keep \
         more, or take more of the trace"
    )]
    Thinned { path: String, rate_scale: f64, seed: u64 },
    #[error(
        "the slice of {path} takes {ends_s:.0} s to replay, and a run lasts 31 days at most; take less of it with \
         for_s (--trace-for), or play it faster with time_scale (--time-scale)"
    )]
    TooLong { path: String, ends_s: f64 },
}

impl TraceError {
    /// Cure of a bad line of a trace.
    pub(super) const LINE_CURE: &'static str = "; correct the line, or leave out what cannot be read with \
        bad_lines = \"skip\" (--skip-bad), which is counted";
    /// Cure of a bad line of an access log.
    pub(super) const LOG_CURE: &'static str = "\nhint: a line is a JSON object with the named fields; correct it, or \
        leave out what cannot be used with --skip-bad, which is counted";
}

/// Rounds away the digits that summation added.
fn to_the_millisecond(seconds: f64) -> f64 {
    (seconds * 1e3).round() / 1e3
}

fn undated_of(undated: u64, dated: usize) -> String {
    match (undated, dated) {
        (_, 0) => "none of them has a moment".to_owned(),
        (1, _) => "1 of them has no moment".to_owned(),
        (several, _) => format!("{several} of them have no moment"),
    }
}

fn left_out(lines: u64) -> String {
    match lines {
        0 => String::new(),
        1 => " (1 line was left out)".to_owned(),
        lines => format!(" ({lines} lines were left out)"),
    }
}
