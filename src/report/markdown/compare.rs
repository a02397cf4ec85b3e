//! Comparisons with a baseline in Markdown: whether the demands are met, what was compared, and how it differs.

use std::fmt::Write as _;

use super::table::{Table, sign};
use crate::analysis::{FigureKey, Metric, Quantile, Statistic, Status};
use crate::experiment::compare::{
    AgainstBaseline, ChangeStanding, Compared, ComparedRow, ComparedSweeps, Difference, GateJudgement,
    Pairing, Role, RunTrend, SweepAgainst,
};
use crate::report::compare::{
    self, DRIFTS, advice, change, marks, pairing_in_words, side_in_words, standing_in_words, trend_cells,
};
use crate::report::compare_sweeps;
use crate::report::render::escape::text;
use crate::units::count;

/// Runs or repeats against a baseline as Markdown that `GitHub` shows as it is meant. What a server said stays text.
#[must_use]
pub fn compared_markdown(compared: &Compared) -> String {
    let gates = compared.against.iter().flat_map(|against| &against.gates);
    let mut moved = Vec::new();
    // Of several sides none is the one that a line could be about.
    if let [against] = compared.against.as_slice() {
        moved.extend(against.rows.iter().filter_map(in_brief));
    }
    let names: Vec<_> = compared.sides.iter().map(|side| side.name.as_str()).collect();
    let mut out = headline(gates, moved, &names);
    for (place, side) in compared.sides.iter().enumerate() {
        let _ = writeln!(out, "- {}: {}", role(place), text(&side_in_words(side)));
    }
    differences(&mut out, &compared.differences);
    for against in &compared.against {
        one_side(&mut out, compared, against);
    }
    if let Some(trend) = &compared.trend {
        over_time(&mut out, trend);
    }
    out
}

/// Sweeps against a baseline as Markdown, as above.
#[must_use]
pub fn compared_sweeps_markdown(compared: &ComparedSweeps) -> String {
    let gates = compared.against.iter().flat_map(|against| &against.gates);
    let names: Vec<_> = compared.answers.iter().map(|answer| answer.side.as_str()).collect();
    let mut out = headline(gates, Vec::new(), &names);
    for (place, answer) in compared.answers.iter().enumerate() {
        let _ = writeln!(out, "- {}: {}", role(place), text(&compare_sweeps::in_words(answer)));
    }
    differences(&mut out, &compared.differences);
    out.push_str("\n### Highest load that meets the objectives\n\n");
    let mut table = Table::of_figures(&mut out, &["", "passed", "failed", "estimate", "95 %"]);
    for answer in &compared.answers {
        table.row([answer.side.clone()].into_iter().chain(compare_sweeps::answer_cells(answer)));
    }
    for against in &compared.against {
        one_sweep(&mut out, against);
    }
    out
}

/// All in one line: `✅ 2 of 2 demands met · p95 TTFT +3.10 % (not shown) · here against baseline`.
fn headline<'a>(
    gates: impl Iterator<Item = &'a GateJudgement>,
    moved: Vec<String>,
    names: &[&str],
) -> String {
    let gates: Vec<_> = gates.collect();
    let met = gates.iter().filter(|gate| gate.passed()).count();
    let mut parts = Vec::new();
    if !gates.is_empty() {
        let sign = sign(if met == gates.len() { Status::Met } else { Status::Missed });
        parts.push(format!("{sign} {met} of {} demands met", gates.len()));
    }
    parts.extend(moved);
    if let Some((baseline, others)) = names.split_first() {
        parts.push(format!("{} against {baseline}", others.join(", ")));
    }
    format!("## {}\n\n", text(&parts.join(" · ")))
}

/// How a figure that people ask for first changed.
fn in_brief(row: &ComparedRow) -> Option<String> {
    let FigureKey::Latency(Statistic::Percentile(Quantile::P95), metric) = row.subject else { return None };
    let name = match metric {
        Metric::Ttft => "TTFT",
        Metric::Tpot => "TPOT",
        Metric::E2e => "e2e",
        _ => return None,
    };
    row.change?;
    let standing = match row.standing {
        ChangeStanding::Unknown => String::new(),
        known => format!(" ({})", standing_in_words(known)),
    };
    Some(format!("p95 {name} {}{standing}", change(row)))
}

const fn role(place: usize) -> &'static str {
    if place == 0 { "baseline" } else { "against" }
}

fn differences(out: &mut String, differences: &[Difference]) {
    for difference in differences {
        let role = if difference.role == Role::Varied { "on purpose" } else { "differs" };
        let values: Vec<_> =
            difference.values.iter().map(|value| value.as_deref().unwrap_or("not said")).collect();
        let _ = writeln!(out, "- {role}: {}", text(&format!("{}: {}", difference.fact, values.join(" → "))));
    }
}

fn one_side(out: &mut String, compared: &Compared, against: &AgainstBaseline) {
    let pairing = pairing_in_words(against.pairing);
    let _ = write!(out, "\n### {} against the baseline\n\n{}.\n", text(&against.side), text(pairing));
    demands(out, &against.gates);
    out.push('\n');
    Table::of_grid(out, &compare::grid(against));
    for (sign, meaning) in marks(&against.rows) {
        let _ = write!(out, "\n{} {meaning}\n", text(sign));
    }
    if let Some(symptom) = &against.warm_like_cold {
        let _ = write!(out, "\n- {}<br>→ {}\n", text(&symptom.symptom), text(&symptom.first_response));
    }
    for line in advice(compared, against) {
        let _ = write!(out, "\n→ {}\n", text(line));
    }
}

fn one_sweep(out: &mut String, against: &SweepAgainst) {
    let (side, sentence) = (text(&against.side), text(&against.sentence));
    let _ = write!(out, "\n### {side} against the baseline\n\n{sentence}.\n");
    demands(out, &against.gates);
    if !against.loads.is_empty() {
        out.push('\n');
        Table::of_grid(out, &compare_sweeps::grid(against));
    }
    if against.loads.iter().any(|at| at.pairing == Pairing::OneRunEach) {
        let _ = write!(out, "\n→ {}\n", text(compare_sweeps::ONE_RUN));
    }
}

fn demands(out: &mut String, gates: &[GateJudgement]) {
    if gates.is_empty() {
        return;
    }
    out.push('\n');
    let mut table = Table::of_words(out, &["", "demand"]);
    for gate in gates {
        let word = gate.status.word();
        let demand =
            gate.line.strip_prefix(word).map_or(gate.line.as_str(), |line| line.trim_start_matches(": "));
        table.row([format!("{} {word}", sign(gate.status)), demand.to_owned()]);
    }
}

fn over_time(out: &mut String, trend: &RunTrend) {
    let sides = count(trend.order.len() as u64);
    let _ = write!(out, "\n### Over time: {sides} from the earliest to the latest\n\n");
    let mut table = Table::of_figures(out, &["", "course", "first", "last", "each step", "95 %", ""]);
    for line in &trend.lines {
        table.row(trend_cells(line));
    }
    let _ = write!(out, "\n→ {}\n", text(DRIFTS));
}
