//! The command lines of `assay agent` and `assay hosts`.

use std::path::PathBuf;

use clap::Args;

use super::JsonArgs;

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

The agent opens no port. It answers requests for its clock, and starts no run; it opens, reads and writes no target.";

#[derive(Debug, Args)]
#[command(after_help = AGENT_EXAMPLES)]
pub(crate) struct AgentArgs {
    /// Name of this host on the bus: at most 40 letters, digits, - and _. [default: the host name up to its first dot]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) bus: BusArgs,
}

const HOSTS_EXAMPLES: &str = "\
Examples:
  The hosts whose agents are on the bus, and how far their clocks are apart:
    assay hosts --nats nats://bus:4222
  The same for a program:
    ASSAY_NATS=nats://bus:4222 assay hosts --json";

#[derive(Debug, Args)]
#[command(after_help = HOSTS_EXAMPLES)]
pub(crate) struct HostsArgs {
    #[command(flatten)]
    pub(crate) bus: BusArgs,
    #[command(flatten)]
    pub(crate) form: JsonArgs,
}
