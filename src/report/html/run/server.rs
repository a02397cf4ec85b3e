//! What the server and its devices told of themselves, beside what this client saw.

use maud::{Markup, html};

use super::super::parts::{Table, facts};
use crate::analysis::wording::percent;
use crate::analysis::{CountBeside, DeviceSummary, GaugeSummary, ServerSide, Summary, TimeBeside};
use crate::record::ServerTime;
use crate::report::grid::{NOTHING, cell};
use crate::report::server::{GIB, cache, energy, in_bucket, requests, unread};
use crate::units::count;

pub(super) fn section(summary: &Summary) -> Markup {
    let Some(server) = &summary.server else { return html! {} };
    let lines = [
        ("requests", requests(server)),
        ("KV cache", cache(server)),
        ("energy", energy(server)),
        ("not read", unread(server)),
    ];
    let lines: Vec<_> = lines.into_iter().filter_map(|(name, line)| Some((name, line?))).collect();
    html! {
        h2 { "Server, by its own metrics" }
        @if !lines.is_empty() { (facts(&lines)) }
        @if server.restarted {
            p.bad { "The server was started anew, and its totals with it: it tells no times of its requests." }
        }
        @if let Some(beside) = beside(server) {
            p.muted { "The same by both accounts: what lies outside the server is network, proxies, and this client." }
            (beside.draw())
        }
        @if let Some(times) = times(server) {
            p.muted { "Where requests were inside the server; a percentile is a guess inside the bucket in which it is sure to lie." }
            (times.draw())
        }
        @if !server.devices.is_empty() { (devices(&server.devices).draw()) }
    }
}

fn beside(server: &ServerSide) -> Option<Table> {
    let both = server.accounts?;
    let mut table =
        Table::new("Server beside client", ["", "server", "here", "outside of the server", "share"]);
    let time = |table: &mut Table, name: &str, time: Option<TimeBeside>| {
        let Some(time) = time else { return };
        // The two means are of requests that are not quite the same: then the difference says nothing.
        let outside = (time.outside_ms >= 0.0).then(|| [cell(time.outside_ms), percent(time.outside_share)]);
        let outside = outside.unwrap_or(["of other requests in part".to_owned(), NOTHING.to_owned()]);
        let figures = [format!("mean {name}, ms"), cell(time.server_ms), cell(time.client_ms)];
        table.row(figures.into_iter().chain(outside));
    };
    time(&mut table, "TTFT", both.ttft);
    time(&mut table, "e2e", both.e2e);
    for (name, counted) in [("requests", both.requests), ("answer tokens", both.output_tokens)] {
        let Some(CountBeside { client, server }) = counted else { continue };
        let (server, nothing) = (count(server.round() as u64), NOTHING.to_owned());
        table.row([name.to_owned(), server, count(client), nothing.clone(), nothing]);
    }
    (!table.is_empty()).then_some(table)
}

fn times(server: &ServerSide) -> Option<Table> {
    let mut table = Table::new("Times inside the server, ms", ["ms", "n", "mean", "p50", "p99"]);
    let named = [
        ("queue", ServerTime::Queue),
        ("prefill", ServerTime::Prefill),
        ("decode", ServerTime::Decode),
        ("inter-token", ServerTime::InterToken),
    ];
    for (name, time) in named {
        let Some(time) = server.times.get(&time) else { continue };
        let [p50, p99] = [time.p50, time.p99].map(|figure| figure.map_or(NOTHING.to_owned(), in_bucket));
        table.row([name.to_owned(), count(time.count.round() as u64), cell(time.mean_ms), p50, p99]);
    }
    (!table.is_empty()).then_some(table)
}

fn devices(devices: &[DeviceSummary]) -> Table {
    let titles =
        ["device", "busy, mean", "busy, most", "memory, most, GiB", "power, mean, W", "power, most, W"];
    let mut table = Table::new("Devices", titles);
    for device in devices {
        let known = |gauge: Option<GaugeSummary>, read: fn(GaugeSummary) -> String| {
            gauge.map_or(NOTHING.to_owned(), read)
        };
        table.row([
            device.device.clone(),
            known(device.utilisation, |busy| percent(busy.mean)),
            known(device.utilisation, |busy| percent(busy.max)),
            known(device.memory_used_bytes, |memory| cell(memory.max / GIB)),
            known(device.power_w, |power| cell(power.mean)),
            known(device.power_w, |power| cell(power.max)),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::analysis::summarise;
    use crate::analysis::test_runs::run;
    use crate::report::html::tests::{HOSTILE, assert_tables};
    use crate::report::server::tests::told;

    fn page(server: ServerSide) -> String {
        let mut summary = summarise(&run(1_000, Vec::new()), &[]);
        summary.server = Some(server);
        section(&summary).into_string()
    }

    #[test]
    fn both_accounts_stand_beside_one_another_and_every_device_has_a_row() {
        let mut server = told();
        server.devices[1].device = HOSTILE.to_owned();
        let page = page(server);
        assert_tables(&page);
        // 209.1 ms here, 204 there: 5.1 ms and 2.44 % of it outside; e2e is of other requests in part.
        let row = "<th scope=\"row\">mean TTFT, ms</th><td>204</td><td>209</td><td>5.10</td><td>2.44 %</td>";
        assert!(page.contains(row) && page.contains("<td>of other requests in part</td>"), "{page}");
        assert!(page.contains("<td>51,830</td><td>51,827</td>"), "{page}");
        assert!(page.contains("<td>≈ 297 in 0–300</td>") && page.contains("<td>over 80,000</td>"), "{page}");
        let first =
            "<th scope=\"row\">0</th><td>91.0 %</td><td>95.0 %</td><td>73.5</td><td>412</td><td>656</td>";
        assert!(page.contains(first) && page.contains("0.961 J a token"), "{page}");
        assert!(!page.contains("<script") && page.contains("&lt;script"), "{page}");
    }

    #[test]
    fn what_was_not_told_has_no_table() {
        let mut little = told();
        (little.times, little.accounts, little.restarted) = (BTreeMap::default(), None, true);
        little.devices.clear();
        let page = page(little);
        assert!(!page.contains("<table") && page.contains("started anew"), "{page}");
    }
}
