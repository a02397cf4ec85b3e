//! The formats that reports are written in: a row each.

use std::io::{self, Write};

use super::data::{
    points_csv, requests_csv, requests_jsonl, requests_parquet, rounds_csv, summary_csv, tokens_parquet,
};
use super::render::Extent;
use super::{
    RunReport, Style, benchmark_report, decision_fields, documents, json, json_with, junit, openmetrics,
    percentile_block, render, vllm_json,
};
use crate::experiment::{AbTest, Sweep};

/// The form in which a result is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Text: a screen of it, or all.
    Text(Extent),
    /// JSON.
    Json,
    /// A page.
    Html,
    /// Markdown.
    Markdown,
}

/// A format that a report can be asked for in, and the files that it comes in.
#[derive(Debug)]
pub struct Export {
    /// What is typed.
    pub name: &'static str,
    /// What it is, in a few words.
    pub what: &'static str,
    /// Where it goes unless another place is named.
    pub place: UsualPlace,
    /// What a run is written as; nothing: it is not for runs.
    pub run: &'static [ExportFile<WriteRun>],
    /// What a sweep is written as.
    pub sweep: &'static [ExportFile<WriteSweep>],
    /// What an A/B experiment is written as.
    pub ab: &'static [ExportFile<WriteAb>],
}

/// Where a format goes unless another place is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsualPlace {
    /// Standard output.
    Shown(Format),
    /// The folder of what is reported.
    Folder,
}

/// One file of a format.
#[derive(Debug)]
pub struct ExportFile<W> {
    /// Its usual name.
    pub file: &'static str,
    /// What its bytes are.
    pub content: Content,
    /// What writes it.
    pub write: W,
}

/// What the bytes of a document are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Text, which a terminal can show.
    Text,
    /// JSON, of which readers take several runs as a list.
    Listed,
    /// Anything else.
    Binary,
}

