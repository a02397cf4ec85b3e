//! Which trace to replay in place of a workload's arrivals and lengths, and what of it.

use std::str::FromStr;

use clap::Args;
use strum::VariantNames;

use super::values::{above_zero, one_of, seconds, since};
use crate::engine::BaseUrl;
use crate::generator::{has_moments, session_layout};
use crate::session::{Printer, Stop, survey};
use crate::workload::{
    BadLines, Dataset, DatasetChange, DatasetFormat, SessionChange, SessionLayout, Trace, TraceFindings, TraceFormat,
    WorkloadSpec,
};

/// The trace and its slice.
#[derive(Debug, Args)]
#[command(next_help_heading = "Trace")]
pub(in crate::cli) struct TraceArgs {
    /// Replay this trace: its timestamps, lengths and shared prefixes replace those of the workload, whose classes
    /// stay; without a workload each kind of request in the trace is a class. The run lasts as long as the slice. A
    /// file of sessions is recognised too. They begin at the moments of the file, or when --rate, --agents or the
    /// workload says [default: none]
    #[arg(long, value_name = "PATH")]
    trace: Option<String>,

    #[command(flatten)]
    slice: SliceArgs,

    /// Skip and count unusable lines of a trace or rows of a dataset [default: refuse the file]
    #[arg(long)]
    skip_bad: bool,
}

/// A format of a trace, or a layout of a file of sessions.
#[derive(Clone, Copy, Debug)]
enum RecordedFormat {
    Requests(TraceFormat),
    Sessions(SessionLayout),
}

impl FromStr for RecordedFormat {
    type Err = strum::ParseError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        name.parse().map(Self::Requests).or_else(|_| name.parse().map(Self::Sessions))
    }
}

/// The slice of a trace, and what is changed in it.
#[derive(Debug, Args)]
#[command(next_help_heading = "Trace")]
pub(in crate::cli) struct SliceArgs {
    /// How the trace is written [default: recognised by its first line; a folder is servegen]
    #[arg(long, value_name = "FORMAT",
          value_parser = one_of::<RecordedFormat>(&[TraceFormat::VARIANTS, SessionLayout::VARIANTS].concat()))]
    trace_format: Option<RecordedFormat>,

    /// Begin this long after the trace's zero [default: 0s where no workload file says]
    #[arg(long, value_name = "TIME", value_parser = since)]
    trace_from: Option<f64>,

    /// Replay this much of the trace, in its own time [default: to its end where no workload file says]
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    trace_for: Option<f64>,

    /// Seconds of the run for one second of the trace: 0.5 replays it twice as fast [default: 1 where no
    /// workload file says]
    #[arg(long, value_name = "FACTOR", value_parser = above_zero, allow_negative_numbers = true)]
    time_scale: Option<f64>,

    /// Seconds of the trace in one of the run. 2 replays it twice as fast [default: 1 where no workload file says]
    #[arg(long, value_name = "FACTOR", value_parser = above_zero, allow_negative_numbers = true,
          conflicts_with = "time_scale")]
    trace_speed: Option<f64>,

    /// Requests of the run for one request of the trace: below 1 it keeps a random part, above 1 it overlays copies
    /// of the trace, each shifted by a random offset; the seed decides; for servegen it multiplies the rates of all
    /// clients [default: 1 where no workload file says]
    #[arg(long, value_name = "FACTOR", value_parser = above_zero, allow_negative_numbers = true)]
    rate_scale: Option<f64>,
}

