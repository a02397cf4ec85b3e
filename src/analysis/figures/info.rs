//! What the catalogue says of a figure: its names, unit, direction, formula and source.

use super::unit::Unit;

/// Description of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FigureInfo {
    /// Name of the figure in objectives and, of latencies, in files.
    pub key: &'static str,
    /// Name of the figure in files, where that is another: `goodput_per_s`.
    pub field: &'static str,
    /// Name of the figure in headings.
    pub title: &'static str,
    /// The unit of its values.
    pub unit: Unit,
    /// Direction in which the figure is better.
    pub better: Direction,
    /// Thing that one sample of the figure belongs to.
    pub samples: Samples,
    /// Whether the figure is known of a class, priority, tenant or model too. Others are known of the whole run alone.
    pub of_parts: bool,
    /// Meaning of the figure, in one sentence.
    pub meaning: &'static str,
    /// How it is computed; N is the number of output tokens.
    pub formula: &'static str,
    /// Source that defines the figure so.
    pub source: &'static str,
    /// Names of the same figure in other tools.
    pub elsewhere: &'static [Elsewhere],
}

/// The name that another tool has for a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elsewhere {
    /// The tool.
    pub tool: &'static str,
    /// Name that the tool has for the figure.
    pub name: &'static str,
    /// Formula of the tool.
    pub formula: &'static str,
}

/// Direction in which a figure is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Less is better: latencies, failures.
    Less,
    /// More is better: rates, SLO attainment.
    More,
}

/// Thing that one sample of a figure belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Samples {
    /// A request: each has one at most.
    PerRequest,
    /// A gap inside an answer.
    PerGap,
    /// The run: there is one value.
    PerRun,
}

/// The kinds of figures, which differ in how they are computed, compared and shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FigureKind {
    /// A distribution of times, milliseconds; a statistic of it is a figure.
    #[serde(rename = "ms")]
    Latency,
    /// A number per second.
    #[serde(rename = "per_s")]
    Rate,
    /// A share of the requests.
    Share,
    /// A number.
    Count,
    /// An amount used up for each of something: money or energy.
    Cost,
}

impl FigureKind {
    /// Factor by which values are multiplied in tables and charts, which show shares in percent.
    pub const fn display_scale(self) -> f64 {
        match self {
            Self::Share => 100.0,
            Self::Latency | Self::Rate | Self::Count | Self::Cost => 1.0,
        }
    }
}

/// A latency of a request.
pub(super) const fn latency(key: &'static str, title: &'static str, formula: &'static str) -> FigureInfo {
    FigureInfo {
        key,
        field: key,
        title,
        unit: Unit::MILLISECONDS,
        better: Direction::Less,
        samples: Samples::PerRequest,
        of_parts: false,
        meaning: "",
        formula,
        source: "Skyline",
        elsewhere: &[],
    }
}

/// A rate of the run.
pub(super) const fn rate(key: &'static str, title: &'static str, unit: Unit, formula: &'static str) -> FigureInfo {
    let better = Direction::More;
    FigureInfo { unit, better, samples: Samples::PerRun, ..latency(key, title, formula) }
}

/// A share of the requests.
pub(super) const fn share(
    key: &'static str,
    title: &'static str,
    better: Direction,
    formula: &'static str,
) -> FigureInfo {
    FigureInfo { better, ..rate(key, title, Unit::SHARE, formula) }
}

/// Formula of what a server reports of itself.
pub(super) const GAUGE: &str = "readings of the server's gauge in the window";
/// Names, meaning and formula of what a prefix cache found.
pub(super) const PREFIX_HITS: [&str; 4] = [
    "prefix_hits",
    "prefix hits",
    "prompt tokens found in the server's prefix cache, of those looked up",
    "tokens found / tokens looked up",
];

/// Describes what a server reports of itself. It is absent where it has no page of metrics.
pub(super) const fn reported(unit: Unit, of: [&'static str; 4]) -> FigureInfo {
    cost(unit, of)
}

/// Describes an amount used up for each of something. It takes its key, its title, what it is, and its formula.
pub(super) const fn cost(unit: Unit, [key, title, meaning, formula]: [&'static str; 4]) -> FigureInfo {
    FigureInfo { better: Direction::Less, meaning, ..rate(key, title, unit, formula) }
}
