//! `cargo xtask soak-day`: a run in verify mode over two paths, one of which is cut every minute. Prints the curves of
//! memory, descriptors, threads and the store, and fails if one of them grows, or if an I/O fails or is wrong.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use assay_testkit::proxy::Proxy;
use assay_testkit::tgt::Tgt;
use serde_json::Value;

use crate::bench::{build, target_folder};

const LUN_BYTES: u64 = 256 << 20;
/// Time between two cuts, and their length.
const CUT_EVERY: Duration = Duration::from_secs(60);
const CUT: Duration = Duration::from_secs(7);
/// Time between two looks.
const LOOK_EVERY: Duration = Duration::from_secs(10);
/// Part of the run after which nothing may grow any more.
const SETTLED: f64 = 0.2;
/// Growth of memory between the halves of that time that counts as none, KiB: a run keeps about 0.5 KB of each second
/// for its result, by a heap profile. Its lines that a lost store would need are 4 MiB after three quarters of an hour,
/// and stay so.
const MEMORY_SLACK_KIB: u64 = 4 * 1024;
const STORE_DAY_MB_MAX: f64 = 300.0;

/// What a look found.
#[derive(Debug, Clone, Copy)]
struct Look {
    at: Duration,
    memory_kib: u64,
    descriptors: usize,
    threads: usize,
    store_bytes: u64,
}

/// Arguments: `--minutes N` (120).
pub(crate) fn soak(args: &[String]) -> anyhow::Result<()> {
    let minutes = match args {
        [] => 120,
        [name, minutes] if name == "--minutes" => minutes.parse::<u64>()?,
        _ => anyhow::bail!("soak-day takes --minutes N"),
    };
    let folder = target_folder()?.join("soak-day");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder)?;
    let (assay, store) = (build()?, folder.join("soak.sqlite"));
    let target = Tgt::start(1, LUN_BYTES, &[]).map_err(anyhow::Error::msg)?;
    let paths = [Proxy::start(&target.portals[0]), Proxy::start(&target.portals[0])];
    let plan = folder.join("plan.toml");
    std::fs::write(
        &plan,
        format!(
            "name = \"soak\"\nsize = \"128MiB\"\n[[test]]\nname = \"soak\"\noutstanding = 16\nverify = true\n\
             rate = \"1000/s\"\nrun = \"{minutes}min\"\naccess = [{{ size = \"8KiB\", read = 60, random = 100 }}]\n"
        ),
    )?;
    let address =
        format!("iscsi://{}/{}/1?portal={}&timeout=30", paths[0].portal, target.name(), paths[1].portal);
    let identity = identity(&assay, &address)?;
    let mut run = Command::new(&assay)
        .args(["run", &plan.display().to_string(), &address, "--overwrite", &identity, "--not-blank"])
        .args(["--store", &store.display().to_string()])
        .stdout(Stdio::null())
        .spawn()?;
    let looks = watch(&mut run, &paths, &store)?;
    let status = run.wait()?;
    report(&looks);
    ensure!(status.success(), "the run ended with {status}");
    no_errors(&assay, &store)?;
    is_flat(&looks)?;
    // While the run lasts most of it is in the log, which is moved into the store where no load is measured.
    let day_mb = std::fs::metadata(&store)?.len() as f64 / 1e6 * 1440.0 / minutes as f64;
    println!("store: {day_mb:.0} MB a day at this rate, goal below {STORE_DAY_MB_MAX}");
    ensure!(day_mb < STORE_DAY_MB_MAX, "the store of a day would have {day_mb:.0} MB");
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

/// Returns the identity that `--overwrite` wants.
fn identity(assay: &Path, address: &str) -> anyhow::Result<String> {
    let output = Command::new(assay).args(["check", address]).output()?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = said.lines().find_map(|line| line.trim().strip_prefix("identity"));
    let word = line.and_then(|line| line.split_whitespace().next().map(str::to_owned));
    word.with_context(|| format!("assay check names no identity:\n{said}"))
}

