//! Sweeps as text.
