//! A figure of a run, or of a part of its requests, by name: `p95 ttft`, `p95 ttft of chat`.

use std::fmt;
use std::str::FromStr;

use super::objective::figure_of_part;
use super::{Figure, Scope, Subject, Summary};

/// Which figure is meant, and of whose requests.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FigureName {
    /// The figure.
    pub subject: Subject,
    /// Whose it is; absent: the whole run's.
    pub scope: Option<Scope>,
}

impl FigureName {
    /// The figure of a run; `None` where the run has none.
    #[must_use]
    pub fn read(&self, summary: &Summary) -> Option<Figure> {
        match &self.scope {
            Some(scope) => scope.read(self.subject, summary),
            None => self.subject.read(summary),
        }
    }
}

impl From<Subject> for FigureName {
    fn from(subject: Subject) -> Self {
        Self { subject, scope: None }
    }
}

impl FromStr for FigureName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (subject, scope) = figure_of_part(text.trim())?;
        Ok(Self { subject, scope })
    }
}

impl fmt::Display for FigureName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.scope {
            Some(scope) => write!(f, "{} of {scope}", self.subject),
            None => self.subject.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_written_alike() {
        for text in
            ["p99.9 ttft", "mean e2e_from_send", "goodput", "slo_attainment", "p95 ttft of tenant steady"]
        {
            assert_eq!(text.parse::<FigureName>().unwrap().to_string(), text);
        }
        assert_eq!("completed_requests_per_s".parse::<FigureName>().unwrap().to_string(), "request_rate");
        assert!("p95 happiness".parse::<FigureName>().is_err());
    }
}