/// Where a document is written to.
pub type Out<'a> = &'a mut (dyn Write + Send);
/// Writes a run.
pub type WriteRun = fn(RunReport<'_>, Out<'_>) -> io::Result<()>;
/// Writes a sweep.
pub type WriteSweep = fn(&Sweep, Out<'_>) -> io::Result<()>;
/// Writes an A/B experiment.
pub type WriteAb = fn(&AbTest, Out<'_>) -> io::Result<()>;

impl<W> ExportFile<W> {
    const fn text(file: &'static str, write: W) -> Self {
        Self { file, content: Content::Text, write }
    }

    const fn listed(file: &'static str, write: W) -> Self {
        Self { file, content: Content::Listed, write }
    }

    const fn binary(file: &'static str, write: W) -> Self {
        Self { file, content: Content::Binary, write }
    }
}

impl Export {
    /// Every format.
    pub const ALL: &'static [Self] = &[
        Self {
            name: "text",
            what: "for people, on standard output",
            place: UsualPlace::Shown(Format::Text(Extent::Summary)),
            run: &[ExportFile::text("summary.txt", |report, out| {
                out.write_all(
                    render::text(
                        &documents::run(report.summary, report.extras, None),
                        Style::PLAIN,
                        Extent::Full,
                    )
                    .as_bytes(),
                )
            })],
            sweep: &[ExportFile::text("sweep.txt", |sweep, out| {
                out.write_all(render::text(&documents::sweep(sweep), Style::PLAIN, Extent::Full).as_bytes())
            })],
            ab: &[ExportFile::text("ab.txt", |test, out| {
                out.write_all(render::text(&documents::ab(test), Style::PLAIN, Extent::Full).as_bytes())
            })],
        },
        Self {
            name: "json",
            what: "for programs, on standard output",
            place: UsualPlace::Shown(Format::Json),
            run: &[ExportFile::text("summary.json", |report, out| {
                out.write_all(json_with(report.summary, report.extras)?.as_bytes())
            })],
            sweep: &[ExportFile::text("sweep.json", |sweep, out| out.write_all(json(sweep)?.as_bytes()))],
            ab: &[ExportFile::text("ab.json", |test, out| out.write_all(json(test)?.as_bytes()))],
        },
        Self {
            name: "html",
            what: "a page with pictures; the folder has it anyway",
            place: UsualPlace::Folder,
            run: &[ExportFile::text("report.html", |report, out| {
                out.write_all(
                    render::html(&documents::run(report.summary, report.extras, Some(report.log))).as_bytes(),
                )
            })],
            sweep: &[ExportFile::text("page.html", |sweep, out| {
                out.write_all(render::html(&documents::sweep(sweep)).as_bytes())
            })],
            ab: &[ExportFile::text("page.html", |test, out| {
                out.write_all(render::html(&documents::ab(test)).as_bytes())
            })],
        },
        Self {
            name: "csv",
            what: "for spreadsheets: summary.csv and requests.csv; of a sweep points.csv, of an A/B experiment rounds.csv",
            place: UsualPlace::Folder,
            run: &[
                ExportFile::text("summary.csv", summary_csv),
                ExportFile::text("requests.csv", requests_csv),
            ],
            sweep: &[ExportFile::text("points.csv", points_csv)],
            ab: &[ExportFile::text("rounds.csv", rounds_csv)],
        },
        Self {
            name: "jsonl",
            what: "an object a request: requests.jsonl",
            place: UsualPlace::Folder,
            run: &[ExportFile::text("requests.jsonl", requests_jsonl)],
            sweep: &[],
            ab: &[],
        },
        Self {
            name: "parquet",
            what: "for data frames: requests.parquet and tokens.parquet",
            place: UsualPlace::Folder,
            run: &[
                ExportFile::binary("requests.parquet", requests_parquet),
                ExportFile::binary("tokens.parquet", tokens_parquet),
            ],
            sweep: &[],
            ab: &[],
        },
        Self {
            name: "markdown",
            what: "the summary of a CI job: objectives, latency, failures, advice",
            place: UsualPlace::Folder,
            run: &[ExportFile::text("summary.md", |report, out| {
                out.write_all(
                    render::markdown(&documents::run(report.summary, report.extras, Some(report.log)))
                        .as_bytes(),
                )
            })],
            sweep: &[ExportFile::text("sweep.md", |sweep, out| {
                out.write_all(render::markdown(&documents::sweep(sweep)).as_bytes())
            })],
            ab: &[ExportFile::text("ab.md", |test, out| {
                out.write_all(render::markdown(&documents::ab(test)).as_bytes())
            })],
        },
        Self {
            name: "junit",
            what: "JUnit XML: the run's validity and each objective are test cases",
            place: UsualPlace::Folder,
            run: &[ExportFile::text("junit.xml", |report, out| {
                out.write_all(junit(report).map_err(io::Error::other)?.as_bytes())
            })],
            sweep: &[],
            ab: &[],
        },
        Self {
            name: "vllm",
            what: "the JSON of vllm bench serve --save-result --save-detailed; latencies count from sending; of a sweep, and \
                   of repeats where a place is named, a list of all runs",
            place: UsualPlace::Folder,
            run: &[ExportFile::listed("vllm.json", |report, out| vllm_json(report, out))],
            sweep: &[],
            ab: &[],
        },
        Self {
            name: "br",
            what: "llm-d Benchmark Report 0.2; latencies count from sending",
            place: UsualPlace::Folder,
            run: &[ExportFile::text("benchmark-report.json", |report, out| benchmark_report(report, out))],
            sweep: &[],
            ab: &[],
        },
        Self {
            name: "openmetrics",
            what: "gauges as OpenMetrics text, for Prometheus",
            place: UsualPlace::Folder,
            run: &[ExportFile::text("metrics.prom", |report, out| {
                out.write_all(openmetrics(report.summary).map_err(io::Error::other)?.as_bytes())
            })],
            sweep: &[],
            ab: &[],
        },
        Self {
            name: "percentiles",
            what: "a block to paste: workload, open or closed loop, duration, samples, p50 to p999",
            place: UsualPlace::Folder,
            run: &[ExportFile::text("percentiles.txt", |report, out| {
                out.write_all(percentile_block(report).as_bytes())
            })],
            sweep: &[],
            ab: &[],
        },
        Self {
            name: "decision",
            what: "a table to paste: traffic mix, SLO target, pass or fail, rollback risk",
            place: UsualPlace::Folder,
            run: &[ExportFile::text("decision.md", |report, out| {
                out.write_all(decision_fields(report).as_bytes())
            })],
            sweep: &[],
            ab: &[],
        },
    ];

    /// The usual names of its files, whatever they tell of, each once.
    pub fn files(&self) -> impl Iterator<Item = &'static str> {
        let run = self.run.iter().map(|document| document.file);
        let sweep = self.sweep.iter().map(|document| document.file);
        let ab = self.ab.iter().map(|document| document.file);
        let mut files: Vec<_> = run.chain(sweep).chain(ab).collect();
        files.sort_unstable();
        files.dedup();
        files.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_name_means_one_format() {
        let mut names = HashSet::new();
        for export in Export::ALL {
            assert!(names.insert(export.name), "{}", export.name);
        }
        let files: Vec<_> = Export::ALL.iter().flat_map(Export::files).collect();
        for file in &files {
            assert!(names.insert(file), "{file}");
        }
    }

    /// What a server or a person says steers no terminal, in whatever form it is printed.
    #[test]
    fn no_text_steers_a_terminal() {
        let mut log = crate::report::sample_runs::hostile();
        let name = "m\u{1b}[2J\u{9b}31m\u{202e}\u{ffff}\u{e0041}";
        log.header.engine.model = name.to_owned();
        log.header.deployment.labels.insert("flags".to_owned(), name.to_owned());
        for export in Export::ALL {
            for document in export.run.iter().filter(|document| document.content != Content::Binary) {
                let mut bytes = Vec::new();
                crate::report::sample_runs::report(&log, &[], |report| (document.write)(report, &mut bytes))
                    .unwrap();
                let text = String::from_utf8(bytes).unwrap();
                let found = text.chars().find(|sign| *sign != '\n' && crate::units::steers(*sign));
                assert_eq!(found, None, "{}", document.file);
            }
        }
        let text = json_of(&log);
        let read: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(read["run"]["engine"]["model"], name, "what is read is what was written");
    }

    fn json_of(log: &crate::record::RunLog) -> String {
        crate::report::sample_runs::report(log, &[], |report| json_with(report.summary, report.extras))
            .unwrap()
    }

    #[test]
    fn a_format_is_for_something() {
        assert!(Export::ALL.iter().all(|export| export.files().next().is_some()));
    }
}
