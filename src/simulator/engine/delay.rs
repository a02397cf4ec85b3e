//! Random delays.

use std::fmt;
use std::time::Duration;

use crate::random::RandomStream;

/// A distribution of delays. Draws below zero become zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Delay {
    /// A constant, seconds.
    Constant(f64),
    /// Exponential with this mean, seconds.
    Exponential(f64),
    /// Uniform between two lengths, seconds.
    Uniform(f64, f64),
    /// Normal with this mean and standard deviation, seconds.
    Normal(f64, f64),
    /// Log-normal: its median, seconds, and the standard deviation of its logarithm.
    LogNormal(f64, f64),
    /// Gamma with this mean, seconds, and shape (1 is exponential; its coefficient of variation is 1/√shape).
    Gamma(f64, f64),
}

impl Delay {
    /// Draws one delay.
    pub fn draw(&self, stream: &mut RandomStream) -> Duration {
        let seconds = match *self {
            Self::Constant(value) => value,
            Self::Exponential(mean) => mean * stream.exponential(),
            Self::Uniform(low, high) => low + (high - low) * stream.unit(),
            Self::Normal(mean, std) => mean + std * stream.normal(),
            Self::LogNormal(median, sigma) => median * libm::exp(sigma * stream.normal()),
            Self::Gamma(mean, shape) => mean / shape * stream.gamma(shape),
        };
        Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX)
    }
}

/// In command-line notation: `80ms`, `log-normal:80ms:0.45`, …
impl fmt::Display for Delay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Microseconds, so that no binary fraction shows.
        let ms = |seconds: f64| (seconds * 1e6).round() / 1e3;
        match *self {
            Self::Constant(value) => write!(f, "{}ms", ms(value)),
            Self::Exponential(mean) => write!(f, "exponential:{}ms", ms(mean)),
            Self::Uniform(low, high) => write!(f, "uniform:{}ms:{}ms", ms(low), ms(high)),
            Self::Normal(mean, std) => write!(f, "normal:{}ms:{}ms", ms(mean), ms(std)),
            Self::LogNormal(median, sigma) => write!(f, "log-normal:{}ms:{sigma}", ms(median)),
            Self::Gamma(mean, shape) => write!(f, "gamma:{}ms:{shape}", ms(mean)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_and_spreads_are_those_asked_for() {
        // (delay, mean, standard deviation) by their textbook formulas.
        let log_normal_mean = 0.2 * (0.25_f64 / 2.0).exp();
        for (delay, mean, std) in [
            (Delay::Constant(0.3), 0.3, 0.0),
            (Delay::Exponential(0.3), 0.3, 0.3),
            (Delay::Uniform(0.1, 0.3), 0.2, 0.2 / 12_f64.sqrt()),
            (Delay::Normal(0.5, 0.05), 0.5, 0.05),
            (Delay::LogNormal(0.2, 0.5), log_normal_mean, log_normal_mean * (0.25_f64.exp() - 1.0).sqrt()),
            (Delay::Gamma(0.4, 4.0), 0.4, 0.2),
        ] {
            let mut stream = RandomStream::named(1, "delay test");
            let draws: Vec<f64> = (0..40_000).map(|_| delay.draw(&mut stream).as_secs_f64()).collect();
            let n = draws.len() as f64;
            let found = draws.iter().sum::<f64>() / n;
            let spread = (draws.iter().map(|draw| (draw - found).powi(2)).sum::<f64>() / n).sqrt();
            assert!((found - mean).abs() < 0.02 * mean, "{delay:?}: mean {found}, not {mean}");
            assert!((spread - std).abs() < 0.03 * mean, "{delay:?}: spread {spread}, not {std}");
        }
    }

    #[test]
    fn no_draw_is_below_zero() {
        let mut stream = RandomStream::named(1, "delay test");
        assert!((0..1000).any(|_| Delay::Normal(0.1, 1.0).draw(&mut stream).is_zero()));
    }
}
