//! Which requests a run is about.

use super::*;

#[test]
fn what_analysis_holds_of_each_request_is_small() {
    assert!(size_of::<RequestRecord>() <= 320, "{}", size_of::<RequestRecord>());
    assert!(size_of::<Measured<'_>>() <= 24, "{}", size_of::<Measured<'_>>());
}
