//! The figures of a run as series for systems that watch servers: families of gauges with labels.

mod families;
mod openmetrics;
mod otlp;

pub use openmetrics::openmetrics;
pub use otlp::otlp_json;

/// Series that share a name.
#[derive(Clone, Debug, PartialEq)]
struct Family {
    /// Its name without the program's name before it and the unit's after it.
    name: String,
    /// What it is, in one sentence without its full stop.
    help: String,
    unit: Unit,
    points: Vec<Point>,
}

/// One value of a family.
#[derive(Clone, Debug, PartialEq)]
struct Point {
    /// What tells it from the others of its family.
    labels: Vec<(&'static str, String)>,
    value: f64,
}

/// What a value counts. The endings of names are those that Prometheus gives to OTLP units, so that a figure has one name
/// there however it came (`OpenTelemetry`, *Prometheus and `OpenMetrics` Compatibility*).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Seconds,
    /// A share between 0 and 1.
    Ratio,
    RequestsPerSecond,
    TokensPerSecond,
    Requests,
    Tokens,
    Samples,
    Bytes,
    Joules,
    Watts,
    /// Processors that are kept busy.
    Cores,
    /// Events or things that have a name of their own.
    Counted,
    /// 1 for yes, 0 for no.
    Yes,
}

impl Unit {
    /// What names end with.
    const fn ending(self) -> &'static str {
        match self {
            Self::Seconds => "_seconds",
            Self::Ratio => "_ratio",
            Self::RequestsPerSecond | Self::TokensPerSecond => "_per_second",
            Self::Bytes => "_bytes",
            Self::Joules => "_joules",
            Self::Watts => "_watts",
            Self::Requests | Self::Tokens | Self::Samples | Self::Cores | Self::Counted | Self::Yes => "",
        }
    }

    /// The unit by the Unified Code for Units of Measure, as OTLP wants it.
    const fn ucum(self) -> &'static str {
        match self {
            Self::Seconds => "s",
            Self::Ratio => "1",
            Self::RequestsPerSecond => "{request}/s",
            Self::TokensPerSecond => "{token}/s",
            Self::Requests => "{request}",
            Self::Tokens => "{token}",
            Self::Samples => "{sample}",
            Self::Bytes => "By",
            Self::Joules => "J",
            Self::Watts => "W",
            Self::Cores => "{cpu}",
            Self::Counted => "{count}",
            Self::Yes => "{yes}",
        }
    }
}

#[cfg(test)]
mod tests;
