//! How long a run lasts, how much of it is warm-up, and whether anything is left to measure.

use super::reading::value::{LONGEST_S, MOST_REQUESTS};
use crate::units::three_digits;
use crate::workload::arrival::pattern::ArrivalPattern;
use crate::workload::reading::Fields;
use crate::workload::trace::source::beyond;

/// The bounds of a run.
pub(super) struct RunLength<'a> {
    pub(super) horizon_s: f64,
    pub(super) requests: Option<u64>,
    pub(super) arrival: &'a ArrivalPattern,
}

impl RunLength<'_> {
    /// Returns the length of the run in seconds. It is that at the mean rate where a number of requests bounds it.
    pub(super) fn length_s(&self) -> f64 {
        let requests = self.requests.filter(|_| self.arrival.users().is_none());
        requests.map_or(self.horizon_s, |requests| requests as f64 / self.arrival.mean_rate_per_s())
    }

    /// Returns the default warm-up. It is a tenth of the run, at most 30 s; none of a run of so many requests, all of
    /// which count. Servers settle in a fixed time (connections, graphs and caches, the number of requests in flight),
    /// which a long run need not exceed.
    pub(super) fn default_warmup_s(&self) -> f64 {
        if self.requests.is_some() {
            return 0.0;
        }
        self.worth_while((self.length_s() / 10.0).min(30.0))
    }

    /// Returns the warm-up after a change of the run's length. It is unchanged, unless the run is now shorter; then at
    /// most a quarter of it, or the previous share if that was more. A run that is now counted, or no longer, has the
    /// default.
    pub(super) fn adapted_warmup_s(&self, before: &RunLength<'_>, warmup_s: f64) -> f64 {
        match (before.requests, self.requests) {
            (None, Some(_)) => return 0.0,
            (Some(_), None) if warmup_s == 0.0 => return self.default_warmup_s(),
            (Some(_), Some(_)) if self.is_counted_loop() => {
                return if before.is_counted_loop() { warmup_s } else { 0.0 };
            }
            _ => {}
        }
        let (now, before) = (self.length_s(), before.length_s());
        if now >= before {
            return warmup_s;
        }
        let share = (warmup_s / before).max(0.25);
        if warmup_s <= share * now { warmup_s } else { self.worth_while(share * now) }
    }

    /// Returns whether users of a closed loop send so many requests. Nothing but the server then says how long it
    /// takes.
    pub(super) fn is_counted_loop(&self) -> bool {
        self.requests.is_some() && self.arrival.users().is_some()
    }

    /// Drops a warm-up that is not worth while. Not even one request is expected in it, or none after it, as of a
    /// burst.
    fn worth_while(&self, warmup_s: f64) -> f64 {
        let expected = |until_s| self.arrival.expected_arrivals(until_s);
        let (warm, all) =
            (expected(warmup_s), self.requests.map_or_else(|| expected(self.horizon_s), |all| all as f64));
        let none = self.arrival.users().is_none() && (warm < 1.0 || all - warm < 1.0);
        if none { 0.0 } else { warmup_s }
    }

    /// Returns why such a run is impossible, or leaves nothing to measure. It may leave nothing after this warm-up;
    /// `None` if neither.
    pub(super) fn mistake(&self, warmup_s: f64) -> Option<LengthMistake> {
        let warm = self.arrival.expected_arrivals(warmup_s);
        match self.requests {
            Some(requests) => self.mistake_in_requests(requests, warmup_s, warm),
            None => self.mistake_in_horizon(warmup_s, warm),
        }
    }

    fn mistake_in_requests(&self, requests: u64, warmup_s: f64, warm: f64) -> Option<LengthMistake> {
        let ever = self.arrival.expected_arrivals(LONGEST_S);
        let (field, sentence) = match (self.arrival.found(), self.arrival.users()) {
            (Some(found), _) if found.requests < requests => {
                let there = found.requests;
                let cure = "ask for fewer or take more of the trace";
                ("requests", format!("is {requests}, and the slice of the trace has {there}; {cure}"))
            }
            (_, Some(users)) if users > requests => {
                let cure = "ask for as many requests as users at least";
                ("requests", format!("is {requests}, and there are {users} users; {cure}"))
            }
            (_, Some(_)) => return None,
            _ if ever + 0.5 < requests as f64 => {
                let ever = three_digits(ever);
                let few = format!("the arrivals bring only about {ever} requests in 31 days");
                ("requests", format!("is {requests}, and {few}; raise the rate or ask for fewer requests"))
            }
            _ if warm >= requests as f64 => {
                let few = format!("in which about {} requests arrive, and the run has {requests}", three_digits(warm));
                let cure = "none would be measured; shorten the warm-up or ask for more requests";
                ("warmup_s", format!("is {warmup_s} s, {few}: {cure}"))
            }
            _ => return None,
        };
        Some((field, sentence))
    }

    fn mistake_in_horizon(&self, warmup_s: f64, warm: f64) -> Option<LengthMistake> {
        let horizon_s = self.horizon_s;
        let all = self.arrival.expected_arrivals(horizon_s);
        let past_the_trace = self.arrival.trace().and_then(|trace| beyond(trace, horizon_s));
        let ramp_s = match self.arrival {
            ArrivalPattern::Users { ramp_s, .. } => *ramp_s,
            _ => 0.0,
        };
        let (field, sentence) = if let Some(sentence) = past_the_trace {
            ("horizon_s", sentence)
        } else if ramp_s >= horizon_s {
            let cure = "lengthen the run or let them begin sooner";
            let late = format!("users still begin until {ramp_s} s (`ramp_s`)");
            ("horizon_s", format!("is {horizon_s} s, and {late}; {cure}"))
        } else if warmup_s >= horizon_s {
            let cure = "nothing would be measured; make the warm-up shorter than the horizon";
            ("warmup_s", format!("is {warmup_s} s, and the run ends at {horizon_s} s: {cure}"))
        } else if all - warm < 1.0 && self.arrival.users().is_none() {
            let few = format!("only {} requests are expected", three_digits(all - warm));
            let cure = "raise the rate or lengthen the run";
            ("horizon_s", format!("is {horizon_s} s, and after {warmup_s} s of warm-up {few}; {cure}"))
        } else if all > MOST_REQUESTS {
            let many = format!("in which about {} requests arrive", three_digits(all));
            let cure = format!("the most is {}: shorten the run or lower the rate", three_digits(MOST_REQUESTS));
            ("horizon_s", format!("is {horizon_s} s, {many}; {cure}"))
        } else {
            return None;
        };
        Some((field, sentence))
    }
}

