//! Replicas behind one address, which a header of their answers names.

use std::num::NonZeroU16;
use std::sync::{Mutex, PoisonError};

use http::{HeaderMap, HeaderName};

/// Most names that are kept. A header that differs in every answer names none.
const MOST: usize = 256;
/// Most characters of a name.
const CHARACTERS: usize = 64;

/// Names that a header of answers gave so far.
#[derive(Debug)]
pub(crate) struct Replicas {
    header: HeaderName,
    names: Mutex<Vec<String>>,
}

impl Replicas {
    /// Replicas that this header names.
    pub(crate) const fn named_by(header: HeaderName) -> Self {
        Self { header, names: Mutex::new(Vec::new()) }
    }

    /// Returns the place, from 1, of the name in these headers among all. Absent where there is none, and for names
    /// beyond the first 256.
    pub(crate) fn place(&self, headers: &HeaderMap) -> Option<NonZeroU16> {
        let value = headers.get(&self.header)?.to_str().ok()?.trim();
        let name: String = value.chars().take(CHARACTERS).collect();
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let known = names.iter().position(|known| *known == name);
        let place = known.or_else(|| {
            let is_new = !name.is_empty() && names.len() < MOST;
            is_new.then(|| {
                names.push(name);
                names.len() - 1
            })
        })?;
        NonZeroU16::new(place as u16 + 1)
    }

    /// The names, in the order of their places.
    pub(crate) fn names(&self) -> Vec<String> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner).clone()
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
        assert_eq!((places[253], places[254]), (Some(256), None), "a header that names answers");
    }
}
