//! The command lines of `assay agent` and `assay hosts`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{JsonArgs, StoreArgs, ViewArgs};

/// How the NATS server is reached.
#[derive(Debug, Args)]
pub(crate) struct BusArgs {
    /// Address of the NATS server: nats://host:4222, tls://host:4222. It needs JetStream (nats-server -js).
    #[arg(long, value_name = "URL", env = "ASSAY_NATS", hide_env_values = true)]
    pub(crate) nats: String,
    /// File with the seed of the NKey that the server knows this program by.
    #[arg(long, value_name = "FILE", env = "ASSAY_NATS_NKEY", hide_env_values = true)]
    pub(crate) nkey: Option<PathBuf>,
    /// Certificate of the authority that signed the server's, PEM. Connections without TLS are refused then.
    #[arg(long, value_name = "FILE", env = "ASSAY_NATS_CA", hide_env_values = true)]
    pub(crate) ca: Option<PathBuf>,
}

const AGENT_EXAMPLES: &str = "\
Examples:
  On one machine a NATS server, and on each host an agent:
    nats-server -js
    assay agent --nats nats://bus:4222
  Under another name than the host's, with a key:
    assay agent --nats tls://bus:4222 --ca ca.pem --nkey a.nkey --name a
  As a service (docs/guide/hosts.md):
    systemctl enable --now assay-agent

The agent opens no port. What a run may use here is said in its configuration, and by nobody else:
    [[target]]
    pattern = \"/mnt/bench/**\"
    write = true
Without one it uses null: and simulated arrays (sim:ARRAY), and reads and writes no storage.";

#[derive(Debug, Args)]
#[command(after_help = AGENT_EXAMPLES)]
pub(crate) struct AgentArgs {
    /// Name of this host: at most 40 letters, digits, - and _. [default: the host name up to its first dot]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// File that lists the targets which runs may use, and what may be written there. [default: null: and sim: alone]
    #[arg(long, value_name = "FILE", env = "ASSAY_AGENT_CONFIG", hide_env_values = true)]
    pub(crate) config: Option<PathBuf>,
    /// Be this many agents, NAME-1, NAME-2 and so on, for rehearsals: they use null: and simulated arrays alone.
    #[arg(
        long,
        value_name = "COUNT",
        conflicts_with = "config",
        value_parser = clap::value_parser!(u32).range(1..=10_000)
    )]
    pub(crate) swarm: Option<u32>,
    #[command(flatten)]
    pub(crate) bus: BusArgs,
}

/// Over which hosts a plan runs.
#[derive(Debug, Args)]
pub(crate) struct FleetArgs {
    /// Run the plan on these hosts at the same time, whose agents are on the NATS server of --nats: all, or names
    /// (a,b,c). {host} in a target stands for the name of the host; --rate is that of all hosts together.
    #[arg(long, value_name = "all|NAMES", value_delimiter = ',', requires = "nats")]
    pub(crate) hosts: Vec<String>,
    /// With --hosts: address of the NATS server.
    #[arg(long, value_name = "URL", env = "ASSAY_NATS", hide_env_values = true)]
    pub(crate) nats: Option<String>,
    /// With --hosts: file with the seed of the NKey that the server knows this program by.
    #[arg(long, value_name = "FILE", env = "ASSAY_NATS_NKEY", hide_env_values = true)]
    pub(crate) nkey: Option<PathBuf>,
    /// With --hosts: certificate of the authority that signed the server's, PEM.
    #[arg(long, value_name = "FILE", env = "ASSAY_NATS_CA", hide_env_values = true)]
    pub(crate) ca: Option<PathBuf>,
}

const ATTACH_EXAMPLES: &str = "\
Examples:
  Follow a run over several hosts whose `assay run` was killed, and store it:
    assay attach 261124-k7f2 --nats nats://bus:4222";

#[derive(Debug, Args)]
#[command(after_help = ATTACH_EXAMPLES)]
pub(crate) struct AttachArgs {
    /// Id of the run. What the store has of it is replaced.
    pub(crate) run: String,
    #[command(flatten)]
    pub(crate) bus: BusArgs,
    #[command(flatten)]
    pub(crate) view: ViewArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

const HOSTS_EXAMPLES: &str = "\
Examples:
  The hosts whose agents are connected, and how far their clocks are apart:
    assay hosts --nats nats://bus:4222
  The same for a program:
    ASSAY_NATS=nats://bus:4222 assay hosts --json
  A server with keys and TLS, in which each agent can do its own part alone:
    assay hosts init ./bus --host a,b --server bus.example.com
    nats-server -c ./bus/nats.conf";

#[derive(Debug, Args)]
#[command(after_help = HOSTS_EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct HostsArgs {
    #[command(subcommand)]
    pub(crate) verb: Option<HostsVerb>,
    /// Address of the NATS server: nats://host:4222, tls://host:4222.
    #[arg(long, value_name = "URL", env = "ASSAY_NATS", hide_env_values = true)]
    pub(crate) nats: Option<String>,
    /// File with the seed of the NKey that the server knows this program by.
    #[arg(long, value_name = "FILE", env = "ASSAY_NATS_NKEY", hide_env_values = true)]
    pub(crate) nkey: Option<PathBuf>,
    /// Certificate of the authority that signed the server's, PEM. Connections without TLS are refused then.
    #[arg(long, value_name = "FILE", env = "ASSAY_NATS_CA", hide_env_values = true)]
    pub(crate) ca: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) form: JsonArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum HostsVerb {
    /// Write a configuration of nats-server with a key for the coordinator and one for each agent. Keys that are there
    /// already stay, so that a host can be added later.
    Init {
        /// Folder for the configuration and the keys, created if absent.
        folder: PathBuf,
        /// Names of the agents.
        #[arg(long, value_name = "NAMES", value_delimiter = ',', required = true)]
        host: Vec<String>,
        /// Names and addresses by which the server is reached: connections are encrypted, and the certificate is made
        /// for these.
        #[arg(long, value_name = "NAMES", value_delimiter = ',')]
        server: Vec<String>,
        /// Address and port on which the server listens.
        #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:4222")]
        listen: String,
    },
}
