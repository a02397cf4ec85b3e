//! All that it takes to fly a run again, and what the names on its page mean.

use maud::{Markup, html};
use serde::Serialize;

use super::super::parts::{Table, facts, notes};
use super::super::told::told;
use crate::analysis::wording::counted;
use crate::analysis::{Alias, Quantile, Summary};
use crate::record::{ClientLimits, RunLog};
use crate::report::glossary::{ELSEWHERE, LATENCIES, Term, WORDS};
use crate::report::{header, latency};

pub(super) fn section(log: &RunLog, summary: &Summary) -> Markup {
    html! {
        h2 { "What was run, to fly it again" }
        pre.command { (crate::report::printable(&command(log))) }
        @if log.header.command.iter().any(|word| word.contains("***")) {
            p.muted { "In place of *** type again what stood there: it was kept out of the files of the run." }
        }
        (told(|page| header::what_was_run(page, summary)))
        (facts(&besides(log)))
        (json("The workload as flown (JSON; save it and give it to skyline bench)", &log.header.workload))
        (json("The server and what it was asked (JSON)", &log.header.engine))
    }
}

/// The command line, as it can be pasted into a shell.
fn command(log: &RunLog) -> String {
    let words = &log.header.command;
    shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "))
}

fn besides(log: &RunLog) -> Vec<(&'static str, String)> {
    let header = &log.header;
    let host = &header.host;
    let cpu = host.cpu.as_ref().map(|cpu| format!(", {cpu}")).unwrap_or_default();
    let mut besides = vec![
        ("plan hash", header.plan.hash.clone()),
        ("this machine", format!("{}{cpu}, {}", host.os, counted(host.cores, "core"))),
        ("limits", limits(&header.limits)),
        ("tool", format!("skyline {}, run log of schema {}", header.skyline_version, header.schema)),
        ("request ids", format!("{}… in the server's log", header.engine.request_id_prefix)),
    ];
    for objective in &header.objectives {
        besides.push(("objective", objective.clone()));
    }
    besides
}

fn limits(limits: &ClientLimits) -> String {
    let ClientLimits { max_concurrency, first_token_timeout_s, between_tokens_timeout_s, total_timeout_s } =
        limits;
    let seconds = |name: &str, limit: Option<f64>| Some(format!("{name} within {} s", limit?));
    let parts = [
        max_concurrency.map(|cap| format!("{cap} in flight")),
        seconds("first token", *first_token_timeout_s),
        seconds("next token", *between_tokens_timeout_s),
        seconds("whole answer", *total_timeout_s),
    ];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    if parts.is_empty() { "none".to_owned() } else { parts.join(", ") }
}

fn json(title: &str, value: &impl Serialize) -> Markup {
    let Ok(text) = serde_json::to_string_pretty(value) else { return html! {} };
    html! { details { summary { (title) } pre { (text) } } }
}

pub(super) fn glossary(summary: &Summary) -> Markup {
    html! {
        h2 { "Glossary" }
        p.muted { "N: output tokens." }
        (terms(&LATENCIES))
        (terms(&WORDS))
        (notes(&ELSEWHERE))
        details { summary { "Names elsewhere" } (elsewhere(&summary.aliases).draw()) }
    }
}

fn terms(terms: &[Term]) -> Markup {
    facts(&terms.iter().map(|(name, meaning)| (*name, (*meaning).to_owned())).collect::<Vec<_>>())
}

fn elsewhere(aliases: &[Alias]) -> Table {
    let mut table =
        Table::new("Names elsewhere", ["tool", "name", "what it is", "here", "p50, ms", "p99, ms"]);
    for alias in aliases {
        let shown = |quantile: Quantile| {
            let row = alias.latency.as_ref();
            row.map_or(String::new(), |row| latency::percentile(row.percentile(quantile)))
        };
        table.row([
            alias.tool.to_owned(),
            alias.name.to_owned(),
            alias.formula.to_owned(),
            alias.same_as.map_or("its own".to_owned(), |metric| metric.to_string()),
            shown(Quantile::P50),
            shown(Quantile::P99),
        ]);
    }
    table
}
