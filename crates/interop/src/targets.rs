//! Targets by their names in a file, and by their positions on the command line.

use std::collections::{HashMap, HashSet};

use crate::{ImportError, ImportOptions, Note, complain, without_secrets};

/// The targets that a file names.
#[derive(Debug)]
pub(crate) struct TargetNames {
    /// Each once, in the order of the file. Empty where a single target was given for several names.
    pub(crate) names: Vec<String>,
    /// For each user of targets, a worker or a job, the positions of its own.
    users: Vec<Vec<u32>>,
    use_of: TargetUse,
}

/// Whether the names of targets matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TargetUse {
    /// All I/O goes to all targets that are given.
    All,
    ByName,
}

impl TargetNames {
    /// `users` has the names for each user of targets.
    ///
    /// # Errors
    /// When the command line gives more or fewer targets than the file names.
    pub(crate) fn of(
        origin: &str,
        users: &[Vec<String>],
        options: &ImportOptions,
        notes: &mut Vec<Note>,
    ) -> Result<Self, ImportError> {
        let mut names: Vec<String> = Vec::new();
        // What a target is called is shown and kept.
        let users: Vec<Vec<String>> =
            users.iter().map(|user| user.iter().map(|name| without_secrets(name)).collect()).collect();
        let mut known: HashMap<&str, u32> = HashMap::new();
        let mut positions = Vec::new();
        for user in &users {
            let (mut own, mut has) = (Vec::new(), HashSet::new());
            for name in user {
                let next = u32::try_from(names.len()).unwrap_or(u32::MAX);
                let at = *known.entry(name).or_insert_with(|| {
                    names.push(name.clone());
                    next
                });
                if has.insert(at) {
                    own.push(at);
                }
            }
            positions.push(own);
        }
        let all = |names| Self { names, users: positions.clone(), use_of: TargetUse::All };
        match (names.len(), options.targets_given) {
            // An empty list is legal: whatever is given is used.
            (0 | 1, _) => Ok(all(names)),
            (named, Some(1)) => {
                let list = listed(&names);
                notes.push(Note::new(
                    0,
                    format!("The file names {named} targets ({list}); all I/O goes to the one given."),
                ));
                Ok(all(Vec::new()))
            }
            (named, Some(given)) if given != named => Err(complain(
                origin,
                0,
                format!(
                    "names {named} targets ({}), but {given} are given; give {named} in this order, or one for all \
                     I/O, or name them with --map \"{}=PATH\"",
                    listed(&names),
                    names[0]
                ),
            )),
            _ => Ok(Self { names, users: positions, use_of: TargetUse::ByName }),
        }
    }

    /// The targets of a user; empty: all that are given.
    pub(crate) fn of_user(&self, index: usize, active: usize) -> Vec<u32> {
        match self.use_of {
            TargetUse::All => Vec::new(),
            TargetUse::ByName => self.users[index].iter().take(active).copied().collect(),
        }
    }

    /// Number of targets that a user has; one where it uses all that are given, none where others have names and it
    /// has none.
    pub(crate) fn count(&self, index: usize) -> usize {
        let has_names = self.users.iter().any(|own| !own.is_empty());
        match (self.use_of, self.users[index].len()) {
            (TargetUse::ByName, count) => count,
            (TargetUse::All, 0) if has_names => 0,
            (TargetUse::All, _) => 1,
        }
    }
}

/// The first of many names.
fn listed(names: &[String]) -> String {
    const SHOWN: usize = 6;
    let more = if names.len() > SHOWN { ", …" } else { "" };
    names.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ") + more
}
