//! Network namespaces for one test: links are created with `ip` and examined from inside.

use std::fs::File;
use std::process::Command;

use nix::sched::{CloneFlags, setns};

use crate::need;

/// Namespaces that are removed on drop.
#[derive(Debug)]
pub struct Namespaces {
    prefix: String,
    names: Vec<&'static str>,
}

/// Runs a command line; returns its output if it failed.
fn run(line: &str) -> Result<(), String> {
    let mut words = line.split_whitespace();
    let output = Command::new(words.next().unwrap()).args(words).output();
    match output {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(format!("{line}: {}", String::from_utf8_lossy(&output.stderr).trim())),
        Err(error) => Err(format!("{line}: {error}")),
    }
}

impl Namespaces {
    /// Creates the namespaces, each with its loopback up; skips the test if that is not possible.
    #[track_caller]
    pub fn new(of: &str, names: &[&'static str]) -> Option<Self> {
        if !need::root() || !need::programs(&["ip"]) {
            return None;
        }
        let mut made = Self { prefix: format!("assay-net-{}-{of}", std::process::id()), names: Vec::new() };
        for name in names {
            made.names.push(name);
            let created = run(&format!("ip netns add {}-{name}", made.prefix));
            if let Err(why) = created.and_then(|()| made.ip(&format!("{name}: link set lo up"))) {
                return need::or_skip("no network namespace", Err(why));
            }
        }
        Some(made)
    }

    /// Runs `ip` in a namespace: `name: link add …`; `@other` in it stands for another one's name.
    ///
    /// # Errors
    /// If `ip` fails.
    ///
    /// # Panics
    /// If the line names no namespace.
    pub fn ip(&self, line: &str) -> Result<(), String> {
        let (name, rest) = line.split_once(": ").unwrap();
        run(&format!("ip -n {}-{name} {}", self.prefix, rest.replace('@', &format!("{}-", self.prefix))))
    }

    /// Runs lines of [`Self::ip`], none of which may fail.
    ///
    /// # Panics
    /// If one fails.
    #[track_caller]
    pub fn all(&self, lines: &str) {
        for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
            self.ip(line).unwrap();
        }
    }

    /// Sets a parameter of a namespace: `ipv4/ip_forward`.
    ///
    /// # Panics
    /// If there is no such parameter.
    #[track_caller]
    pub fn set(&self, name: &str, parameter: &str, value: &str) {
        self.inside(name, || std::fs::write(format!("/proc/sys/net/{parameter}"), value)).unwrap();
    }

    /// Runs `look` inside a namespace; programs that it starts are inside as well.
    ///
    /// # Panics
    /// If `look` does.
    pub fn inside<T: Send>(&self, name: &str, look: impl FnOnce() -> T + Send) -> T {
        let file = File::open(format!("/run/netns/{}-{name}", self.prefix)).unwrap();
        std::thread::scope(|scope| {
            let inside = scope.spawn(|| {
                // Only this thread is moved, and it ends here.
                setns(file, CloneFlags::CLONE_NEWNET).unwrap();
                look()
            });
            inside.join().unwrap()
        })
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = run(&format!("ip netns del {}-{name}", self.prefix));
        }
    }
}
