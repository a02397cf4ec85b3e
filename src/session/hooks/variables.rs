//! What a command is told of its place in the experiment.

/// One thing that it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variable {
    /// Name of the variant of the server that is to serve.
    Variant,
    /// The side of a comparison that is next: `a` or `b`.
    Side,
    /// The variant's flags, as they were typed.
    Flags,
    /// Address at which the server is expected.
    Url,
    /// Name of the row that is next.
    Row,
}

impl Variable {
    /// Its name in the environment.
    const fn name(self) -> &'static str {
        match self {
            Self::Variant => "SKYLINE_VARIANT",
            Self::Side => "SKYLINE_SIDE",
            Self::Flags => "SKYLINE_FLAGS",
            Self::Url => "SKYLINE_URL",
            Self::Row => "SKYLINE_ROW",
        }
    }
}

/// All that a command is told.
#[derive(Clone, Debug, Default)]
pub(crate) struct Variables(Vec<(Variable, String)>);

impl Variables {
    /// With `value` for `variable`.
    #[must_use]
    pub(crate) fn with(mut self, variable: Variable, value: impl Into<String>) -> Self {
        self.0.retain(|(known, _)| *known != variable);
        self.0.push((variable, value.into()));
        self
    }

    /// As the environment has them.
    pub(super) fn named(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.0.iter().map(|(variable, value)| (variable.name(), value.as_str()))
    }
}
