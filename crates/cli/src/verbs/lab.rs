//! `assay lab`: a simulated array as real portals on this machine.
//!
//! The array of `assay-sim` is a file (FUSE) whose answers take the model's time; tgt or nfs-ganesha serves it from a
//! network namespace of its own, over virtual links shaped to their rate. `up` builds all that, and one process stays
//! behind ([`serve`]). `down` goes by names, so it cleans up after any crash; only folders that are the lab's own
//! ([`owned`], [`data`]) are removed.

mod data;
mod fault;
mod network;
mod owned;
mod report;
mod serve;
mod server;
mod shell;
mod state;

use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use assay_model::array::{Array, LinkRate, ProtocolKind};
use assay_report::size;

use crate::args::{LabArgs, LabProtocol, LabUpArgs, LabVerb};
use crate::exit::{Exit, Failed};
use crate::output::terminal::{note, say};
use crate::words::array::array_text;
use shell::{Need, missing, run};
use state::{LINKS_MAX, Lab, Names};

/// Packages that every lab needs, by command.
const NEEDS: &[Need] =
    &[("ip", "iproute2"), ("tc", "iproute2"), ("setpriv", "util-linux"), ("setsid", "util-linux")];
const NEEDS_ISCSI: &[Need] = &[("tgtd", "tgt"), ("tgtadm", "tgt")];
const NEEDS_NFS: &[Need] = &[("ganesha.nfsd", "nfs-ganesha nfs-ganesha-vfs"), ("rpcbind", "rpcbind")];
/// The serving process is ready within this.
const UP_LIMIT: Duration = Duration::from_secs(30);
/// Processes that were killed are gone within this.
const DOWN_LIMIT: Duration = Duration::from_secs(10);
/// Links where an array file has none: the array is the limit.
const LINK_MBIT: u32 = 10_000;

pub(crate) fn lab(args: &LabArgs) -> anyhow::Result<Exit> {
    let name = &args.name;
    if !nix::unistd::geteuid().is_root() {
        bail!("a lab needs root, for network namespaces and mounts; run sudo assay lab ...");
    }
    match &args.verb {
        LabVerb::Up(up_args) => up(up_args, name),
        LabVerb::Status(status) => report::status(&Lab::read(name)?, status.json),
        LabVerb::Break(what) => {
            let broken = fault::break_(&mut Lab::read(name)?, what.what)?;
            say(&format!("{}; assay lab mend undoes it\n", sentence(&broken.says())))?;
            Ok(Exit::Done)
        }
        LabVerb::Mend => {
            let mended = fault::mend(&mut Lab::read(name)?)?;
            let text: String =
                mended.iter().map(|broken| format!("{}\n", sentence(&broken.mended()))).collect();
            say(if text.is_empty() { "Nothing was broken.\n" } else { &text })?;
            Ok(Exit::Done)
        }
        LabVerb::Down => down(name),
        LabVerb::Serve => serve::serve(name),
    }
}

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn up(args: &LabUpArgs, name: &str) -> anyhow::Result<Exit> {
    let names = Names::of(name);
    let (array, text) = array_text(&args.array)?;
    let lab = planned(args, name, &names, &array)?;
    check(&lab, &names)?;
    // Of several that build a lab of this name one creates its folder; the others change nothing.
    owned::create(&names.folder).with_context(|| format!("cannot create {}", names.folder.display()))?;
    let mut namespace = Namespace::Foreign;
    build(&lab, &names, &text, &mut namespace).map_err(|error| {
        // Half a lab would stand in the way of the next try.
        let _ = remove(&names, namespace, Some(&lab));
        Failed::new(Exit::Errors, error)
    })?;
    say(&report::introduction(&lab))?;
    Ok(Exit::Done)
}

/// Returns the lab that the command line means.
fn planned(args: &LabUpArgs, name: &str, names: &Names, array: &Array) -> anyhow::Result<Lab> {
    let protocol = match (args.iscsi, args.nfs, array.protocol.kind) {
        (true, ..) => LabProtocol::Iscsi,
        (_, true, _) | (_, _, ProtocolKind::Nfs) => LabProtocol::Nfs,
        _ => LabProtocol::Iscsi,
    };
    let (links, mbit) = match &args.links {
        Some(text) => links(text)?,
        None => (own_links(array), own_mbit(array)),
    };
    let data = match &args.data {
        Some(folder) => data::planned(folder, names)?,
        None => names.folder.join("data"),
    };
    Ok(Lab {
        name: name.to_owned(),
        array: array.name.clone(),
        title: array.title.clone(),
        protocol,
        links,
        mbit,
        mtu: args.mtu.unwrap_or_else(|| whole(array.link.mtu.value)),
        capacity_bytes: args.size.0,
        data,
        id: data::new_id()?,
        broken: Vec::new(),
    })
}

