//! The units of figures, as tables, series for Prometheus and collectors name them.

use crate::analysis::FigureUnit;

/// The unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unit {
    /// Its sign in tables; empty where there is none.
    pub(super) sign: &'static str,
    /// Its base unit by the Unified Code for Units of Measure, as OTLP wants it.
    pub(super) ucum: &'static str,
    /// What names of series in its base unit end with: what Prometheus makes of the OTLP unit, so that a
    /// figure has one name there however it came (`OpenTelemetry`, *Prometheus and `OpenMetrics`
    /// Compatibility*).
    pub(super) ending: &'static str,
    /// How many of it are one of its base unit.
    pub(super) per_base: u16,
}

impl Unit {
    /// Of what is counted without a unit, and of what is no number.
    pub(super) const NONE: Self = Self::new("", "", "");
    pub(super) const SECONDS: Self = Self::new("s", "s", "_seconds");
    pub(super) const MILLISECONDS: Self = Self { per_base: 1_000, ..Self::new("ms", "s", "_seconds") };
    /// Between 0 and 1.
    pub(super) const SHARE: Self = Self::new("share", "1", "_ratio");
    pub(super) const REQUESTS_PER_SECOND: Self = Self::new("requests/s", "{request}/s", "_per_second");
    pub(super) const TOKENS_PER_SECOND: Self = Self::new("tokens/s", "{token}/s", "_per_second");
    pub(super) const REQUESTS: Self = Self::new("requests", "{request}", "");
    pub(super) const TOKENS: Self = Self::new("tokens", "{token}", "");
    pub(super) const SAMPLES: Self = Self::new("samples", "{sample}", "");
    pub(super) const BYTES: Self = Self::new("bytes", "By", "_bytes");
    pub(super) const JOULES: Self = Self::new("J", "J", "_joules");
    pub(super) const WATTS: Self = Self::new("W", "W", "_watts");
    pub(super) const MEGAHERTZ: Self = Self::new("MHz", "MHz", "_megahertz");
    pub(super) const CELSIUS: Self = Self::new("°C", "Cel", "_celsius");
    /// In the currency of the price of a GPU hour.
    pub(super) const MONEY: Self = Self::new("currency", "{currency}", "");
    /// Processors that are kept busy.
    pub(super) const CORES: Self = Self::new("cores", "{cpu}", "");
    pub(super) const PREEMPTIONS: Self = Self::new("preemptions", "{count}", "");
    pub(super) const DEVICES: Self = Self::new("devices", "{count}", "");
    /// TCP segments.
    pub(super) const SEGMENTS: Self = Self::new("segments", "{count}", "");
    /// 1 for yes, 0 for no.
    pub(super) const YES: Self = Self::new("", "{yes}", "");

    const fn new(sign: &'static str, ucum: &'static str, ending: &'static str) -> Self {
        Self { sign, ucum, ending, per_base: 1 }
    }
}

impl From<FigureUnit> for Unit {
    fn from(unit: FigureUnit) -> Self {
        match unit {
            FigureUnit::Milliseconds => Self::MILLISECONDS,
            FigureUnit::RequestsPerSecond => Self::REQUESTS_PER_SECOND,
            FigureUnit::TokensPerSecond => Self::TOKENS_PER_SECOND,
            FigureUnit::Requests => Self::REQUESTS,
            FigureUnit::Tokens => Self::TOKENS,
            FigureUnit::Share => Self::SHARE,
            FigureUnit::Money => Self::MONEY,
            FigureUnit::Joules => Self::JOULES,
        }
    }
}
