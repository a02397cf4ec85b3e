//! The rows of the catalogue that say what answers cost, in money and energy.

use super::info::{FigureInfo, cost};
use super::unit::Unit;

/// Costs, in the order of the catalogue.
pub(super) const COSTS: [FigureInfo; 6] = [
    cost(
        Unit::MONEY,
        [
            "cost_per_million_output_tokens",
            "cost of 1M output tokens",
            "price of the GPUs and their energy, as given, for a million answer tokens; absent where no \
             price is given, or the number of GPUs or the power that it needs is not known",
            "(price of a GPU hour × GPUs + price of a kWh × kW) × window / answer tokens × 10⁶",
        ],
    ),
    cost(
        Unit::MONEY,
        [
            "cost_per_answer",
            "cost of an answer",
            "price of the GPUs and their energy, as given, for an answer complete in the window; absent likewise",
            "(price of a GPU hour × GPUs + price of a kWh × kW) × window / answers completed in the window",
        ],
    ),
    cost(
        Unit::MONEY,
        [
            "cost_per_acceptable_answer",
            "cost of an acceptable answer",
            "price of the GPUs and their energy, as given, for such an answer within its SLO, of the requested form, \
             not wrong, and with golden prompts that passed; absent likewise",
            "(price of a GPU hour × GPUs + price of a kWh × kW) × window / acceptable answers to the requests of the \
             window",
        ],
    ),
    cost(
        Unit::JOULES,
        [
            "energy_per_million_output_tokens",
            "energy of 1M output tokens",
            "energy of all devices for a million answer tokens; absent where its power is not known",
            "power × window / answer tokens × 10⁶",
        ],
    ),
    cost(
        Unit::JOULES,
        [
            "energy_per_answer",
            "energy of an answer",
            "energy of all devices for an answer that was complete in the window; absent where its power is \
             not known",
            "power × window / answers completed in the window",
        ],
    ),
    cost(
        Unit::JOULES,
        [
            "energy_per_acceptable_answer",
            "energy of an acceptable answer",
            "energy of all devices for such an answer within its SLO, of the requested form, not wrong, and with \
             golden prompts that passed; absent where its power is not known",
            "power × window / acceptable answers to the requests of the window",
        ],
    ),
];
