//! Runs that were started from a page: processes of their own, which go on when the server ends.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use assay_analysis::quoted;
use assay_store::{Process, Reader, RunFilter, RunSlice, StoreAddress};

use crate::options::RunPermission;

/// Runs that may be going on at once: each loads the machine.
const RUNNING_MAX: usize = 4;
/// Runs that are remembered, for their pages.
const KEPT_MAX: usize = 32;
/// Bytes of what a run printed that a page shows.
const OUTPUT_BYTES_MAX: u64 = 64 << 10;

/// Every run that was started here.
#[derive(Debug, Default)]
pub(crate) struct Launches {
    kept: Vec<Arc<Launch>>,
    started: u64,
}

/// A run that was started here.
#[derive(Debug)]
pub(crate) struct Launch {
    pub(crate) number: u64,
    /// As it would be typed.
    pub(crate) command: String,
    /// `None` where it had ended before it was looked at.
    process: Option<Process>,
    /// What it printed. It has no name, so that the run can write to it when the server is gone.
    output: File,
    status: Mutex<Option<ExitStatus>>,
}

/// What is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    Run,
    Diagnose,
}

impl Verb {
    fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Diagnose => "diagnose",
        }
    }
}

/// Why nothing was started.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LaunchError {
    /// Too many are going on.
    #[error("{RUNNING_MAX} runs that were started here are in progress; wait until one ends, or stop one")]
    TooMany,
    /// The program could not be started.
    #[error("cannot start the run: {0}")]
    Start(#[from] std::io::Error),
}

impl Launches {
    /// Starts `assay run`, or another verb that makes a run, with these words.
    pub(crate) fn start(
        &mut self,
        permission: &RunPermission,
        store: &StoreAddress,
        verb: Verb,
        words: &[String],
    ) -> Result<Arc<Launch>, LaunchError> {
        if self.kept.iter().filter(|launch| launch.status().is_none()).count() >= RUNNING_MAX {
            return Err(LaunchError::TooMany);
        }
        let output = tempfile::tempfile()?;
        let child = Command::new(&permission.program)
            .arg(verb.name())
            .args(words)
            .arg("--own-session")
            .arg("--store")
            .arg(store.typed())
            .env("COLUMNS", "100")
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output.try_clone()?)
            .spawn()?;
        self.started += 1;
        let launch = Arc::new(Launch {
            number: self.started,
            command: std::iter::once(format!("assay {}", verb.name()))
                .chain(words.iter().map(|w| quoted(w)))
                .collect::<Vec<_>>()
                .join(" "),
            process: Process::of(child.id()),
            output,
            status: Mutex::default(),
        });
        let watched = Arc::clone(&launch);
        std::thread::Builder::new().name("run".into()).spawn(move || watched.wait(child))?;
        let ended = self.kept.iter().position(|launch| launch.status().is_some());
        if let (true, Some(ended)) = (self.kept.len() >= KEPT_MAX, ended) {
            self.kept.remove(ended);
        }
        self.kept.push(Arc::clone(&launch));
        Ok(launch)
    }

    /// Returns the run of that number.
    pub(crate) fn find(&self, number: u64) -> Option<Arc<Launch>> {
        self.kept.iter().find(|launch| launch.number == number).cloned()
    }
}

impl Launch {
    fn wait(&self, mut child: Child) {
        let status = child.wait().ok();
        *self.status.lock().unwrap_or_else(PoisonError::into_inner) = status;
    }

    /// Returns how its process ended; `None` while it is there.
    pub(crate) fn status(&self) -> Option<ExitStatus> {
        *self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what it printed last.
    pub(crate) fn output(&self) -> String {
        // Read at a place: the run's own writes go on from the position that all descriptors of the file share.
        let length = self.output.metadata().map_or(0, |metadata| metadata.len());
        let start = length.saturating_sub(OUTPUT_BYTES_MAX);
        let mut bytes = vec![0; usize::try_from(length - start).unwrap_or(0)];
        let read = self.output.read_at(&mut bytes, start).unwrap_or(0);
        bytes.truncate(read);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Returns the id of its run, once that is stored.
    pub(crate) fn run(&self, store: &Reader) -> Option<String> {
        run_of(store, self.process.as_ref()?)
    }
}

/// Returns the id of the newest run that a process wrote, once it is stored.
pub(crate) fn run_of(store: &Reader, process: &Process) -> Option<String> {
    let newest = RunSlice { skip: 0, limit: KEPT_MAX };
    let rows = store.list(&RunFilter::default(), newest).ok()?.runs.into_iter();
    rows.map(|listed| listed.row.run)
        .find(|run| store.process(run).ok().flatten().is_some_and(|writer| writer == *process))
}

#[cfg(test)]
mod tests {
    use assay_testkit::synthetic;

    use super::*;

    #[test]
    fn a_run_is_found_by_its_process_and_not_by_the_number_of_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = assay_store::Store::open(folder.path().join("store.sqlite")).expect("a store");
        let header = synthetic::header(synthetic::suite("vmware", 12));
        let writer = store.begin_run(&header, None, None).expect("a run");
        let this = Process::this().expect("/proc is mounted");
        assert_eq!(run_of(&store, &this), Some(header.run));
        let earlier = Process { started_ticks: this.started_ticks + 1, ..this.clone() };
        assert_eq!(run_of(&store, &earlier), None, "another process got its number");
        let rebooted = Process { boot_id: "another".into(), ..this };
        assert_eq!(run_of(&store, &rebooted), None, "another boot");
        drop(writer);
    }
}
