//! (room in the making)
