//! Sizes of images that are made for a run.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use crate::workload::reading::SpecValue;

/// Largest width or height, pixels.
const LARGEST: u32 = 8_192;

/// Width and height of an image, pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageSize {
    /// Its width.
    pub width: u32,
    /// Its height.
    pub height: u32,
}

impl ImageSize {
    /// Reads a size such as `"1024x768"`.
    pub(super) fn read(value: SpecValue<'_>) -> Option<Self> {
        let text = value.text()?;
        text.parse().ok().or_else(|| value.refuse(&format!("\"WIDTHxHEIGHT\", each from 1 to {LARGEST}")))
    }
}

impl FromStr for ImageSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let side = |text: &str| text.trim().parse().ok().filter(|side| (1..=LARGEST).contains(side));
        let sides = text.split_once(['x', '×']).and_then(|(width, height)| Some((side(width)?, side(height)?)));
        let (width, height) =
            sides.ok_or_else(|| format!("`{text}` is no size; write it like 1024x768, each from 1 to {LARGEST}"))?;
        Ok(Self { width, height })
    }
}

impl fmt::Display for ImageSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.width, self.height)
    }
}

impl Serialize for ImageSize {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