impl TraceArgs {
    /// The workload called `name`, or that of the trace alone, with what was typed of the trace: another one takes the
    /// place of the workload's times and lengths; a slice of its own trace changes that alone.
    pub(super) fn apply(&self, name: Option<&str>, seed: Option<u64>, printer: Printer) -> Result<WorkloadSpec, Stop> {
        let survey_of = |trace: &mut Trace, seed| survey(trace, seed);
        if name.is_some_and(|name| name.contains("://") || name.parse::<BaseUrl>().is_ok()) {
            return Err(Stop::usage(
                "an address stands where the workload should\n\
                 hint: --url names the server: skyline bench short_chat 60 --url http://host:8000",
            ));
        }
        match (name, &self.trace) {
            (None, None) => Err(Stop::usage(
                "no WORKLOAD is named\nhint: name one (`skyline workloads` lists them), say what requests are like, as \
                 in --input-tokens 1024 --output-tokens 128, or name a file with --dataset or --trace",
            )),
            (None, Some(path)) => {
                let trace = self.of(Trace::whole(path));
                WorkloadSpec::of_trace(&trace, seed.unwrap_or(0), &survey_of).map_err(Stop::usage)
            }
            (Some(name), Some(path)) => {
                let spec = WorkloadSpec::load_with(name, &survey_of).map_err(Stop::usage)?;
                let dropped = spec.classes.iter().find(|class| class.shared_prefix.is_some());
                if let Some(class) = dropped {
                    printer.words(&format!(
                        "note: the trace defines the shared prefixes; those of class `{}` are ignored",
                        class.name
                    ));
                }
                let trace = self.of(Trace::whole(path));
                spec.replaying(&trace, seed.unwrap_or(spec.seed), &survey_of).map_err(Stop::usage)
            }
            (Some(name), None) => self.sliced(name, seed),
        }
    }

    /// The workload called `name`, whose own trace, if it has one, is changed as was typed.
    fn sliced(&self, name: &str, seed: Option<u64>) -> Result<WorkloadSpec, Stop> {
        let survey_of = |trace: &mut Trace, of_spec| {
            *trace = self.of(trace.clone());
            survey(trace, seed.unwrap_or(of_spec))
        };
        let spec = WorkloadSpec::load_with(name, &survey_of).map_err(Stop::usage)?;
        self.check_slice(&spec)?;
        Ok(WorkloadSpec { seed: seed.unwrap_or(spec.seed), ..spec })
    }

    /// Refuses a slice of the trace of a workload that replays none.
    pub(super) fn check_slice(&self, spec: &WorkloadSpec) -> Result<(), Stop> {
        match self.slice.first_change().filter(|_| spec.arrival.trace().is_none() && !self.has_sessions()) {
            Some(change) => Err(Stop::usage(format!(
                "{change} needs a trace, and `{}` replays none\nhint: name one with --trace FILE",
                spec.name
            ))),
            None => Ok(()),
        }
    }

    /// The dataset that was typed. A file of sessions may be named as a trace, whose moments are replayed or not.
    pub(super) fn dataset(&self, typed: &DatasetChange, is_replayed: bool) -> Result<DatasetChange, Stop> {
        let layout = self.trace.as_deref().and_then(|path| self.slice.layout_of(path));
        let sessions = SessionChange { layout, time_scale: self.slice.scale(), ..typed.sessions };
        let typed = DatasetChange { skip_bad: self.skip_bad, sessions, ..typed.clone() };
        let Some(path) = self.trace.clone().filter(|_| layout.is_some() && !is_replayed) else { return Ok(typed) };
        if let Some(option) = self.slice.of_moments() {
            return Err(Stop::usage(format!(
                "{option} is about moments of arrival, and the sessions of {path} begin when the load says, not at the \
                 moments of the file\n\
                 hint: leave it out (--dataset-rows N takes the first N sessions), or leave out the load"
            )));
        }
        if typed.path.is_some() {
            return Err(Stop::usage("--trace and --dataset both name a file\nhint: leave one of them out"));
        }
        Ok(DatasetChange { path: Some(path), format: Some(DatasetFormat::Sessions), ..typed })
    }

    /// Whether a trace is named on the command line.
    pub(super) fn is_named(&self) -> bool {
        self.trace.as_deref().is_some_and(|path| self.slice.layout_of(path).is_none())
    }

    /// Whether a file of sessions is named on the command line.
    pub(super) fn has_sessions(&self) -> bool {
        self.trace.is_some() && !self.is_named()
    }

