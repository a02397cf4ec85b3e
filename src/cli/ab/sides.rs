//! The two sides as they were typed.

use super::args::{AbArgs, SideArgs};
use crate::cli::args::{DeploymentArgs, MachineArgs, RunArgs, ServerArgs, ShareArgs};
use crate::cli::flight::{Lowered, Setup};
use crate::engine::BaseUrl;
use crate::experiment::AbSide;
use crate::live::Screen;
use crate::session::Stop;

/// What was typed of both sides, each spelled out.
pub(super) struct Sides {
    servers: [ServerArgs; 2],
    deployments: [DeploymentArgs; 2],
    run: RunArgs,
    machine: MachineArgs,
    screen: Screen,
}

impl Sides {
    /// The sides, whose runs say texts of this salt.
    pub(super) fn of(args: &AbArgs, salt: u64) -> Result<Self, Stop> {
        for (name, url) in [("--a", &args.sides.a), ("--b", &args.sides.b)] {
            if let Some(url) = url {
                url.parse::<BaseUrl>().map_err(|error| Stop::usage(format!("{name}: {error}")))?;
            }
        }
        let mut run = args.run.clone();
        run.salt = Some(salt);
        Ok(Self {
            servers: AbSide::BOTH.map(|side| args.server_of(side)),
            deployments: AbSide::BOTH.map(|side| args.deployment.with_labels(args.sides.labels_of(side))),
            run,
            machine: args.machine,
            screen: args.live.screen(),
        })
    }

    pub(super) fn setup(&self, side: AbSide) -> Setup<'_> {
        let [a, b] = &self.servers;
        let [of_a, of_b] = &self.deployments;
        let (server, deployment) = match side {
            AbSide::A => (a, of_a),
            AbSide::B => (b, of_b),
        };
        Setup {
            server,
            deployment,
            run: &self.run,
            machine: self.machine,
            share: ShareArgs::default(),
            objectives: &[],
            lowered: Lowered::OfAllRuns,
            screen: self.screen,
        }
    }
}

impl AbArgs {
    /// The server of `side`.
    pub(super) fn server_of(&self, side: AbSide) -> ServerArgs {
        let SideArgs { a, b, b_engine, b_model, .. } = &self.sides;
        match (side, a, b) {
            (AbSide::A, Some(url), _) => self.server.at(Some(url.clone()), None, None),
            (AbSide::A, None, _) => self.server.clone(),
            (AbSide::B, _, url) => self.server.at(url.clone(), *b_engine, b_model.clone()),
        }
    }
}

impl SideArgs {
    /// Whether A and B are one address, however each is written.
    pub(super) fn are_one_address(&self) -> bool {
        let address = |url: &Option<String>| url.as_ref()?.parse::<BaseUrl>().ok();
        address(&self.a).is_some_and(|a| address(&self.b) == Some(a))
    }

    pub(super) fn labels_of(&self, side: AbSide) -> &[(String, String)] {
        match side {
            AbSide::A => &self.a_labels,
            AbSide::B => &self.b_labels,
        }
    }
}
