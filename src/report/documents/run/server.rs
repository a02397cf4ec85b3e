//! What the server and its devices reported of themselves, beside what this client measured.

use super::devices::{self, joined, shares};
use crate::analysis::{
    BucketQuantile, CountBeside, EnergySource, GaugeSummary, SampleWarning, ServerSide, SpeculationFigures, Summary,
    TimeBeside, TimeSummary, WentBack, Window,
};
use crate::record::{Counter, Gauge, ServerTime};
use crate::report::document::{Level, NOTHING, Note, Section, Table, cell};
use crate::units::{count, counted, listed, percent, three_digits};

/// Share of the window by which a stretch may differ from it. Totals over such a stretch count as those of the window.
const NEAR: f64 = 0.05;

/// Says how long the server took to start, where it was started for the run.
pub(super) fn start_in_brief(summary: &Summary) -> Section {
    Section::continued(Level::Summary).facts("cold start", summary.cold_start.map(|start| start.to_string()))
}

pub(super) fn section(summary: &Summary) -> Option<Section> {
    let server = summary.server.as_ref()?;
    let facts = [
        ("requests", requests(server)),
        ("KV cache", cache(server)),
        ("speculation", summary.speculation.as_ref().and_then(speculation)),
        ("devices", devices::together_in_words(&server.devices)),
        ("energy", energy(server)),
        ("not read", listed(server.unread().map(|page| &page.url), ", ")),
        ("read in part", in_part(server)),
    ];
    let back = went_back(server);
    let why = back.map(|why| Note::error(format!("the server reports no usable times of its requests: {why}")));
    let [accounts, times] = [accounts(server), back.is_none().then(|| times(server))]
        .map(|table| table.filter(|table| !table.rows.is_empty()));
    let section = Section::detail(format!("Server, by its own metrics{}", stretch(server, summary.window)))
        .named(facts)
        .notes(why)
        .remark(accounts.as_ref().map(|_| ACCOUNTS))
        .tables(accounts)
        .remark(times.as_ref().map(|_| ESTIMATES))
        .tables(times)
        .table(devices::use_of(&server.devices))
        .table(devices::activity(&server.devices));
    Some(section)
}

/// Remark above the same figures by both accounts.
const ACCOUNTS: &str =
    "The same requests by both clocks; time outside the server is the network, proxies and this client.";

/// Remark above times inside the server.
const ESTIMATES: &str = "A percentile inside the server is an estimate between two ends where it certainly lies.";

/// The stretch that totals and times are about, where that is not the window.
fn stretch(server: &ServerSide, window: Window) -> String {
    let length = window.end_s - window.start_s;
    match server.span_s {
        Some((from, until)) if (until - from - length).abs() <= NEAR * length => String::new(),
        Some((from, until)) => format!(" (totals from {} to {} s)", three_digits(from), three_digits(until)),
        None if server.counters.is_empty() => String::new(),
        None => " (totals of each page between its own readings)".to_owned(),
    }
}

fn went_back(server: &ServerSide) -> Option<&'static str> {
    match server.pages.iter().find_map(|page| page.went_back) {
        Some(WentBack::AndForth) => Some("counters went back and forth: several servers at one address"),
        Some(WentBack::Once) => Some("a counter went back: the server was restarted"),
        None if server.restarted => Some("the server was restarted, and its totals with it"),
        None => None,
    }
}

fn requests(server: &ServerSide) -> Option<String> {
    let gauge = |name: &str, gauge: Gauge| {
        let GaugeSummary { mean, max, .. } = server.gauge(gauge)?;
        Some(format!("{name} mean {}, max {}", three_digits(mean), three_digits(max)))
    };
    joined([gauge("running", Gauge::Running), gauge("waiting", Gauge::Waiting)])
}

fn cache(server: &ServerSide) -> Option<String> {
    let rise = |counter| server.rise(counter);
    let hits = || {
        let (hits, queries) = (rise(Counter::CacheHits)?, rise(Counter::CacheQueries)?);
        (queries > 0.0).then(|| format!("prefix-cache hit rate {}", percent(hits / queries)))
    };
    joined([
        server.gauge(Gauge::KvUsage).map(shares),
        rise(Counter::Preemptions).map(|times| counted(times.round() as u64, "preemption")),
        hits(),
        external(server),
    ])
}

