//! Hypotheses for rows by their names, as for rows made from axes.

use super::claim::{Claim, Reference};
use super::row::MatrixRow;
use crate::workload::reading::{Fields, SpecValue};

/// A question and a hypothesis for every row whose name matches.
#[derive(Clone, Debug)]
pub(super) struct Expected {
    /// Names, in which a `*` stands for anything.
    rows: Vec<String>,
    question: Option<String>,
    hypothesis: Option<String>,
    expect: Vec<Claim>,
}

impl Expected {
    /// Reads one.
    pub(super) fn read(place: SpecValue<'_>) -> Option<Self> {
        place.table("a hypothesis", |fields| {
            let rows = fields.required("rows", |place| place.list(|place| place.nonblank()));
            let question = fields.optional("question", None, |place| place.nonblank().map(Some));
            let hypothesis = fields.optional("hypothesis", None, |place| place.nonblank().map(Some));
            let expect = fields.optional("expect", Vec::new(), |place| place.list_or_none(Claim::read));
            let read = Self { rows: rows?, question: question?, hypothesis: hypothesis?, expect: expect? };
            if read.question.is_none() && read.hypothesis.is_none() && read.expect.is_empty() {
                fields.complain("says nothing of its rows; give a question, a hypothesis or what to expect");
                return None;
            }
            Some(read)
        })
    }

    /// Gives it to the matching `rows`. A claim that names another row does not apply to that row itself.
    pub(super) fn give(&self, rows: &mut [MatrixRow], fields: &Fields<'_>) -> Option<()> {
        for pattern in &self.rows {
            if !rows.iter().any(|row| fits(pattern, &row.name)) {
                let names = rows.iter().map(|row| row.name.as_str()).collect::<Vec<_>>().join(", ");
                fields.complain_of(
                    "hypotheses",
                    &format!("has one for `{pattern}`, which is the name of no row (there is: {names})"),
                );
                return None;
            }
        }
        for row in rows.iter_mut().filter(|row| self.rows.iter().any(|pattern| fits(pattern, &row.name))) {
            let twice = |old: &Option<String>, new: &Option<String>| old.is_some() && new.is_some();
            if twice(&row.question, &self.question) || twice(&row.hypothesis, &self.hypothesis) {
                let sentence =
                    format!("has a second question or hypothesis for row {}; leave one out", row.name);
                fields.complain_of("hypotheses", &sentence);
                return None;
            }
            row.question = row.question.take().or_else(|| self.question.clone());
            row.hypothesis = row.hypothesis.take().or_else(|| self.hypothesis.clone());
            let itself = |other: &Reference| other.row.as_ref() == Some(&row.name) && other.variant.is_none();
            let claims = self.expect.iter().filter(|claim| !claim.other().is_some_and(itself));
            row.expect.extend(claims.cloned());
        }
        Some(())
    }
}

/// Whether `name` matches `pattern`, in which `*` stands for anything.
fn fits(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((head, rest)) => name.strip_prefix(head).is_some_and(|left| {
            (0..=left.len()).any(|at| left.get(at..).is_some_and(|left| fits(rest, left)))
        }),
    }
}
