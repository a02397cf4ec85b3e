//! How much arrival a gap was due as it went on.

use crate::analysis::statistics::ln_gamma_survival;
use crate::workload::GapForm;

/// The most that one gap counts for: e⁻⁷⁰⁰ is about as unlikely as a float can say.
const MOST: f64 = 700.0;

/// Independent gaps of one form with mean 1/rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gaps {
    pub(super) rate_per_s: f64,
    pub(super) form: GapForm,
}

impl Gaps {
    /// The hazard integrated over a gap that has lasted for so many seconds: −ln P(gap > seconds).
    pub(super) fn hazard(self, seconds: f64) -> f64 {
        let due = match self.form {
            GapForm::Gamma(shape) => -ln_gamma_survival(shape, shape * self.rate_per_s * seconds),
            GapForm::Weibull(shape) => self.weibull_power(shape, seconds),
        };
        due.clamp(0.0, MOST)
    }

    /// The same over the rest of a gap that was under way when the run began: −ln of rate · ∫ P(gap > u) du from
    /// `seconds` on (Cox, *Renewal Theory*, 1962, section 5.4).
    ///
    /// Gamma with shape k at z = k·rate·seconds: Q(k + 1, z) − z/k · Q(k, z). Weibull: Q(1/shape, (seconds/scale)^shape).
    pub(super) fn hazard_of_rest(self, seconds: f64) -> f64 {
        let due = match self.form {
            GapForm::Gamma(shape) => {
                let z = shape * self.rate_per_s * seconds;
                let (above, at) = (ln_gamma_survival(shape + 1.0, z), ln_gamma_survival(shape, z));
                -libm::log((libm::exp(above) - z / shape * libm::exp(at)).max(0.0))
            }
            GapForm::Weibull(shape) => -ln_gamma_survival(1.0 / shape, self.weibull_power(shape, seconds)),
        };
        due.clamp(0.0, MOST)
    }

    /// (seconds/scale)^shape, the scale being 1 ÷ (rate · Γ(1 + 1/shape)).
    fn weibull_power(self, shape: f64, seconds: f64) -> f64 {
        libm::pow(self.rate_per_s * libm::tgamma(1.0 + 1.0 / shape) * seconds, shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shape, seconds, and for gamma and then Weibull gaps with mean 1: a whole gap, the rest of one. scipy 1.17.1:
    /// `-d.logsf(x)` and `-log(quad(d.sf, x, inf))` with `d = gamma(k, scale=1/k)`,
    /// `weibull_min(k, scale=1/gamma_function(1 + 1/k))`.
    const BY_SCIPY: [(f64, f64, [f64; 4]); 7] = [
        (
            0.25,
            0.01,
            [
                0.283_124_163_032_368_54,
                0.008_059_361_304_658_164,
                0.699_927_102_316_116_7,
                0.005_767_991_336_300_593,
            ],
        ),
        (
            0.25,
            3.0,
            [
                2.301_950_427_281_925,
                1.255_783_725_345_984_7,
                2.912_950_630_243_940_5,
                0.405_375_724_014_693_63,
            ],
        ),
        (0.5, 0.5, [0.735_011_129_837_084_6, 0.386_925_998_477_289_37, 1.0, 0.306_852_819_440_054_66]),
        (
            0.5,
            3.0,
            [
                2.485_732_790_986_079_4,
                1.953_114_655_334_832_4,
                2.449_489_742_783_178,
                1.211_263_423_320_845_5,
            ],
        ),
        (1.0, 0.5, [0.5, 0.5, 0.5, 0.5]),
        (
            4.0,
            0.5,
            [
                0.154_173_309_501_669_24,
                0.656_265_253_298_905_5,
                0.042_185_611_831_948_51,
                0.684_842_550_606_119_4,
            ],
        ),
        (
            4.0,
            3.0,
            [6.078_421_580_356_184, 7.229_315_375_534_335, 54.672_552_934_205_02, 58.974_985_676_709_51],
        ),
    ];

    #[test]
    fn integrated_hazards_are_scipys() {
        for (shape, seconds, expected) in BY_SCIPY {
            let [gamma, weibull] = [GapForm::Gamma(shape), GapForm::Weibull(shape)]
                .map(|form| Gaps { rate_per_s: 2.0, form })
                .map(|gaps| [gaps.hazard(seconds / 2.0), gaps.hazard_of_rest(seconds / 2.0)]);
            let found = [gamma[0], gamma[1], weibull[0], weibull[1]];
            let near = |(found, expected): (&f64, f64)| (found - expected).abs() < 1e-7 * expected.max(1.0);
            assert!(
                found.iter().zip(expected).all(near),
                "{shape} at {seconds}: {found:?}, not {expected:?}"
            );
        }
        let gaps = Gaps { rate_per_s: 1.0, form: GapForm::Gamma(4.0) };
        assert_eq!((gaps.hazard(0.0), gaps.hazard_of_rest(0.0), gaps.hazard(1e6)), (0.0, 0.0, MOST));
    }
}
