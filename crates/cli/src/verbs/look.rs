//! `assay` without a verb: a short look at this machine, or at a target, and what to type next.

use std::path::Path;

use anyhow::bail;
use assay_prepare::check_new;
use assay_record::FilesystemFacts;
use assay_report::text::wrap;
use assay_spec::suites::suite;
use assay_spec::units::Bytes;
use assay_spec::{Address, IscsiPortal, NfsAddress, without_secret};
use assay_store::{Reader, RunFilter, RunSlice};
use clap::CommandFactory as _;

use crate::args::{Cli, StoreArgs, short_help};
use crate::exit::Exit;
use crate::output::terminal::{say, text_options};
use crate::words::store::store_if_any;
use crate::words::targets::looks_like_target;
use crate::words::typed::as_typed;

/// Size of a sector in sysfs, bytes; the same for all devices.
const SYSFS_SECTOR_BYTES: u64 = 512;
/// Sizes of a first run, the largest first.
const FIRST_SIZES: [Bytes; 3] = [Bytes(1 << 30), Bytes(256 << 20), Bytes(64 << 20)];
/// The smallest first run.
const LEAST: Bytes = Bytes(1 << 20);
/// It takes at most this part of the room.
const FIRST_PART: u64 = 4;
/// Memory that servers have, the most likely to hold a test first.
const SERVER_MEMORIES: [Bytes; 4] = [Bytes(16 << 30), Bytes(8 << 30), Bytes(4 << 30), Bytes(2 << 30)];
/// Disks that are listed.
const DISKS_MAX: usize = 8;

