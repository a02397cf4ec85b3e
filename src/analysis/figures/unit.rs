//! The units of figures, as tables, series for Prometheus and collectors name them.

use crate::units::{percent, three_digits};

/// The unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Sign of the unit in tables; empty where there is none.
    pub sign: &'static str,
    /// Base unit by the Unified Code for Units of Measure, as OTLP wants it.
    pub ucum: &'static str,
    /// Ending of the names of series in its base unit. It is what Prometheus makes of the OTLP unit, so that a figure
    /// has one name there however it came (`OpenTelemetry`, *Prometheus and `OpenMetrics` Compatibility*).
    pub ending: &'static str,
    /// How many of it are one of its base unit.
    pub per_base: u16,
}

impl Unit {
    /// Unit of what is counted without one, and of what is no number.
    pub const NONE: Self = Self::new("", "", "");
    /// Seconds.
    pub const SECONDS: Self = Self::new("s", "s", "_seconds");
    /// Milliseconds.
    pub const MILLISECONDS: Self = Self { per_base: 1_000, ..Self::new("ms", "s", "_seconds") };
    /// A share between 0 and 1.
    pub const SHARE: Self = Self::new("share", "1", "_ratio");
    /// Requests per second.
    pub const REQUESTS_PER_SECOND: Self = Self::new("requests/s", "{request}/s", "_per_second");
    /// Inputs per second.
    pub const INPUTS_PER_SECOND: Self = Self::new("inputs/s", "{input}/s", "_per_second");
    /// Seconds of audio per second.
    pub const AUDIO_PER_SECOND: Self = Self::new("audio s/s", "s/s", "_per_second");
    /// A time over another.
    pub const FACTOR: Self = Self::new("", "1", "_ratio");
    /// Tokens per second.
    pub const TOKENS_PER_SECOND: Self = Self::new("tokens/s", "{token}/s", "_per_second");
    /// Requests.
    pub const REQUESTS: Self = Self::new("requests", "{request}", "");
    /// Tokens.
    pub const TOKENS: Self = Self::new("tokens", "{token}", "");
    /// Samples.
    pub const SAMPLES: Self = Self::new("samples", "{sample}", "");
    /// Bytes.
    pub const BYTES: Self = Self::new("bytes", "By", "_bytes");
    /// Joules.
    pub const JOULES: Self = Self::new("J", "J", "_joules");
    /// Watts.
    pub const WATTS: Self = Self::new("W", "W", "_watts");
    /// Megahertz.
    pub const MEGAHERTZ: Self = Self::new("MHz", "MHz", "_megahertz");
    /// Degrees Celsius.
    pub const CELSIUS: Self = Self::new("°C", "Cel", "_celsius");
    /// An amount in the currency of the price of a GPU hour.
    pub const MONEY: Self = Self::new("currency", "{currency}", "");
    /// Processors that are kept busy.
    pub const CORES: Self = Self::new("cores", "{cpu}", "");
    /// Preemptions.
    pub const PREEMPTIONS: Self = Self::new("preemptions", "{count}", "");
    /// Devices.
    pub const DEVICES: Self = Self::new("devices", "{count}", "");
    /// TCP segments.
    pub const SEGMENTS: Self = Self::new("segments", "{count}", "");
    /// Attempts to have a request answered.
    pub const ATTEMPTS: Self = Self::new("attempts", "{attempt}", "");
    /// Attempts per second.
    pub const ATTEMPTS_PER_SECOND: Self = Self::new("attempts/s", "{attempt}/s", "_per_second");
    /// Chunks of answers.
    pub const CHUNKS: Self = Self::new("chunks", "{chunk}", "");
    /// Gaps between tokens.
    pub const GAPS: Self = Self::new("gaps", "{gap}", "");
    /// 1 for yes, 0 for no.
    pub const YES: Self = Self::new("", "{yes}", "");

    const fn new(sign: &'static str, ucum: &'static str, ending: &'static str) -> Self {
        Self { sign, ucum, ending, per_base: 1 }
    }

    /// A value for people: `137 ms`, `5.2/s`, `98 %`.
    pub fn show(self, value: f64) -> String {
        match self {
            Self::SHARE => percent(value),
            Self::MILLISECONDS => format!("{} ms", three_digits(value)),
            Self::REQUESTS_PER_SECOND | Self::INPUTS_PER_SECOND | Self::TOKENS_PER_SECOND => {
                format!("{}/s", three_digits(value))
            }
            Self::JOULES => format!("{} J", three_digits(value)),
            _ => three_digits(value),
        }
    }
}
