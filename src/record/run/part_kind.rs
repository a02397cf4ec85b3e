//! The kinds of parts that figures of a run can be of.

/// Kind of a part of a run. It is what tells its requests apart, or its golden prompts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, strum::IntoStaticStr)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum PartKind {
    /// Their class.
    Class,
    /// Their priority.
    Priority,
    /// Their tenant.
    Tenant,
    /// The model that they ask for.
    Model,
    /// One of their tags: its name and its value, as in `country=de`.
    Tag,
    /// The slice of golden prompts, which are no requests of the plan.
    Slice,
    /// The phase of the load that they are scheduled in.
    Phase,
    /// Their place in a conversation.
    Turn,
    /// The agent of their session: the main one, or a sub-agent.
    Agent,
    /// The group of the length of their prompts.
    PromptLength,
    /// The server that they were sent to.
    Server,
    /// The address that they were sent to.
    Address,
}

impl PartKind {
    /// Kinds that the name of a figure can have: `p95 ttft of class chat`.
    pub const NAMED: [Self; 6] = [Self::Class, Self::Priority, Self::Tenant, Self::Model, Self::Tag, Self::Slice];

    /// Its name in those of figures and in files.
    pub fn name(self) -> &'static str {
        self.into()
    }
}
