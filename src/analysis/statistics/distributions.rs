//! Quantiles and tails of the distributions that tests and intervals ask for.

use statrs::distribution::{ChiSquared, ContinuousCDF, StudentsT};
use statrs::function::gamma::checked_gamma_ur;

use crate::random::normal_quantile;

/// Degrees of freedom above which Student's t is nearly normal. From there on a quantile of it is computed from that of
/// the normal distribution. The search of `statrs` is 1 % off at some millions, and does not end from 17 million on.
const NEARLY_NORMAL: f64 = 1_000.0;

/// Returns the value that Student's t does not exceed with probability `p`. It has `freedom` degrees of freedom.
///
/// Not-a-number unless `p` lies in (0, 1) and `freedom` is above 0.
pub fn student_t_quantile(p: f64, freedom: f64) -> f64 {
    match StudentsT::new(0.0, 1.0, freedom) {
        Ok(_) if 0.0 < p && p < 1.0 && freedom >= NEARLY_NORMAL => nearly_normal_quantile(normal_quantile(p), freedom),
        Ok(t) if 0.0 < p && p < 1.0 => t.inverse_cdf(p),
        _ => f64::NAN,
    }
}

/// Returns the quantile of Student's t where that of the normal distribution is `z`. See Abramowitz and Stegun,
/// *Handbook of Mathematical Functions*, 26.7.5. Below 10⁻⁹ off from a thousand degrees of freedom on.
fn nearly_normal_quantile(z: f64, freedom: f64) -> f64 {
    let square = z * z;
    let polynomial = |factors: &[f64]| z * factors.iter().fold(0.0, |sum, factor| sum * square + factor);
    let terms = [
        polynomial(&[1.0, 1.0]) / 4.0,
        polynomial(&[5.0, 16.0, 3.0]) / 96.0,
        polynomial(&[3.0, 19.0, 17.0, -15.0]) / 384.0,
        polynomial(&[79.0, 776.0, 1_482.0, -1_920.0, -945.0]) / 92_160.0,
    ];
    z + terms.iter().rev().fold(0.0, |sum, term| (sum + term) / freedom)
}

/// Returns the chance that Student's t lies as far from 0 as `t`, or further. It has `freedom` degrees of freedom, and
/// either side counts.
///
/// Not-a-number unless `freedom` is above 0.
pub fn student_t_two_sided(t: f64, freedom: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom).map_or(f64::NAN, |student| 2.0 * student.sf(t.abs()))
}

/// The value that χ² with `freedom` degrees of freedom does not exceed with probability `p`.
///
/// Not-a-number unless `p` lies in (0, 1) and `freedom` is above 0.
pub fn chi_squared_quantile(p: f64, freedom: f64) -> f64 {
    match ChiSquared::new(freedom) {
        Ok(chi_squared) if 0.0 < p && p < 1.0 => chi_squared.inverse_cdf(p),
        _ => f64::NAN,
    }
}

