//! Bytes per number of each format, and the units that multiply it.

use std::str::FromStr;

use strum::{Display, IntoStaticStr, VariantArray};

use super::hardware::Hardware;
use super::preset::{UnknownName, find};

/// The format of weights or of the KV cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Display, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum Precision {
    /// IEEE half precision.
    Fp16,
    /// bfloat16.
    Bf16,
    /// 8-bit floating point.
    Fp8,
    /// 4-bit integers with one 16-bit scale for 128 of them (AWQ, GPTQ). Multiplied as 16-bit numbers.
    Int4,
}

impl Precision {
    /// Bytes of one number.
    pub const fn bytes(self) -> f64 {
        match self {
            Self::Fp16 | Self::Bf16 => 2.0,
            Self::Fp8 => 1.0,
            // Four bits, and 2 bytes of scale for each group of 128.
            Self::Int4 => 0.5 + 2.0 / 128.0,
        }
    }

    /// Dense FLOP/s of `hardware` on weights in this format.
    ///
    /// fp8 weights on a chip without fp8 units, and int4 weights everywhere, are unpacked and multiplied in 16
    /// bits, as vLLM's Marlin kernels do: they save memory traffic only.
    pub fn peak_flops(self, hardware: &Hardware) -> f64 {
        match self {
            Self::Fp8 => hardware.fp8_flops.unwrap_or(hardware.bf16_flops),
            Self::Fp16 | Self::Bf16 | Self::Int4 => hardware.bf16_flops,
        }
    }
}

impl FromStr for Precision {
    type Err = UnknownName;

    /// `fp16`, `bf16`, `fp8` or `int4`.
    fn from_str(name: &str) -> Result<Self, UnknownName> {
        find("precision", Self::VARIANTS, |precision| precision.into(), name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fp8_doubles_the_peak_only_where_the_chip_has_it() {
        let peak = |gpu: &str, precision: &str| {
            precision.parse::<Precision>().unwrap().peak_flops(&gpu.parse().unwrap()) / 1e12
        };
        assert_eq!(peak("h100", "fp8"), 1_979.0);
        assert_eq!(peak("h100", "int4"), 989.5);
        assert_eq!(peak("a100-80g", "fp8"), 312.0);
    }
}
