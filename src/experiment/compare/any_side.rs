//! A side of a comparison across tools: a run of Skyline's, or one of another tool.

use serde::Serialize;

use super::side::ComparedSide;
use crate::analysis::wording::percent;
use crate::analysis::{AcrossRuns, ERROR_RATE_BAR, FigureKey};
use crate::foreign::ForeignRun;

/// A side of such a comparison.
#[derive(Clone, Debug)]
pub enum AnySide {
    /// A run of Skyline.
    Ours(Box<ComparedSide>),
    /// A run of another tool, under the name of its file.
    Foreign(String, Box<ForeignRun>),
}

/// A side as reports show it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AnySideDescription {
    /// The file or folder, as it was named.
    pub name: String,
    /// The tool: `skyline` or another, with its version where known.
    pub tool: String,
    /// Requests that completed, of which the latencies are; of Skyline's run those of its window.
    pub completed: u64,
    /// Whether the figures can be trusted; absent where nothing proves it.
    pub valid: Option<bool>,
    /// What a reader must know of its figures.
    pub reservations: Vec<String>,
}

impl AnySide {
    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Self::Ours(side) => &side.name,
            Self::Foreign(name, _) => name,
        }
    }

    /// Why its figures cannot be trusted; empty if they can. Latencies of completed requests look the better, the more
    /// of the slow ones fail.
    pub fn reasons(&self) -> Vec<String> {
        let run = match self {
            Self::Ours(side) => return side.reasons.clone(),
            Self::Foreign(_, run) => run,
        };
        let rate = run.requests.error_rate().filter(|&rate| rate > ERROR_RATE_BAR);
        let sentence = |rate| {
            let (share, bar) = (percent(rate), percent(ERROR_RATE_BAR));
            format!("{share} of its requests failed (bar {bar}), and its latencies are of the others only")
        };
        rate.map(sentence).into_iter().collect()
    }

    pub(super) fn figure(&self, key: &FigureKey) -> AcrossRuns {
        match self {
            Self::Ours(side) => side.figure(key),
            Self::Foreign(_, run) => AcrossRuns {
                own_interval: run.interval(key),
                mark: run.mark(key),
                ..AcrossRuns::of_figures(&[run.figure(key)], key.most())
            },
        }
    }

    pub(super) fn describe(&self) -> AnySideDescription {
        let (tool, completed, valid, reservations) = match self {
            Self::Ours(side) => {
                let completed = side.runs.iter().map(|run| run.requests.completed).sum();
                (
                    format!("skyline {}", side.header.skyline_version),
                    completed,
                    Some(side.reasons.is_empty()),
                    Vec::new(),
                )
            }
            Self::Foreign(_, run) => {
                let version =
                    run.tool_version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
                let reservations = [run.reservations.clone(), self.reasons()].concat();
                (format!("{}{version}", run.tool), run.requests.completed, None, reservations)
            }
        };
        AnySideDescription { name: self.name().to_owned(), tool, completed, valid, reservations }
    }
}