/// Says what a cache outside of the server found, and what no cache did.
fn external(server: &ServerSide) -> Option<String> {
    let rise = |counter| server.rise(counter);
    let (hits, queries) = (rise(Counter::ExternalCacheHits)?, rise(Counter::ExternalCacheQueries)?);
    let known = rise(Counter::CacheQueries).zip(rise(Counter::CacheHits));
    let anew = known.map(|(all, own)| format!(", {} tokens computed anew", count((all - own - hits).max(0.0) as u64)));
    let found =
        || format!("external hit rate {} of what it lacked{}", percent(hits / queries), anew.unwrap_or_default());
    (queries > 0.0).then(found)
}

/// Says how drafts fared, and how many tokens came in each chunk.
fn speculation(found: &SpeculationFigures) -> Option<String> {
    let shares = found.acceptance_by_position.iter().map(|share| percent(*share));
    let positions: Vec<_> = shares.collect();
    let chunks = found.chunks.iter().map(|of| format!("{} {}", of.class, three_digits(of.mean_tokens)));
    let chunks = listed(chunks, ", ").map(|all| format!("tokens a chunk: {all}"));
    let (accepted, proposed) = (found.acceptance_rate?, count(found.draft_tokens.round() as u64));
    joined([
        Some(format!("{} of {proposed} draft tokens accepted", percent(accepted))),
        Some(format!("{} tokens a step", three_digits(found.acceptance_length))),
        (!positions.is_empty()).then(|| format!("by position {}", positions.join(", "))),
        chunks,
    ])
}

/// Returns a table of the same figures by both accounts.
fn accounts(server: &ServerSide) -> Option<Table> {
    let both = server.accounts?;
    let times = [("TTFT", both.ttft), ("e2e", both.e2e)].into_iter().filter_map(|(name, time)| {
        let time = time?;
        let [outside, share] = outside(&time);
        Some([format!("mean {name}, ms"), cell(time.server_ms), cell(time.client_ms), outside, share])
    });
    let counts = [("requests", both.requests), ("answer tokens", both.output_tokens)];
    let counts = counts.into_iter().filter_map(|(name, counts)| {
        let CountBeside { client, server } = counts?;
        if client == 0 && server == 0.0 {
            return None;
        }
        let (server, nothing) = (count(server.round() as u64), NOTHING.to_owned());
        Some([name.to_owned(), server, count(client), nothing.clone(), nothing])
    });
    let titles = ["", "server", "client", "outside the server", "share"];
    Some(Table::from_cells("Server and client", titles, times.chain(counts)))
}

/// Returns the part of a client's time that lies outside the server. It is known where both are of the same requests.
fn outside(time: &TimeBeside) -> [String; 2] {
    if !time.same_requests {
        let (there, here) = (counted(time.server_n.round() as u64, "request"), count(time.client_n));
        return [format!("{there} in the server, {here} in the client"), NOTHING.to_owned()];
    }
    if time.outside_ms < 0.0 {
        return ["of other requests in part".to_owned(), NOTHING.to_owned()];
    }
    [cell(time.outside_ms), percent(time.outside_share)]
}

fn times(server: &ServerSide) -> Table {
    let named = [
        ("queue", ServerTime::Queue),
        ("prefill", ServerTime::Prefill),
        ("decode", ServerTime::Decode),
        ("inter-token", ServerTime::InterToken),
    ];
    let reliable = |time: &TimeSummary| time.p99.filter(|_| time.p99_mark != Some(SampleWarning::TooFewSamples));
    let rows = named.into_iter().filter_map(|(name, time)| Some((name, server.times.get(&time)?)));
    Table::over("Times inside the server, ms", rows)
        .column("ms", |(name, _)| name)
        .column("n", |(_, time)| time.count.round() as u64)
        .column("mean", |(_, time)| time.mean_ms)
        .column("p50", |(_, time)| time.p50.map(in_bucket))
        .column("p99", |(_, time)| reliable(time).map(in_bucket))
        .into()
}

/// Returns an estimate, and the ends between which it certainly lies. An example is `≈ 297 in 200–300`. It is such as
/// `0` where the ends are one, and such as `over 300` without an upper one.
fn in_bucket(quantile: BucketQuantile) -> String {
    let BucketQuantile { ms, from_ms, to_ms } = quantile;
    let [ms, from] = [ms, from_ms].map(three_digits);
    match to_ms.map(three_digits) {
        Some(to) if to == from => ms,
        Some(to) => format!("≈ {ms} in {from}–{to}"),
        None => format!("over {from}"),
    }
}

