//! Network namespaces of a test's own: links are made with `ip`, and looked at from inside.

use std::fs::File;
use std::net::SocketAddr;
use std::process::Command;

use assay_host::{Flow, NetProbe};
use assay_record::NetPathFacts;
use nix::sched::{CloneFlags, setns};

/// The network to the iSCSI port of each address.
pub fn look(to: &[&str]) -> Vec<NetPathFacts> {
    let flow = |to: &&str| Flow { remote: SocketAddr::new(to.parse().unwrap(), 3260), local: None };
    NetProbe::default().look(&to.iter().map(flow).collect::<Vec<_>>())
}

/// Namespaces that are gone when dropped, whatever became of the test.
pub struct Namespaces {
    prefix: String,
    names: Vec<&'static str>,
}

/// Runs a command line; what it said where it failed.
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
    /// `None` where there can be none here; the reason goes to stderr.
    pub fn new(of: &str, names: &[&'static str]) -> Option<Self> {
        let mut made = Self { prefix: format!("assay-host-{}-{of}", std::process::id()), names: Vec::new() };
        for name in names {
            made.names.push(name);
            let created = run(&format!("ip netns add {}-{name}", made.prefix));
            if let Err(why) = created.and_then(|()| made.ip(&format!("{name}: link set lo up"))) {
                eprintln!("skipped: no network namespaces here: {why}");
                return None;
            }
        }
        Some(made)
    }

    /// `name: link add …` runs `ip` in that namespace; `@other` in it stands for another one's name.
    pub fn ip(&self, line: &str) -> Result<(), String> {
        let (name, rest) = line.split_once(": ").unwrap();
        run(&format!("ip -n {}-{name} {}", self.prefix, rest.replace('@', &format!("{}-", self.prefix))))
    }

    /// Lines of [`Self::ip`], none of which may fail.
    #[track_caller]
    pub fn all(&self, lines: &str) {
        for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
            self.ip(line).unwrap();
        }
    }

    /// Sets a parameter of a namespace: `ipv4/ip_forward`.
    #[track_caller]
    pub fn set(&self, name: &str, parameter: &str, value: &str) {
        self.inside(name, || std::fs::write(format!("/proc/sys/net/{parameter}"), value)).unwrap();
    }

    /// What `look` sees from inside.
    pub fn inside<T: Send>(&self, name: &str, look: impl FnOnce() -> T + Send) -> T {
        let file = File::open(format!("/run/netns/{}-{name}", self.prefix)).unwrap();
        std::thread::scope(|scope| {
            let inside = scope.spawn(|| {
                // Only this thread, which ends here, is moved.
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
