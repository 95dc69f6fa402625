//! `assay` without a verb: a short look at this machine, or at a target, and what to type next.

use std::path::Path;

use anyhow::bail;
use assay_prepare::PrepareError;
use assay_report::text::wrap;
use assay_spec::suites::suite;
use assay_spec::units::Bytes;
use assay_spec::{Address, AddressError, IscsiPortal, NfsAddress, without_secret};
use clap::CommandFactory as _;

use crate::args::{Cli, StoreArgs};
use crate::exit::Exit;
use crate::foreign::as_typed;
use crate::open_store::store_if_any;
use crate::terminal::{say, text_options};

/// Size of a sector in sysfs, bytes; the same for all devices.
const SYSFS_SECTOR_BYTES: u64 = 512;
/// Disks that are listed.
const DISKS_MAX: usize = 8;

/// What is looked at where no verb is given; `None` where there is one, or an option.
pub(crate) fn without_verb(typed: &[String]) -> Option<anyhow::Result<Exit>> {
    let Some(first) = typed.first() else { return Some(home()) };
    let is_verb = Cli::command().get_subcommands().any(|verb| verb.get_name() == first);
    if first.starts_with('-') || is_verb || first == "help" {
        return None;
    }
    if looks_like_target(first) {
        return Some(targets(typed));
    }
    suite(first).map(|suite| {
        let name = suite.name;
        Err(anyhow::anyhow!(
            "{name} is a suite: assay run {name} TARGET runs it, assay suites show {name} prints it"
        ))
    })
}

/// Whether a word can only be meant as a target: it is an address, rightly written or not, it has a slash, or it is
/// there.
pub(crate) fn looks_like_target(word: &str) -> bool {
    let is_address = !matches!(word.parse(), Ok(Address::Path(_)) | Err(AddressError::Empty));
    is_address || word.contains('/') || word == "." || word == ".." || Path::new(word).exists()
}

/// What is here, and the first things to type.
fn home() -> anyhow::Result<Exit> {
    let commands = [
        ("assay run vmware ./t.dat --quick", "the VMware forum's four tests on a file, 5 s each"),
        ("assay run super-atto /mnt/nas", "throughput by block size, in a directory"),
        ("assay ./t.dat, assay /dev/sdX", "describe a target, without any load"),
        ("assay iscsi://HOST, nfs://HOST", "list what a server offers"),
        ("assay predict nas-4bay", "predict the performance of an array"),
        ("assay --help", "everything"),
    ];
    let width = text_options().width;
    let mut text = format!(
        "Assay {}: put your storage to the test.\n\n{}",
        env!("CARGO_PKG_VERSION"),
        command_list(&commands.map(|(command, what)| (command.to_owned(), what)), width)
    );
    let disks = disks();
    if !disks.is_empty() {
        text.push_str(&format!("\n{}\n", wrap(&format!("Disks here: {}", disks.join(", ")), width, "  ")));
    }
    let rows = store_if_any(&StoreArgs::of_environment())?.map_or(Ok(Vec::new()), |store| store.runs())?;
    if let Some(last) = rows.first() {
        let count = if rows.len() == 1 { "1 run".to_owned() } else { format!("{} runs", rows.len()) };
        let targets = last.targets.join(", ");
        let says =
            format!("Stored: {count}; the last is {}, {} on {targets}: assay show", last.run, last.name);
        text.push_str(&format!("\n{}\n", wrap(&says, width, "  ")));
    }
    say(&text)?;
    Ok(Exit::Done)
}

/// Whole disks with a size, as the kernel names them.
fn disks() -> Vec<String> {
    let Ok(entries) = std::fs::read_dir("/sys/block") else { return Vec::new() };
    let mut disks: Vec<String> = entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let name = entry.file_name().into_string().ok()?;
            let is_made = ["loop", "ram", "zram"].iter().any(|kind| name.starts_with(kind));
            let sectors: u64 =
                std::fs::read_to_string(entry.path().join("size")).ok()?.trim().parse().ok()?;
            let size = Bytes(sectors * SYSFS_SECTOR_BYTES).rounded();
            (sectors > 0 && !is_made).then(|| format!("/dev/{name} ({size})"))
        })
        .collect();
    disks.sort();
    if disks.len() > DISKS_MAX {
        let more = disks.len() - DISKS_MAX;
        disks.truncate(DISKS_MAX);
        disks.push(format!("{more} more"));
    }
    disks
}

