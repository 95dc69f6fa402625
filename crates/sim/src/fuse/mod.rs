//! The simulated array as files: a FUSE file system that stores what is written and answers at the model's time.
//!
//! ```text
//!  tgtd, nfs-ganesha ── read, write ──> kernel ── FUSE ──> [`files`] ──> data in ordinary files, at once
//!                                                             └──────> [`clock`]: the model says when to answer
//! ```
//! Real servers put these files on a real network; so the array is simulated without its own links and protocol
//! ([`assay_model::array::Array::without_network`]). The kernel caches nothing of the files. Each answer is late by
//! what the host takes to wake a thread, which [`Served::late`] counts.

mod clock;
mod files;
mod served;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use assay_model::array::Array;
use fuser::{BackgroundSession, Config, MountOption, SessionACL};

use clock::Clock;
use files::Files;
pub use served::{Lateness, Served};

/// What is served, and where.
#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// The empty directory that the file system is mounted on.
    pub mount_point: PathBuf,
    /// The directory with the data.
    pub data: PathBuf,
    /// Bytes that all files together may have; random positions are taken to fall into a region of this size.
    pub capacity_bytes: u64,
}

/// A file system that is mounted. It ends when dropped.
pub struct Service {
    clock: Arc<Clock>,
    answering: Option<JoinHandle<()>>,
    session: Option<BackgroundSession>,
}

impl Service {
    /// Mounts the file system and answers from then on.
    ///
    /// # Errors
    /// Where /dev/fuse is missing or may not be used, the mount is refused, or the data cannot be read.
    pub fn start(array: &Array, options: &ServeOptions) -> io::Result<Self> {
        let clock = Arc::new(Clock::new(array, options.capacity_bytes));
        let files = Files::open(&options.data, options.capacity_bytes, Arc::clone(&clock))?;
        let answering = std::thread::Builder::new().name("answers".to_owned()).spawn({
            let clock = Arc::clone(&clock);
            move || clock.answer_in_time()
        })?;
        let mut service = Self { clock, answering: Some(answering), session: None };
        service.session = Some(mount(files, &options.mount_point)?);
        Ok(service)
    }

    /// Lets another array answer what comes from now on, as after a disk has failed. What is in flight is answered by
    /// the old one.
    pub fn change_array(&self, array: &Array) {
        self.clock.change_array(array);
    }

    /// Returns what has been served so far.
    pub fn served(&self) -> Served {
        self.clock.served()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // First the clock: it answers what is in flight at once, or unmounting would wait for it.
        self.clock.end();
        if let Some(answering) = self.answering.take() {
            // A panic there has been printed.
            let _ = answering.join();
        }
        // Without a user of the mount this ends the thread that reads requests; with one the kernel does it later.
        drop(self.session.take());
    }
}

fn mount(files: Files, mount_point: &Path) -> io::Result<BackgroundSession> {
    let mut config = Config::default();
    config.mount_options = vec![
        MountOption::FSName("assay-lab".to_owned()),
        MountOption::Subtype("assay".to_owned()),
        MountOption::NoDev,
        MountOption::NoSuid,
        MountOption::DefaultPermissions,
    ];
    // Servers may drop root's rights before they do I/O.
    config.acl = SessionACL::All;
    fuser::spawn_mount(files, mount_point, &config)
}
