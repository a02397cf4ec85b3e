//! The interpreter of the tables: the runs of a result under our names.

use serde_json::Value;
use strum::VariantArray as _;

use super::document::{FirstProblem, ResultDocument, ValueForm};
use super::requests::{answers, lengths};
use super::table::{ResultTable, RunsIn};
use crate::analysis::{LEAST_S, Metric, ScenarioRule, WarmUpEvidence};
use crate::foreign::figures::{ForeignFigures, ForeignLatency, ReportedFigures, latencies};
use crate::foreign::rules::{FollowsRules, NamedValues, TableRule};
use crate::foreign::run::{
    ForeignConditions, ForeignRequests, ForeignRun, ForeignTokens, UnmatchedFigure, WholeRunRates,
};
use crate::foreign::tool::ForeignTool;

/// The runs in the values of a file of `tool`. Their requests may stand in a file beside it.
pub(in crate::foreign) fn runs(
    tool: ForeignTool,
    values: &[Value],
    beside: Option<&[Value]>,
) -> Result<Vec<ForeignRun>, String> {
    let table = tool.table()?;
    let problem = FirstProblem::default();
    let (all, words) = match (&table.runs, values) {
        (RunsIn::EachValue, []) => return Err("it is empty".to_owned()),
        (RunsIn::EachValue | RunsIn::OneValue, [_]) => (values.iter().collect(), None),
        (RunsIn::EachValue, all) => (all.iter().collect(), Some("in its run")),
        (RunsIn::ListOf(list), [value]) => {
            let document = ResultDocument { file: value, root: value, problem: &problem };
            let all = document.list(list, "an object", |item| item.is_object().then_some(item));
            match &all {
                None => problem.add(format!("`{list}` is missing")),
                Some(all) if all.is_empty() => {
                    problem.add(format!("`{list}` is empty: no benchmark finished"));
                }
                Some(_) => {}
            }
            (all.unwrap_or_default(), Some("of benchmark"))
        }
        (_, values) => return Err(format!("it has {} values, and one is expected", values.len())),
    };
    let run = |(root, number): (&Value, u64)| {
        let place = words.map_or(String::new(), |words| format!("{words} {number}, "));
        let file = if matches!(table.runs, RunsIn::ListOf(_)) { values.first().unwrap_or(root) } else { root };
        let other = ForeignTool::from_value(file).filter(|&other| other != tool);
        if let (Some(other), RunsIn::EachValue) = (other, &table.runs) {
            problem.add(format!("{place}it is a result of {other}"));
        }
        let document = ResultDocument { file, root, problem: &problem };
        problem.within(&place, || RunReader::new(tool, table, document, number).read(beside))
    };
    let runs = all.into_iter().zip(1..).map(run).collect();
    problem.unless(runs)
}

/// A run in the making.
struct RunReader<'a> {
    table: &'static ResultTable,
    document: ResultDocument<'a>,
    values: NamedValues,
    run: ForeignRun,
}

impl FollowsRules for RunReader<'_> {
    fn values(&mut self) -> &mut NamedValues {
        &mut self.values
    }

    fn obey(&mut self, rule: &'static TableRule) {
        for [about, sentence] in &rule.says {
            let sentence = self.table.sentence(sentence);
            match about.as_str() {
                "" => self.run.reservations.extend(self.values.fill(sentence)),
                "problem" => self.document.problem.add(sentence.to_owned()),
                name => self.run.refused.push(UnmatchedFigure { name, reason: sentence }),
            }
        }
    }
}

impl<'a> RunReader<'a> {
    fn new(tool: ForeignTool, table: &'static ResultTable, document: ResultDocument<'a>, number: u64) -> Self {
        Self { table, document, values: NamedValues::default(), run: ForeignRun::new(tool, number) }
    }

