//! What is wrong with a text: all of it, each place with its remedy.
//!
//! The code that reads plans stops at the first complaint. [`Complaints::all_of`] has it read again without the place
//! that was complained about, until nothing is left to complain about; so the reading code need not know of it.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::fmt;

/// Complaints that are shown at most; more of them have one cause.
const TOLD_MAX: usize = 12;
/// Complaints that are looked for at most.
const FOUND_MAX: usize = 100;

/// A plan that could not be read or does not make sense: where, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanError {
    /// `plan.toml:12: test "sweep": access[0].read`, or the option it came from.
    pub place: String,
    /// What is wrong and what would do.
    pub message: String,
    /// What else is wrong in the same text.
    pub further: Vec<PlanError>,
}

impl PlanError {
    /// One complaint.
    pub fn new(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self { place: place.into(), message: message.into(), further: Vec::new() }
    }

    /// Several as one; `None` if there is none.
    pub(crate) fn of_all(all: Vec<Self>) -> Option<Self> {
        let mut all = all.into_iter();
        let first = all.next()?;
        Some(Self { further: all.collect(), ..first })
    }
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)?;
        for other in self.further.iter().take(TOLD_MAX - 1) {
            write!(f, "\n{}: {}", other.place, other.message)?;
        }
        match (self.further.len() + 1).saturating_sub(TOLD_MAX) {
            0 => Ok(()),
            more => write!(f, "\n… and {more} more"),
        }
    }
}

impl std::error::Error for PlanError {}

/// What a complaint is about, by where it begins in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    /// A key or a single value.
    Part(usize),
    /// A table or an array as a whole: what is missing in it may be what was complained about before.
    Table(usize),
}

impl Subject {
    pub(crate) fn start(self) -> usize {
        let (Self::Part(start) | Self::Table(start)) = self;
        start
    }
}

/// What of a text was complained about.
#[derive(Debug, Default)]
pub(crate) struct Complaints {
    /// What each complaint is about, by its place.
    subjects: RefCell<HashMap<String, Subject>>,
    /// Where the parts begin that are passed over.
    passed: RefCell<HashSet<usize>>,
    /// Where the tables begin that have such a part.
    incomplete: RefCell<HashSet<usize>>,
}

impl Complaints {
    /// Notes what a complaint of that place is about.
    pub(crate) fn note(&self, place: &str, subject: Subject) {
        self.subjects.borrow_mut().insert(place.to_owned(), subject);
    }

    /// Whether the part that begins there was complained about; the table that it is in then lacks it.
    pub(crate) fn passes_over(&self, part: usize, table: usize) -> bool {
        let is_passed = self.passed.borrow().contains(&part);
        if is_passed {
            self.incomplete.borrow_mut().insert(table);
        }
        is_passed
    }

    /// Reads a text, and if that fails all that is wrong with it.
    pub(crate) fn all_of<T>(&self, read: impl Fn() -> Result<T, PlanError>) -> Result<T, PlanError> {
        let mut found: Vec<(usize, PlanError)> = Vec::new();
        while found.len() < FOUND_MAX {
            let error = match read() {
                Ok(value) if found.is_empty() => return Ok(value),
                Ok(_) => break,
                Err(error) => error,
            };
            let subject = self.subjects.borrow().get(&error.place).copied();
            let follows = |start| !found.is_empty() && self.incomplete.borrow().contains(&start);
            match subject {
                Some(Subject::Table(start)) if follows(start) => {}
                // What a table lacks is lacking however often it is read.
                _ if found.iter().any(|(_, known)| *known == error) => break,
                _ => found.push((subject.map_or(usize::MAX, Subject::start), error)),
            }
            // A complaint of no known place, or one that was made before, would come for ever.
            if !subject.is_some_and(|subject| self.passed.borrow_mut().insert(subject.start())) {
                break;
            }
        }
        // In the order of the file: that is how a reader looks for them.
        found.sort_by_key(|(start, _)| *start);
        let found = found.into_iter().map(|(_, error)| error).collect();
        PlanError::of_all(found).map_or_else(&read, Err)
    }
}
