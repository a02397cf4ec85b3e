//! A recorded trace, replayed in place of an arrival process and of drawn lengths.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::findings::TraceFindings;
use super::format::TraceFormat;
use crate::workload::limits::LONGEST_S;
use crate::workload::reading::allowed::Allowed;
use crate::workload::reading::fields::Fields;
use crate::workload::reading::place::SpecValue;

/// Seconds of a trace: public ones last up to four months.
const TRACE_SECONDS: Allowed = Allowed::from(0.0, 10.0 * LONGEST_S);
/// The same where there must be some.
const SOME_TRACE_SECONDS: Allowed = Allowed::above(0.0, 10.0 * LONGEST_S);
/// Factors by which a trace may be stretched in time or multiplied.
const SCALE: Allowed = Allowed::from(0.000_1, 100.0);

/// Which trace is replayed, which slice of it, and what is changed.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Trace {
    /// The file, or the folder of a pool of clients. In a workload file a relative path begins at the folder of that file.
    pub path: String,
    /// How the file is written; recognised by its first line when the spec does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<TraceFormat>,
    /// The run's zero is this many seconds after the trace's zero (see [`TraceFormat::zero`]); requests before it
    /// are left out, and the first one after it leaves at its own distance from it. 0 when the spec gives none.
    pub from_s: f64,
    /// How much of the trace is the slice, in seconds of the trace; to its end when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub for_s: Option<f64>,
    /// Seconds of the run for one second of the trace: 0.5 plays it twice as fast, 2 half as fast.
    pub time_scale: f64,
    /// Requests of the run for one request of the trace. Below 1 each is kept with that probability, drawn from
    /// the seed. Above 1 the slice is laid over itself: as it is, and in further copies (the last one thinned
    /// where a fraction is left), each turned by a moment of its own, drawn from the seed: it begins there and goes
    /// on from the slice's beginning after its end. A copy shares no prefix with another.
    /// Of a pool of clients it multiplies every client's rate instead.
    pub rate_scale: f64,
    /// What is done about a line that cannot be read.
    pub bad_lines: BadLines,
    /// What was found when the file was read; absent until it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<TraceFindings>,
}

/// What is done about lines that cannot be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum BadLines {
    /// The first one is named and the trace refused.
    #[default]
    Refuse,
    /// They are left out and counted.
    Skip,
}

/// Reads the trace's file and says what is in it, or why it cannot be replayed. The seed is that of the workload. Before
/// it reads, it may change which slice is replayed, and how.
pub type TraceSurvey<'a> = &'a dyn Fn(&mut Trace, u64) -> Result<TraceFindings, String>;

impl Trace {
    /// Lets a relative path begin at `folder`.
    pub(crate) fn anchor(&mut self, folder: &Path) {
        self.path = folder.join(&self.path).display().to_string();
    }

    /// The whole of a file, as it is.
    #[must_use]
    pub fn whole(path: &str) -> Self {
        Self {
            path: path.to_owned(),
            format: None,
            from_s: 0.0,
            for_s: None,
            time_scale: 1.0,
            rate_scale: 1.0,
            bad_lines: BadLines::Refuse,
            found: None,
        }
    }

    /// Whether every number is within its range. To be asked before the file is read: a `rate_scale` of a billion would
    /// open it as often.
    ///
    /// # Errors
    ///
    /// Which field has which value, and what it must be.
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

    /// Mean prompt of the slice, tokens; 1 before the file was read.
    pub(crate) fn mean_input_tokens(&self) -> f64 {
        self.found.as_ref().map_or(1.0, |found| found.input_tokens)
    }

    /// Mean answer of the slice, tokens; 1 before the file was read.
    pub(crate) fn mean_output_tokens(&self) -> f64 {
        self.found.as_ref().map_or(1.0, |found| found.output_tokens)
    }

    pub(crate) fn read(place: SpecValue<'_>) -> Option<Self> {
        place.table("a trace", Self::read_fields)
    }

    pub(crate) fn read_fields(fields: &mut Fields<'_>) -> Option<Self> {
        let path = fields.required("path", |place| place.said());
        let format = fields.optional("format", None, |place| place.choice(&TraceFormat::NAMED).map(Some));
        let from_s = fields.optional("from_s", 0.0, |place| place.number(TRACE_SECONDS));
        let for_s = fields.optional("for_s", None, |place| place.number(SOME_TRACE_SECONDS).map(Some));
        let time_scale = fields.optional("time_scale", 1.0, |place| place.number(SCALE));
        let rate_scale = fields.optional("rate_scale", 1.0, |place| place.number(SCALE));
        let bad_lines = fields.optional("bad_lines", BadLines::Refuse, |place| {
            place.choice(&[("refuse", BadLines::Refuse), ("skip", BadLines::Skip)])
        });
        let found = fields.optional("found", None, |place| TraceFindings::read(place).map(Some));
        Some(Self {
            path: path?,
            format: format?,
            from_s: from_s?,
            for_s: for_s?,
            time_scale: time_scale?,
            rate_scale: rate_scale?,
            bad_lines: bad_lines?,
            found: found?,
        })
    }
}

/// Why the trace does not say what the run's end asks for: `horizon_s` beyond the slice. None where it does.
pub(crate) fn beyond(trace: &Trace, horizon_s: f64) -> Option<String> {
    let found = trace.found.as_ref()?;
    (horizon_s > found.ends_s).then(|| {
        let ends_s = found.ends_s;
        format!(
            "is {horizon_s} s, and the slice of the trace ends after {ends_s} s of the run; leave it out to replay \
             the whole slice, or take more of the trace"
        )
    })
}
