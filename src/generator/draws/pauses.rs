//! Draws think times.

use std::time::Duration;

use crate::random::RandomStream;
use crate::workload::ThinkTime;

/// Longest think time, seconds: a year, longer than any run.
const LONGEST_S: f64 = 366.0 * 86_400.0;

/// Draws a think time, rounded down to the nanosecond. It takes one number from `stream`, none for a constant, and two
/// for one of two laws.
pub(crate) fn think_time(law: ThinkTime, stream: &mut RandomStream) -> Duration {
    let seconds = match law {
        ThinkTime::Constant { value } => value,
        ThinkTime::Uniform { min, max } => min + (max - min) * stream.unit(),
        ThinkTime::Exponential { mean } => mean * stream.exponential(),
        ThinkTime::LogNormal { median, sigma } => median * libm::exp(sigma * stream.normal()),
        ThinkTime::TwoLogNormals { median, sigma, other_median, other_sigma, other_share } => {
            let is_other = stream.unit() < other_share;
            let (median, sigma) = if is_other { (other_median, other_sigma) } else { (median, sigma) };
            median * libm::exp(sigma * stream.normal())
        }
    };
    Duration::from_nanos((seconds.clamp(0.0, LONGEST_S) * 1e9) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generator::draws::lengths::LengthSampler;
    use crate::workload::{Distribution, WorkloadSpec};

    fn drawn(law: ThinkTime) -> Vec<f64> {
        let mut stream = RandomStream::named(5, "pauses");
        let mut pauses: Vec<f64> = (0..20_000).map(|_| think_time(law, &mut stream).as_secs_f64()).collect();
        pauses.sort_by(f64::total_cmp);
        pauses
    }

    #[test]
    fn pauses_have_their_mean_and_their_median() {
        // The medians by hand: (min + max)/2, mean · ln 2, median. Bounds of four standard errors.
        for (law, median, error) in [
            (ThinkTime::Constant { value: 2.5 }, 2.5, 0.0),
            (ThinkTime::Uniform { min: 1.0, max: 3.0 }, 2.0, 0.03),
            (ThinkTime::Exponential { mean: 4.0 }, 4.0 * std::f64::consts::LN_2, 0.12),
            (ThinkTime::LogNormal { median: 5.0, sigma: 0.8 }, 5.0, 0.15),
        ] {
            let pauses = drawn(law);
            assert!((pauses[10_000] - median).abs() <= error, "{law:?}: {}", pauses[10_000]);
            let mean = pauses.iter().sum::<f64>() / 20_000.0;
            assert!((mean / law.mean_s() - 1.0).abs() < 0.04, "{law:?}: {mean}");
            let square = pauses.iter().map(|pause| pause * pause).sum::<f64>() / 20_000.0;
            assert!((square / law.mean_square_s2() - 1.0).abs() < 0.12, "{law:?}: {square}");
        }
    }

    /// Percentiles of `TraceLab`: p50, p90 and p99. Its release 0.0.1 has 4,265 sessions of Claude Code and Codex (CC
    /// BY 4.0). Steps, waits and tools are of both, tokens of Claude Code. What a provider counts as appended after its
    /// cache expired is the old context once more, so the tail of appended tokens is no aim.
    const TRACELAB: [(&str, [f64; 3]); 5] = [
        ("tool steps of a session", [15.0, 135.0, 1_107.0]),
        ("appended tokens of a step", [857.0, 5_342.0, 232_206.0]),
        ("answer tokens of a step", [252.0, 1_671.0, 6_571.0]),
        ("tools of a step, s", [0.1, 10.0, 192.0]),
        ("wait for a person, s", [84.0, 1_236.0, 50_040.0]),
    ];

    #[test]
    fn the_coding_agent_resembles_the_sessions_that_tracelab_published() {
        let spec = WorkloadSpec::load("coding_agent").unwrap();
        let class = &spec.classes[0];
        let conversation = class.conversation.as_ref().unwrap();
        let lengths = |law: &Distribution| {
            let (law, mut stream) = (LengthSampler::new(law), RandomStream::named(5, "lengths"));
            let mut drawn: Vec<f64> = (0..20_000).map(|_| f64::from(law.draw(&mut stream))).collect();
            drawn.sort_by(f64::total_cmp);
            drawn
        };
        let ThinkTime::TwoLogNormals { median, sigma, other_median, other_sigma, other_share } =
            conversation.think_time_s
        else {
            panic!("tools and people")
        };
        // 73.6 steps of a session follow a tool, and 8.9 a person, of which the first opens it.
        assert!((other_share - 7.9 / (73.6 + 7.9)).abs() < 0.001, "{other_share}");
        let people = ThinkTime::LogNormal { median: other_median, sigma: other_sigma };
        let laws = [
            lengths(&conversation.turns),
            lengths(&class.input_tokens),
            lengths(&class.output_tokens),
            drawn(ThinkTime::LogNormal { median, sigma }),
            drawn(people),
        ];
        let mut furthest = (0.0, String::new());
        for ((name, published), drawn) in TRACELAB.into_iter().zip(laws) {
            let ours = [10_000, 18_000, 19_800].map(|rank| drawn[rank]);
            for ((percentile, published), ours) in ["p50", "p90", "p99"].into_iter().zip(published).zip(ours) {
                let off = ours / published - 1.0;
                println!("{percentile} of {name}: {ours:.4} drawn, {published} published, {:+.0} %", off * 100.0);
                let is_central = percentile != "p99";
                assert!(!is_central || off.abs() < 0.25, "{percentile} of {name}: {ours}, not {published}");
                if is_central && off.abs() > furthest.0 {
                    furthest = (off.abs(), format!("{percentile} of {name}"));
                }
            }
        }
        println!("the furthest of p50 and p90 is {}: {:.0} %", furthest.1, furthest.0 * 100.0);
    }
}
