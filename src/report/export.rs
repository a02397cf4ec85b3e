//! The formats that reports are written in: a row each.

use std::io;

use super::data::{
    answers_csv, json, json_with, points_csv, requests_csv, requests_jsonl, requests_parquet, rounds_csv, summary_csv,
    tokens_parquet,
};
use super::document::Document;
use super::documents;
use super::interchange::{benchmark_report, junit, openmetrics, percentile_block, spans_json, vllm_json};
use super::render::{self, Extent, Ground, Style, picture, raster};
use super::run_report::{Out, RunReport};
use crate::experiment::{AbTest, Sweep};

/// The form in which a result is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// Text: a screen of it, or all.
    Text(Extent),
    /// JSON.
    Json,
    /// A page.
    Html,
    /// Markdown.
    Markdown,
}

/// A format that a report can be asked for in, with its files.
#[derive(Debug)]
pub(crate) struct Export {
    /// Name that is typed.
    pub(crate) name: &'static str,
    /// Description of the format in a few words.
    pub(crate) what: &'static str,
    /// Place where it goes unless another is named.
    pub(crate) place: UsualPlace,
    /// Files that a run is written as; empty where the format is not for runs.
    pub(crate) run: &'static [ExportFile<WriteRun>],
    /// Files that a sweep is written as.
    pub(crate) sweep: &'static [ExportFile<WriteOf<Sweep>>],
    /// Files that an A/B experiment is written as.
    pub(crate) ab: &'static [ExportFile<WriteOf<AbTest>>],
}

/// Place where a format goes unless another is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UsualPlace {
    /// Standard output.
    Shown(Format),
    /// The folder of what is reported.
    Folder,
}

/// One file of a format.
#[derive(Debug)]
pub(crate) struct ExportFile<W> {
    /// Usual name of the file.
    pub(crate) file: &'static str,
    /// Kind of its bytes.
    pub(crate) content: Content,
    /// Function that writes it.
    pub(crate) write: W,
}

/// Kind of the bytes of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// Text, which a terminal can show.
    Text,
    /// JSON, of which readers take several runs as a list.
    Listed,
    /// Anything else.
    Binary,
}

