//! The load of the measuring machine and process, and its calibration.

use std::time::Duration;

use serde::Serialize;

use crate::analysis::requests::StreamDelivery;
use crate::record::{Calibration, Delays, RunLog, StampSource, StreamReads};
use crate::units::{count, millis, three_digits};

/// Limit of the read loop's p99 delay, milliseconds. A client above it has no time to spare.
pub(crate) const DELAY_FLOOR_MS: f64 = 20.0;
/// A timer itself may be this late without the event loop being so, milliseconds.
pub(crate) const TIMER_MS: f64 = 2.0;

/// Share of the time between two reads of an answer that lateness may take. A read loop that is later may itself gather
/// what comes between.
const LATE_SHARE: f64 = 0.25;

/// Work of the measuring machine in a run, from its zero to its end.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ClientLoad {
    /// CPU cores that this process used on average. The figure is its CPU time ÷ the length of the run.
    pub cpu_cores: f64,
    /// Number of threads that read answers. Absent in a merged run, and in runs before there could be several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub readers: Option<u32>,
    /// Share of the run in which the loop of the busiest reader was busy. It is between 0 and 1.
    pub loop_busy: f64,
    /// Client read-loop delay: how late the worst reader handled a timer that was due. The timer itself is up to about
    /// 2 ms late.
    pub loop_delay: Option<DelaySummary>,
    /// Time that bytes waited in the kernel before they were read. Absent unless the kernel reports when they arrived.
    pub read_delay: Option<DelaySummary>,
    /// Reads of connections that streams of HTTP/2 share. Absent over HTTP/1.1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream_reads: Option<StreamReads>,
    /// Where the moments of arriving bytes come from.
    pub stamps: StampSource,
    /// Stamps of tokens that may be late. The client read so late that one read brought several packets, which all have
    /// the kernel's time of the last. Absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late_stamps: Option<LateStampSummary>,
    /// Peak memory of the process, bytes, if the system reports it.
    pub peak_memory_bytes: Option<u64>,
    /// TCP segments that the whole machine retransmitted to any host. They are those of its network namespace, until
    /// the last sample of the run. Absent if not measured.
    pub retransmits: Option<u64>,
    /// Whether the measuring threads lost their real-time priority. They lose it when one of them runs on and on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub priority_lost: bool,
}

/// How many stamps of tokens may be late, and by how much.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LateStampSummary {
    /// How many there are.
    pub count: u64,
    /// Stamps of tokens in all.
    pub of: u64,
    /// Longest time by which a stamp may be late, milliseconds. It is the time from when the client last looked for
    /// bytes to the stamp.
    pub longest_ms: f64,
}

impl LateStampSummary {
    fn from_log(log: &RunLog) -> Option<Self> {
        let late = || log.records.iter().map(|record| record.late_stamps());
        let count = late().map(|late| u64::from(late.count)).sum();
        let of = log.records.iter().map(|record| record.chunks.len() as u64).sum();
        let longest = Duration::from_nanos(late().map(|late| late.longest_ns).max()?);
        (count > 0).then(|| Self { count, of, longest_ms: millis(longest) })
    }

    pub(crate) fn in_words(self) -> String {
        let [late, all] = [self.count, self.of].map(count);
        format!("{late} of {all} token stamps may be late, by up to {} ms", three_digits(self.longest_ms))
    }
}

/// A distribution of delays in brief, milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DelaySummary {
    /// Number of samples.
    pub n: u64,
    /// Median.
    pub p50_ms: f64,
    /// 99th percentile.
    pub p99_ms: f64,
    /// Largest.
    pub max_ms: f64,
}

impl From<Delays> for DelaySummary {
    fn from(delays: Delays) -> Self {
        let ms = |ns| millis(Duration::from_nanos(ns));
        let Delays { n, p50_ns, p99_ns, max_ns } = delays;
        Self { n, p50_ms: ms(p50_ns), p99_ms: ms(p99_ns), max_ms: ms(max_ns) }
    }
}

impl ClientLoad {
    /// Returns the client's load as the log tells it. `None` where nobody watched.
    pub(crate) fn from_log(log: &RunLog) -> Option<Self> {
        let footer = log.footer.as_ref()?;
        let client = footer.client.as_ref()?;
        let length_ns = footer.ended.as_nanos();
        let share = |cpu_ns: u64| if length_ns == 0 { 0.0 } else { cpu_ns as f64 / length_ns as f64 };
        Some(Self {
            cpu_cores: share(client.cpu_ns),
            readers: client.readers,
            loop_busy: share(client.loop_cpu_ns),
            loop_delay: client.loop_delay.map(DelaySummary::from),
            read_delay: client.read_delay.map(DelaySummary::from),
            stream_reads: client.stream_reads,
            stamps: log.header.stamps,
            late_stamps: LateStampSummary::from_log(log),
            peak_memory_bytes: client.peak_memory_bytes,
            retransmits: log.telemetry.client.last().and_then(|sample| sample.retransmits),
            priority_lost: client.priority_lost,
        })
    }

    /// Returns whether the thread that reads answers came too late. It then had no time to spare.
    pub(crate) fn reads_late(&self) -> bool {
        self.loop_delay.is_some_and(|delay| delay.p99_ms > DELAY_FLOOR_MS)
    }
}

impl StreamDelivery {
    /// Returns whether this client may have gathered the chunks that came together itself. It may have gathered most of
    /// them where half of its reads are late enough, and some where one in a hundred is.
    pub(crate) fn may_be_of_client(&self, client: Option<&ClientLoad>) -> bool {
        let (time, reads) = self.between_reads;
        let bar_ms = LATE_SHARE * millis(time) / reads as f64;
        let delay = client.and_then(|client| client.loop_delay);
        let delay_ms = delay.map(|delay| if self.itl_withheld { delay.p50_ms } else { delay.p99_ms });
        reads > 0 && delay_ms.is_some_and(|delay_ms| delay_ms - TIMER_MS > bar_ms)
    }

    /// Returns whether this client, and whether something else, may have gathered the chunks. Of a client that is late
    /// by its own rules nobody can tell.
    pub(crate) fn gathered_by(&self, client: Option<&ClientLoad>) -> (bool, bool) {
        let by_reads = self.may_be_of_client(client);
        (by_reads || client.is_some_and(ClientLoad::reads_late), !by_reads)
    }
}

/// Results of the measuring machine against a server of known streams. Rates are those at which one reader would
/// have no time left.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CalibrationSummary {
    /// How long it took to measure.
    pub took_ms: f64,
    /// Age at the run that used it, seconds. Absent where it was made for that run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub age_s: Option<u64>,
    /// Distance between the client's stamp of an event and the server's write. It is the stamp − the moment at which
    /// the server began to write the event, without its sign.
    pub stamp_delay: DelaySummary,
    /// The moment at which a request was dispatched − its scheduled moment.
    pub pacer_delay: DelaySummary,
    /// Requests per second with an answer of one event each.
    pub requests_per_s: f64,
    /// Events per second, each in a packet of its own.
    pub paced_events_per_s: f64,
    /// Events per second, as many together as fit.
    pub coalesced_events_per_s: f64,
}

impl From<Calibration> for CalibrationSummary {
    fn from(found: Calibration) -> Self {
        Self {
            took_ms: millis(Duration::from_nanos(found.took_ns)),
            age_s: found.age_s,
            stamp_delay: found.stamp_delay.into(),
            pacer_delay: found.pacer_delay.into(),
            requests_per_s: found.requests_per_s(),
            paced_events_per_s: found.paced_events_per_s(),
            coalesced_events_per_s: found.coalesced_events_per_s(),
        }
    }
}
