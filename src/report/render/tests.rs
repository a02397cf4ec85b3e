//! A document that has every kind of block, for the tests of the renderers.

use crate::analysis::Status;
use crate::report::chart::{Axis, LineStyle, Palette, Plot, Point, Series};
use crate::report::document::{
    BarChart, BarRow, Chart, Document, KeyFigure, Level, Note, Section, Statement, Table, TableCell, TableColumn, Tone,
    VerdictLine,
};

/// Name that a server might give itself.
pub(super) const HOSTILE: &str = "</title><script src=https://evil.example/x.js></script>\u{202e}\u{1b}[2J|`@all`";

pub(super) fn everything() -> Document {
    let verdict = VerdictLine::new(Tone::Good, "VALID", "600 of 600 requests completed");
    let key = Section::continued(Level::Summary).figures(vec![
        KeyFigure::new("TTFT p50", "144", "ms").below(["95 %: 137–160".to_owned()]).card_only(),
        KeyFigure::new("requests completed", "9.98", "/s").below(["10.0/s offered".to_owned()]),
        KeyFigure::new("errors", "0 %", ""),
    ]);
    let p99 = TableCell { text: "410*".to_owned(), interval: Some("380–450".to_owned()) };
    let rows = [
        [TableCell::from("TTFT"), 600_u64.into(), 144.2.into(), p99],
        ["queue wait", "600", "0", "0"].map(TableCell::from),
    ];
    let table = Table::over("Latencies, ms", &rows)
        .column("", |row| row[0].clone())
        .column(TableColumn::new("n").detail(), |row| row[1].clone())
        .column("p50", |row| row[2].clone())
        .column("p99", |row| row[3].clone())
        .detail_rows(|place, _| place > 0)
        .explain([("*", "too few samples to rely on")]);
    let latency = Section::summary("Latency, ms").table(table);
    let remarks =
        Section::continued(Level::Detail).fact("p99/p50", "TTFT 2.84").remark(["for p95 TTFT ±10 %, run about 3 min"]);
    let bar = |name: &str, length: f64| BarRow { name: name.to_owned(), length, label: format!("{length} ms") };
    let bars = BarChart {
        heading: "p99 TTFT by load, ms".to_owned(),
        bound: Some(100.0),
        bars: vec![bar("1", 50.0), bar("10", 400.0)],
    };
    let behind = Table::from_cells("Loads", ["load", "p99"], [["1", "50"]]);
    let plot = || {
        let points = vec![Point::at(1.0, 50.0, "50 ms".to_owned()), Point::at(10.0, 400.0, "400 ms".to_owned())];
        let series = vec![Series::points("p99", Palette::First, LineStyle::None, points)];
        let (x, y) = (Axis::between("load", 0.0, 10.0), Axis::between("ms", 0.0, 400.0));
        Plot::new("p99 TTFT by load".to_owned(), x, y, series)
    };
    let chart = Section::summary("By load").charts([
        Chart::new("p99 by load", plot()).hint("less is better").behind(behind).bars(bars),
        Chart::new("", plot().wide()),
    ]);
    let notes = Section::summary("Findings").notes([
        Note::warning("the client stalled for 430 ms, limit: 100 ms").cure("free up CPU"),
        Note::info(HOSTILE).cause("a cache miss").confirm("its counters"),
        Note::new(Status::Missed, "p95 ttft < 100ms: 144 ms"),
    ]);
    let deployment = [Statement::reported_by("bfloat16", "the server"), Statement::from(HOSTILE), "driver 580".into()];
    let run = Section::detail("What was run")
        .fact("workload", "chat, seed 7")
        .facts("deployment", deployment)
        .text(["A text of its own."])
        .command(["skyline bench chat --url 'http://host'", "docker run \\\n  vllm"]);
    let reference = Section::reference("Reproduce").attachment("The workload (JSON)", "{\n  \"name\": \"chat\"\n}");
    Document::new("chat on llama").verdict(verdict).about("vllm 0.21.0 · poisson, 10 requests/s").with([
        key,
        latency,
        remarks,
        chart,
        notes,
        run,
        reference,
        Section::detail("empty"),
    ])
}