/// Returns ln P(X > `x`) for a gamma variable of this `shape` and scale 1. 0 for `x` ≤ 0, −∞ where the probability is
/// smaller than a float can say.
pub fn ln_gamma_survival(shape: f64, x: f64) -> f64 {
    if x <= 0.0 { 0.0 } else { checked_gamma_ur(shape, x).map_or(f64::NEG_INFINITY, libm::log) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_close(found: f64, expected: f64, what: &str) {
        assert!((found - expected).abs() <= 1e-7 * expected.abs().max(1e-3), "{what}: {found}, not {expected}");
    }

    /// scipy 1.17.1: `t.ppf(0.975, df)`.
    #[test]
    fn student_t_is_scipys() {
        for (freedom, expected) in [
            (1.0, 12.706_204_736_174_694),
            (2.0, 4.302_652_729_749_462),
            (4.0, 2.776_445_105_197_793_4),
            (9.0, 2.262_157_162_798_205),
            (19.0, 2.093_024_054_408_307),
            (29.0, 2.045_229_642_132_703),
            (999.0, 1.962_341_461_133_449_3),
            (1_000.0, 1.962_339_080_826_408_3),
            (33_000.37, 1.960_035_873_332_874_7),
            (100_000.37, 1.959_987_707_446_833_5),
            (5_900_000.37, 1.959_964_386_619_979_2),
            (9_999_999.0, 1.959_964_221_767_228_6),
            (17_280_000.0, 1.959_964_121_824_278),
            (1e12, 1.959_963_984_542_426_2),
        ] {
            assert_close(student_t_quantile(0.975, freedom), expected, &format!("t with {freedom}"));
            assert_close(student_t_quantile(0.025, freedom), -expected, &format!("t with {freedom}"));
        }
        for (p, freedom, expected) in [
            (0.500_1, 1_000.0, 0.000_250_725_503_622_888_9),
            (0.9, 1_000.0, 1.282_398_721_460_924_7),
            (0.999_5, 1_000.0, 3.300_282_648_423_944),
            (0.999_999, 1_000.0, 4.781_608_620_452_439),
            (0.500_1, 1_000_000.0, 0.000_250_662_892_753_726_8),
            (0.9, 1_000_000.0, 1.281_552_412_129_939),
            (0.999_5, 1_000_000.0, 3.290_536_461_248_722_2),
            (0.999_999, 1_000_000.0, 4.753_452_348_273_869_5),
        ] {
            let found = student_t_quantile(p, freedom);
            assert!((found - expected).abs() <= 1e-9 * expected, "{p} of t with {freedom}: {found}");
        }
        assert!(student_t_quantile(1.0, 5.0).is_nan() && student_t_quantile(0.5, 0.0).is_nan());
    }

    /// scipy 1.17.1: `2 * t.sf(abs(t), df)`.
    #[test]
    fn tails_of_student_t_are_scipys() {
        for (t, freedom, expected) in [
            (0.5, 1.0, 0.704_832_764_699_133_5),
            (-2.3, 4.0, 0.082_939_037_112_382_36),
            (12.0, 7.3, 4.555_785_229_570_55e-6),
            (40.0, 3.0, 3.438_068_078_915_850_6e-5),
        ] {
            let found = student_t_two_sided(t, freedom);
            assert!((found - expected).abs() <= 1e-7 * expected, "t = {t}: {found}, not {expected}");
        }
    }

    /// scipy 1.17.1: `chi2.ppf(p, df)`.
    #[test]
    fn chi_squared_is_scipys() {
        for (p, freedom, expected) in [
            (1e-5, 3.0, 0.001_122_582_580_001_848),
            (1e-5, 70.0, 30.463_037_854_243_606),
            (0.001_25, 23.0, 7.739_831_609_034_319),
            (0.001_25, 1_000.0, 870.201_531_222_885_4),
            (0.025, 3.0, 0.215_795_282_623_897_85),
            (0.975, 23.0, 38.075_627_250_355_8),
            (0.998_75, 70.0, 111.241_279_650_236_83),
            (0.999_99, 3.0, 25.901_749_745_671_49),
            (0.999_99, 1_000.0, 1_202.304_496_654_492_6),
        ] {
            assert_close(chi_squared_quantile(p, freedom), expected, &format!("{p} of χ² with {freedom}"));
        }
        assert!(chi_squared_quantile(0.0, 3.0).is_nan() && chi_squared_quantile(0.5, -1.0).is_nan());
    }

    /// scipy 1.17.1: `gamma.logsf(x, shape)`.
    #[test]
    fn the_gamma_tail_is_scipys() {
        for (shape, x, expected) in [
            (0.01, 1e-11, -1.517_208_805_732_655_6),
            (0.01, 0.03, -3.532_413_172_188_826),
            (0.01, 200.0, -209.849_727_592_013_75),
            (0.25, 2.5e-10, -0.004_396_613_419_225_568),
            (0.25, 0.125, -1.022_088_026_470_138_6),
            (0.25, 200.0, -205.265_485_107_579_48),
            (1.0, 3.0, -3.0),
            (4.0, 2.0, -0.154_173_309_501_669_24),
            (4.0, 200.0, -185.881_770_246_959_51),
            (1_000.0, 1_000.0, -0.701_593_236_645_972_5),
        ] {
            assert_close(ln_gamma_survival(shape, x), expected, &format!("tail of gamma({shape}) at {x}"));
        }
        assert_eq!((ln_gamma_survival(2.0, 0.0), ln_gamma_survival(2.0, -1.0)), (0.0, 0.0));
        assert_eq!(ln_gamma_survival(2.0, 1e4), f64::NEG_INFINITY);
    }
}