/// Looks at the run until it ends, and cuts its paths in turns.
fn watch(run: &mut Child, paths: &[Proxy; 2], store: &Path) -> anyhow::Result<Vec<Look>> {
    let (began, mut looks) = (Instant::now(), Vec::new());
    let (mut cuts, mut next_look) = (0_u32, LOOK_EVERY);
    let mut is_cut = false;
    while run.try_wait()?.is_none() {
        std::thread::sleep(Duration::from_millis(200));
        let at = began.elapsed();
        let cut_at = CUT_EVERY * (cuts + 1);
        let path = &paths[cuts as usize % 2];
        if !is_cut && at >= cut_at {
            // Every third cut is a silence.
            if cuts % 3 == 2 {
                path.silence()
            } else {
                path.cut()
            }
            is_cut = true;
        } else if is_cut && at >= cut_at + CUT {
            path.restore();
            (is_cut, cuts) = (false, cuts + 1);
        }
        if at >= next_look {
            next_look += LOOK_EVERY;
            looks.extend(look(run.id(), at, store));
        }
    }
    Ok(looks)
}

/// Returns what a process has now; `None` if it is about to end.
fn look(pid: u32, at: Duration, store: &Path) -> Option<Look> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    // Not VmRSS: pages of the program itself, of which more and more have been run, are the kernel's to drop.
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    let memory_kib = line.trim().trim_end_matches(" kB").parse().ok()?;
    let count = |what: &str| std::fs::read_dir(format!("/proc/{pid}/{what}")).map(Iterator::count).ok();
    let size = |suffix: &str| {
        std::fs::metadata(format!("{}{suffix}", store.display())).map_or(0, |metadata| metadata.len())
    };
    let store_bytes = size("") + size("-wal");
    Some(Look { at, memory_kib, descriptors: count("fd")?, threads: count("task")?, store_bytes })
}

/// Prints about thirty looks.
fn report(looks: &[Look]) {
    println!("{:>7} {:>9} {:>11} {:>7} {:>9}", "s", "memory", "descriptors", "threads", "store");
    for look in looks.iter().step_by(looks.len() / 30 + 1) {
        let Look { at, memory_kib, descriptors, threads, store_bytes } = look;
        let (at, memory, store) = (at.as_secs(), memory_kib / 1024, *store_bytes as f64 / 1e6);
        println!("{at:>7} {memory:>5} MiB {descriptors:>11} {threads:>7} {store:>6.1} MB");
    }
}

fn no_errors(assay: &Path, store: &Path) -> anyhow::Result<()> {
    let args = ["show", "last", "--format", "json", "--store"];
    let output = Command::new(assay).args(args).arg(store).output()?;
    let document: Value = serde_json::from_slice(&output.stdout).context("show prints no JSON")?;
    let count = |what: &str| document.pointer(what).and_then(Value::as_f64).unwrap_or(f64::NAN);
    let (ios, errors) = (count("/tests/0/total/ops"), count("/tests/0/errors"));
    let wrong =
        document.pointer("/tests/0/mismatches").and_then(Value::as_array).map_or(usize::MAX, Vec::len);
    println!("{ios} I/Os, {errors} failed, {wrong} blocks wrong");
    ensure!(ios > 0.0 && errors == 0.0 && wrong == 0, "I/Os failed or were wrong, or none was made");
    Ok(())
}

/// Fails if something grew after the first fifth of the run.
fn is_flat(looks: &[Look]) -> anyhow::Result<()> {
    let whole = looks.last().context("the run was too short to look at")?.at;
    let settled: Vec<&Look> = looks.iter().filter(|look| look.at > whole.mul_f64(SETTLED)).collect();
    let (first, last) = settled.split_at(settled.len() / 2);
    let most = |looks: &[&Look], of: fn(&Look) -> u64| looks.iter().map(|look| of(look)).max().unwrap_or(0);
    type Figure = (&'static str, fn(&Look) -> u64, u64);
    let figures: [Figure; 3] = [
        ("memory, KiB", |look| look.memory_kib, MEMORY_SLACK_KIB),
        ("descriptors", |look| look.descriptors as u64, 2),
        ("threads", |look| look.threads as u64, 0),
    ];
    for (what, of, slack) in figures {
        let (before, after) = (most(first, of), most(last, of));
        println!("{what}: at most {before} in the first half, {after} in the second");
        ensure!(after <= before + slack, "{what} grew from {before} to {after}");
    }
    Ok(())
}
