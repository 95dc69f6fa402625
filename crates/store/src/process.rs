//! The process that writes a run: who asks it to stop must not stop another one that got its number since.

use std::fs;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Where the start of a process stands in `/proc/PID/stat`, counted from 0 after the name in parentheses (proc(5)).
const START_FIELD: usize = 19;

/// A process, distinguished from every other one on all machines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// When it started, clock ticks since the boot.
    pub started_ticks: u64,
    /// Which boot of which machine.
    pub boot_id: String,
    /// Name of the machine.
    pub host: String,
}

/// Why a process could not be asked to stop.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum StopError {
    /// It is gone.
    #[error("its process has ended already")]
    Gone,
    /// It runs on another machine, or before a reboot of this one.
    #[error("it runs on {host}, not on this machine; stop it there with Ctrl-C")]
    Elsewhere {
        /// Name of that machine.
        host: String,
    },
    /// The kernel refused.
    #[error("cannot send a signal to process {pid}: {why}")]
    Refused {
        /// Its number.
        pid: u32,
        /// What the kernel said.
        why: String,
    },
}

impl Process {
    /// Returns this process; `None` where `/proc` is not mounted.
    #[must_use]
    pub fn this() -> Option<Self> {
        Self::of(std::process::id())
    }

    /// Returns the process that has this number now; `None` if there is none, or where `/proc` is not mounted.
    #[must_use]
    pub fn of(pid: u32) -> Option<Self> {
        Some(Self { pid, started_ticks: started_ticks(pid)?, boot_id: boot_id()?, host: host()? })
    }

    /// Returns true if it is on this machine, since its last boot.
    #[must_use]
    pub fn is_here(&self) -> bool {
        boot_id().is_some_and(|boot| boot == self.boot_id)
    }

    /// Returns true if it is on this machine and has not ended.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        self.is_here() && started_ticks(self.pid) == Some(self.started_ticks)
    }

    /// Sends it the signal of Ctrl-C.
    ///
    /// # Errors
    /// If it has ended, runs elsewhere, or belongs to another user.
    pub fn interrupt(&self) -> Result<(), StopError> {
        if !self.is_here() {
            return Err(StopError::Elsewhere { host: self.host.clone() });
        }
        let refused = |errno: Errno| match errno {
            Errno::SRCH => StopError::Gone,
            errno => StopError::Refused { pid: self.pid, why: errno.to_string() },
        };
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw).ok_or(StopError::Gone)?;
        // The descriptor stands for one process. Its number may be another's only before it was opened.
        let process = pidfd_open(pid, PidfdFlags::empty()).map_err(refused)?;
        if !self.is_alive() {
            return Err(StopError::Gone);
        }
        pidfd_send_signal(&process, Signal::INT).map_err(refused)
    }
}

/// Returns when a process started; `None` if there is none of that number, or only its remains.
fn started_ticks(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name may contain anything, parentheses and spaces too.
    let after_name = stat.rsplit_once(')')?.1;
    let mut fields = after_name.split_ascii_whitespace();
    match fields.next()? {
        "Z" | "X" => None,
        _ => fields.nth(START_FIELD - 1)?.parse().ok(),
    }
}

fn boot_id() -> Option<String> {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").ok().map(|text| text.trim().to_owned())
}

fn host() -> Option<String> {
    fs::read_to_string("/proc/sys/kernel/hostname").ok().map(|text| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_process_is_alive_until_it_ends_and_never_mistaken_for_a_later_one() {
        let this = Process::this().expect("/proc is mounted");
        assert!(this.is_alive());
        assert!(!Process { started_ticks: this.started_ticks + 1, ..this.clone() }.is_alive(), "a later one");
        let elsewhere = Process { boot_id: "another".into(), host: "far".into(), ..this.clone() };
        assert!(!elsewhere.is_alive());
        assert_eq!(elsewhere.interrupt(), Err(StopError::Elsewhere { host: "far".into() }));

        // Whoever starts the tests in the background has them ignore interrupts, and children inherit that.
        let mut child = Command::new("env")
            .args(["--default-signal=INT", "sleep", "1000"])
            .stdin(Stdio::null())
            .spawn()
            .expect("env of coreutils");
        let pid = child.id();
        let is_ready =
            || std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm == "sleep\n");
        let began = std::time::Instant::now();
        while !is_ready() {
            assert!(began.elapsed().as_secs() < 60, "`env` did not become `sleep`");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let process = Process { pid, started_ticks: started_ticks(pid).expect("it runs"), ..this };
        let mistaken = Process { started_ticks: process.started_ticks + 1, ..process.clone() };
        assert_eq!(mistaken.interrupt(), Err(StopError::Gone));
        assert!(process.is_alive(), "it was left alone");
        process.interrupt().expect("it may be stopped");
        let status = child.wait().expect("it ends");
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(2));
        assert!(!process.is_alive());
        assert_eq!(process.interrupt(), Err(StopError::Gone));
    }
}
