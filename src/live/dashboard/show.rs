//! Draws a run on the whole terminal, five times a second; only what changed is sent.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use ratatui::backend::CrosstermBackend;
use ratatui::text::Line as TextLine;
use ratatui::widgets::Paragraph;
use ratatui::{Frame, Terminal};

use super::layout::Areas;
use super::view_state::{Theme, ViewState, plain};
use super::{bottom, charts, head, latency, load, server};
use crate::live::alt_screen::{AltScreen, FrameBuffer, say};
use crate::live::line::{ProgressLine, describe};
use crate::live::screen::{fits, wants_colour};
use crate::live::watched::WatchedRun;
use crate::live::wrap::wrapped;

/// Time between two frames.
const REDRAW: Duration = Duration::from_millis(200);
/// Most message lines shown.
const SAID: usize = 3;

/// Shows `watched` until `stopped` hangs up. Falls back to lines where the terminal cannot be taken or is
/// given back early.
pub(crate) fn show(watched: &WatchedRun, stopped: &Receiver<()>) {
    if let Some(alt_screen) = AltScreen::enter() {
        let ended = draw_until(watched, &alt_screen, stopped);
        drop(alt_screen);
        match ended {
            Ok(Ended::Stopped) => return,
            // The panic that gave it back has printed its message.
            Ok(Ended::GivenBack) => {}
            Err(error) => {
                say(&format!("the dashboard cannot be drawn: {error}; printing lines instead"));
            }
        }
    }
    ProgressLine::new(watched).print(stopped);
}

enum Ended {
    Stopped,
    /// The terminal was given back before the run was over.
    GivenBack,
}

fn draw_until(watched: &WatchedRun, alt_screen: &AltScreen, stopped: &Receiver<()>) -> io::Result<Ended> {
    let mut terminal = Terminal::new(CrosstermBackend::new(FrameBuffer::default()))?;
    let theme = if wants_colour(&io::stderr()) { Theme::Colours } else { Theme::Plain };
    let mut is_over = false;
    loop {
        let (now, snapshot) = watched.look();
        let state = ViewState { watched, now, snapshot, said: alt_screen.said(SAID), theme };
        terminal.draw(|frame| draw(&state, frame))?;
        if is_over {
            return Ok(Ended::Stopped);
        }
        // The last frame shows how the run ended.
        is_over = stopped.recv_timeout(REDRAW) != Err(RecvTimeoutError::Timeout);
        if !alt_screen.is_taken() {
            return Ok(Ended::GivenBack);
        }
    }
}

/// Draws the whole dashboard. It is one line where the user has made the terminal too small.
pub(super) fn draw(state: &ViewState<'_>, frame: &mut Frame<'_>) {
    let whole = frame.area();
    if !fits(whole.width, whole.height) {
        let line = describe(state.watched, &state.snapshot, state.now);
        frame.render_widget(TextLine::from(line), whole);
        return;
    }
    let room = usize::from(whole.width).saturating_sub(2);
    let mut said: Vec<_> = state.said.iter().flat_map(|line| wrapped(&plain(line), room)).collect();
    said.drain(..said.len().saturating_sub(SAID));
    let areas = Areas::new(whole, state, said.len() as u16);
    head::draw(state, frame, areas.head);
    load::draw(state, frame, areas.load);
    latency::draw(state, frame, areas.latency);
    if let Some(area) = areas.server {
        server::draw(state, frame, area);
    }
    charts::draw(state, frame, areas.charts);
    bottom::draw(state, frame, areas.so_far, areas.failures);
    let said = said.into_iter().map(|line| TextLine::styled(format!(" {line}"), state.theme.heading()));
    frame.render_widget(Paragraph::new(said.collect::<Vec<_>>()), areas.said);
}