/// What is looked at where no verb is given; `None` where there is one, or an option.
pub(crate) fn without_verb(typed: &[String]) -> Option<anyhow::Result<Exit>> {
    let Some(first) = typed.first() else { return Some(home()) };
    if typed == ["-h"] {
        return Some(say(&short_help()).map(|()| Exit::Done));
    }
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

/// What is here, and the first things to type.
fn home() -> anyhow::Result<Exit> {
    let commands = [
        ("assay run vmware ./t.dat --quick --size 1GiB", "the VMware forum's tests on a file of 1 GiB, 20 s"),
        ("assay run super-atto /mnt/nas", "throughput by block size, in a directory"),
        ("assay ./t.dat, assay /dev/sdX", "describe a target, without any load"),
        ("assay iscsi://HOST, nfs://HOST", "list what a server offers"),
        ("assay predict nas-4bay", "predict the performance of an array"),
        ("assay -h", "all verbs"),
    ];
    let width = text_options().width;
    let mut text = format!(
        "Assay {}: put your storage to the test.\n\n{}",
        env!("CARGO_PKG_VERSION"),
        command_list(&commands.map(|(command, what)| (command.to_owned(), what.to_owned())), width)
    );
    let disks = disks();
    if !disks.is_empty() {
        text.push_str(&format!("\n{}\n", wrap(&format!("Disks here: {}", disks.join(", ")), width, "  ")));
    }
    // A look needs no store: without a home, or with a damaged one, what to type stands here all the same.
    let store = store_if_any(&StoreArgs::of_environment()).ok().flatten();
    let newest = |store: &Reader| {
        let last =
            store.rows(&RunFilter::default(), RunSlice { skip: 0, limit: 1 }).ok()?.into_iter().next()?;
        Some((last, store.count().ok()?))
    };
    if let Some((last, count)) = store.and_then(|store| newest(&store)) {
        let count = if count == 1 { "1 run".to_owned() } else { format!("{count} runs") };
        let targets = last.targets.join(", ");
        let says =
            format!("Stored: {count}; the last is {}, {} on {targets} (assay show)", last.run, last.name);
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
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
struct Seen {
    /// What `--overwrite` takes for it, where it is a device or LUN that has a name.
    identity: Option<String>,
    /// Whether it can be written at all, if that is typed.
    is_writable: bool,
    /// Whether it is a file of somebody else.
    is_foreign_file: bool,
    /// Whether Assay made it, and may have filled it.
    is_own: bool,
    /// Bytes that it holds or, where there is no file yet, that are free; `None` where that does not matter.
    room_bytes: Option<u64>,
    /// Whether it holds them already.
    is_filled: bool,
    /// Whether a plan would have to create a file in it, and cannot.
    is_closed: bool,
    /// Whether a server holds it, whose memory may answer in place of its disks.
    is_served: bool,
}

/// Describes a target.
fn look(target: &str) -> anyhow::Result<Seen> {
    let path = Path::new(target);
    match target.parse::<Address>() {
        Ok(Address::Null { .. }) => say("null: completes every I/O at once; it measures Assay itself.\n")?,
        Ok(Address::Sim { array }) => {
            crate::words::array::array(&array)?;
            say(&format!("{target} simulates {array} in real time; assay arrays show {array} prints it.\n"))?;
        }
        Ok(Address::Path(_)) if !path.exists() => {
            let (says, fs) = missing(target, path)?;
            say(&says)?;
            let is_served = FilesystemFacts::is_of_a_server(&fs.kind);
            return Ok(Seen { room_bytes: fs.free(), is_served, ..Seen::SIMULATED });
        }
        _ => {
            let found = super::check::look(target, &StoreArgs::of_environment())?;
            let identity = found["identities"].get(0).and_then(serde_json::Value::as_str);
            let is_writable = found["writable"].as_bool().unwrap_or(true);
            let held_bytes = found["size_bytes"].as_u64().filter(|bytes| *bytes > 0);
            return Ok(Seen {
                identity: identity.map(str::to_owned),
                is_writable,
                is_foreign_file: found["kind"] == "file" && found["made_by_assay"] == false,
                is_own: found["made_by_assay"] == true,
                is_filled: held_bytes.is_some(),
                room_bytes: held_bytes.or_else(|| {
                    found["filesystem"]["free_bytes"]
                        .as_u64()
                        .filter(|_| found["filesystem"]["size_bytes"] != 0)
                }),
                is_closed: found["kind"] == "directory" && !is_writable,
                is_served: found["kind"] == "lun"
                    || target.starts_with("nfs://")
                    || found["filesystem"]["kind"].as_str().is_some_and(FilesystemFacts::is_of_a_server),
            });
        }
    }
    Ok(Seen::SIMULATED)
}

impl Seen {
    /// A target that stores nothing.
    const SIMULATED: Self = Self {
        identity: None,
        is_writable: true,
        is_foreign_file: false,
        is_own: false,
        room_bytes: None,
        is_filled: false,
        is_closed: false,
        is_served: false,
    };

    /// Returns the option for the size of a first run, and what it says of that.
    fn sized(&self) -> (String, String) {
        let size = self.first_size();
        let option = size.map_or_else(String::new, |size| format!(" --size {size}"));
        // How much of an own file has been filled is in its mark.
        let part = if self.is_own { "what it lacks of " } else { "" };
        let fills = size.map(|size| format!("; fills {part}{} first", size.rounded()));
        (option, fills.unwrap_or_default())
    }

    /// Returns how much a first run writes before it measures, so that nobody waits for the size of a suite: a part of
    /// what there is room for, and of a small target all or half. `None` where its size does not matter.
    fn first_size(&self) -> Option<Bytes> {
        let room = self.room_bytes?;
        let small = if self.is_filled {
            room >> 20 << 20
        } else {
            (room / 2).checked_ilog2().map_or(0, |bits| 1 << bits)
        };
        let large = FIRST_SIZES.into_iter().find(|size| size.0 <= room / FIRST_PART);
        large.or(Some(Bytes(small)).filter(|small| small.0 >= LEAST.0))
    }

    /// Whether there is too little room for any test.
    fn is_full(&self) -> bool {
        !self.is_filled && self.room_bytes.is_some_and(|room| room / 2 < LEAST.0)
    }
}

/// A file that a run would create, and the file system there.
fn missing(target: &str, path: &Path) -> anyhow::Result<(String, FilesystemFacts)> {
    check_new(path)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let fs = assay_host::filesystem_of(folder)?;
    let free = fs.free().map_or(String::new(), |free| format!(", {} free", Bytes(free).rounded()));
    let says =
        format!("{target} does not exist; assay run creates it ({} on {}{free}).", fs.kind, fs.mount_point);
    Ok((wrap(&says, text_options().width, "  ") + "\n", fs))
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
    if is_server || seen.is_closed {
        // The listing has said what to choose from; or a file would have to be created where none can be.
        return String::new();
    }
    if seen.is_full() {
        return "\nNext: free some space there, or choose another place.\n".to_owned();
    }
    let is_kept = is_device || is_lun || seen.is_foreign_file || !seen.is_writable;
    let lines = if is_kept { kept_first(&quoted, &identity, seen) } else { made_first(&quoted, seen) };
    format!("\nNext:\n{}", command_list(&lines, text_options().width))
}

/// What to type first on a target whose content is somebody's, and can be lost.
fn kept_first(quoted: &str, identity: &str, seen: &Seen) -> Vec<(String, String)> {
    let (option, fills) = seen.sized();
    let read = (
        format!("assay run vmware {quoted} --quick --set read=100"),
        "four tests of 5 s, read only: the content stays".to_owned(),
    );
    let write = (
        format!("assay run vmware {quoted} --quick{option} --overwrite {identity}"),
        format!("four tests of 5 s{fills}: the content is lost"),
    );
    if seen.is_writable { vec![read, write] } else { vec![read] }
}

/// What to type first on a target that Assay makes.
fn made_first(quoted: &str, seen: &Seen) -> Vec<(String, String)> {
    let (option, fills) = seen.sized();
    let quick = format!("assay run vmware {quoted} --quick{option}");
    if quoted.starts_with("null:") || quoted.starts_with("sim:") {
        return vec![(quick, "the forum's four tests, 5 s each".to_owned())];
    }
    if seen.is_served {
        let network = (quick, format!("network and server{fills}, which fits in its memory"));
        // Twice the memory of a server, where there is room for that.
        let fits = |memory: &&Bytes| seen.room_bytes.is_none_or(|room| memory.0 * 2 <= room / 4 * 3);
        let disks = SERVER_MEMORIES.iter().find(fits).map(|memory| {
            let size = Bytes(memory.0 * 2);
            let command = format!("assay run vmware {quoted} --storage-ram {memory} --size {size}");
            (command, "its disks: the memory that it has, and twice as much".to_owned())
        });
        return std::iter::once(network).chain(disks).collect();
    }
    let sizes = format!("assay run super-atto {quoted} --quick{option}");
    vec![(quick, format!("four tests of 5 s{fills}")), (sizes, "throughput by block size".to_owned())]
}

/// Returns commands with what they do beside them; below them where the terminal is too narrow for both.
fn command_list(commands: &[(String, String)], width: usize) -> String {
    let chars = |text: &str| text.chars().count();
    let longest = commands.iter().map(|(command, _)| chars(command)).max().unwrap_or(0);
    let fits = commands.iter().all(|(_, what)| longest + chars(what) + 4 <= width);
    let line = |(command, what): &(String, String)| match fits {
        true => format!("  {command:<longest$}  {what}\n"),
        false => format!("  {command}\n      {what}\n"),
    };
    commands.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On a small file system the commands had no --size, and failed.
    #[test]
    fn a_first_run_fits_into_what_is_free() {
        let room = |mib: u64, is_filled| Seen { room_bytes: Some(mib << 20), is_filled, ..Seen::SIMULATED };
        let first_mib = |seen: &Seen| seen.first_size().map(|size| size.0 >> 20);
        for (free_mib, first) in
            [(1 << 20, Some(1024)), (2000, Some(256)), (30, Some(8)), (2, Some(1)), (1, None)]
        {
            let seen = room(free_mib, false);
            assert_eq!(first_mib(&seen), first, "{free_mib}");
            assert_eq!(seen.is_full(), first.is_none(), "{free_mib}");
        }
        // What is there already is used whole, where that is little.
        assert_eq!(first_mib(&room(8, true)), Some(8));
        assert!(!room(0, true).is_full() && !Seen::SIMULATED.is_full());
    }
}
