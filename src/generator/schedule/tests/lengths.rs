//! Lengths of the library's plans beside those that scipy computes.

use super::*;

/// Moments and quantiles of the truncated log-normal lengths, prompts and answers. They are mean, standard deviation,
/// median and 99 % quantile. scipy 1.17.1, with z the mass of `norm(ln median, sigma)` between ln min and ln max:
/// moments by `quad(lambda t: exp(k * t) * norm.pdf(t, ln median, sigma), ln min, ln max) / z`, quantiles by
/// `median * exp(sigma * norm.ppf(norm.cdf(ln(min / median) / sigma) + p * z))`.
const LENGTHS_BY_SCIPY: [(&str, [f64; 4], [f64; 4]); 5] = [
    ("chat", [668.162, 561.237, 498.663, 2861.619], [270.801, 237.346, 199.618, 1217.516]),
    ("code_generation", [1908.082, 1439.02, 1481.603, 6922.834], [668.162, 561.237, 498.663, 2861.619]),
    ("long_context_qa", [21433.918, 17954.995, 16000.0, 91624.737], [392.772, 316.996, 297.453, 1583.965]),
    ("summarization", [5358.479, 4488.749, 4000.0, 22906.184], [181.193, 105.256, 152.834, 475.423]),
    ("batch_offline", [955.595, 618.224, 799.923, 3203.116], [239.328, 156.737, 200.0, 806.545]),
];

#[test]
fn plans_of_the_library_have_scipys_lengths() {
    for (name, input, output) in LENGTHS_BY_SCIPY {
        let spec = WorkloadSpec { requests: Some(20_000), ..WorkloadSpec::load(name).unwrap() };
        let (inputs, outputs): (Vec<f64>, Vec<f64>) = Schedule::draw(&spec)
            .plan()
            .take(20_000)
            .map(|request| (f64::from(request.input_tokens), f64::from(request.output_tokens)))
            .unzip();
        for (lengths, [mean, std, median, p99]) in [(inputs, input), (outputs, output)] {
            let n = lengths.len() as f64;
            let found = lengths.iter().sum::<f64>() / n;
            assert!((found - mean).abs() < 4.0 * std / n.sqrt() + 0.5, "{name}: mean {found} of {mean}");
            for (quantile, share) in [(median, 0.5_f64), (p99, 0.01)] {
                let above = lengths.iter().filter(|&&length| length > quantile).count() as f64 / n;
                // Four standard deviations, and what whole tokens are off by.
                let bound = 4.0 * (share * (1.0 - share) / n).sqrt() + 0.005;
                assert!((above - share).abs() < bound, "{name}: {above} above {quantile}");
            }
        }
    }
}
