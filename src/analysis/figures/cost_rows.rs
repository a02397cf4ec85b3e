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
            "price of the GPUs for a million answer tokens; absent where the price or the number of GPUs is not \
             declared",
            "price of a GPU hour × GPUs × window / answer tokens × 10⁶",
        ],
    ),
    cost(
        Unit::MONEY,
        [
            "cost_per_answer",
            "cost of an answer",
            "price of the GPUs for an answer that was complete in the window; absent where the price or the number of \
             GPUs is not declared",
            "price of a GPU hour × GPUs × window / answers completed in the window",
        ],
    ),
    cost(
        Unit::MONEY,
        [
            "cost_per_acceptable_answer",
            "cost of an acceptable answer",
            "price of the GPUs for such an answer within its SLO, of the requested form, not wrong, and with golden \
             prompts that passed; absent where the price or the number of GPUs is not declared",
            "price of a GPU hour × GPUs × window / acceptable answers to the requests of the window",
        ],
    ),
    cost(
        Unit::JOULES,
        [
            "energy_per_million_output_tokens",
            "energy of 1M output tokens",
            "energy of all devices for a million answer tokens; absent where not all devices report it",
            "power × window / answer tokens × 10⁶",
        ],
    ),
    cost(
        Unit::JOULES,
        [
            "energy_per_answer",
            "energy of an answer",
            "energy of all devices for an answer that was complete in the window; absent where not all devices report \
             it",
            "power × window / answers completed in the window",
        ],
    ),
    cost(
        Unit::JOULES,
        [
            "energy_per_acceptable_answer",
            "energy of an acceptable answer",
            "energy of all devices for such an answer within its SLO, of the requested form, not wrong, and with \
             golden prompts that passed; absent where not all devices report it",
            "power × window / acceptable answers to the requests of the window",
        ],
    ),
];
