//! What the server and its devices told of themselves, in at most ten lines.

use super::page::{Page, Tone};
use super::sides::together;
use crate::analysis::wording::{counted, percent};
use crate::analysis::{
    BucketQuantile, CountBeside, DeviceSummary, EnergySource, GaugeSummary, SampleWarning, ServerSide,
    Summary, TimeBeside, WentBack, Window,
};
use crate::record::{Counter, Gauge, ServerTime};
use crate::units::{count, three_digits};

pub(crate) const GIB: f64 = 1_073_741_824.0;
/// A stretch that differs from the window by no more than this share of it is as good as the window.
const NEAR: f64 = 0.05;

pub(crate) fn section(page: &mut Page, summary: &Summary) {
    let Some(server) = &summary.server else { return };
    let lines = [
        ("  requests   ", requests(server)),
        ("  KV cache   ", cache(server)),
        ("  TTFT       ", server.accounts.and_then(|both| both.ttft).map(|ttft| beside(&ttft))),
        ("  e2e        ", server.accounts.and_then(|both| both.e2e).map(|e2e| beside(&e2e))),
        ("  mean times ", times(server)),
        ("  counted    ", counts(server)),
        ("  devices    ", devices(&server.devices)),
        ("  energy     ", energy(server)),
        ("  not read   ", unread(server)),
        ("  in part    ", in_part(server)),
    ];
    page.heading(&format!("Server, by its own metrics{}", stretch(server, summary.window)));
    for (label, line) in lines {
        if let Some(line) = line {
            page.entry(Tone::Normal, label, &line);
        }
    }
}

/// The stretch that totals and times are about, where it is not as good as the window.
fn stretch(server: &ServerSide, window: Window) -> String {
    let length = window.end_s - window.start_s;
    server
        .span_s
        .filter(|(from, until)| (until - from - length).abs() > NEAR * length)
        .map(|(from, until)| format!(" (totals from {} to {} s)", three_digits(from), three_digits(until)))
        .unwrap_or_default()
}

fn mean_and_max(gauge: GaugeSummary) -> String {
    format!("mean {}, max {}", three_digits(gauge.mean), three_digits(gauge.max))
}

fn shares(gauge: GaugeSummary) -> String {
    format!("mean {}, max {}", percent(gauge.mean), percent(gauge.max))
}

