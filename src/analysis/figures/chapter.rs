//! Writes the guide's chapter of figures from the catalogue: `INSTA_UPDATE=always` writes the file, else it
//! is compared.

use std::fmt::Write as _;

use super::catalogue::Metric;
use super::info::{Direction, FigureKind, Samples};
use crate::analysis::latency::aliases::Alias;
use crate::analysis::requests::Observed;
use crate::analysis::test_runs::run;

const INTRODUCTION: &str = "\
# The figures

Every figure of a run has one name. Objectives, `--max-regression`, `--metric`
and files use it. This chapter is generated from the catalogue in
`src/analysis/figures/catalogue.rs`.

A **latency** is a distribution. An objective names a statistic of it: `p50`,
`p90`, `p95`, `p99`, `p99.9`, `mean`, `min` or `max`. A **rate**, a **share**
and a **count** are one number. Figures with a tick under *parts* exist for a
single class, priority, tenant or model too: `p95 ttft of search`.

In the formulas N is the number of output tokens. *Scheduled* is the moment in
the plan. *Dispatched* is the moment at which the client begins. *Sent* is the
moment at which the request reaches the socket. In a closed loop `ttft`, `ttfa`
and `e2e` count from sending: `skyline guide conversations` says why.
";

fn chapter() -> String {
    let mut text = INTRODUCTION.to_owned();
    for (kind, heading, note) in [
        (
            FigureKind::Latency,
            "Latencies, in milliseconds",
            "Less is better. Each request is one sample; for `itl` and `chunk_gap` each gap\nis one.",
        ),
        (FigureKind::Rate, "Rates", "More is better."),
        (FigureKind::Count, "Counts", "Less is better; of the length of answers neither is."),
        (
            FigureKind::Cost,
            "Costs",
            "Less is better. Money is in the currency of `--gpu-hour` and `--price-per-kwh`;\nthe former needs \
             `--gpus`. Energy needs a page of metrics of the devices, or\n`--watts`. `skyline guide objectives` \
             says which answers are acceptable.",
        ),
        (FigureKind::Share, "Shares", "An objective takes a percentage. Files hold a number from 0 to 1."),
    ] {
        let _ = write!(
            text,
            "\n## {heading}\n\n{note}\n\n| name | what it is | formula | unit | parts |\n|---|---|---|---|---|\n"
        );
        for metric in Metric::ALL.iter().filter(|metric| metric.kind() == kind) {
            let info = metric.info();
            assert_eq!(matches!(info.samples, Samples::PerGap), matches!(metric, Metric::Itl | Metric::ChunkGap));
            let better = match (kind, info.better) {
                (FigureKind::Share, Direction::Less) => "; less is better",
                (FigureKind::Share, Direction::More) => "; more is better",
                _ => "",
            };
            let field = if info.field == info.key { String::new() } else { format!(", in files `{}`", info.field) };
            let parts = if info.of_parts { "✓" } else { "" };
            let (key, meaning, formula, unit) = (info.key, info.meaning, info.formula, info.unit.sign);
            let _ = writeln!(text, "| `{key}`{field} | {meaning}{better} | {formula} | {unit} | {parts} |");
        }
    }
    text.push_str(
        "\n## Names in other tools\n\n| tool | its name | its formula | the same here |\n|---|---|---|---|\n",
    );
    let log = run(0, Vec::new());
    for alias in Alias::all(&Observed::from_log(&log)) {
        let here =
            alias.same_as.map_or_else(|| "none: see `aliases` in the JSON".to_owned(), |metric| format!("`{metric}`"));
        let _ = writeln!(text, "| {} | `{}` | {} | {here} |", alias.tool, alias.name, alias.formula);
    }
    text.push_str("\n`skyline guide other-tools` says what a file of another tool holds, and what can\nbe compared.\n");
    text
}

#[test]
fn the_guide_has_every_figure() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/guide/generated/metrics.md");
    if std::env::var_os("INSTA_UPDATE").is_some_and(|update| update == "always") {
        std::fs::write(&path, chapter()).unwrap();
    }
    assert_eq!(std::fs::read_to_string(path).unwrap(), chapter(), "INSTA_UPDATE=always writes it");
}
