//! Every kind of target under one load: the engine that Assay used, the queue depth at the device, and IOPS compared
//! with fio.
//!
//! Neither tester is bound to a CPU: this compares what a user gets. Devices are loop devices over files on the disk,
//! so this case needs root.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use serde_json::Value;

use super::runners::{SETTLED, document_of, number};
use super::table::{Goal, Row};
use super::{BenchFolders, Options, servers};

/// Queue depth requested from both testers.
const DEPTH: u32 = 64;
/// Size of a loop device, MiB.
const DEVICE_MIB: u64 = 512;

/// Result of one run.
struct Seen {
    document: Value,
    /// Mean queue depth at the device, if it is a block device.
    queue: f64,
}

pub(crate) fn kinds(place: &BenchFolders, options: &Options) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    let own = |name: &str| options.disk.join(format!("assay-kinds-{}-{name}", std::process::id()));
    let mut clean = Cleaner::default();
    let file = clean.file(own("file"));
    rows.extend(kind("file on the disk", &file, &file, place, options)?);
    let device = clean.device(&own("loop"))?;
    rows.extend(kind("loop device", Path::new(&device), Path::new(&device), place, options)?);
    let node = clean.file(own("node"));
    done(Command::new("mknod").arg(&node).args(["b", &major_minor(&device)?.0, &major_minor(&device)?.1]))?;
    rows.extend(kind("node outside /dev", &node, &node, place, options)?);
    let parted = clean.device(&own("parted"))?;
    clean.partition(&parted)?;
    let partition = PathBuf::from(format!("{parted}p1"));
    rows.extend(kind("partition", &partition, &partition, place, options)?);
    let formatted = clean.device(&own("ext4"))?;
    let folder = clean.mount(&formatted, &own("mnt"))?;
    rows.extend(kind("file on ext4 on loop", &folder.join("t"), &folder.join("t"), place, options)?);
    rows.extend(kind("directory", &folder, &folder.join("assay-test.dat"), place, options)?);
    let memory = clean.file(PathBuf::from(format!("/dev/shm/assay-kinds-{}", std::process::id())));
    rows.extend(kind("file in memory", &memory, &memory, place, options)?);
    rows.extend(without_fio("null", "null:1GiB", place, options)?);
    rows.extend(without_fio("simulated array", "sim:nvme", place, options)?);
    let tgt = servers::lun(DEVICE_MIB)?;
    rows.extend(without_fio("LUN (tgt)", &servers::lun_address(&tgt), place, options)?);
    drop(tgt);
    let ganesha = servers::nfs()?;
    rows.extend(without_fio(
        "NFS (ganesha)",
        &servers::ours(&ganesha).display().to_string(),
        place,
        options,
    )?);
    Ok(rows)
}

/// Compares both testers on one target; fio gets the file itself where Assay gets its directory.
fn kind(
    name: &str,
    ours: &Path,
    theirs: &Path,
    place: &BenchFolders,
    options: &Options,
) -> anyhow::Result<Vec<Row>> {
    let prepared = watch(&mut assay(place, &ours.display().to_string(), options)?, None, options)?;
    let device = prepared.document.pointer("/targets/0/member/device/stack/0").and_then(Value::as_str);
    let (mut iops, mut queues) = (Vec::new(), Vec::new());
    let mut engine = String::new();
    for _ in 0..options.rounds {
        let we = watch(&mut assay(place, &ours.display().to_string(), options)?, device, options)?;
        engine = engine_of(&we.document);
        let they = watch(&mut fio(theirs, options), device, options)?;
        iops.push((
            number(&we.document, "/tests/0/total/iops")?,
            number(&they.document, "/jobs/0/read/iops")?,
        ));
        queues.push((we.queue, they.queue));
    }
    let name = format!("{name}: {engine}");
    Ok(vec![
        Row::new(&name, "IOPS", &iops, Goal::None),
        Row::new(&name, "I/Os in the device", &queues, Goal::None),
    ])
}

fn without_fio(
    name: &str,
    address: &str,
    place: &BenchFolders,
    options: &Options,
) -> anyhow::Result<Vec<Row>> {
    let seen = watch(&mut assay(place, address, options)?, None, options)?;
    let name = format!("{name}: {}", engine_of(&seen.document));
    let of = |what: &str| Ok::<_, anyhow::Error>([(number(&seen.document, what)?, f64::NAN)]);
    Ok(vec![
        Row::new(&name, "IOPS", &of("/tests/0/total/iops")?, Goal::None),
        Row::new(&name, "I/Os in flight", &of("/tests/0/outstanding_effective")?, Goal::None),
    ])
}

fn engine_of(document: &Value) -> String {
    document["targets"][0]["member"]["engine"].as_str().unwrap_or("?").to_owned()
}

fn assay(place: &BenchFolders, target: &str, options: &Options) -> anyhow::Result<Command> {
    let plan = place.scratch.join("kinds.toml");
    let text = format!(
        "name = \"kinds\"\nsize = \"128MiB\"\n[[test]]\nname = \"t\"\noutstanding = {DEPTH}\nwarmup = \"200ms\"\n\
         run = \"{}s\"\naccess = [{{ size = \"4KiB\", read = 100, random = 100 }}]\n",
        options.seconds
    );
    std::fs::write(&plan, text).with_context(|| format!("cannot write {}", plan.display()))?;
    let mut command = Command::new(&place.assay);
    command.arg("run").arg(plan).args([target, "--json", "--store"]).arg(place.scratch.join("runs.sqlite"));
    Ok(command)
}