/// Reads `4x1GbE` as four links of 1000 Mbit/s.
fn links(text: &str) -> anyhow::Result<(u32, u32)> {
    let (count, rate) = match text.split_once(['x', 'X']) {
        Some((count, rate)) => (count.trim().parse().ok(), rate),
        None => (Some(1), text),
    };
    let mbit = match LinkRate::named(rate) {
        Some(LinkRate::Ethernet(gbit_s)) => Some(whole(gbit_s * 1000.0)),
        _ => rate.trim().to_ascii_lowercase().strip_suffix("mbe").and_then(|mbit| mbit.parse().ok()),
    };
    match (count.filter(|count| (1..=LINKS_MAX).contains(count)), mbit.filter(|mbit| *mbit > 0)) {
        (Some(count), Some(mbit)) => Ok((count, mbit)),
        _ => bail!("--links {text}: give 1 to {LINKS_MAX} links of Ethernet, like 4x1GbE, 10GbE or 2x100MbE"),
    }
}

fn own_links(array: &Array) -> u32 {
    whole(array.paths.count.value).clamp(1, LINKS_MAX)
}

fn own_mbit(array: &Array) -> u32 {
    match array.link.rate {
        LinkRate::Ethernet(gbit_s) => whole(gbit_s * 1000.0),
        _ => LINK_MBIT,
    }
}

/// The numbers of array files have been checked to be small and not negative.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "see above")]
fn whole(value: f64) -> u32 {
    value.round() as u32
}

/// Refuses what cannot work, before anything is built.
fn check(lab: &Lab, names: &Names) -> anyhow::Result<()> {
    if owned::exists(&names.folder)? || network::exists(names) {
        let down = state::command("down", &lab.name);
        bail!("the lab `{}` is up already, or was left by a crash; {down} removes it", lab.name);
    }
    let server = match lab.protocol {
        LabProtocol::Iscsi => NEEDS_ISCSI,
        LabProtocol::Nfs => NEEDS_NFS,
    };
    let packages = missing(&[NEEDS, server].concat());
    if !packages.is_empty() {
        bail!("a lab needs packages that are not installed: apt-get install {}", packages.join(" "));
    }
    if !Path::new("/dev/fuse").exists() {
        bail!("/dev/fuse is missing, so the array cannot be a file; load the module fuse (modprobe fuse)");
    }
    if let Some(interface) = network::taken(lab) {
        bail!("this host has an interface {interface}, a name that the lab needs; choose another --name");
    }
    for link in 1..=lab.links {
        let network = format!("{}.0/24", names.network(link));
        if !run(&format!("ip -o -4 addr show to {network}"))?.trim().is_empty() {
            bail!("this host has an address in {network}, which the lab needs; choose another --name");
        }
    }
    let folder = existing(&lab.data);
    let free = nix::sys::statvfs::statvfs(&folder).with_context(|| folder.display().to_string())?;
    let free_bytes = free.blocks_available().saturating_mul(free.fragment_size());
    if lab.capacity_bytes > free_bytes {
        bail!(
            "{} has {} free, less than the {} of the lab; choose a smaller --size or another --data",
            folder.display(),
            size(free_bytes),
            size(lab.capacity_bytes)
        );
    }
    Ok(())
}

/// Returns the nearest directory above a path that exists.
fn existing(path: &Path) -> PathBuf {
    path.ancestors().find(|folder| folder.is_dir()).unwrap_or_else(|| Path::new("/")).to_owned()
}

/// Whose the namespace of the server's name is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Namespace {
    /// This lab's.
    Own,
    /// Somebody else's, or there is none.
    Foreign,
}

fn build(lab: &Lab, names: &Names, array_text: &str, namespace: &mut Namespace) -> anyhow::Result<()> {
    std::fs::create_dir(names.mount_point())?;
    std::fs::write(names.array_file(), array_text)?;
    lab.array_now()?;
    // Before the data, so that `down` finds them after a crash.
    lab.write()?;
    data::create(lab)?;
    if lab.protocol == LabProtocol::Iscsi {
        std::fs::File::create_new(lab.data.join(server::LUN_FILE))?.set_len(lab.capacity_bytes)?;
    }
    network::create(names)?;
    *namespace = Namespace::Own;
    network::build(lab)?;
    let server = start(lab, names)?;
    wait_until_server(lab, Some(server))
}

