//! The verdict of an A/B test in words, and what is to be said beside it.

use super::design::AbSide;
use super::metric::{AbMetric, AbVerdict};
use super::outcome::AbTest;
use super::rounds::fails_more;
use crate::units::{counted, percent, three_digits};

impl AbTest {
    /// The margins, in words.
    pub fn margin_in_words(&self) -> String {
        format!(
            "differences within {} do not matter (of shares within {} points), nor those of failures within half a \
             point",
            percent(self.margin),
            three_digits(self.margin * 100.0)
        )
    }

    /// Returns what speaks for this verdict, in words.
    fn changes(&self, verdict: AbVerdict) -> String {
        let of_overload = match self.overload.worse {
            Some(AbSide::A) => AbVerdict::Better,
            Some(AbSide::B) | None => AbVerdict::Worse,
        };
        let overload = self.overload.in_words().filter(|_| verdict == of_overload);
        let such = self.metrics.iter().filter(|metric| metric.verdict == Some(verdict));
        overload.into_iter().chain(such.map(AbMetric::change_in_words)).collect::<Vec<_>>().join(", ")
    }

    pub(super) fn verdict_in_words(&self) -> String {
        let (better, worse) = (self.changes(AbVerdict::Better), self.changes(AbVerdict::Worse));
        let of_rounds = format!("{} of {}", self.counted_rounds, counted(self.planned_rounds, "round"));
        let found = match self.verdict {
            AbVerdict::Better => format!("B is better than A: {better}"),
            AbVerdict::Worse => format!("B is worse than A: {worse}"),
            AbVerdict::Mixed if worse.is_empty() => {
                format!("B is both better than A ({better}) and worse (it failed more requests)")
            }
            AbVerdict::Mixed => format!("B is both better than A ({better}) and worse ({worse})"),
            AbVerdict::Equivalent => {
                format!("B is equivalent to A: no metric differs beyond the margin in {of_rounds}")
            }
            AbVerdict::Inconclusive if self.caution.is_some() => "they give no answer".to_owned(),
            AbVerdict::Inconclusive if !better.is_empty() => {
                format!("B would be better ({better}), but perhaps only because more of its requests failed")
            }
            AbVerdict::Inconclusive => "no significant difference, and no equivalence".to_owned(),
            AbVerdict::Invalid => {
                format!("{of_rounds} have valid figures, and a verdict needs {}", counted(self.fewest_rounds, "round"))
            }
            AbVerdict::Unfinished => format!(
                "so far, {} of {}: no verdict, because stopping early inflates false positives",
                self.rounds.len(),
                counted(self.planned_rounds, "round")
            ),
        };
        match &self.caution {
            Some(caution) => format!("{caution}; {found}"),
            None => found,
        }
    }

    /// Notes on the verdict.
    pub(super) fn reservations(&self, failures: Option<(f64, f64)>, is_named: impl Fn(u64) -> bool) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some((a, b)) = failures {
            notes.push(fails_more(a, b));
        }
        let left_out: Vec<_> = self.rounds.iter().filter(|round| !round.counted && !is_named(round.number)).collect();
        if let Some(first) = left_out.first() {
            let why = first.left_out.first().map_or("a run was broken off", String::as_str);
            let left_out: Vec<_> = left_out.iter().map(|round| round.number.to_string()).collect();
            let rounds = if left_out.len() == 1 { "round" } else { "rounds" };
            // One that throttling spoiled is VALID by itself.
            let kind = if first.a.valid && first.b.valid { "" } else { " as INVALID" };
            notes.push(format!(
                "left out{kind}: {rounds} {} (of the first, {why}); see each run's own report",
                left_out.join(", ")
            ));
        }
        if self.overload.is_both() {
            notes.push(
                "neither side keeps up with this load: a difference says which is slower, and its size depends on how \
                 long a run lasted; compare the completed requests/s, or run at a lower load"
                    .to_owned(),
            );
        }
        for (side, rounds) in [(AbSide::A, self.overload.a), (AbSide::B, self.overload.b)] {
            if rounds > 0 {
                notes.push(format!(
                    "{side} did not keep up in {}: its latencies there depend on how long a run lasted",
                    counted(rounds, "round")
                ));
            }
        }
        let of_classes = |verdict| {
            let such = self.classes.iter().filter(move |class| class.verdict == verdict);
            such.map(|class| class.class.clone()).collect::<Vec<_>>().join(", ")
        };
        for (verdict, word) in
            [(AbVerdict::Worse, "worse"), (AbVerdict::Mixed, "better by one metric and worse by another")]
        {
            let classes = of_classes(verdict);
            if !classes.is_empty() && self.verdict != verdict {
                notes.push(format!("for the class {classes} alone B is {word}"));
            }
        }
        notes
    }
}