/// The field that is wrong with a run's length, with a sentence that says why.
type LengthMistake = (&'static str, String);

/// Reads horizon and warm-up of a run, or the usual ones where none are given.
pub(super) fn run_bounds(
    fields: &Fields<'_>,
    horizon_s: Option<f64>,
    requests: Option<u64>,
    warmup_s: Option<f64>,
    arrival: &ArrivalPattern,
) -> Option<(f64, f64)> {
    let whole = horizon_s.is_none() && requests.is_none();
    let recorded = arrival.found().and_then(|found| found.warmup_s).filter(|_| whole);
    let horizon_s = horizon_s.unwrap_or_else(|| arrival.found().map_or(60.0, |found| found.ends_s));
    let window = RunLength { horizon_s, requests, arrival };
    let warmup_s = warmup_s.or(recorded).unwrap_or_else(|| window.default_warmup_s());
    let known = arrival.trace().is_none_or(|trace| trace.found.is_some());
    if let Some((field, sentence)) = window.mistake(warmup_s).filter(|_| known) {
        fields.complain_of(field, &sentence);
    }
    Some((horizon_s, warmup_s))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warmup_after(length: (f64, Option<u64>), rate_per_s: f64, before: (f64, f64)) -> f64 {
        let arrival = ArrivalPattern::Poisson { rate_per_s };
        let before_window = RunLength { horizon_s: before.0, requests: None, arrival: &arrival };
        let window = RunLength { horizon_s: length.0, requests: length.1, arrival: &arrival };
        window.adapted_warmup_s(&before_window, before.1)
    }

    #[test]
    fn a_shorter_run_shortens_its_warm_up() {
        let short_chat = (60.0, 5.0);
        for (length, warmup) in [
            ((60.0, None), 5.0),
            ((600.0, None), 5.0),
            ((20.0, None), 5.0),
            ((3.0, None), 0.75),
            ((0.1, None), 0.0),
            // Of so many requests all count.
            ((60.0, Some(1000)), 0.0),
            ((60.0, Some(100)), 0.0),
        ] {
            assert_eq!(warmup_after(length, 10.0, short_chat), warmup, "{length:?}");
        }
        // A spec whose warm-up is half of its run keeps the half.
        assert_eq!(warmup_after((20.0, None), 10.0, (60.0, 30.0)), 10.0);
        assert_eq!(warmup_after((50.0, None), 10.0, (60.0, 30.0)), 25.0);
    }

    #[test]
    fn the_usual_warm_up_is_a_tenth_and_at_most_half_a_minute_and_none_of_so_many_requests() {
        let arrival = ArrivalPattern::Poisson { rate_per_s: 10.0 };
        for (horizon_s, requests, warmup) in
            [(60.0, None, 6.0), (3600.0, None, 30.0), (0.5, None, 0.0), (60.0, Some(200), 0.0)]
        {
            assert_eq!(RunLength { horizon_s, requests, arrival: &arrival }.default_warmup_s(), warmup);
        }
    }
}