fn energy(server: &ServerSide) -> Option<String> {
    let energy = server.energy?;
    let per = |joules: Option<f64>, what: &str| joules.map(|joules| format!("{} J a {what}", three_digits(joules)));
    let source = match energy.source {
        EnergySource::Counters => "by the energy counters",
        EnergySource::Power => "by samples of the power",
        EnergySource::Claimed => "as claimed",
    };
    joined([
        per(energy.per_output_token_j, "token"),
        per(energy.per_request_j, "request"),
        Some(format!("{} W {source} of {}", three_digits(energy.power_w), counted(energy.devices, "device"))),
    ])
}

fn in_part(server: &ServerSide) -> Option<String> {
    joined(server.read_in_part().map(|(page, (from, until))| {
        Some(format!("{}: not from {} to {} s", page.url, three_digits(from), three_digits(until)))
    }))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::devices::GIB;
    use super::*;
    use crate::analysis::test_runs::run;
    use crate::analysis::{BothAccounts, DeviceSummary, EnergyUse, PageSummary, summarise};
    use crate::report::document::Document;
    use crate::report::render::html_tests::{HOSTILE, assert_tables};
    use crate::report::{Colour, Extent, Style, render};

    fn gauge(mean: f64, max: f64) -> GaugeSummary {
        GaugeSummary { mean, min: mean, max, last: mean, covered_s: 60.0 }
    }

    /// Returns the report of a server with two GPUs.
    fn reported() -> ServerSide {
        let bucket = |ms, from_ms, to_ms| Some(BucketQuantile { ms, from_ms, to_ms });
        let time = |mean_ms, p99| TimeSummary { count: 2_000.0, mean_ms, p50: p99, p99, p99_mark: None };
        let extras = |client_ms: f64, server_ms: f64| TimeBeside {
            client_ms,
            client_n: 2_000,
            server_ms,
            server_n: 2_000.0,
            outside_ms: client_ms - server_ms,
            outside_share: (client_ms - server_ms) / client_ms,
            same_requests: true,
        };
        let device = |name: &str, busy: f64| DeviceSummary {
            device: name.to_owned(),
            page: "http://gpu-1:9400/metrics".to_owned(),
            part_of: None,
            utilisation: Some(gauge(busy, busy + 0.04)),
            memory_used_bytes: Some(gauge(72.0 * GIB, 73.5 * GIB)),
            memory_free_bytes: None,
            power_w: Some(gauge(412.0, 655.5)),
            power_limit_w: None,
            dram_active: None,
            memory_busy: None,
            tensor_active: None,
            sm_active: None,
            sm_clock_mhz: None,
            max_sm_clock_mhz: None,
            memory_clock_mhz: None,
            temperature_c: None,
            throttled: BTreeMap::new(),
            before: None,
            power_by_energy_w: Some(415.0),
        };
        ServerSide {
            pages: Vec::new(),
            gauges: [
                (Gauge::Running, gauge(17.98, 28.0)),
                (Gauge::Waiting, gauge(0.17, 3.0)),
                (Gauge::KvUsage, gauge(0.18, 0.2898)),
            ]
            .into(),
            span_s: Some((0.0, 1.0)),
            restarted: false,
            counters: [(Counter::Preemptions, 1.0), (Counter::CacheQueries, 8_000.0), (Counter::CacheHits, 2_000.0)]
                .into(),
            accepted_at: Vec::new(),
            times: [
                (ServerTime::Queue, time(57.3, bucket(297.0, 0.0, Some(300.0)))),
                (ServerTime::Prefill, time(162.0, bucket(297.0, 0.0, Some(300.0)))),
                (ServerTime::Decode, time(3_390.0, bucket(9_650.0, 5_000.0, Some(10_000.0)))),
                (ServerTime::InterToken, time(57.1, bucket(80_000.0, 80_000.0, None))),
            ]
            .into(),
            accounts: Some(BothAccounts {
                ttft: Some(extras(209.1, 204.0)),
                e2e: Some(extras(3_600.0, 3_620.0)),
                requests: Some(CountBeside { client: 2_000, server: 2_000.0 }),
                output_tokens: Some(CountBeside { client: 51_827, server: 51_830.0 }),
            }),
            devices: vec![device("0", 0.91), device("1", 0.95)],
            energy: Some(EnergyUse {
                source: EnergySource::Counters,
                devices: 2,
                power_w: 830.0,
                window_j: 49_800.0,
                per_output_token_j: Some(0.961),
                per_request_j: Some(249.0),
            }),
        }
    }

    fn page_of(url: &str, readings: u64) -> PageSummary {
        PageSummary {
            url: url.to_owned(),
            kind: None,
            hardware: None,
            driver: None,
            readings,
            gap_s: None,
            went_back: None,
            cache_hit_rate: None,
        }
    }

    #[test]
    fn what_is_not_sure_is_said_as_such() {
        let mut server = reported();
        // Another client's requests are on the server's side of the balance.
        let accounts = server.accounts.as_mut().unwrap();
        let ttft = accounts.ttft.as_mut().unwrap();
        (ttft.same_requests, ttft.server_n, ttft.client_n) = (false, 3_210.0, 2_000);
        for time in server.times.values_mut() {
            (time.count, time.p99_mark) = (7.0, Some(SampleWarning::TooFewSamples));
        }
        for (slice, device) in server.devices.iter_mut().enumerate() {
            (device.device, device.part_of) = (format!("0 {slice}"), Some("0".to_owned()));
            device.power_w = None;
        }
        let whole = DeviceSummary {
            utilisation: None,
            memory_used_bytes: None,
            power_w: Some(gauge(400.0, 400.0)),
            part_of: None,
            device: "0".to_owned(),
            ..server.devices[0].clone()
        };
        server.devices.push(whole);
        server.span_s = None;
        assert!(shown(server.clone(), 80).contains("(totals of each page between its own readings)"));
        server.span_s = Some((0.0, 0.5));
        insta::assert_snapshot!(shown(server, 80));
    }

    fn shown(server: ServerSide, width: usize) -> String {
        let mut summary = summarise(&run(1_000, Vec::new()), &[]);
        summary.server = Some(server);
        let document = Document::new("server").with([section(&summary)]);
        render::text(&document, Style { colour: Colour::Plain, width }, Extent::Full)
    }

    #[test]
    fn all_of_it_fits_eighty_columns() {
        insta::assert_snapshot!(shown(reported(), 80));
    }

    #[test]
    fn what_was_not_reported_has_no_line() {
        let mut little = reported();
        little.gauges.retain(|gauge, _| *gauge == Gauge::Running);
        (little.counters, little.times) = (BTreeMap::new(), BTreeMap::new());
        (little.accounts, little.energy, little.restarted) = (None, None, true);
        little.devices.truncate(1);
        let never = page_of("http://gpu-1:9400/metrics", 0);
        let stopped = PageSummary { gap_s: Some((7.0, 14.0)), ..page_of("http://gpu-2:9400/metrics", 8) };
        let back = PageSummary { went_back: Some(WentBack::Once), ..page_of("http://host/metrics", 15) };
        little.pages.extend([never, stopped, back]);
        insta::assert_snapshot!(shown(little, 80));
    }

    fn page(server: ServerSide) -> String {
        let mut summary = summarise(&run(1_000, Vec::new()), &[]);
        summary.server = Some(server);
        let document = Document::new("server").with([section(&summary)]);
        render::html(&document)
    }

    #[test]
    fn both_accounts_stand_beside_one_another_and_every_device_has_a_row() {
        let mut server = reported();
        server.devices[1].device = HOSTILE.to_owned();
        let page = page(server);
        assert_tables(&page);
        // 209.1 ms here, 204 there: 5.1 ms and 2.44 % of it outside; e2e is of other requests in part.
        let row = "<th scope=\"row\">mean TTFT, ms</th><td>204</td><td>209</td><td>5.10</td><td>2.44 %</td>";
        assert!(page.contains(row) && page.contains("<td>of other requests in part</td>"), "{page}");
        assert!(page.contains("<td>51,830</td><td>51,827</td>"), "{page}");
        assert!(page.contains("<td>≈ 297 in 0–300</td>") && page.contains("<td>over 80,000</td>"), "{page}");
        let first = "<th scope=\"row\">0</th><td>91 %</td><td>95 %</td><td>73.5</td><td>412</td><td>656</td>";
        assert!(page.contains(first) && page.contains("0.961 J a token"), "{page}");
        assert!(page.matches("<script").count() == 1 && page.contains("&lt;script"), "{page}");
    }

    #[test]
    fn what_was_not_reported_has_no_table() {
        let mut little = reported();
        (little.times, little.accounts, little.restarted) = (BTreeMap::default(), None, true);
        little.devices.clear();
        let page = page(little);
        assert!(!page.contains("<table") && page.contains("the server was restarted"), "{page}");
    }
}
