//! Two hosts on one machine: network namespaces with a link between, and a server that has the known ports, a port
//! mapper, and more than one address.

use std::process::{Command, Stdio};

use assay_testkit::ganesha::{self, Ganesha};
use assay_testkit::need;
use assay_testkit::story::{ProgramOutput, Running, Story, printed};

/// Addresses of the server. It serves IPv4 only; nobody has the last.
pub const FIRST: &str = "10.79.0.2";
pub const SECOND: &str = "10.79.0.3";
pub const REFUSED: &str = "fd79::2";
pub const NOBODY: &str = "10.79.0.9";

/// Gone when it is dropped, with the server in it.
pub struct Net {
    name: String,
    server: Option<Ganesha>,
}

impl Net {
    /// The server on a link of its own; `None`, and why, only where nobody may make one.
    pub fn start(name: &str) -> Option<Self> {
        if !need::root() || !need::programs(&["ip"]) {
            return None;
        }
        let mut net = Self { name: format!("assay-test-nfs-{name}-{}", std::process::id()), server: None };
        let (client, host) = (net.client(), format!("{}-server", net.name));
        let is_made = [&client, &host].iter().all(|space| ip(&["netns", "add", space]));
        if !is_made || !ip(&["-n", &host, "link", "set", "lo", "up"]) {
            need::skip("no network namespace can be made");
            return None;
        }
        let link =
            ["link", "add", "v0", "netns", &client, "type", "veth", "peer", "name", "v1", "netns", &host];
        assert!(ip(&link), "a veth between two namespaces");
        for (space, end, address) in [
            (&client, "v0", "10.79.0.1/24"),
            (&client, "v0", "fd79::1/64"),
            (&host, "v1", "10.79.0.2/24"),
            (&host, "v1", "10.79.0.3/24"),
            (&host, "v1", "fd79::2/64"),
        ] {
            let more: &[&str] = if address.contains("::") { &["nodad"] } else { &[] };
            assert!(ip(&[&["-n", space, "addr", "add", address, "dev", end], more].concat()), "{address}");
        }
        assert!(
            ip(&["-n", &client, "link", "set", "v0", "up"]) && ip(&["-n", &host, "link", "set", "v1", "up"])
        );
        net.server = ganesha::start_in(&net.name);
        assert!(
            net.server.is_some() || ganesha::start().is_none(),
            "a server that starts on loopback starts here"
        );
        net.server.is_some().then_some(net)
    }

    fn client(&self) -> String {
        format!("{}-client", self.name)
    }

    pub fn server(&self) -> &Ganesha {
        self.server.as_ref().expect("it runs as long as this")
    }

    /// The program on the other host, in the story's folder; `hosts` are the names it knows, as in /etc/hosts.
    pub fn command(&self, story: &Story, hosts: &str, args: &[&str]) -> Command {
        story.write("hosts", hosts);
        let inner = story.command(args);
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.client(), "sh", "-c"]);
        // `ip netns exec` gives it mounts of its own.
        command.arg("mount --bind hosts /etc/hosts && exec \"$@\"").arg("sh").arg(inner.get_program());
        command.args(inner.get_args()).current_dir(story.path("")).stdin(Stdio::null());
        for (key, value) in inner.get_envs() {
            match value {
                Some(value) => command.env(key, value),
                None => command.env_remove(key),
            };
        }
        command
    }

    pub fn start_assay(&self, story: &Story, args: &[&str]) -> Running {
        Running::of(self.command(story, "", args))
    }

    pub fn assay(&self, story: &Story, hosts: &str, args: &[&str]) -> ProgramOutput {
        printed(self.command(story, hosts, args).output().unwrap())
    }
}

impl Drop for Net {
    fn drop(&mut self) {
        self.server = None;
        for space in [self.client(), format!("{}-server", self.name)] {
            ip(&["netns", "del", &space]);
        }
    }
}

fn ip(args: &[&str]) -> bool {
    Command::new("ip").args(args).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}
