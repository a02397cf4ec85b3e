//! A recorded trace that replaces the arrival process and drawn lengths.

use serde::{Deserialize, Serialize};
use strum::{EnumString, VariantNames};

use super::findings::{TraceFindings, TraceFormat};
use super::layout::SessionLayout;
use crate::workload::reading::spec_table;
use crate::workload::reading::value::{Allowed, LONGEST_S};

/// Seconds of a trace: public traces last up to four months.
const TRACE_SECONDS: Allowed = Allowed::from(0.0, 10.0 * LONGEST_S);
/// Seconds of a trace, above zero.
const SOME_TRACE_SECONDS: Allowed = Allowed::above(0.0, 10.0 * LONGEST_S);
/// Factors that stretch a trace in time or multiply its requests.
const SCALE: Allowed = Allowed::from(0.000_1, 100.0);

spec_table! {
    default
    /// Trace that is replayed, which slice of it, and how it is changed.
    #[cfg_attr(test, derive(schemars::JsonSchema))]
    pub struct Trace = "a trace" {
        /// The file, or the folder of a client pool. In a workload file a relative path begins at the folder of that
        /// file.
        path: String = required(|value| value.path()),
        /// Format of the file; recognised by its first line when the spec does not say.
        format: Option<TraceFormat> = option(|value| value.variant()),
        /// Layout of a file of sessions; recognised by its fields when absent.
        layout: Option<SessionLayout> = option(|value| value.variant()),
        /// Seconds from the trace's zero (see [`TraceFormat::zero`]) to the run's zero. Earlier requests are left out;
        /// later ones keep their distance from it. 0 by default.
        from_s: f64 = optional(0.0, |value| value.number(TRACE_SECONDS)),
        /// Length of the slice in seconds of the trace; to its end when absent.
        for_s: Option<f64> = option(|value| value.number(SOME_TRACE_SECONDS)),
        /// Seconds of the run per second of the trace. 0.5 replays it twice as fast, 2 half as fast.
        time_scale: f64 = optional(1.0, |value| value.number(SCALE)),
        /// Requests of the run per request of the trace. Below 1 each is kept with that probability, drawn from the
        /// seed. Above 1 further copies of the slice are laid over it (the last one thinned to the fraction left). Each
        /// copy is rotated: it starts at a moment drawn from the seed and wraps around at the end. A copy shares no
        /// prefix with another. For a client pool it multiplies every client's rate instead.
        rate_scale: f64 = optional(1.0, |value| value.number(SCALE)),
        /// Treatment of unreadable lines.
        bad_lines: BadLines = optional(BadLines::Refuse, |value| value.variant()),
        /// Findings about the file. They are absent until it is read.
        found: Option<TraceFindings> = option(TraceFindings::read),
    }
}

/// The treatment of unreadable lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, EnumString, VariantNames)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum BadLines {
    /// Refuse the trace and name the first such line.
    #[default]
    Refuse,
    /// Leave them out and count them.
    Skip,
}

/// Reader of the trace's file. It returns what is in it, or why it cannot be replayed. The seed is the workload's.
/// Before reading it may change the slice and the scales.
pub type TraceSurvey<'a> = &'a dyn Fn(&mut Trace, u64) -> Result<TraceFindings, String>;

impl Trace {
    /// A whole file, unchanged.
    pub fn whole(path: &str) -> Self {
        Self { path: path.to_owned(), ..Self::default() }
    }

    /// Whether it is known to be a file of sessions.
    pub(crate) fn has_sessions(&self) -> bool {
        let format = self.found.as_ref().map(|found| found.format).or(self.format);
        self.layout.is_some() || format == Some(TraceFormat::Sessions)
    }

    /// Checks that every number is within its range. Call it before reading the file: a `rate_scale` of a billion
    /// would open it a billion times.
    ///
    /// # Errors
    ///
    /// Which field has which value, and which values are allowed.
    pub fn check(&self) -> Result<(), String> {
        let for_s = self.for_s.unwrap_or(1.0);
        for (field, value, allowed) in [
            ("from_s", self.from_s, TRACE_SECONDS),
            ("for_s", for_s, SOME_TRACE_SECONDS),
            ("time_scale", self.time_scale, SCALE),
            ("rate_scale", self.rate_scale, SCALE),
        ] {
            if !allowed.has(value) {
                return Err(format!("`{field}` is {value}; it must be a number {allowed}"));
            }
        }
        Ok(())
    }

    /// Mean prompt of the slice, tokens; 1 before the file is read.
    pub(crate) fn mean_input_tokens(&self) -> f64 {
        self.found.as_ref().map_or(1.0, |found| found.input_tokens)
    }

    /// Mean answer of the slice, tokens; 1 before the file is read.
    pub(crate) fn mean_output_tokens(&self) -> f64 {
        self.found.as_ref().map_or(1.0, |found| found.output_tokens)
    }
}

/// Why the trace cannot fill the run: `horizon_s` lies beyond the slice. `None` if it can.
pub(crate) fn beyond(trace: &Trace, horizon_s: f64) -> Option<String> {
    // Requests of sessions come later than in the file where answers take longer.
    let found = trace.found.as_ref().filter(|_| !trace.has_sessions())?;
    (horizon_s > found.ends_s).then(|| {
        let ends_s = found.ends_s;
        format!(
            "is {horizon_s} s, and the slice of the trace ends after {ends_s} s of the run; leave it out to replay \
             the whole slice, or take more of the trace"
        )
    })
}

/// Without a reader for traces: uses what is stored about one.
pub(in crate::workload) fn unread(trace: &mut Trace, _: u64) -> Result<TraceFindings, String> {
    trace
        .found
        .clone()
        .ok_or_else(|| format!("{} was not read; only a workload that is about to be run reads its trace", trace.path))
}
