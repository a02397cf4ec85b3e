//! The stored requests of a run, as times of answers.

use serde_json::Value;

use super::document::ValueForm;
use super::document::{COUNT, ResultDocument, TIME, time, whole};
use super::table::StoredForm;
use crate::analysis::LengthRange;
use crate::foreign::figures::{ForeignAnswer, tpot_ms};
use crate::foreign::rules::{FollowsRules, NamedValues, TableRule};

impl NamedValues {
    /// Sets these values of a document.
    pub(super) fn read(&mut self, facts: &[(String, ValueForm, String)], document: &ResultDocument<'_>) {
        for (name, form, paths) in facts {
            for value in document.read(*form, paths) {
                self.set(name, value);
            }
        }
    }

    /// A value as a number, a truth, or what else it can be read as.
    pub(super) fn parsed<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        self.value(name)?.parse().ok()
    }
}

/// Rules without anything but values: those of one request.
impl FollowsRules for NamedValues {
    fn values(&mut self) -> &mut NamedValues {
        self
    }

    fn obey(&mut self, _rule: &'static TableRule) {}
}

/// Returns the successful requests that count, in order of sending. It is `None` where the file does not have them.
pub(super) fn answers(
    form: &'static StoredForm,
    document: &ResultDocument<'_>,
    run: &NamedValues,
    beside: Option<&[Value]>,
) -> Option<Vec<ForeignAnswer>> {
    let StoredForm::Rows { list, of_run, facts, rules, figures } = form else {
        return columns(form, document);
    };
    let (rows, place) = match list {
        Some(list) => (document.list(list, "an object", |row| row.is_object().then_some(row))?, ""),
        None => (beside?.iter().collect(), "of its requests, "),
    };
    let read = |(row, line): (&Value, usize)| {
        let place = if place.is_empty() { String::new() } else { format!("in line {line} {place}") };
        document.problem.within(&place, || {
            let document = ResultDocument { root: row, file: row, ..*document };
            let mut values = NamedValues::default();
            for (name, value) in of_run.iter().filter_map(|name| Some((name, run.value(name)?))) {
                values.set(name, value);
            }
            values.read(facts, &document);
            values.follow(rules);
            if values.value("skipped").is_some() {
                return None;
            }
            values.read(figures, &document);
            let gaps = values.0.get("gaps_ms").and_then(|all| all.last()?.as_array());
            let (ttft_ms, e2e_ms) = (values.parsed("ttft_ms"), values.parsed("e2e_ms"));
            let tokens = values.parsed("tokens");
            let answer = ForeignAnswer {
                ttft_ms,
                e2e_ms,
                closed_ms: values.parsed("closed_ms"),
                tokens,
                tpot_ms: values.parsed("tpot_ms").or_else(|| tpot_ms(e2e_ms, ttft_ms, tokens)),
                adjusted_tpot_ms: values.parsed("adjusted_tpot_ms"),
                gaps_ms: gaps.into_iter().flatten().filter_map(Value::as_f64).collect(),
            };
            Some((values.value("sent").unwrap_or_default(), answer))
        })
    };
    let mut answers: Vec<(String, ForeignAnswer)> = rows.into_iter().zip(1..).filter_map(read).collect();
    // Nanoseconds since 1970 have more digits than a float.
    answers.sort_by(|(one, _), (other, _)| match (one.parse::<u64>(), other.parse::<u64>()) {
        (Ok(one), Ok(other)) => one.cmp(&other),
        _ => one.parse().unwrap_or(0.0_f64).total_cmp(&other.parse().unwrap_or(0.0)),
    });
    Some(answers.into_iter().map(|(_, answer)| answer).collect())
}

/// The error of each request, empty where it succeeded.
fn errors<'a>(document: &ResultDocument<'a>) -> Option<Vec<&'a str>> {
    document.list("errors", "a text", Value::as_str)
}

/// The requests of lists with one item each.
fn columns(form: &StoredForm, document: &ResultDocument<'_>) -> Option<Vec<ForeignAnswer>> {
    let StoredForm::Columns { ends, silent_at_zero } = form else { return None };
    let (errors, ttfts) = (errors(document), document.list("ttfts", TIME, time));
    let times = |value: &Value| value.as_array()?.iter().map(time).collect::<Option<Vec<f64>>>();
    let gaps = document.list("itls", "a list of times from 0 to 1e9", times);
    let tokens = document.list("output_lens", COUNT, whole);
    let (errors, ttfts, gaps, tokens) = (errors?, ttfts?, gaps?, tokens?);
    let ends = ends.as_deref().and_then(|key| document.list(key, TIME, time));
    let lengths = [ttfts.len(), gaps.len(), tokens.len(), ends.as_ref().map_or(errors.len(), Vec::len)];
    if lengths.iter().any(|&length| length != errors.len()) {
        document.problem.add("its lists of requests are not of one length".to_owned());
        return None;
    }
    let answer = |i: usize| {
        let ttft = ttfts[i];
        let end = ends.as_ref().map_or_else(|| ttft + gaps[i].iter().sum::<f64>(), |ends| ends[i]);
        if end < ttft {
            document
                .problem
                .add(format!("`latencies[{i}]` is {end}, and its first token came at {ttft} (`ttfts[{i}]`)"));
        }
        let gaps_ms = gaps[i].iter().map(|gap| gap * 1e3).collect();
        if *silent_at_zero && ttft == 0.0 {
            return ForeignAnswer { gaps_ms, ..ForeignAnswer::default() };
        }
        let (ttft_ms, e2e_ms) = (Some(ttft * 1e3), Some(end * 1e3));
        let tpot_ms = tpot_ms(e2e_ms, ttft_ms, Some(tokens[i]));
        ForeignAnswer { ttft_ms, e2e_ms, tpot_ms, tokens: Some(tokens[i]), gaps_ms, ..ForeignAnswer::default() }
    };
    Some((0..errors.len()).filter(|&i| errors[i].is_empty()).map(answer).collect())
}

/// Returns the lengths of the prompts and of the answers of a run. They are of its requests that succeeded, or as the
/// tool says.
pub(super) fn lengths(form: &StoredForm, document: &ResultDocument<'_>, run: &NamedValues) -> [Option<LengthRange>; 2] {
    match form {
        StoredForm::Rows { .. } => ["prompt_tokens", "answer_tokens"].map(|name| {
            let [min, p50, p95, max] =
                ["min", "p50", "p95", "max"].map(|statistic| run.parsed(&format!("{name}.{statistic}")));
            Some(LengthRange { min: min?, p50: p50?, p95: p95?, max: max? })
        }),
        StoredForm::Columns { .. } => {
            let errors = errors(document).unwrap_or_default();
            ["input_lens", "output_lens"].map(|key| {
                let all = document.root.get(key)?.as_array().filter(|all| all.len() == errors.len())?;
                let succeeded = all.iter().zip(&errors).filter(|(_, error)| error.is_empty());
                LengthRange::from_lengths(succeeded.filter_map(|(tokens, _)| whole(tokens)))
            })
        }
    }
}
