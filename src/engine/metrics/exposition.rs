//! Reads metrics pages in Prometheus' text format.

use std::borrow::Cow;

/// Series of when a page's process began, as Prometheus' client libraries export it.
pub(crate) const PROCESS_START: &str = "process_start_time_seconds";

/// One value of one series.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MetricSample<'a> {
    /// Name of the series.
    pub name: &'a str,
    /// The text between its braces.
    labels: &'a str,
    /// The value; NaN where it is no number.
    pub value: f64,
}

/// Returns the samples of a page of metrics, in order. The page is in Prometheus' text format 0.0.4 or in `OpenMetrics`
/// 1.0.
///
/// Ignores help, types, comments and lines that are no samples, such as the last one of a truncated page; of
/// a sample, its timestamp and exemplar.
pub(crate) fn metric_samples(page: &str) -> impl Iterator<Item = MetricSample<'_>> {
    page.lines().filter_map(sample)
}

impl<'a> MetricSample<'a> {
    /// The value of the label `name`, unescaped, if there is one.
    pub(crate) fn label(&self, name: &str) -> Option<Cow<'a, str>> {
        let mut rest = self.labels;
        loop {
            let (key, value) = rest.trim_start_matches([',', ' ', '\t']).split_once('=')?;
            let value = value.trim_start().strip_prefix('"')?;
            let end = end_of_quoted(value)?;
            if key.trim_end() == name {
                return Some(unescaped(&value[..end]));
            }
            rest = &value[end + 1..];
        }
    }

    /// Returns whether it counts failed requests. vLLM and TensorRT-LLM count them in the same series as successful
    /// ones, by `finished_reason`.
    pub(crate) fn is_of_failures(&self) -> bool {
        matches!(self.label("finished_reason").as_deref(), Some("abort" | "error"))
    }

    /// Whether it is the value of one priority. With `--enable-priority-scheduling` SGLang reports gauges for
    /// each priority beside that of all requests, whose label is empty; counters carry each request's own
    /// priority alone.
    pub(crate) fn is_of_one_priority(&self) -> bool {
        self.label("priority").is_some_and(|priority| !priority.is_empty())
    }
}

/// A line `name{labels} value [timestamp] [# exemplar]`.
fn sample(line: &str) -> Option<MetricSample<'_>> {
    let line = line.trim();
    if line.starts_with('#') {
        return None;
    }
    let (name, rest) = line.split_at(line.find(['{', ' ', '\t']).filter(|&end| end > 0)?);
    let rest = rest.trim_start();
    let (labels, value) = match rest.strip_prefix('{') {
        Some(rest) => {
            let end = end_of_labels(rest)?;
            (&rest[..end], &rest[end + 1..])
        }
        None => ("", rest),
    };
    let value = value.split_whitespace().next().and_then(|value| value.parse().ok());
    Some(MetricSample { name, labels, value: value.unwrap_or(f64::NAN) })
}

/// The index of the closing brace; one inside a quoted value does not count.
fn end_of_labels(labels: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        at += labels[at..].find(['"', '}'])?;
        if labels.as_bytes()[at] == b'}' {
            return Some(at);
        }
        at += 1;
        at += end_of_quoted(&labels[at..])? + 1;
    }
}

/// The index of the closing quote; one after a backslash does not count.
fn end_of_quoted(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.bytes().position(|byte| {
        let closes = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        closes
    })
}

fn unescaped(value: &str) -> Cow<'_, str> {
    if !value.contains('\\') {
        return Cow::Borrowed(value);
    }
    let mut plain = String::with_capacity(value.len());
    let mut letters = value.chars();
    while let Some(letter) = letters.next() {
        plain.push(match letter {
            '\\' => match letters.next() {
                Some('n') => '\n',
                Some(other) => other,
                None => '\\',
            },
            letter => letter,
        });
    }
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(page: &str) -> Vec<(String, f64)> {
        metric_samples(page).map(|sample| (sample.name.to_owned(), sample.value)).collect()
    }

    #[test]
    fn a_page_that_tries_every_corner_of_the_format_is_read() {
        // After the example in the format's own description, and what real pages do.
        let page = "# HELP http_requests_total The {total} number of \"requests\" 9.\n\
                    # TYPE http_requests_total counter\n\
                    http_requests_total{method=\"post\",code=\"200\"} 1027 1395066363000\n\
                    \n\
                    # Escaping in label values:\n\
                    odd{path=\"C:\\\\DIR\\\\FILE.TXT\",error=\"Cannot find \\\"FILE\\\"\\n}\",} 1.458255915e9\n\
                    plain 12.47\n\
                    infinite{problem=\"division by zero\"} +Inf -3982045\n\
                    unknown NaN\r\n\
                    \tspaced { a = \"1\" , b=\"2\" }\t7\n\
                    times_bucket{le=\"0.01\"} 9 # {trace_id=\"KOO5S4vxi0o\"} 0.67\n\
                    # EOF\n\
                    cut{a=\"b\n\
                    half";
        let found = read(page);
        let names: Vec<_> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["http_requests_total", "odd", "plain", "infinite", "unknown", "spaced", "times_bucket"]);
        let values: Vec<_> = found.iter().map(|(_, value)| *value).collect();
        assert_eq!(values[..4], [1027.0, 1.458_255_915e9, 12.47, f64::INFINITY]);
        assert!(values[4].is_nan());
        assert_eq!(values[5..], [7.0, 9.0]);
        let all: Vec<_> = metric_samples(page).collect();
        assert_eq!(all[0].label("code").as_deref(), Some("200"));
        assert_eq!(all[0].label("cod"), None);
        assert_eq!(all[1].label("path").as_deref(), Some("C:\\DIR\\FILE.TXT"));
        assert_eq!(all[1].label("error").as_deref(), Some("Cannot find \"FILE\"\n}"));
        assert_eq!(all[5].label("b").as_deref(), Some("2"));
        assert_eq!(all[6].label("trace_id"), None, "an exemplar's labels are not the sample's");
    }

    #[test]
    fn a_recorded_page_is_read_line_by_line() {
        let page = include_str!("../../../tests/data/transcripts/vllm/metrics_after.txt");
        let lines = page.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()).count();
        assert_eq!(read(page).len(), lines);
        assert!(read(page).iter().all(|(_, value)| value.is_finite()));
        let success = metric_samples(page).filter(|sample| sample.name == "vllm:request_success_total");
        let (failed, well): (Vec<_>, Vec<_>) = success.partition(MetricSample::is_of_failures);
        assert_eq!((failed.len(), well.len()), (2, 3));
    }
}