    /// Whether the sessions of the file begin at its moments where nothing else says when. They do if it has some, or
    /// if a part of them is asked for.
    pub(super) fn has_moments(&self) -> bool {
        let (of_moments, layout) = (self.slice.of_moments(), self.slice.layout());
        self.has_sessions()
            && self.trace.as_deref().is_some_and(|path| of_moments.is_some() || has_moments(path, layout))
    }

    /// Whether anything is typed of a trace.
    pub(super) fn is_typed(&self) -> bool {
        !self.has_sessions() && (self.is_named() || self.skip_bad || self.slice.first_change().is_some())
    }

    /// The trace with what was typed of it.
    fn of(&self, trace: Trace) -> Trace {
        let bad_lines = if self.skip_bad { BadLines::Skip } else { trace.bad_lines };
        self.slice.of(Trace { bad_lines, ..trace })
    }
}

impl SliceArgs {
    fn format(&self) -> Option<TraceFormat> {
        match self.trace_format {
            Some(RecordedFormat::Requests(format)) => Some(format),
            Some(RecordedFormat::Sessions(_)) => Some(TraceFormat::Sessions),
            None => None,
        }
    }

    /// The layout that was typed of a file of sessions.
    fn layout(&self) -> Option<SessionLayout> {
        match self.trace_format {
            Some(RecordedFormat::Sessions(layout)) => Some(layout),
            Some(RecordedFormat::Requests(_)) | None => None,
        }
    }

    /// The layout of the file at `path`, if it is one of sessions.
    pub(in crate::cli) fn layout_of(&self, path: &str) -> Option<SessionLayout> {
        match self.trace_format {
            Some(RecordedFormat::Sessions(layout)) => Some(layout),
            Some(RecordedFormat::Requests(format)) if format != TraceFormat::Sessions => None,
            Some(RecordedFormat::Requests(_)) | None => session_layout(path),
        }
    }

    /// The slice of the sessions of a file. It is there where they have moments or it is asked for.
    pub(in crate::cli) fn replayed(
        &self,
        trace: Trace,
        dataset: &Dataset,
    ) -> Result<Option<(Trace, TraceFindings)>, Stop> {
        if dataset.sessions_found().is_none_or(|found| found.dated == 0) && self.of_moments().is_none() {
            return Ok(None);
        }
        let found = survey(&trace, 0).map_err(Stop::usage)?;
        Ok(Some((trace, found)))
    }

    /// The first option that was typed of the moments of requests or sessions.
    fn of_moments(&self) -> Option<&'static str> {
        let options = [
            ("--trace-from", self.trace_from.is_some()),
            ("--trace-for", self.trace_for.is_some()),
            ("--rate-scale", self.rate_scale.is_some()),
        ];
        options.into_iter().find_map(|(option, typed)| typed.then_some(option))
    }

    /// Seconds of the run for one of the trace.
    fn scale(&self) -> Option<f64> {
        self.time_scale.or(self.trace_speed.map(f64::recip))
    }

    /// The trace with what was typed of it.
    fn of(&self, trace: Trace) -> Trace {
        Trace {
            format: self.format().or(trace.format),
            layout: self.layout().or(trace.layout),
            from_s: self.trace_from.unwrap_or(trace.from_s),
            for_s: self.trace_for.or(trace.for_s),
            time_scale: self.scale().unwrap_or(trace.time_scale),
            rate_scale: self.rate_scale.unwrap_or(trace.rate_scale),
            ..trace
        }
    }

    /// The trace in the file at `path` with what was typed of it.
    pub(in crate::cli) fn of_file(&self, path: &str, skip_bad: bool) -> Trace {
        let bad_lines = if skip_bad { BadLines::Skip } else { BadLines::Refuse };
        self.of(Trace { bad_lines, ..Trace::whole(path) })
    }

    /// The first option that was typed.
    pub(in crate::cli) fn first_change(&self) -> Option<&'static str> {
        let options = [
            ("--trace-format", self.trace_format.is_some()),
            ("--time-scale", self.time_scale.is_some()),
            ("--trace-speed", self.trace_speed.is_some()),
        ];
        options.into_iter().find_map(|(option, typed)| typed.then_some(option)).or_else(|| self.of_moments())
    }
}