/// Starts the serving process in the namespace, in a session of its own.
fn start(lab: &Lab, names: &Names) -> anyhow::Result<Child> {
    let program = std::env::current_exe().context("cannot find the program itself")?;
    let log = std::fs::File::create(names.log_file())?;
    let line = format!("setsid ip netns exec {}", names.namespace);
    shell::command(&line)
        .arg(program)
        .args(["lab", "serve", "--name", &lab.name])
        .stdout(Stdio::from(log.try_clone()?))
        .stderr(Stdio::from(log))
        .spawn()
        .with_context(|| format!("cannot run `{line}`"))
}

/// Waits until the server runs, or has ended where it shall not run; `started` is it where it has just been started.
fn wait_until_server(lab: &Lab, mut started: Option<Child>) -> anyhow::Result<()> {
    let names = lab.names();
    let deadline = Instant::now() + UP_LIMIT;
    loop {
        let served = report::served(&names);
        if served.as_ref().is_some_and(|served| served["serving"] == lab.is_serving()) {
            return Ok(());
        }
        let is_gone = match &mut started {
            // setsid and ip become the server, so that it has ended where they have, and is not yet in the namespace
            // while they run.
            Some(server) => server.try_wait()?.is_some(),
            None => pids(&names).is_empty(),
        };
        if is_gone || Instant::now() > deadline {
            let log = std::fs::read_to_string(names.log_file()).unwrap_or_default();
            let last: Vec<&str> = log.lines().rev().take(4).collect();
            let last: Vec<&str> = last.into_iter().rev().collect();
            bail!("the server of the lab does not start: {}", last.join("; "));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Returns the processes in the namespace of the server.
fn pids(names: &Names) -> Vec<String> {
    let said = run(&format!("ip netns pids {}", names.namespace)).unwrap_or_default();
    said.split_whitespace().map(str::to_owned).collect()
}

fn down(name: &str) -> anyhow::Result<Exit> {
    let names = Names::of(name);
    if !owned::exists(&names.folder)? && !network::exists(&names) {
        note!("the lab `{name}` is not up");
        return Ok(Exit::Done);
    }
    // After a crash it may be missing or cut.
    let lab = Lab::read(name).ok();
    let left =
        remove(&names, Namespace::Own, lab.as_ref()).map_err(|error| Failed::new(Exit::Errors, error))?;
    if let (Some(why), Some(lab)) = (left, &lab) {
        note!("the data in {} are left: {why}", lab.data.display());
    }
    say("The lab is removed.\n")?;
    Ok(Exit::Done)
}

/// Removes what a lab of this name can have left: processes, links, data. Mounts go with the processes. Returns the
/// reason if data are left.
fn remove(names: &Names, namespace: Namespace, lab: Option<&Lab>) -> anyhow::Result<Option<String>> {
    if namespace == Namespace::Own {
        kill_all(names)?;
        network::remove(names);
        server::remove_socket(names);
    }
    let left = lab.and_then(data::remove);
    match std::fs::remove_dir_all(&names.folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| names.folder.display().to_string())
        }
        _ => Ok(left),
    }
}

/// Ends all processes in the namespace of the server.
fn kill_all(names: &Names) -> anyhow::Result<()> {
    let deadline = Instant::now() + DOWN_LIMIT;
    loop {
        let pids = pids(names);
        if pids.is_empty() {
            return Ok(());
        }
        if Instant::now() > deadline {
            bail!("processes of the lab do not end: {}", pids.join(", "));
        }
        for pid in pids {
            shell::run_if_possible(&format!("kill -9 {pid}"));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[cfg(test)]
mod tests {
    use super::{links, state::Names};

    #[test]
    fn links_are_read_as_they_are_sold() {
        let check =
            |text: &str, expected: Option<(u32, u32)>| assert_eq!(links(text).ok(), expected, "{text}");
        check("4x1GbE", Some((4, 1000)));
        check("10GbE", Some((1, 10_000)));
        check("2x100MbE", Some((2, 100)));
        check("2.5gbe", Some((1, 2500)));
        check("9x1GbE", None);
        check("0x1GbE", None);
        check("4x8GFC", None);
        check("fast", None);
    }

    #[test]
    fn names_fit_into_what_the_kernel_takes() {
        let names = Names::of("abcdefgh");
        assert!(names.interface(8).len() <= 15, "the kernel's limit of a name of an interface");
        assert_ne!(names.network(1), Names::of("lab").network(1));
        assert_eq!(Names::of("lab").server_address(2), "198.18.2.2");
    }
}
