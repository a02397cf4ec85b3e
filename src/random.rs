//! Seeded, named streams of randomness that give the same numbers on every machine, for ever.
