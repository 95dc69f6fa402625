//! Waits until a run is in a phase.

use std::time::{Duration, Instant};

use super::Phase;
use super::place::{self, MEASURED, Place, Played, WARM_UP};
use crate::story::Running;

/// Longest wait; preparing the slowest target takes seconds on a busy machine.
const PATIENCE: Duration = Duration::from_secs(40);
const LOOK: Duration = Duration::from_millis(20);

/// Waits for the phase, or for the end of the program; returns what the store contains of the run then.
pub(super) fn wait_for(phase: Phase, place: &mut Place, running: &mut Running, jitter: Duration) -> Played {
    let into_phase = match phase {
        Phase::Prepare => {
            std::thread::sleep(jitter / 4);
            return Played::default();
        }
        Phase::Fill => {
            let deadline = Instant::now() + PATIENCE;
            while !place.is_written_to() && is_going_on(running, deadline) {
                std::thread::sleep(Duration::from_millis(1));
            }
            std::thread::sleep(jitter / 16);
            return Played::default();
        }
        Phase::WarmUp => Duration::ZERO,
        Phase::Measure => WARM_UP + Duration::from_millis(1200),
        // Workers drain and reconnect many times a second.
        Phase::Drain => WARM_UP + Duration::from_millis(600) + jitter * 4,
        // The check above takes a while, so most of these moments are near the end of the last step.
        Phase::Close => WARM_UP + MEASURED - Duration::from_millis(150),
    };
    let deadline = Instant::now() + PATIENCE;
    while place::played(&place.story).status.is_none() && is_going_on(running, deadline) {
        std::thread::sleep(LOOK);
    }
    std::thread::sleep(into_phase);
    let seen = place::played(&place.story);
    std::thread::sleep(jitter / 4);
    seen
}

fn is_going_on(running: &mut Running, deadline: Instant) -> bool {
    Instant::now() < deadline && running.child().try_wait().unwrap().is_none()
}