    fn read(mut self, beside: Option<&[Value]>) -> ForeignRun {
        let table = self.table;
        self.values.set("tool", self.run.tool.to_string());
        for rule in ScenarioRule::VARIANTS {
            self.values.set(&format!("rule_{}", <&str>::from(rule)), rule.words());
        }
        self.values.set("least_s", LEAST_S);
        self.values.read(&table.facts, &self.document);
        let answers = answers(&table.requests, &self.document, &self.values, beside);
        if let Some(answers) = &answers {
            self.values.set("answers", answers.len());
            self.values.set("gaps", answers.iter().map(|answer| answer.gaps_ms.len()).sum::<usize>());
            self.values.set("paced", answers.iter().filter(|answer| answer.tpot_ms.is_some()).count());
        }
        self.run.is_export = self.values.value("skyline").is_some();
        self.follow(&table.rules);
        self.totals();
        let figures = table.figures.as_deref().map_or(Some(self.document.root), |key| self.document.root.get(key));
        self.run.refused.extend(unmatched(table, figures));
        let is_stored = self.values.value("stored").is_some();
        let names: Vec<(Metric, &'static str)> = table.latencies.iter().filter_map(|name| self.name(name)).collect();
        let own = table.latencies.iter().map(|[_, theirs]| {
            let statistics = self.statistics(theirs);
            (theirs.as_str(), ReportedFigures::new(None, statistics))
        });
        self.run.own = own.collect();
        self.run.answers = answers.filter(|_| is_stored).unwrap_or_default();
        self.run.latency = match self.run.answers.as_slice() {
            _ if self.run.requests.completed == 0 => Vec::new(),
            answers if is_stored => latencies(answers, &names),
            _ => names.iter().filter_map(|&(metric, theirs)| self.reported(metric, theirs)).collect(),
        };
        self.values.set("latencies", self.run.latency.len());
        self.run.conditions = self.conditions();
        self.follow(&table.notes);
        self.run
    }

    /// Our name of a latency, if it has one in this run, and the tool's.
    fn name(&self, [ours, theirs]: &'static [String; 2]) -> Option<(Metric, &'static str)> {
        let ours = self.values.fill(ours)?;
        Some((*Metric::VARIANTS.iter().find(|metric| metric.name() == ours)?, theirs.as_str()))
    }

    fn totals(&mut self) {
        let values = &self.values;
        let requests = ForeignRequests {
            completed: values.parsed("completed").unwrap_or_default(),
            failed: values.parsed("failed"),
            cut_off: values.parsed("cut_off"),
        };
        let counted_by = values.value("counted_by").unwrap_or_else(|| "counted_by".to_owned());
        let tokens = ForeignTokens {
            input: values.parsed("input_tokens"),
            output: values.parsed("output_tokens"),
            counted_by: self.table.sentences.get(&counted_by).map_or("", String::as_str),
        };
        self.run.tool_version = values.value("tool_version");
        self.run.whole_run = WholeRunRates::new(values.parsed("duration"), requests, tokens);
        (self.run.requests, self.run.tokens) = (requests, tokens);
    }

    fn conditions(&self) -> ForeignConditions {
        let values = &self.values;
        let [prompt_tokens, answer_tokens] = lengths(&self.table.requests, &self.document, values);
        let warm_up = |requests| WarmUpEvidence { requests, seconds: values.parsed("warm_up_seconds") };
        ForeignConditions {
            model: values.value("model"),
            endpoint: values.value("endpoint"),
            streamed: values.parsed("streamed"),
            arrival: values.value("arrival"),
            burstiness: values.parsed("stated_burstiness"),
            rate_per_s: values.parsed("rate_per_s"),
            max_concurrency: values.parsed("max_concurrency"),
            prompt_tokens,
            answer_tokens,
            warm_up: values.parsed("warm_up_requests").map(warm_up),
            hardware: values.value("hardware"),
            gpus: values.parsed("gpus"),
            engine_version: values.value("engine_version"),
            precision: values.value("precision"),
            serving_flags: values.value("serving_flags"),
            datasets: values.parsed("datasets"),
            workers: values.parsed("workers"),
        }
    }

    /// The tool's own statistics of a latency, milliseconds.
    fn statistics(&self, theirs: &str) -> [Option<f64>; 8] {
        let form = &self.table.reported;
        let factor = if form.seconds.iter().any(|name| name == theirs) { 1e3 } else { 1.0 };
        form.statistics.each_ref().map(|path| {
            let found = self.document.read(form.form, &path.replace("{}", theirs));
            Some(found.first().and_then(Value::as_f64)? * factor)
        })
    }

    /// A latency as the tool computed it. Zeros that are written for no sample are refused.
    fn reported(&mut self, metric: Metric, theirs: &'static str) -> Option<ForeignLatency> {
        let form = &self.table.reported;
        let at = |template: &str| template.replace("{}", theirs);
        // Answers of one token have no TPOT, and the number of chunks is unknown.
        let one_each = matches!(metric, Metric::TtftFromSend | Metric::E2eFromSend);
        let counted = form.count.as_ref().map(|path| self.document.read(ValueForm::Count, &at(path)));
        let n = counted.and_then(|count| count.first()?.as_u64());
        let n = n.or(one_each.then_some(self.run.requests.completed));
        let values = self.statistics(theirs);
        let are_zero = values.iter().flatten().all(|&value| value == 0.0);
        if values.iter().all(Option::is_none) || (n == Some(0) && form.count.is_some()) {
            return None;
        }
        if form.count.is_none() && !one_each && are_zero {
            let reason = "no sample: the zeros are what is written for none";
            self.run.refused.push(UnmatchedFigure { name: theirs, reason });
            return None;
        }
        let figures = ForeignFigures::Reported(ReportedFigures::new(n, values));
        Some(ForeignLatency { metric, theirs, figures })
    }
}

/// Figures without an equivalent that are among these.
fn unmatched(table: &'static ResultTable, figures: Option<&Value>) -> Vec<UnmatchedFigure> {
    let entries = figures.and_then(Value::as_object).into_iter().flatten();
    let keys: Vec<&String> = entries.filter(|(_, value)| !value.is_null()).map(|(key, _)| key).collect();
    let is_there = |name: &str| match name.strip_suffix('*') {
        Some(start) => keys.iter().any(|key| key.starts_with(start)),
        None => keys.iter().any(|key| *key == name),
    };
    let refused = table.refused().filter(|(name, _)| is_there(name));
    refused.map(|(name, reason)| UnmatchedFigure { name, reason }).collect()
}
