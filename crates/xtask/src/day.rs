//! `cargo xtask day`: a day of intervals in a store, made of the seconds of a real run over two paths. Prints the size
//! of the store, and time and memory of what reads it: show, report, and the page.

use std::fs::File;
use std::io::{BufWriter, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use assay_testkit::lean::{LeanTarget, NAME};
use serde_json::Value;

use crate::bench::{build, peak_kib, target_folder};

/// Measured seconds of the real run.
const REAL_S: u64 = 20;
const LUN_BYTES: usize = 64 << 20;
const PLAN: &str = "name = \"day\"\nsize = \"64MiB\"\n[[test]]\nname = \"a day\"\noutstanding = 16\n\
                    warmup = \"1s\"\nrun = \"20s\"\naccess = [{ size = \"8KiB\", read = 70, random = 100 }]\n";
/// The goals: size of the store, MB, and time of each reader.
const STORE_MB_MAX: f64 = 300.0;
const READ_MAX: Duration = Duration::from_secs(3);

/// Arguments: seconds of the day (86,400).
pub(crate) fn day(args: &[String]) -> anyhow::Result<()> {
    let seconds = args.first().map_or(Ok(86_400), |text| text.parse::<u64>())?;
    let day = Day { assay: build()?, folder: target_folder()?.join("day") };
    let _ = std::fs::remove_dir_all(&day.folder);
    std::fs::create_dir_all(&day.folder)?;
    let (run, intervals) = day.generate(seconds / REAL_S)?;
    let store = day.path("day.sqlite");
    let (took, mib, _) = day.watch(&["import", &day.path("day.assay"), "--store", &store])?;
    println!("{intervals} intervals of run {run}; import: {:.1} s, {mib:.0} MiB", took.as_secs_f64());
    let mb = std::fs::metadata(&store)?.len() as f64 / 1e6;
    println!("store: {mb:.0} MB, goal below {STORE_MB_MAX}");
    let mut is_met = mb < STORE_MB_MAX;
    let html = day.path("day.html");
    for (what, args) in [("show", vec!["show", &run]), ("report", vec!["report", &run, "-o", &html])] {
        let args: Vec<&str> = args.into_iter().chain(["--store", &store]).collect();
        let (took, mib, _) = day.watch(&args)?;
        println!("{what}: {:.2} s, {mib:.0} MiB", took.as_secs_f64());
        is_met &= took < READ_MAX;
    }
    for (count, took, mib) in day.pages(&run, &store)? {
        println!("page, request {count}: {:.2} s, {mib:.0} MiB", took.as_secs_f64());
        is_met &= took < READ_MAX;
    }
    std::fs::remove_dir_all(&day.folder)?;
    ensure!(is_met, "a goal is not met: {STORE_MB_MAX} MB, {} s for each reader", READ_MAX.as_secs());
    Ok(())
}

struct Day {
    assay: PathBuf,
    folder: PathBuf,
}

impl Day {
    fn path(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    /// Runs the program. Returns its time, its peak of memory in MiB, and what it printed.
    fn watch(&self, args: &[&str]) -> anyhow::Result<(Duration, f64, String)> {
        let out = self.folder.join("out");
        let began = Instant::now();
        let mut child = Command::new(&self.assay).args(args).stdout(File::create(&out)?).spawn()?;
        let mut peak = 0;
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            peak = peak.max(peak_kib(&child));
            std::thread::sleep(Duration::from_millis(5));
        };
        let took = began.elapsed();
        ensure!(status.success(), "assay {} ended with {status}", args.join(" "));
        Ok((took, peak as f64 / 1024.0, std::fs::read_to_string(out)?))
    }

    /// Makes a run that repeats the measured seconds of a real one so many times. Returns its id and the number of its
    /// intervals.
    fn generate(&self, times: u64) -> anyhow::Result<(String, usize)> {
        let target = LeanTarget::start(LUN_BYTES, None);
        let (plan, store, real) = (self.path("plan.toml"), self.path("real.sqlite"), self.path("real.assay"));
        std::fs::write(&plan, PLAN)?;
        let address = format!("iscsi://{}/{NAME}/0?sessions=2", target.portal);
        let run = ["run", &plan, &address, "--overwrite", "LEAN-00001", "--not-blank", "--store", &store];
        self.watch(&run)?;
        self.watch(&["export", "last", "--store", &store, "-o", &real])?;
        let text = std::fs::read_to_string(&real)?;
        let mut lines = text.lines().map(serde_json::from_str::<Value>);
        let mut cover = lines.next().context("an empty export")??;
        let events = lines.collect::<Result<Vec<_>, _>>()?;
        let is_interval = |event: &Value| event["what"]["event"] == "interval";
        let first = events.iter().position(is_interval).context("no interval")?;
        let last = events.iter().rposition(is_interval).context("no interval")?;
        let count = events.iter().filter(|event| is_interval(event)).count();
        let (head, rest) = events.split_at(first);
        let (body, tail) = rest.split_at(last + 1 - first);
        cover["events"] = (head.len() + body.len() * usize::try_from(times)? + tail.len()).into();
        let mut file = BufWriter::new(File::create(self.path("day.assay"))?);
        let mut put = |event: &Value, repetition: u64| {
            let mut event = event.clone();
            shift(&mut event, repetition * count as u64 * 1_000_000_000);
            writeln!(file, "{event}")
        };
        put(&cover, 0)?;
        head.iter().try_for_each(|event| put(event, 0))?;
        for repetition in 0..times {
            body.iter().try_for_each(|event| put(event, repetition))?;
        }
        tail.iter().try_for_each(|event| put(event, times - 1))?;
        let run = cover["run"].as_str().context("an export without a run")?.to_owned();
        Ok((run, count * usize::try_from(times)?))
    }

    /// Requests the page of a run twice. Returns the time of each, and the server's peak of memory until then, MiB.
    fn pages(&self, run: &str, store: &str) -> anyhow::Result<Vec<(u32, Duration, f64)>> {
        let listen = TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string();
        let mut command = Command::new(&self.assay);
        command.args(["serve", "--listen", &listen, "--store", store]).stdout(Stdio::null());
        let server = Server(command.spawn()?);
        let deadline = Instant::now() + Duration::from_secs(10);
        while TcpStream::connect(&listen).is_err() {
            ensure!(Instant::now() < deadline, "the server does not listen on {listen}");
            std::thread::sleep(Duration::from_millis(20));
        }
        let mut pages = Vec::new();
        for count in 1..=2 {
            let began = Instant::now();
            let mut line = TcpStream::connect(&listen)?;
            write!(line, "GET /runs/{run} HTTP/1.1\r\nHost: {listen}\r\nConnection: close\r\n\r\n")?;
            let mut page = String::new();
            line.read_to_string(&mut page)?;
            if !page.starts_with("HTTP/1.1 200") {
                bail!("no page: {}", page.lines().next().unwrap_or_default());
            }
            pages.push((count, began.elapsed(), peak_kib(&server.0) as f64 / 1024.0));
        }
        Ok(pages)
    }
}

/// A server that stops with this.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Moves every time in an event.
fn shift(value: &mut Value, by_ns: u64) {
    match value {
        Value::Object(fields) => fields.iter_mut().for_each(|(name, value)| match value.as_u64() {
            Some(at_ns) if ["at_ns", "start_ns", "end_ns"].contains(&name.as_str()) => {
                *value = (at_ns + by_ns).into();
            }
            _ => shift(value, by_ns),
        }),
        Value::Array(values) => values.iter_mut().for_each(|value| shift(value, by_ns)),
        _ => {}
    }
}
