//! Replicas behind one address, which a header of their answers names.

use std::num::NonZeroU16;
use std::sync::{Mutex, PoisonError};

use http::{HeaderMap, HeaderName};

/// Most names that are kept. A header that has more is none of a replica's, and all are dropped.
const MOST: usize = 256;
/// Most characters of a name.
const CHARACTERS: usize = 64;

/// Names that a header of answers gave so far.
#[derive(Debug)]
pub(crate) struct Replicas {
    header: HeaderName,
    /// `None` where there were too many.
    names: Mutex<Option<Vec<String>>>,
}

impl Replicas {
    /// Replicas that this header names.
    pub(crate) const fn named_by(header: HeaderName) -> Self {
        Self { header, names: Mutex::new(Some(Vec::new())) }
    }

    /// Returns the place, from 1, of the name in these headers among all. Absent where there is none, and where there
    /// are more than 256.
    pub(crate) fn place(&self, headers: &HeaderMap) -> Option<NonZeroU16> {
        let value = headers.get(&self.header)?.to_str().ok()?.trim();
        let name: String = value.chars().take(CHARACTERS).collect();
        if name.is_empty() {
            return None;
        }
        let mut kept = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let names = kept.as_mut()?;
        let place = names.iter().position(|known| *known == name).unwrap_or(names.len());
        if place == MOST {
            *kept = None;
            return None;
        }
        if place == names.len() {
            names.push(name);
        }
        NonZeroU16::new(place as u16 + 1)
    }

    /// The names, in the order of their places.
    pub(crate) fn names(&self) -> Vec<String> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner).clone().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_places_in_the_order_in_which_they_came() {
        let replicas = Replicas::named_by(HeaderName::from_static("x-served-by"));
        let of = |name: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("x-served-by", name.parse().unwrap());
            replicas.place(&headers).map(NonZeroU16::get)
        };
        assert_eq!(["pod-b", "pod-a", " pod-b", ""].map(of), [Some(1), Some(2), Some(1), None]);
        assert_eq!(replicas.place(&HeaderMap::new()), None);
        assert_eq!(replicas.names(), ["pod-b", "pod-a"]);
        let places: Vec<_> = (0..300).map(|number| of(&number.to_string())).collect();
        assert_eq!((places[253], places[254], of("pod-a")), (Some(256), None, None), "a header that names answers");
        assert!(replicas.names().is_empty());
    }
}
