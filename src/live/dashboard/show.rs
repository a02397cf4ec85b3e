//! Draws a run on the whole terminal, five times a second; only what changed is sent.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use ratatui::backend::CrosstermBackend;
use ratatui::text::Line as TextLine;
use ratatui::widgets::Paragraph;
use ratatui::{Frame, Terminal};

use super::bottom::{self, wrapped};
use super::layout::Areas;
use super::palette::Ink;
use super::seen::{Seen, plain};
use super::{head, latency, load, server, timelines};
use crate::live::alt_screen::{Stage, say};
use crate::live::line::{Line, describe};
use crate::live::screen::{fits, wants_colour};
use crate::live::watched::Watched;

/// Time between two pictures.
const REDRAW: Duration = Duration::from_millis(200);
/// Lines of words that are shown, at most.
const SAID: usize = 3;

/// Shows `watched` until `stopped` hangs up. Where the terminal cannot be had, or is given back before that, lines do it.
pub(in crate::live) fn show(watched: &Watched, stopped: &Receiver<()>) {
    if let Some(stage) = Stage::enter() {
        let ended = draw_until(watched, &stage, stopped);
        drop(stage);
        match ended {
            Ok(Ended::Stopped) => return,
            // The fault that gave it back has said what it is.
            Ok(Ended::GivenBack) => {}
            Err(error) => {
                say(&format!("the dashboard cannot be drawn: {error}; here are lines instead"));
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
        terminal.draw(|frame| draw(&seen, frame))?;
        if stopped.recv_timeout(REDRAW) != Err(RecvTimeoutError::Timeout) {
            return Ok(Ended::Stopped);
        }
        if !stage.is_taken() {
            return Ok(Ended::GivenBack);
        }
    }
}

/// Draws all of it, or, where a person has made the terminal too small, a line.
pub(super) fn draw(seen: &Seen<'_>, frame: &mut Frame<'_>) {
    let whole = frame.area();
    if !fits(whole.width, whole.height) {
        let line = describe(&seen.snapshot, seen.now, seen.watched.plan.window_end);
        frame.render_widget(TextLine::from(line), whole);
        return;
    }
    let room = usize::from(whole.width).saturating_sub(2);
    let mut said: Vec<_> = seen.said.iter().flat_map(|line| wrapped(&plain(line), room)).collect();
    said.drain(..said.len().saturating_sub(SAID));
    let areas = Areas::of(whole, seen, said.len() as u16);
    head::draw(seen, frame, areas.head);
    load::draw(seen, frame, areas.load);
    latency::draw(seen, frame, areas.latency);
    if let Some(area) = areas.server {
        server::draw(seen, frame, area);
    }
    timelines::draw(seen, frame, areas.timelines, areas.rows_each);
    bottom::draw(seen, frame, areas.so_far, areas.failures);
    let said = said.into_iter().map(|line| TextLine::styled(format!(" {line}"), seen.ink.heading()));
    frame.render_widget(Paragraph::new(said.collect::<Vec<_>>()), areas.said);
}
