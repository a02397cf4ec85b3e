//! The settings of both sides.

use super::args::{AbArgs, SideArgs};
use crate::cli::args::ServerArgs;
use crate::engine::BaseUrl;
use crate::experiment::AbSide;
use crate::session::run::LoadOption;
use crate::session::settings::{RequestSettings, RunSettings, Share};
use crate::session::{Mistakes, Stop};

impl AbArgs {
    /// How runs of A and of B are executed, whose prompts vary by this salt.
    pub(super) fn settings(&self, salt: u64) -> Result<[RunSettings; 2], Stop> {
        let args = self;
        let mut mistakes = Mistakes::default();
        for (name, url) in [("--a", &args.sides.a), ("--b", &args.sides.b)] {
            let parsed = url.as_ref().map(|url| url.parse::<BaseUrl>()).transpose();
            mistakes.note(parsed.map_err(|error| Stop::usage(format!("{name}: {error}"))));
        }
        if let Some(found) = mistakes.found() {
            return Err(found);
        }
        let requests = RequestSettings { salt: Some(salt), ..args.run.settings()? };
        let settings = |side| {
            Ok::<_, Stop>(RunSettings {
                server: args.server_of(side).settings()?,
                deployment: args.deployment.with_labels(args.sides.labels_of(side)).facts(),
                requests: requests.clone(),
                machine: args.machine.settings(),
                share: Share::default(),
                objectives: Vec::new(),
                load_option: LoadOption::OfAllRuns,
                screen: args.live.screen(),
            })
        };
        Ok([settings(AbSide::A)?, settings(AbSide::B)?])
    }

    /// The server of `side`.
    fn server_of(&self, side: AbSide) -> ServerArgs {
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
