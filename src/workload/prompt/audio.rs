//! Audio that requests carry, made for the run by its length.

use crate::workload::reading::seconds;
use crate::workload::reading::spec_table;
use crate::workload::reading::value::Allowed;

/// Lengths, seconds. Of the longest, 4 GiB of bodies lie ready ahead of their moments.
const LENGTH: Allowed = Allowed::from(0.1, 240.0);

spec_table! {
    /// Audio of each request of a class, made for the run.
    #[derive(Copy)]
    pub struct Audio = "the audio of a class" {
        /// Length of the audio of a request, seconds.
        seconds: f64 = required(|value| value.number(LENGTH)),
    }
}

impl Audio {
    /// Usual audio at an endpoint that takes nothing else.
    pub(crate) const USUAL: Self = Self { seconds: 10.0 };

    /// Reads a length as it is typed, such as `10s`.
    ///
    /// # Errors
    ///
    /// The mistake in it, as a sentence.
    pub fn typed(text: &str) -> Result<Self, String> {
        let seconds = seconds(text)?;
        LENGTH.mistake("--audio", seconds).map_or(Ok(Self { seconds }), Err)
    }
}
