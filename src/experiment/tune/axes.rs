//! The axes of a tuning: flags of the server with the values that each may have, and the variants that they make.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::experiment::matrix::{Variant, VariantServer};
use crate::workload::reading::SpecValue;

/// Most variants that axes may make.
const MOST: usize = 512;
/// Axes whose values are numbers of accelerators.
const PARALLEL: [&str; 4] = ["tensor_parallel_size", "tensor_parallel", "pipeline_parallel_size", "data_parallel_size"];

/// Flag of the server and the values that it may have. The one in use today is first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TuneAxis {
    /// Its name, with `_`.
    pub name: String,
    /// The values: at least one.
    pub values: Vec<AxisValue>,
}

/// A value of an axis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AxisValue {
    /// Its name.
    pub name: String,
    /// The flags that it stands for; may be empty.
    pub flags: String,
    /// Factor by which it multiplies the accelerators.
    pub gpus: u32,
}

/// A variant of the server: a value of each axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TuneCandidate {
    /// The names of its values, joined.
    pub name: String,
    /// Place of its value on each axis.
    pub places: Vec<usize>,
    /// The flags of these values.
    pub flags: String,
    /// Accelerators that it takes.
    pub gpus: u32,
}

impl TuneCandidate {
    /// The server of this variant.
    pub fn variant(&self, server: &VariantServer) -> Variant {
        let flags = [server.flags.as_deref().unwrap_or_default(), &self.flags];
        let flags = flags.into_iter().filter(|flags| !flags.is_empty()).collect::<Vec<_>>().join(" ");
        let server = VariantServer { flags: Some(flags), gpus: Some(self.gpus), ..server.clone() };
        Variant { name: self.name.clone(), server }
    }

    /// The one axis on which it differs from `other`, by its place.
    pub fn differs_in(&self, other: &Self) -> Option<usize> {
        let mut differing = (0..self.places.len()).filter(|&axis| self.places[axis] != other.places[axis]);
        differing.next().filter(|_| differing.next().is_none())
    }
}

/// Returns all combinations of values, the last axis changing fastest. `gpus` is what the server takes without them.
pub(super) fn candidates(axes: &[TuneAxis], gpus: u32) -> Vec<TuneCandidate> {
    let none = TuneCandidate { name: String::new(), places: Vec::new(), flags: String::new(), gpus };
    axes.iter().fold(vec![none], |made, axis| {
        let with = |so_far: TuneCandidate| {
            axis.values.iter().enumerate().map(move |(place, value)| {
                let join = |one: &str, sign: &str, two: &str| {
                    let sign = if one.is_empty() || two.is_empty() { "" } else { sign };
                    format!("{one}{sign}{two}")
                };
                TuneCandidate {
                    name: join(&so_far.name, "-", &short(&value.name)),
                    places: [so_far.places.as_slice(), &[place]].concat(),
                    flags: join(&so_far.flags, " ", &value.flags),
                    gpus: so_far.gpus.saturating_mul(value.gpus),
                }
            })
        };
        made.into_iter().flat_map(with).collect()
    })
}

/// A value as part of a name of a folder.
fn short(value: &str) -> String {
    value.chars().map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '_' }).collect()
}

/// Reads the axes.
pub(super) fn read(place: SpecValue<'_>) -> Option<Vec<TuneAxis>> {
    let Value::Object(fields) = place.json()? else {
        return place.refuse("a table of flags, such as max_num_seqs = [64, 256]");
    };
    let axes: Result<Vec<TuneAxis>, String> = fields.iter().map(|(name, value)| axis(name, value)).collect();
    let axes = axes.map_err(|mistake| place.complain(&mistake)).ok()?;
    let number = axes.iter().map(|axis| axis.values.len()).try_fold(1_usize, usize::checked_mul);
    let mut names: Vec<String> = match number {
        Some(2..=MOST) => candidates(&axes, 1).into_iter().map(|made| made.name).collect(),
        Some(..2) => return place.reject("makes one variant; give an axis a second value"),
        _ => return place.reject(&format!("makes more than {MOST} variants; leave values out")),
    };
    names.sort_unstable();
    if let Some([twice, _]) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return place.reject(&format!("makes two variants called `{twice}`; give values names of their own"));
    }
    Some(axes)
}

/// Reads an axis: a list of values, or a table with the flags of each.
fn axis(name: &str, given: &Value) -> Result<TuneAxis, String> {
    let name = name.replace('-', "_");
    let name = name.as_str();
    let values: Result<Vec<AxisValue>, String> = match given {
        Value::Array(values) => values.iter().map(|value| plain(name, value)).collect(),
        Value::Object(values) => values.iter().map(|(of, value)| in_words(name, of, value)).collect(),
        _ => Err(format!("has `{name}`, which is no list of values, such as [64, 256], and no table of flags")),
    };
    match values? {
        none if none.is_empty() => Err(format!("has `{name}` without a value")),
        values => Ok(TuneAxis { name: name.to_owned(), values }),
    }
}

/// Returns a value as the server's own option of the axis's name has it. It is like `--max-num-seqs 64`. Of a switch
/// `--no-…` is its other value, as vLLM has it.
fn plain(name: &str, value: &Value) -> Result<AxisValue, String> {
    let option = name.replace('_', "-");
    let (text, flags) = match value {
        Value::Bool(true) => ("on".to_owned(), format!("--{option}")),
        Value::Bool(false) => ("off".to_owned(), format!("--no-{option}")),
        Value::Number(number) => (number.to_string(), format!("--{option} {number}")),
        Value::String(text) if !text.trim().is_empty() => {
            let quoted = shlex::try_quote(text).map_err(|_| format!("has a value of `{name}` with a NUL"))?;
            (text.clone(), format!("--{option} {quoted}"))
        }
        _ => return Err(format!("has {value} for `{name}`; a value is a number, a text, true or false")),
    };
    let gpus = match value.as_u64().and_then(|number| u32::try_from(number).ok()) {
        Some(number) if PARALLEL.contains(&name) && number > 0 => number,
        _ if PARALLEL.contains(&name) => return Err(format!("has {value} for `{name}`; it is a whole number")),
        _ => 1,
    };
    Ok(AxisValue { name: text, flags, gpus })
}

/// Returns a value with flags in words. It is like `fp8 = "--quantization fp8"` or
/// `two = { flags = "-tp 2", gpus = 2 }`.
fn in_words(name: &str, of: &str, value: &Value) -> Result<AxisValue, String> {
    let read = match value {
        Value::String(flags) => Some((flags.trim(), 1)),
        Value::Object(fields) if fields.keys().all(|key| key == "flags" || key == "gpus") => {
            let gpus = fields.get("gpus").map_or(Some(1), Value::as_u64);
            let gpus = gpus.and_then(|gpus| u32::try_from(gpus).ok()).filter(|gpus| *gpus > 0);
            fields.get("flags").and_then(Value::as_str).map(str::trim).zip(gpus)
        }
        _ => None,
    };
    let (flags, gpus) = read.ok_or_else(|| {
        format!("has {value} for `{name}.{of}`; write the flags in quotes, or {{ flags = \"…\", gpus = 2 }}")
    })?;
    Ok(AxisValue { name: of.to_owned(), flags: flags.to_owned(), gpus })
}