/// A look at each target, and what to type next.
fn targets(typed: &[String]) -> anyhow::Result<Exit> {
    if let Some(suite) = typed[1..].iter().find_map(|word| suite(word)) {
        let target = without_secret(&typed[0]);
        bail!("the verb and the plan come before the target: assay run {} {target}", suite.name);
    }
    if let Some(option) = typed.iter().find(|word| word.starts_with('-')) {
        let target = without_secret(&typed[0]);
        bail!("{option} needs a verb: assay run PLAN {target}, or assay check {target}");
    }
    for target in typed {
        let seen = look(target)?;
        say(&next(target, &seen))?;
    }
    Ok(Exit::Done)
}

/// What of a target decides what can be typed next.
struct Seen {
    /// What `--overwrite` takes for it, where it is a device or LUN that has a name.
    identity: Option<String>,
    /// Whether it can be written at all, if that is typed.
    is_writable: bool,
    /// Whether it is a file of somebody else.
    is_foreign_file: bool,
}

/// Describes a target.
fn look(target: &str) -> anyhow::Result<Seen> {
    let path = Path::new(target);
    match target.parse::<Address>() {
        Ok(Address::Null { .. }) => say("null: completes every I/O at once; it measures Assay itself.\n")?,
        Ok(Address::Sim { array }) => {
            say(&format!("{target} simulates {array} in real time; assay arrays show {array} prints it.\n"))?;
        }
        Ok(Address::Path(_)) if !path.exists() => say(&missing(target, path)?)?,
        _ => {
            let found = crate::check::look(target, &StoreArgs::of_environment())?;
            let identity = found["identities"].get(0).and_then(serde_json::Value::as_str);
            return Ok(Seen {
                identity: identity.map(str::to_owned),
                is_writable: found["writable"].as_bool().unwrap_or(true),
                is_foreign_file: found["kind"] == "file" && found["made_by_assay"] == false,
            });
        }
    }
    Ok(Seen { identity: None, is_writable: true, is_foreign_file: false })
}

/// A file that a run would create.
fn missing(target: &str, path: &Path) -> anyhow::Result<String> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        bail!("{target} does not exist, and neither does the directory {}", folder.display());
    }
    let fs = assay_host::filesystem_of(folder)?;
    if fs.kind == "devtmpfs" {
        return Err(PrepareError::NoSuchDevice { path: target.to_owned() }.into());
    }
    let free = Bytes(fs.free_bytes).rounded();
    let says = format!(
        "{target} does not exist; assay run creates it ({} on {}, {free} free).",
        fs.kind, fs.mount_point
    );
    Ok(wrap(&says, text_options().width, "  ") + "\n")
}

/// What to type next, with the target as it was typed.
fn next(target: &str, seen: &Seen) -> String {
    let quoted = as_typed(target);
    let identity = match &seen.identity {
        Some(identity) => as_typed(identity),
        None if seen.is_foreign_file => quoted.clone(),
        None => "SERIAL".to_owned(),
    };
    let is_device = std::fs::metadata(target).is_ok_and(|metadata| {
        use std::os::unix::fs::FileTypeExt as _;
        metadata.file_type().is_block_device()
    });
    let is_lun = target.starts_with("iscsi://");
    let is_server = target.strip_prefix("iscsi://").is_some_and(|rest| IscsiPortal::parse(rest).is_some())
        || target.strip_prefix("nfs://").is_some_and(|rest| NfsAddress::parse_server(rest).is_some());
    if is_server {
        // The listing has said what to choose from.
        return String::new();
    }
    let lines = if is_device || is_lun || seen.is_foreign_file || !seen.is_writable {
        let read =
            (format!("assay run vmware {quoted} --quick --set read=100"), "read only: the content stays");
        let write =
            (format!("assay run vmware {quoted} --quick --overwrite {identity}"), "the content is lost");
        if seen.is_writable { vec![read, write] } else { vec![read] }
    } else if target.starts_with("null:") || target.starts_with("sim:") {
        vec![(format!("assay run vmware {quoted} --quick"), "the forum's four tests, 5 s each")]
    } else {
        vec![
            (format!("assay run vmware {quoted} --quick"), "the forum's four tests, 5 s each"),
            (format!("assay run super-atto {quoted} --quick"), "throughput by block size"),
        ]
    };
    format!("\nNext:\n{}", command_list(&lines, text_options().width))
}

/// Returns commands with what they do beside them; below them where the terminal is too narrow for both.
fn command_list(commands: &[(String, &str)], width: usize) -> String {
    let chars = |text: &str| text.chars().count();
    let longest = commands.iter().map(|(command, _)| chars(command)).max().unwrap_or(0);
    let fits = commands.iter().all(|(_, what)| longest + chars(what) + 4 <= width);
    let line = |(command, what): &(String, &str)| match fits {
        true => format!("  {command:<longest$}  {what}\n"),
        false => format!("  {command}\n      {what}\n"),
    };
    commands.iter().map(line).collect()
}
