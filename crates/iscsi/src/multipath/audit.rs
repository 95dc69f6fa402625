//! Checks that the tables of the core agree with each other. For tests: it looks at every command.

use super::core::Core;
use super::{Path, State};
use crate::slots::{CommandState, Owner};

impl<B: AsRef<[u8]> + AsMut<[u8]>> Core<B> {
    /// Checks that every command is in exactly the places that its state names. The error says what is wrong.
    pub fn audit(&self) -> Result<(), String> {
        let mut waiting = 0;
        let mut paused = 0;
        for (user, slot) in self.slots.live() {
            waiting += usize::from(slot.place == CommandState::Waiting);
            paused += u32::from(matches!(slot.place, CommandState::Paused { .. }));
            if slot.owner == Owner::Free {
                return Err(format!("slot {user} is taken and has no owner"));
            }
        }
        expect("waiting", waiting, self.waiting.len())?;
        expect("paused", paused, self.paused_count)?;
        expect("owed to the caller", self.owed_to_caller(), self.completions.outstanding() as usize)?;
        self.paths.iter().try_for_each(|path| self.audit_path(path))
    }

    fn owed_to_caller(&self) -> usize {
        let of_caller = |slot: &crate::slots::Slot<B>| matches!(slot.owner, Owner::Caller { .. });
        self.slots.live().filter(|(_, slot)| of_caller(slot)).count() + self.completions.ready_count()
    }

    fn audit_path(&self, path: &Path) -> Result<(), String> {
        let index = path.index;
        let (mut fenced, mut bound, mut tasks) = (0, 0, 0);
        for (_, slot) in self.slots.live() {
            match slot.place {
                CommandState::Fenced { path } if path == index => fenced += 1,
                CommandState::Bound { path } if path == index => bound += 1,
                CommandState::Started { path } | CommandState::Sent { path } if path == index => tasks += 1,
                _ => {}
            }
        }
        expect("fenced", fenced, path.fenced_count)?;
        expect("bound", bound, path.pending.len())?;
        let in_session = match &path.state {
            State::Online(connection) => connection.session.task_count(),
            _ => 0,
        };
        expect("in the session", tasks, in_session)
    }
}

fn expect<T: PartialEq + std::fmt::Display + Copy>(what: &str, found: T, counted: T) -> Result<(), String> {
    if found == counted { Ok(()) } else { Err(format!("{what}: {found} commands, counted {counted}")) }
}
