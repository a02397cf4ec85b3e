//! Fields of an access log from which a trace is made.

use clap::Args;

use crate::generator::AccessLogFields;

/// Fields of an access log, from which a trace is made.
#[derive(Debug, Args)]
pub(in crate::cli) struct AccessLogArgs {
    /// Field of the log that says when a request came: a date, or a number
    #[arg(long, value_name = "FIELD", requires = "input", help_heading = "Log")]
    time: Option<String>,

    /// Unit of a number in that field: s, ms, us or ns [default: s]
    #[arg(long, value_name = "UNIT", requires = "time", help_heading = "Log", value_parser = unit)]
    time_unit: Option<f64>,

    /// Field of the log with the tokens of the prompt
    #[arg(long, value_name = "FIELD", requires = "output", help_heading = "Log")]
    input: Option<String>,

    /// Field of the log with the tokens of the answer
    #[arg(long, value_name = "FIELD", requires = "time", help_heading = "Log")]
    output: Option<String>,

    /// Field of the log with the kind of the request, which becomes its class [default: none]
    #[arg(long, value_name = "FIELD", requires = "time", help_heading = "Log")]
    class: Option<String>,

    /// Skip and count unusable lines of the log [default: refuse the log]
    #[arg(long, requires = "time", help_heading = "Log")]
    pub(in crate::cli) skip_bad: bool,
}

impl AccessLogArgs {
    /// Returns the fields of the log; `None` where none was named.
    pub(in crate::cli) fn fields(&self) -> Option<AccessLogFields> {
        Some(AccessLogFields {
            time: self.time.clone()?,
            unit_ns: self.time_unit.unwrap_or(1e9),
            input: self.input.clone()?,
            output: self.output.clone()?,
            class: self.class.clone(),
        })
    }
}

/// Nanoseconds in the unit of a log's clock.
fn unit(text: &str) -> Result<f64, String> {
    match text {
        "s" => Ok(1e9),
        "ms" => Ok(1e6),
        "us" => Ok(1e3),
        "ns" => Ok(1.0),
        _ => Err(format!("`{text}` is not a unit of time; write s, ms, us or ns")),
    }
}
