//! A run on the whole terminal: drawn anew five times a second, and only what changed is sent.

mod bottom;
mod head;
mod ink;
mod latency;
mod layout;
mod load;
mod server;
#[cfg(test)]
mod tests;
mod timelines;

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use console::strip_ansi_codes;
use ratatui::backend::CrosstermBackend;
use ratatui::text::Line as TextLine;
use ratatui::widgets::Paragraph;
use ratatui::{Frame, Terminal};

use self::bottom::wrapped;
use self::ink::Ink;
use self::layout::Areas;
use super::line::{Line, describe};
use super::screen::{fits, wants_colour};
use super::stage::Stage;
use super::view::Watched;
use crate::clock::Timestamp;
use crate::runner::Snapshot;
use crate::units::steers;

/// Time between two pictures.
const REDRAW: Duration = Duration::from_millis(200);
/// Lines of words that are shown, at most.
const SAID: usize = 3;

/// What there is to see at one moment.
struct Seen<'a> {
    watched: &'a Watched,
    now: Timestamp,
    snapshot: Snapshot,
    /// The last words that were said, oldest first.
    said: Vec<String>,
    ink: Ink,
}

/// Shows `watched` until `stopped` hangs up. Where the terminal cannot be had, or is given back before that, lines do it.
pub(super) fn show(watched: &Watched, stopped: &Receiver<()>) {
    if let Some(stage) = Stage::enter() {
        let ended = draw_until(watched, &stage, stopped);
        drop(stage);
        match ended {
            Ok(Ended::Stopped) => return,
            // The fault that gave it back has said what it is.
            Ok(Ended::GivenBack) => {}
            Err(error) => {
                super::say(&format!("the dashboard cannot be drawn: {error}; here are lines instead"));
            }
        }
    }
    Line::new(watched).print(stopped);
}

/// How a dashboard ended.
enum Ended {
    /// The run was over.
    Stopped,
    /// The terminal was given back before.
    GivenBack,
}

fn draw_until(watched: &Watched, stage: &Stage, stopped: &Receiver<()>) -> io::Result<Ended> {
    let mut terminal = Terminal::new(CrosstermBackend::new(stage.canvas()))?;
    let ink = if wants_colour() { Ink::Colours } else { Ink::Plain };
    loop {
        let (now, snapshot) = watched.look();
        let seen = Seen { watched, now, snapshot, said: stage.said(SAID), ink };
        terminal.draw(|frame| seen.draw(frame))?;
        if stopped.recv_timeout(REDRAW) != Err(RecvTimeoutError::Timeout) {
            return Ok(Ended::Stopped);
        }
        if !stage.is_taken() {
            return Ok(Ended::GivenBack);
        }
    }
}

impl Seen<'_> {
    /// Draws all of it, or, where a person has made the terminal too small, a line.
    fn draw(&self, frame: &mut Frame<'_>) {
        let whole = frame.area();
        if !fits(whole.width, whole.height) {
            let line = describe(&self.snapshot, self.now, self.watched.plan.window_end);
            frame.render_widget(TextLine::from(line), whole);
            return;
        }
        let room = usize::from(whole.width).saturating_sub(2);
        let mut said: Vec<_> = self.said.iter().flat_map(|line| wrapped(&plain(line), room)).collect();
        said.drain(..said.len().saturating_sub(SAID));
        let areas = Areas::of(whole, self, said.len() as u16);
        head::draw(self, frame, areas.head);
        load::draw(self, frame, areas.load);
        latency::draw(self, frame, areas.latency);
        if let Some(area) = areas.server {
            server::draw(self, frame, area);
        }
        timelines::draw(self, frame, areas.timelines, areas.rows_each);
        bottom::draw(self, frame, areas.so_far, areas.failures);
        let said = said.into_iter().map(|line| TextLine::styled(format!(" {line}"), self.ink.heading()));
        frame.render_widget(Paragraph::new(said.collect::<Vec<_>>()), areas.said);
    }
}

/// A text that can neither steer the terminal nor turn what stands beside it round: diagnostics come coloured, and may hold
/// what a server said.
fn plain(text: &str) -> String {
    strip_ansi_codes(text).chars().filter(|&c| !steers(c)).collect()
}
