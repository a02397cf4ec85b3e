//! Values that are left out where they are written: a reader takes them for granted.

/// Whether a value is the usual one of its type, which is not written.
pub(crate) fn is_usual<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
