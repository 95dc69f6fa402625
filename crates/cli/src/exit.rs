//! Exit codes: defined here, and printed by `assay --help`. The man page is made from the same words.

/// How a verb ended, as its exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Everything was done.
    Done = 0,
    /// It was begun, and something failed: I/O, a target, the store, the output.
    Errors = 1,
    /// It was refused before anything began; nothing was written anywhere.
    Refused = 2,
    /// A limit of --fail-if or of the plan is exceeded.
    Worse = 3,
    /// A limit is neither exceeded nor kept, as far as the results tell.
    Undecided = 4,
    /// A signal stopped it: Ctrl-C, SIGTERM, or SIGHUP when the terminal was closed.
    Interrupted = 130,
}

impl Exit {
    /// Returns the more severe of two: what is exceeded goes before what is undecided.
    pub(crate) fn or_worse(self, other: Self) -> Self {
        match (self, other) {
            (Self::Undecided, Self::Worse) | (Self::Worse, Self::Undecided) => Self::Worse,
            (a, b) if a as u8 >= b as u8 => a,
            (_, b) => b,
        }
    }
}

/// What `--help` says of them.
pub(crate) const HELP: &str = "\
Exit codes:
  0    done
  1    begun, and something failed: I/O errors, a target that was lost or could
       not be filled, closed or removed, a path that assay check finds down,
       results that could not be stored or printed
  2    refused: nothing was started, and nothing was written to any target
  3    done, and a limit of --fail-if or of the plan is exceeded
  4    done, and a limit is undecided: an interval contains it, a change is not
       proven, or the runs cannot be compared
  130  stopped by a signal: Ctrl-C, SIGTERM, or the terminal was closed (SIGHUP)";

/// An error after something had begun.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) exit: Exit,
    pub(crate) error: anyhow::Error,
}

impl Failed {
    pub(crate) fn new(exit: Exit, error: impl Into<anyhow::Error>) -> Self {
        Self { exit, error: error.into() }
    }

    /// Of an error that is words alone.
    pub(crate) fn says(exit: Exit, says: String) -> Self {
        Self { exit, error: anyhow::Error::msg(says) }
    }
}

impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for Failed {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.error.chain().nth(1)
    }
}

/// Returns the exit code of an error. Unless somebody says that something had begun, it had not.
pub(crate) fn of(error: &anyhow::Error) -> Exit {
    error.chain().find_map(|cause| cause.downcast_ref::<Failed>()).map_or(Exit::Refused, |failed| failed.exit)
}
