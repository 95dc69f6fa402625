//! The command line of the server.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use super::StoreArgs;

const SERVE_EXAMPLES: &str = "\
Examples:
  On this machine:
    assay serve
  The same, with permission to start runs on two targets:
    assay serve --allow-runs --target ./t.dat --target /mnt/nas
  For other machines, with a self-signed certificate:
    assay serve --listen 0.0.0.0:8443 --self-signed
  All of it in a file, with names for the targets (docs/guide/serve.md):
    assay serve --config /etc/assay/serve.toml
  From another machine through SSH, without opening a port:
    ssh -L 8080:127.0.0.1:8080 nas-tester

Changes (labels, notes, baselines, starting, stopping and deleting runs) need the token; on another address than \
loopback every page does. The token is made at first start and kept in a file with mode 0600.";

#[derive(Debug, Args)]
#[command(after_help = SERVE_EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own on the command line")]
pub(crate) struct ServeArgs {
    /// Where to listen. An address other than loopback requires TLS: --self-signed, or --cert and --key. [default:
    /// 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) listen: Option<SocketAddr>,
    /// A TOML file with listen, token_file, allow_runs, plans, [tls] and [[target]] (name, address). Options given
    /// here take precedence; targets and plans given here are added.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Allow runs to be started from the page, on the targets given here and in the configuration file.
    #[arg(long)]
    pub(crate) allow_runs: bool,
    /// A target that runs may be started on, as assay run takes it.
    #[arg(long, value_name = "TARGET")]
    pub(crate) target: Vec<String>,
    /// Runs may be started on the disks of this host and in the file systems on them too. As everywhere, nothing in use
    /// is written to, and a device only with its serial number or WWID.
    #[arg(long)]
    pub(crate) found: bool,
    /// A plan file that may be started, in addition to the suites.
    #[arg(long, value_name = "FILE")]
    pub(crate) plan: Vec<PathBuf>,
    /// Certificate for TLS, PEM.
    #[arg(long, value_name = "FILE", requires = "key", conflicts_with = "self_signed")]
    pub(crate) cert: Option<PathBuf>,
    /// Private key of the certificate, PEM.
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub(crate) key: Option<PathBuf>,
    /// Use TLS with a self-signed certificate, which is created once and kept next to the token.
    #[arg(long)]
    pub(crate) self_signed: bool,
    /// File of the token. [default: serve-token next to the store]
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Stop when standard input ends: the run that started the server is over.
    #[arg(long, hide = true)]
    pub(crate) until_stdin_ends: bool,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}