fn fio(path: &Path, options: &Options) -> Command {
    let mut command = Command::new("fio");
    command.args(["--name=kinds", "--thread", "--time_based", "--norandommap", "--output-format=json"]);
    command.args(["--ioengine=io_uring", "--registerfiles=1", "--fixedbufs=1", "--rw=randread", "--bs=4k"]);
    command.args(["--direct=1", "--size=128m", "--ramp_time=200ms"]);
    command.arg(format!("--iodepth={DEPTH}")).arg(format!("--runtime={}", options.seconds));
    command.arg(format!("--filename={}", path.display()));
    command
}

/// Runs one tester and reads the device's counters while the load is certainly on.
fn watch(command: &mut Command, device: Option<&str>, options: &Options) -> anyhow::Result<Seen> {
    let program = command.get_program().display().to_string();
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let child = child.with_context(|| format!("cannot start {program}"))?;
    std::thread::sleep(SETTLED);
    let (began, before) = (Instant::now(), device.and_then(waited_ms));
    std::thread::sleep(Duration::from_secs(options.seconds.into()).saturating_sub(SETTLED));
    let (elapsed, after) = (began.elapsed(), device.and_then(waited_ms));
    let queue = match (before, after) {
        (Some(before), Some(after)) => (after - before) / (elapsed.as_secs_f64() * 1e3),
        _ => f64::NAN,
    };
    Ok(Seen { document: document_of(&program, &child.wait_with_output()?)?, queue })
}

/// Returns the total waiting time of all requests of a device, ms (field 11 of its `stat`). Its growth over a time is
/// the mean number of requests in the device.
fn waited_ms(device: &str) -> Option<f64> {
    let stat = std::fs::read_to_string(format!("/sys/class/block/{device}/stat")).ok()?;
    stat.split_whitespace().nth(10)?.parse().ok()
}

fn major_minor(device: &str) -> anyhow::Result<(String, String)> {
    let name = device.trim_start_matches("/dev/");
    let number = std::fs::read_to_string(format!("/sys/class/block/{name}/dev"))?;
    let (major, minor) = number.trim().split_once(':').context("a device has two numbers")?;
    Ok((major.to_owned(), minor.to_owned()))
}

/// Undoes everything in reverse order.
#[derive(Default)]
struct Cleaner {
    undo: Vec<Vec<String>>,
}

impl Cleaner {
    fn file(&mut self, path: PathBuf) -> PathBuf {
        self.undo.push(["rm", "-f", &path.display().to_string()].map(str::to_owned).into());
        path
    }

    /// Returns a loop device with direct I/O over a new file of random bytes.
    fn device(&mut self, backing: &Path) -> anyhow::Result<String> {
        let backing = self.file(backing.to_owned());
        let mut random = std::io::Read::take(File::open("/dev/urandom")?, DEVICE_MIB << 20);
        let mut file =
            File::create(&backing).with_context(|| format!("cannot create {}", backing.display()))?;
        std::io::copy(&mut random, &mut file)?;
        file.sync_all()?;
        let output =
            Command::new("losetup").args(["--direct-io=on", "--find", "--show"]).arg(&backing).output()?;
        if !output.status.success() {
            bail!("no loop device (root may make one): {}", String::from_utf8_lossy(&output.stderr));
        }
        let device = String::from_utf8(output.stdout)?.trim().to_owned();
        self.undo.push(["losetup", "--detach", &device].map(str::to_owned).into());
        Ok(device)
    }

    fn partition(&mut self, device: &str) -> anyhow::Result<()> {
        let script =
            format!("echo ',,83' | sfdisk --quiet --no-reread --no-tell-kernel --label dos {device}");
        done(Command::new("sh").args(["-c", &script]))?;
        done(Command::new("partx").args(["--add", device]))?;
        self.undo.push(["partx", "--delete", device].map(str::to_owned).into());
        Ok(())
    }

    fn mount(&mut self, device: &str, folder: &Path) -> anyhow::Result<PathBuf> {
        done(Command::new("mkfs.ext4").args(["-q", "-F", device]))?;
        std::fs::create_dir_all(folder)?;
        let name = folder.display().to_string();
        self.undo.push(["rmdir", &name].map(str::to_owned).into());
        done(Command::new("mount").args([device, &name]))?;
        self.undo.push(["umount", &name].map(str::to_owned).into());
        Ok(folder.to_owned())
    }
}

impl Drop for Cleaner {
    fn drop(&mut self) {
        for command in self.undo.iter().rev() {
            let is_undone = || done(Command::new(&command[0]).args(&command[1..])).is_ok();
            // The kernel releases a ring's files a moment after their process has ended.
            for _ in 0..20 {
                if is_undone() {
                    break;
                }
                std::thread::sleep(Duration::from_millis(100));
            }
        }
    }
}

fn done(command: &mut Command) -> anyhow::Result<()> {
    let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
    if output.status.success() {
        return Ok(());
    }
    bail!("{command:?} ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr))
}
