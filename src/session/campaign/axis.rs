//! Which loads a workload can have in a sweep.

use crate::experiment::{LoadAxis, SweepPlan};
use crate::session::console::Stop;
use crate::workload::{RequestClass, WorkloadSpec};

/// Refuses loads that a workload cannot have. They are rates of a closed loop, agents without sessions, and a search
/// for agents that nothing ends. `option` is the one that sweeps users.
pub(crate) fn check_axis(spec: &WorkloadSpec, plan: &SweepPlan, option: &str) -> Result<(), Stop> {
    match (spec.arrival.users(), &plan.axis) {
        (_, LoadAxis::Agents { .. }) if plan.objectives.is_empty() => Err(Stop::usage(
            "more agents only wait for longer: nothing says how many are too many\n\
             hint: say what their turns must meet, such as --objective \"p95 ttft < 2s\"",
        )),
        (_, LoadAxis::Agents { .. }) => check_agents(spec),
        (None, _) | (Some(_), LoadAxis::Users { .. }) => Ok(()),
        (Some(agents), _) if has_agents(spec) => Err(Stop::usage(format!(
            "`{}` has {agents} agents, so its rate depends on the server\n\
             hint: search for how many of them it carries, with {} and an --objective",
            spec.name,
            option.replace("users", "agents")
        ))),
        (Some(users), _) => Err(Stop::usage(format!(
            "`{}` is a closed loop of {users} users, so its rate depends on the server\n\
             hint: sweep the users, such as {option} 1:{users}:x2",
            spec.name
        ))),
    }
}

/// Whether users of a workload are agents: they have sessions or conversations.
fn has_agents(spec: &WorkloadSpec) -> bool {
    spec.classes.iter().any(RequestClass::continues)
}

/// Refuses agents of a workload without sessions.
pub(crate) fn check_agents(spec: &WorkloadSpec) -> Result<(), Stop> {
    if has_agents(spec) {
        return Ok(());
    }
    Err(Stop::usage(format!(
        "`{}` has no sessions, so it has no agents: each of its requests stands alone\n\
         hint: give a class a session (skyline guide agents) or a conversation, or take --users",
        spec.name
    )))
}