/// Writes a run.
pub(crate) type WriteRun = fn(RunReport<'_>, Out<'_>) -> io::Result<()>;
/// Writes an experiment, such as a sweep.
pub(crate) type WriteOf<T> = fn(&T, Out<'_>) -> io::Result<()>;

impl<W> ExportFile<W> {
    const fn text(file: &'static str, write: W) -> Self {
        Self { file, content: Content::Text, write }
    }

    const fn binary(file: &'static str, write: W) -> Self {
        Self { file, content: Content::Binary, write }
    }
}

/// A run with all that its log says.
fn whole(report: RunReport<'_>) -> Document {
    documents::run(report.summary, report.diagnosis, Some(report.log))
}

fn text(document: &Document) -> String {
    render::text(document, Style::PLAIN, Extent::Full)
}

fn put(out: Out<'_>, text: impl AsRef<[u8]>) -> io::Result<()> {
    out.write_all(text.as_ref())
}

impl Export {
    /// Every format.
    pub(crate) const ALL: &'static [Self] = &[
        Self {
            name: "text",
            what: "for people, on standard output",
            place: UsualPlace::Shown(Format::Text(Extent::Summary)),
            run: &[ExportFile::text("summary.txt", |report, out| {
                put(out, text(&documents::run(report.summary, report.diagnosis, None)))
            })],
            sweep: &[ExportFile::text("sweep.txt", |sweep, out| put(out, text(&documents::sweep(sweep))))],
            ab: &[ExportFile::text("ab.txt", |test, out| put(out, text(&documents::ab(test))))],
        },
        Self {
            name: "json",
            what: "for programs, on standard output",
            place: UsualPlace::Shown(Format::Json),
            run: &[ExportFile::text("summary.json", |report, out| {
                put(out, json_with(report.summary, report.diagnosis)?)
            })],
            sweep: &[ExportFile::text("sweep.json", |sweep, out| put(out, json(sweep)?))],
            ab: &[ExportFile::text("ab.json", |test, out| put(out, json(test)?))],
        },
        Self {
            sweep: &[ExportFile::text("report.html", |sweep, out| put(out, render::html(&documents::sweep(sweep))))],
            ab: &[ExportFile::text("report.html", |test, out| put(out, render::html(&documents::ab(test))))],
            ..Self::of_runs(
                "html",
                "a page with pictures; the folder has it anyway",
                &[ExportFile::text("report.html", |report, out| put(out, render::html(&whole(report))))],
            )
        },
        Self {
            sweep: &[ExportFile::text("points.csv", points_csv), ExportFile::text("answers.csv", answers_csv)],
            ab: &[ExportFile::text("rounds.csv", rounds_csv)],
            ..Self::of_runs(
                "csv",
                "for spreadsheets: summary.csv and requests.csv; of a sweep points.csv and answers.csv, of an A/B \
                 experiment rounds.csv",
                &[ExportFile::text("summary.csv", summary_csv), ExportFile::text("requests.csv", requests_csv)],
            )
        },
        Self::of_runs(
            "jsonl",
            "an object a request: requests.jsonl",
            &[ExportFile::text("requests.jsonl", requests_jsonl)],
        ),
        Self::of_runs(
            "parquet",
            "for data frames: requests.parquet and tokens.parquet",
            &[
                ExportFile::binary("requests.parquet", requests_parquet),
                ExportFile::binary("tokens.parquet", tokens_parquet),
            ],
        ),
        Self {
            sweep: &[ExportFile::text("sweep.md", |sweep, out| put(out, render::markdown(&documents::sweep(sweep))))],
            ab: &[ExportFile::text("ab.md", |test, out| put(out, render::markdown(&documents::ab(test))))],
            ..Self::of_runs(
                "markdown",
                "the summary of a CI job: objectives, latency, failures, advice",
                &[ExportFile::text("summary.md", |report, out| put(out, render::markdown(&whole(report))))],
            )
        },
        Self {
            sweep: &[
                ExportFile::text("charts.svg", |sweep, out| put(out, picture(&documents::sweep(sweep), Ground::Light))),
                ExportFile::text("charts-dark.svg", |sweep, out| {
                    put(out, picture(&documents::sweep(sweep), Ground::Dark))
                }),
            ],
            ab: &[
                ExportFile::text("charts.svg", |test, out| put(out, picture(&documents::ab(test), Ground::Light))),
                ExportFile::text("charts-dark.svg", |test, out| put(out, picture(&documents::ab(test), Ground::Dark))),
            ],
            ..Self::of_runs(
                "svg",
                "the main charts to paste, light and dark: charts.svg and charts-dark.svg",
                &[
                    ExportFile::text("charts.svg", |report, out| put(out, picture(&whole(report), Ground::Light))),
                    ExportFile::text("charts-dark.svg", |report, out| put(out, picture(&whole(report), Ground::Dark))),
                ],
            )
        },
        Self {
            sweep: &[
                ExportFile::binary("charts.png", |sweep, out| {
                    put(out, raster(&documents::sweep(sweep), Ground::Light)?)
                }),
                ExportFile::binary("charts-dark.png", |sweep, out| {
                    put(out, raster(&documents::sweep(sweep), Ground::Dark)?)
                }),
            ],
            ab: &[
                ExportFile::binary("charts.png", |test, out| put(out, raster(&documents::ab(test), Ground::Light)?)),
                ExportFile::binary("charts-dark.png", |test, out| {
                    put(out, raster(&documents::ab(test), Ground::Dark)?)
                }),
            ],
            ..Self::of_runs(
                "png",
                "the same as PNG: charts.png and charts-dark.png",
                &[
                    ExportFile::binary("charts.png", |report, out| put(out, raster(&whole(report), Ground::Light)?)),
                    ExportFile::binary("charts-dark.png", |report, out| {
                        put(out, raster(&whole(report), Ground::Dark)?)
                    }),
                ],
            )
        },
        Self::of_runs(
            "junit",
            "JUnit XML: the run's validity and each objective are test cases",
            &[ExportFile::text("junit.xml", |report, out| put(out, junit(report).map_err(io::Error::other)?))],
        ),
        Self::of_runs(
            "vllm",
            "the JSON of vllm bench serve --save-result --save-detailed; latencies count from sending; of a sweep, and \
             of repeats where a place is named, a list of all runs",
            &[ExportFile { file: "vllm.json", content: Content::Listed, write: vllm_json }],
        ),
        Self::of_runs(
            "br",
            "llm-d Benchmark Report 0.2; latencies count from sending",
            &[ExportFile::text("benchmark-report.json", benchmark_report)],
        ),
        Self::of_runs(
            "openmetrics",
            "gauges as OpenMetrics text, for Prometheus",
            &[ExportFile::text("metrics.prom", |report, out| {
                put(out, openmetrics(report.summary).map_err(io::Error::other)?)
            })],
        ),
        Self::of_runs(
            "spans",
            "OpenTelemetry spans of the slowest requests, in OTLP's JSON",
            &[ExportFile::text("spans.json", |report, out| put(out, json(&spans_json(report))?))],
        ),
        Self::of_runs(
            "percentiles",
            "a block to paste: workload, open or closed loop, duration, samples, p50 to p999",
            &[ExportFile::text("percentiles.txt", |report, out| put(out, percentile_block(report)))],
        ),
    ];

    /// A format of runs alone, in their folder.
    const fn of_runs(name: &'static str, what: &'static str, run: &'static [ExportFile<WriteRun>]) -> Self {
        Self { name, what, place: UsualPlace::Folder, run, sweep: &[], ab: &[] }
    }

    /// The usual names of its files, of runs, sweeps and A/B experiments, each once.
    pub(crate) fn files(&self) -> impl Iterator<Item = &'static str> {
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

    /// Text of a server or a person steers no terminal. That holds in whatever form it is printed.
    #[test]
    fn no_text_steers_a_terminal() {
        let mut log = crate::report::sample_runs::hostile();
        let name = "m\u{1b}[2J\u{9b}31m\u{202e}\u{ffff}\u{e0041}";
        log.header.engines[0].model = name.to_owned();
        log.header.deployment.labels.insert("flags".to_owned(), name.to_owned());
        for export in Export::ALL {
            for document in export.run.iter().filter(|document| document.content != Content::Binary) {
                let mut bytes = Vec::new();
                crate::report::sample_runs::report(&log, &[], |report| (document.write)(report, &mut bytes)).unwrap();
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
        crate::report::sample_runs::report(log, &[], |report| json_with(report.summary, report.diagnosis)).unwrap()
    }

    #[test]
    fn a_format_is_for_something() {
        assert!(Export::ALL.iter().all(|export| export.files().next().is_some()));
    }
}
