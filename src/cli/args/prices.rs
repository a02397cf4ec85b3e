//! Prices of GPUs and of their energy, as typed.

use clap::{ArgGroup, Args};

use super::values::above_zero;
use crate::record::DeploymentFacts;
use crate::session::Stop;

/// What a GPU costs.
#[derive(Clone, Debug, Default, Args)]
#[command(group = ArgGroup::new("priced").multiple(true))]
pub(in crate::cli) struct PriceArgs {
    /// Price of a GPU hour: 2.5 for all, 2.5,0.9 in their order, or by name or hardware, such as b=0.90 or
    /// h100=2.50,l40s=0.90 [default: no price, or the file's]
    #[arg(long, value_name = "PRICE", value_delimiter = ',', value_parser = price, allow_negative_numbers = true,
        group = "priced")]
    gpu_hour: Vec<(Option<String>, f64)>,

    /// Currency of the prices, such as EUR, to show with them [default: none, or the file's]
    #[arg(long, value_name = "NAME", requires = "priced")]
    pub(in crate::cli) currency: Option<String>,
}

/// Price of energy, and the power where nothing measures it.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct EnergyArgs {
    /// Price of a kilowatt hour, to count beside --gpu-hour or alone. The power is what the
    /// devices report, else --watts [default: no price]
    #[arg(long, value_name = "PRICE", value_parser = above_zero, allow_negative_numbers = true, group = "priced")]
    price_per_kwh: Option<f64>,

    /// Power of each GPU, for the energy of answers where no device reports its own. The report says that it is
    /// claimed [default: what the devices report]
    #[arg(long, value_name = "WATTS", value_parser = above_zero, allow_negative_numbers = true)]
    watts: Option<f64>,
}

impl EnergyArgs {
    /// Returns the facts with this price and this power.
    pub(super) fn on(self, facts: DeploymentFacts) -> DeploymentFacts {
        DeploymentFacts { kwh_price: self.price_per_kwh, gpu_watts: self.watts, ..facts }
    }
}

impl PriceArgs {
    /// Returns the prices as if this price, or none, had been typed. The currency is this one, or the one that was
    /// typed.
    pub(super) fn fixed(&self, price: Option<f64>, currency: Option<String>) -> Self {
        let gpu_hour = price.map(|price| (None, price)).into_iter().collect();
        Self { gpu_hour, currency: currency.or_else(|| self.currency.clone()) }
    }

    /// Returns the price of a GPU of each thing of this noun. `found` has the names and the hardware of these things.
    pub(in crate::cli) fn of(&self, found: &[(String, Option<String>)], noun: &str) -> Result<Vec<Option<f64>>, Stop> {
        let typed = self.gpu_hour.as_slice();
        let is =
            |(own, hardware): &(String, Option<String>), name: &String| own == name || hardware.as_ref() == Some(name);
        let names: Vec<_> = typed.iter().filter_map(|(name, _)| name.as_ref()).collect();
        if let Some(unknown) = names.iter().find(|name| !found.iter().any(|found| is(found, name))) {
            let known: Vec<_> = found.iter().map(|(name, _)| name.as_str()).collect();
            return Err(Stop::usage(format!(
                "--gpu-hour prices {unknown}, which is not here\nhint: price one of {}",
                known.join(", ")
            )));
        }
        match typed {
            [] => Ok(vec![None; found.len()]),
            [(None, price)] => Ok(vec![Some(*price); found.len()]),
            _ if names.len() == typed.len() => {
                let price = |found: &(String, Option<String>)| {
                    let mut own = typed.iter().filter(|(name, _)| name.as_ref().is_some_and(|name| is(found, name)));
                    let name = &found.0;
                    match (own.next(), own.next()) {
                        (Some((_, price)), None) => Ok(Some(*price)),
                        (Some((_, one)), Some((_, other))) => Err(Stop::usage(format!(
                            "--gpu-hour has two prices of {name}: {one} and {other}\nhint: give one"
                        ))),
                        (None, _) => Err(Stop::usage(format!(
                            "--gpu-hour has no price of {name}\nhint: add one, such as {name}=2.5"
                        ))),
                    }
                };
                found.iter().map(price).collect()
            }
            _ if names.is_empty() && typed.len() == found.len() => {
                Ok(typed.iter().map(|(_, price)| Some(*price)).collect())
            }
            _ => Err(Stop::usage(format!(
                "--gpu-hour is given {} times, and there are {} {noun}s\n\
                 hint: give one price for all of them, or one for each in their order, or each with its name",
                typed.len(),
                found.len()
            ))),
        }
    }
}

/// A price, perhaps behind the name of what it is of: `2.5`, `h100=2.50`.
fn price(text: &str) -> Result<(Option<String>, f64), String> {
    match text.split_once('=') {
        Some((name, price)) => Ok((Some(name.trim().to_owned()), above_zero(price.trim())?)),
        None => Ok((None, above_zero(text)?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_one_price() {
        let found = [("fast", Some("h100")), ("slow", Some("l40s"))];
        let found = found.map(|(name, hardware)| (name.to_owned(), hardware.map(str::to_owned)));
        let of = |typed: &[&str]| {
            let gpu_hour = typed.iter().map(|text| price(text).unwrap()).collect();
            PriceArgs { gpu_hour, currency: None }.of(&found, "variant")
        };
        assert_eq!(of(&[]).unwrap(), [None, None]);
        assert_eq!(of(&["2"]).unwrap(), [Some(2.0); 2]);
        for two in [["2", "3"], ["h100=2", "slow=3"], ["l40s=3", "fast=2"]] {
            assert_eq!(of(&two).unwrap(), [Some(2.0), Some(3.0)], "{two:?}");
        }
        for (typed, why) in [
            (&["h100=2", "h100=3", "l40s=1"][..], "two prices of fast: 2 and 3"),
            (&["h100=2", "fast=3", "l40s=1"], "two prices of fast"),
            (&["h100=2"], "no price of slow"),
            (&["a10g=2"], "a10g, which is not here"),
            (&["1", "2", "3"], "given 3 times, and there are 2 variants"),
        ] {
            let refusal = of(typed).unwrap_err();
            assert!(refusal.message().contains(why), "{typed:?}: {}", refusal.message());
        }
    }
}