/// Several remarks in one line; `None` of none.
fn joined(parts: impl IntoIterator<Item = Option<String>>) -> Option<String> {
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

pub(crate) fn requests(server: &ServerSide) -> Option<String> {
    let gauge =
        |name: &str, gauge: Gauge| server.gauge(gauge).map(|gauge| format!("{name} {}", mean_and_max(gauge)));
    joined([gauge("running", Gauge::Running), gauge("waiting", Gauge::Waiting)])
}

pub(crate) fn cache(server: &ServerSide) -> Option<String> {
    let rise = |counter| server.rise(counter);
    let hits = || {
        let (hits, queries) = (rise(Counter::CacheHits)?, rise(Counter::CacheQueries)?);
        (queries > 0.0).then(|| format!("prefixes found {}", percent(hits / queries)))
    };
    joined([
        server.gauge(Gauge::KvUsage).map(shares),
        rise(Counter::Preemptions).map(|times| counted(times.round() as u64, "preemption")),
        hits(),
    ])
}

fn beside(time: &TimeBeside) -> String {
    let ms = |value: f64| format!("{} ms", three_digits(value));
    if !time.same_requests {
        let requests = counted(time.server_n.round() as u64, "request");
        let (there, here) = (ms(time.server_ms), ms(time.client_ms));
        return format!(
            "mean {there} of {requests}, here {here} of {}: not the same requests",
            count(time.client_n)
        );
    }
    let here = format!("mean {}, here {}", ms(time.server_ms), ms(time.client_ms));
    if time.outside_ms < 0.0 {
        return format!("{here}: of other requests in part");
    }
    format!("{here}: {} ({}) outside of it", ms(time.outside_ms), percent(time.outside_share))
}

fn times(server: &ServerSide) -> Option<String> {
    let named = [
        ("queue", ServerTime::Queue),
        ("prefill", ServerTime::Prefill),
        ("decode", ServerTime::Decode),
        ("inter-token", ServerTime::InterToken),
    ];
    let line = named.map(|(name, time)| {
        let time = server.times.get(&time)?;
        let known = time.p99.filter(|_| time.p99_mark != Some(SampleWarning::TooFewSamples));
        let p99 = known.map(|p99| format!(" (p99 {})", in_bucket(p99))).unwrap_or_default();
        Some(format!("{name} {} ms{p99}", three_digits(time.mean_ms)))
    });
    let back = server.pages.iter().find_map(|page| page.went_back);
    match back {
        Some(WentBack::Once) => {
            return Some("none: a total went back, as of a server that was started anew".to_owned());
        }
        Some(WentBack::AndForth) => {
            return Some("none: totals went back and forth, as of several servers at one address".to_owned());
        }
        None => {}
    }
    joined(line)
}

/// `≈ 297 in 200–300`, a guess inside the bucket in which it is sure to lie, or `over 300`.
pub(crate) fn in_bucket(quantile: BucketQuantile) -> String {
    let BucketQuantile { ms, from_ms, to_ms } = quantile;
    match to_ms {
        Some(to) => {
            format!("≈ {} in {}–{}", three_digits(ms), three_digits(from_ms), three_digits(to))
        }
        None => format!("over {}", three_digits(from_ms)),
    }
}

fn counts(server: &ServerSide) -> Option<String> {
    let both = server.accounts?;
    let line = |what: &str, counts: Option<CountBeside>| {
        let CountBeside { client, server } = counts?;
        Some(format!("{} {what}, here {}", count(server.round() as u64), count(client)))
    };
    joined([line("requests", both.requests), line("answer tokens", both.output_tokens)])
}

/// All devices together: their mean, and the largest of each.
fn devices(devices: &[DeviceSummary]) -> Option<String> {
    let memory = together(devices, |device| device.memory_used_bytes)
        .map(|memory| format!("memory up to {} GiB", three_digits(memory.max / GIB)));
    let power =
        together(devices, |device| device.power_w).map(|power| format!("{} W", three_digits(power.mean)));
    let busy = together(devices, |device| device.utilisation).map(|busy| format!("busy {}", shares(busy)));
    let line = joined([busy, memory, power])?;
    let parts = devices.iter().filter(|device| device.part_of.is_some()).count();
    Some(match (devices.len() - parts, parts) {
        (1, 0) => line,
        (whole, 0) => format!("{whole}, each {line}"),
        (whole, parts) => format!("{whole} in {}, each {line} a device", counted(parts as u64, "part")),
    })
}

pub(crate) fn energy(server: &ServerSide) -> Option<String> {
    let energy = server.energy?;
    let per =
        |joules: Option<f64>, what: &str| joules.map(|joules| format!("{} J a {what}", three_digits(joules)));
    let source = match energy.source {
        EnergySource::Counters => "by the counters",
        EnergySource::Power => "by the power read now and then",
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

pub(crate) fn unread(server: &ServerSide) -> Option<String> {
    let unread: Vec<_> = server.unread().map(|page| page.url.clone()).collect();
    (!unread.is_empty()).then(|| unread.join(", "))
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::analysis::test_runs::run;
    use crate::analysis::{BothAccounts, EnergyUse, PageSummary, TimeSummary, summarise};
    use crate::report::page::{Colour, Style};

    fn gauge(mean: f64, max: f64) -> GaugeSummary {
        GaugeSummary { mean, max, last: mean, covered_s: 60.0 }
    }

    /// As of a server with two GPUs.
    pub(crate) fn told() -> ServerSide {
        let bucket = |ms, from_ms, to_ms| Some(BucketQuantile { ms, from_ms, to_ms });
        let time = |mean_ms, p99| TimeSummary { count: 2_000.0, mean_ms, p50: p99, p99, p99_mark: None };
        let beside = |client_ms: f64, server_ms: f64| TimeBeside {
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
            counters: [
                (Counter::Preemptions, 1.0),
                (Counter::CacheQueries, 8_000.0),
                (Counter::CacheHits, 2_000.0),
            ]
            .into(),
            times: [
                (ServerTime::Queue, time(57.3, bucket(297.0, 0.0, Some(300.0)))),
                (ServerTime::Prefill, time(162.0, bucket(297.0, 0.0, Some(300.0)))),
                (ServerTime::Decode, time(3_390.0, bucket(9_650.0, 5_000.0, Some(10_000.0)))),
                (ServerTime::InterToken, time(57.1, bucket(80_000.0, 80_000.0, None))),
            ]
            .into(),
            accounts: Some(BothAccounts {
                ttft: Some(beside(209.1, 204.0)),
                e2e: Some(beside(3_600.0, 3_620.0)),
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
        }
    }

    #[test]
    fn what_is_not_sure_is_told_as_such() {
        let mut server = told();
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
        server.span_s = Some((0.0, 0.5));
        insta::assert_snapshot!(shown(server, 80));
    }

    fn shown(server: ServerSide, width: usize) -> String {
        let mut summary = summarise(&run(1_000, Vec::new()), &[]);
        summary.server = Some(server);
        let mut page = Page::new(Style { colour: Colour::Plain, width });
        section(&mut page, &summary);
        page.finish()
    }

    #[test]
    fn all_of_it_fits_eighty_columns() {
        insta::assert_snapshot!(shown(told(), 80));
    }

    #[test]
    fn what_was_not_told_has_no_line() {
        let mut little = told();
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
}
