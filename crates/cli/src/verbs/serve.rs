//! `assay serve`: stored and running runs as pages, and the server that `assay run --serve` starts for its own run.

mod config;

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, bail};
use assay_spec::{Address, without_secret};
use assay_store::StoreAddress;
use assay_web::{Limits, Options, RunPermission, RunTarget, Server, Tls};
use config::{Config, Protection};
use nix::sys::signal::{SigSet, Signal};

use crate::args::{ServeArgs, StoreArgs};
use crate::exit::Exit;
use crate::output::terminal::{note, say};
use crate::words::store::{open_store, store_if_any};

/// Where the server listens, if nothing else is said.
const LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 8080);
/// After the end of its run a server answers for so long: whoever looks sees the end.
const AFTER_RUN: Duration = Duration::from_secs(5);

pub(crate) fn serve(args: &ServeArgs) -> anyhow::Result<Exit> {
    for target in &args.target {
        target.parse::<Address>().with_context(|| format!("target `{}`", without_secret(target)))?;
    }
    let config = args.config.as_deref().map(config::read).transpose()?.unwrap_or_default();
    let store = args.store.address()?;
    // A store that cannot be used is reported here and not on the first page; one that is not there is created.
    if store_if_any(&args.store)?.is_none() {
        drop(open_store(&args.store)?);
    }
    let options = options(args, config, &store)?;
    let token_file = options.token_file.clone();
    // Until here a signal ends the program at once, also where a file that is named does not answer.
    let server = Server::bind(options)?;
    let signals = signals()?;
    say(&format!("{}\n", server.url()))?;
    note!("serving {store}; Ctrl-C stops the server, not the runs");
    note!("changes need the token in {}", token_file.display());
    if let Some(fingerprint) = server.fingerprint() {
        note!("certificate SHA-256 {fingerprint}");
    }
    let stopper = server.stopper();
    let on_signal = stopper.clone();
    let listen = move || {
        let _ = signals.wait();
        on_signal.stop();
    };
    std::thread::Builder::new().name("signals".into()).spawn(listen).context("cannot listen for Ctrl-C")?;
    if args.until_stdin_ends {
        let until_end = move || {
            let _ = std::io::stdin().read_to_end(&mut Vec::new());
            std::thread::sleep(AFTER_RUN);
            stopper.stop();
        };
        std::thread::Builder::new().name("stdin".into()).spawn(until_end).context("cannot start a thread")?;
    }
    server.run()?;
    Ok(Exit::Done)
}

/// Signals that end the server, or an agent. Threads inherit what is blocked, so this comes before any is started.
pub(super) fn signals() -> anyhow::Result<SigSet> {
    let mut signals = SigSet::empty();
    [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP].into_iter().for_each(|signal| signals.add(signal));
    signals.thread_block().context("cannot listen for Ctrl-C")?;
    Ok(signals)
}

fn options(args: &ServeArgs, config: Config, store: &StoreAddress) -> anyhow::Result<Options> {
    // What belongs to this user is kept where a store of this user would be.
    let own = store.file().map_or_else(assay_store::default_path, |file| Ok(file.to_owned()))?;
    let folder = own.parent().unwrap_or(Path::new("")).to_owned();
    let self_signed = || Tls::SelfSigned { folder: folder.clone() };
    let tls = match (&args.cert, &args.key, config.protection) {
        (Some(cert), Some(key), _) => Tls::Files { cert: cert.clone(), key: key.clone() },
        _ if args.self_signed => self_signed(),
        (.., Some(Protection::SelfSigned)) => self_signed(),
        (.., Some(Protection::Files { cert, key })) => Tls::Files { cert, key },
        (.., None) => Tls::Off,
    };
    let mut targets = config.targets;
    targets.extend(
        args.target.iter().map(|text| RunTarget { name: without_secret(text), address: text.clone() }),
    );
    let mut found = found(&targets);
    if args.found {
        targets.append(&mut found);
    }
    let mut plans = config.plans;
    plans.extend(args.plan.iter().cloned());
    let runs = match args.allow_runs || config.allow_runs {
        true if targets.is_empty() => bail!(
            "--allow-runs needs the targets that runs may be started on: add --target TARGET or --found, or [[target]] \
             to the file of --config"
        ),
        true => Some(RunPermission {
            program: std::env::current_exe()
                .context("cannot find the program itself, which runs are started with")?,
            targets,
            plans,
        }),
        false if !args.target.is_empty() || !args.plan.is_empty() || args.found => bail!(
            "--target, --found and --plan list what may be started from the page, and have no effect without \
             --allow-runs: add --allow-runs"
        ),
        false => None,
    };
    let token_file = args.token_file.clone().or(config.token_file);
    Ok(Options {
        listen: args.listen.or(config.listen).unwrap_or(LISTEN),
        store: store.absolute(),
        token_file: token_file.unwrap_or_else(|| folder.join("serve-token")),
        tls,
        runs,
        found,
        own_process: args.until_stdin_ends.then(std::os::unix::process::parent_id),
        limits: Limits::default(),
        tell: |says| note!("{says}"),
    })
}

/// Returns the storage of this host that is not among these targets.
fn found(targets: &[RunTarget]) -> Vec<RunTarget> {
    let of = |found: assay_host::Found| {
        let address = found.path.to_str()?.to_owned();
        let size = match found.size_bytes {
            0 => String::new(),
            bytes => format!(", {}", assay_report::size(bytes)),
        };
        let used = if found.is_used { ", in use: read only" } else { "" };
        Some(RunTarget { name: format!("{}{size}{used}", found.about), address })
    };
    let is_new = |found: &RunTarget| targets.iter().all(|target| target.address != found.address);
    assay_host::found_storage().into_iter().filter_map(of).filter(is_new).collect()
}

/// The server of a run: a process of its own, so that pages take nothing from the process that measures.
pub(crate) struct OwnServer {
    url: String,
    /// Its standard input ends with the run.
    _child: Child,
}

impl OwnServer {
    /// Starts it on a free port of loopback.
    pub(crate) fn start(args: &StoreArgs) -> anyhow::Result<Self> {
        let program =
            std::env::current_exe().context("cannot find the program itself, which serves the run")?;
        let mut child = Command::new(program)
            .args(["serve", "--listen", "127.0.0.1:0", "--until-stdin-ends", "--store"])
            .arg(args.address()?.typed())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start the server of the run")?;
        let output = child.stdout.take().context("the server of the run has no output")?;
        let mut url = String::new();
        BufReader::new(output).read_line(&mut url).context("the server of the run did not start")?;
        anyhow::ensure!(!url.trim().is_empty(), "the server of the run did not start; assay serve says why");
        Ok(Self { url: url.trim().to_owned(), _child: child })
    }

    /// Says where the run can be watched; it appears there as soon as its target is ready.
    pub(crate) fn announce(&self) {
        note!("watch this run: {}/own", self.url);
    }
}
