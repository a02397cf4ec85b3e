//! JSON as every report writes it, and the summary as JSON.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::{Formatter, PrettyFormatter};

use crate::analysis::Summary;
use crate::report::Extras;
use crate::units::steers;

/// The summary as indented JSON with what goes beside it: `paired_open` of a closed loop, `diagnosis`.
pub fn json_with(summary: &Summary, extras: Extras<'_>) -> serde_json::Result<String> {
    indented(&Whole { summary, extras })
}

/// Indented JSON with a line break at its end.
pub fn indented(value: &impl Serialize) -> serde_json::Result<String> {
    let mut bytes = Vec::new();
    write_indented(&mut bytes, value)?;
    String::from_utf8(bytes).map_err(|error| serde_json::Error::io(io::Error::other(error)))
}

/// The same into a file or a pipe.
pub(in crate::report) fn write_indented(
    out: &mut dyn Write,
    value: &impl Serialize,
) -> serde_json::Result<()> {
    value.serialize(&mut Serializer::with_formatter(&mut *out, Harmless(Some(PrettyFormatter::new()))))?;
    out.write_all(b"\n").map_err(serde_json::Error::io)
}

/// JSON on one line, with a line break at its end.
pub(in crate::report) fn write_line(out: &mut dyn Write, value: &impl Serialize) -> serde_json::Result<()> {
    value.serialize(&mut Serializer::with_formatter(&mut *out, Harmless(None)))?;
    out.write_all(b"\n").map_err(serde_json::Error::io)
}

/// Writes signs that could steer a terminal by their numbers, which means the same in JSON; indented where there is how.
struct Harmless(Option<PrettyFormatter<'static>>);

impl Formatter for Harmless {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
        let mut rest = fragment;
        while let Some((place, sign)) = rest.char_indices().find(|(_, sign)| steers(*sign)) {
            out.write_all(&rest.as_bytes()[..place])?;
            for unit in sign.encode_utf16(&mut [0; 2]) {
                write!(out, "\\u{unit:04x}")?;
            }
            rest = &rest[place + sign.len_utf8()..];
        }
        out.write_all(rest.as_bytes())
    }

    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        match &mut self.0 {
            Some(indented) => indented.begin_array(out),
            None => out.write_all(b"["),
        }
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        match &mut self.0 {
            Some(indented) => indented.end_array(out),
            None => out.write_all(b"]"),
        }
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        match &mut self.0 {
            Some(indented) => indented.begin_array_value(out, first),
            None => {
                if first {
                    Ok(())
                } else {
                    out.write_all(b",")
                }
            }
        }
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        match &mut self.0 {
            Some(indented) => indented.end_array_value(out),
            None => Ok(()),
        }
    }

    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        match &mut self.0 {
            Some(indented) => indented.begin_object(out),
            None => out.write_all(b"{"),
        }
    }

    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        match &mut self.0 {
            Some(indented) => indented.end_object(out),
            None => out.write_all(b"}"),
        }
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        match &mut self.0 {
            Some(indented) => indented.begin_object_key(out, first),
            None => {
                if first {
                    Ok(())
                } else {
                    out.write_all(b",")
                }
            }
        }
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        match &mut self.0 {
            Some(indented) => indented.begin_object_value(out),
            None => out.write_all(b":"),
        }
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        match &mut self.0 {
            Some(indented) => indented.end_object_value(out),
            None => Ok(()),
        }
    }
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::report) struct Whole<'a> {
    #[serde(flatten)]
    summary: &'a Summary,
    #[serde(flatten)]
    extras: Extras<'a>,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::analysis::test_runs::{record, run};
    use crate::analysis::{Metric, Quantile, summarise};
    use crate::report::Extras;

    fn printed(log: &crate::record::RunLog) -> Value {
        serde_json::from_str(&super::json_with(&summarise(log, &[]), Extras::default()).unwrap()).unwrap()
    }

    #[test]
    fn figures_have_their_place_name_and_unit() {
        let mut records: Vec<_> =
            (0..4).map(|i| record(i).sent_at(i, i, i).paced(100 + i, 10, 11).build()).collect();
        records.push(record(4).sent_at(0, 0, 0).censored(5_000).build());
        let summary = printed(&run(1_000, records));
        assert_eq!(summary["schema"], json!(2));
        assert_eq!(summary["verdict"]["valid"], json!(true));
        assert_eq!(
            summary["latency"]["ttft"]["p50"],
            json!({
                "value_ms": 100.0, "at_least_ms": null, "at_most_ms": null, "interval_low_ms": null, "interval_high_ms": null,
                "batch_interval_low_ms": null, "batch_interval_high_ms": null, "sections_dependent": null, "mark": null
            })
        );
        assert_eq!(summary["latency"]["ttft"]["p99_9"]["value_ms"], json!(null));
        let max = &summary["latency"]["e2e"];
        assert_eq!((&max["max_ms"], &max["max_at_least_ms"]), (&json!(null), &json!(5_000.0)));
        assert_eq!((&max["min_at_least_ms"], &max["max_at_most_ms"]), (&json!(null), &json!(null)));
        assert_eq!(summary["latency"]["ttft"]["p99_9"]["mark"], json!("too_few_samples"));
        assert_eq!(summary["rates"]["output_tokens_per_s"], json!(44.0));
        assert_eq!(summary["run"]["arrival"], json!({ "kind": "poisson", "rate_per_s": 10.0 }));
        let mut log = run(1_000, vec![record(0).sent_at(0, 0, 0).paced(100, 10, 11).build()]);
        log.header.workload.classes[0].priorities[0].slo.ttft_ms = Some(200.0);
        assert_eq!(
            printed(&log)["by_class"][0]["slo_targets"],
            json!([{ "class": "chat", "priority": "high", "slo": { "ttft_ms": 200.0 } }])
        );
        assert_eq!(summary["requests"]["planned"], json!(5));
        assert_eq!(summary["run"]["engine"]["engine"], json!("vllm"));
        for metric in Metric::LATENCIES {
            assert!(summary["latency"].get(metric.name()).is_some(), "{metric} has a key, if only for null");
        }
        let keys = Quantile::ALL.map(|quantile| quantile.to_string().replace('.', "_"));
        assert!(keys.iter().all(|key| summary["latency"]["itl"][key]["value_ms"] == json!(10.0)));
    }

    #[test]
    fn an_open_percentile_has_both_ends() {
        let mut records: Vec<_> =
            (1..4).map(|i| record(i).sent_at(0, 0, 0).paced(100 * i, 10, 11).build()).collect();
        records.push(record(0).sent_at(900, 900, 900).censored(1_000).build());
        let summary = printed(&run(1_000, records));
        // 100, 100, 200, 300 at the least, 100, 200, 300 and infinity at the most.
        let median = &summary["latency"]["ttft"]["p50"];
        assert_eq!(
            (&median["value_ms"], &median["at_least_ms"], &median["at_most_ms"]),
            (&json!(null), &json!(150.0), &json!(250.0))
        );
    }

    #[test]
    fn nothing_is_null_and_not_zero() {
        let summary = printed(&run(0, vec![]));
        for path in [
            "/latency/ttft",
            "/latency/itl",
            "/rates/offered_requests_per_s",
            "/rates/output_tokens_per_s",
            "/slo/slo_attainment",
            "/slo/goodput_per_s",
            "/failures/error_rate",
            "/in_flight",
            "/stalls/longest_ms",
            "/tokens/cached_input_tokens",
        ] {
            assert_eq!(summary.pointer(path), Some(&Value::Null), "{path}");
        }
    }
}
