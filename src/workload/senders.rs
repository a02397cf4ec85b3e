//! Which requests a workload can have, and who can send them.

use super::{RequestClass, Tenant, WorkloadSpec};

impl WorkloadSpec {
    /// Whether there can be requests of this class: it has a share of them, or a trace that may name it.
    #[must_use]
    pub fn occurs(&self, class: &RequestClass) -> bool {
        class.weight > 0.0 || self.arrival.trace().is_some()
    }

    /// The tenants who send requests of this class; none where nobody tells tenants apart.
    pub fn senders(&self, class: &RequestClass) -> impl Iterator<Item = &Tenant> {
        self.tenants.iter().filter(|tenant| tenant.weight > 0.0 && tenant.sends(&class.name))
    }
}
