//! Lengths of time that vary, as typed.

use crate::simulator::Delay;
use crate::units;

/// A delay: a constant (`80ms`) or `KIND:…` with its parameters apart by commas.
pub(in crate::cli) fn delay(text: &str) -> Result<Delay, String> {
    let form = "write it as 80ms, exponential:80ms (mean), uniform:50ms,90ms, normal:80ms,10ms (mean, standard \
                deviation), log_normal:80ms,0.4 (median, sigma) or gamma:80ms,2 (mean, shape)";
    let unknown = || format!("`{text}` is not a delay; {form}");
    let time = |text: &str| units::parse_duration(text).map(|time| time.as_secs_f64());
    let number = |text: &str| {
        let number = text.trim().parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
        number.ok_or_else(unknown)
    };
    let Some((kind, parameters)) = text.split_once(':') else { return time(text).map(Delay::Constant) };
    let parameters: Vec<&str> = parameters.split(',').collect();
    match (kind.trim(), parameters.as_slice()) {
        ("constant", [value]) => Ok(Delay::Constant(time(value)?)),
        ("exponential", [mean]) => Ok(Delay::Exponential(time(mean)?)),
        ("uniform", [low, high]) => {
            let (low, high) = (time(low)?, time(high)?);
            if low <= high { Ok(Delay::Uniform(low, high)) } else { Err(unknown()) }
        }
        ("normal", [mean, std]) => Ok(Delay::Normal(time(mean)?, time(std)?)),
        ("log_normal", [median, sigma]) => Ok(Delay::LogNormal(time(median)?, number(sigma)?)),
        ("gamma", [mean, shape]) => match number(shape)? {
            shape if shape > 0.0 => Ok(Delay::Gamma(time(mean)?, shape)),
            _ => Err(unknown()),
        },
        _ => Err(unknown()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_are_read_as_written() {
        for (text, read) in [
            ("80ms", Delay::Constant(0.08)),
            ("0.8ms", Delay::Constant(0.000_8)),
            ("exponential:1s", Delay::Exponential(1.0)),
            ("uniform:10ms,30ms", Delay::Uniform(0.01, 0.03)),
            ("normal:50ms, 5ms", Delay::Normal(0.05, 0.005)),
            ("log_normal:80ms,0.4", Delay::LogNormal(0.08, 0.4)),
            ("gamma:80ms,2", Delay::Gamma(0.08, 2.0)),
        ] {
            assert_eq!(delay(text), Ok(read), "{text}");
        }
        for text in ["pareto:1s", "uniform:3s,1s", "gamma:1s,0", "normal:1s", "log_normal:1s,x"] {
            assert!(delay(text).unwrap_err().contains("is not a delay; write it as"), "{text}");
        }
    }
}
