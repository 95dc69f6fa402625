//! The process behind a lab: the simulated array as files, and the server as its child. `assay lab up` starts it in the
//! namespace of the server; it looks at the state of the lab and does what has changed there.
//!
//! It needs no end of its own: its mount is in a mount namespace of its own, which is gone with the last process in it,
//! and the kernel ends the server with it.

use std::collections::VecDeque;
use std::process::Child;
use std::time::{Duration, Instant};

use assay_sim::fuse::{Lateness, ServeOptions, Served, Service};
use serde_json::{Value, json};

use super::server;
use super::state::{Broken, Lab, write_whole};
use crate::exit::Exit;

/// How often it looks at the state, and says what was served.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// Time before a server that ended by itself is started again.
const AGAIN_AFTER: Duration = Duration::from_secs(1);
/// The recent past, for rates.
const RECENT: Duration = Duration::from_secs(10);
/// Sleeps that measure how late an idle CPU wakes, and how long each is.
const SLEEPS: (usize, Duration) = (100, Duration::from_millis(2));

pub(super) fn serve(name: &str) -> anyhow::Result<Exit> {
    let mut lab = Lab::read(name)?;
    let names = lab.names();
    let options = ServeOptions {
        mount_point: names.mount_point(),
        data: lab.data.clone(),
        capacity_bytes: lab.capacity_bytes,
    };
    let array = lab.array_now()?;
    let service = Service::start(&array.without_network(), &options)?;
    let mut server = Some(server::start(&lab, &array)?);
    let idle = idle_lateness();
    let mut past = VecDeque::new();
    let mut ended = 0_u32;
    loop {
        let served = service.served();
        past.push_back((Instant::now(), served.clone()));
        while past.len() > 1 && past[0].0.elapsed() > RECENT {
            past.pop_front();
        }
        let said = says(&served, &past, &idle, (server.is_some(), ended));
        write_whole(&names.served_file(), &said.to_string())?;
        std::thread::sleep(LOOK_EVERY);
        // Once the directory is gone, so is the lab.
        let Ok(wanted) = Lab::read(name) else { return Ok(Exit::Done) };
        if disks(&wanted) != disks(&lab) {
            service.change_array(&wanted.array_now()?.without_network());
        }
        lab = wanted;
        if server.as_mut().is_some_and(has_ended) {
            server = None;
            ended += 1;
            std::thread::sleep(AGAIN_AFTER);
        }
        follow(&lab, &mut server)?;
    }
}

/// A server that ended by itself: killed, or crashed.
fn has_ended(server: &mut Child) -> bool {
    matches!(server.try_wait(), Ok(Some(_)))
}

/// Starts or ends the server, as the state says.
fn follow(lab: &Lab, server: &mut Option<Child>) -> anyhow::Result<()> {
    if lab.is_serving() && server.is_none() {
        *server = Some(server::start(lab, &lab.array_now()?)?);
    } else if !lab.is_serving()
        && let Some(mut child) = server.take()
    {
        child.kill()?;
        child.wait()?;
    }
    Ok(())
}

fn disks(lab: &Lab) -> Vec<Broken> {
    lab.broken.iter().copied().filter(|broken| matches!(broken, Broken::Disk { .. })).collect()
}

/// Returns how late this machine wakes a thread that sleeps: half of it, and 99 % of it, in us.
fn idle_lateness() -> (f64, f64) {
    let (count, pause) = SLEEPS;
    let mut late: Vec<f64> = (0..count)
        .map(|_| {
            let began = Instant::now();
            std::thread::sleep(pause);
            began.elapsed().saturating_sub(pause).as_secs_f64() * 1e6
        })
        .collect();
    late.sort_unstable_by(f64::total_cmp);
    (late[count / 2], late[count * 99 / 100])
}

fn says(
    served: &Served,
    past: &VecDeque<(Instant, Served)>,
    idle: &(f64, f64),
    (is_serving, ended): (bool, u32),
) -> Value {
    let (began, before) = &past[0];
    let seconds = began.elapsed().as_secs_f64();
    let ios = served.reads + served.writes - before.reads - before.writes;
    let per_s = |count: u64| if seconds > 0.5 { count as f64 / seconds } else { 0.0 };
    let model_ms = if ios == 0 { 0.0 } else { (served.model_ns - before.model_ns) as f64 / ios as f64 / 1e6 };
    json!({
        "serving": is_serving,
        "server_ended": ended,
        "reads": served.reads,
        "writes": served.writes,
        "bytes": served.bytes,
        "in_flight": served.in_flight,
        "recent": {
            "seconds": seconds,
            "iops": per_s(ios),
            "mib_s": per_s(served.bytes - before.bytes) / f64::from(1 << 20),
            "model_ms_mean": model_ms,
        },
        "late_us": late(&served.late),
        "idle_wake_up_late_us": { "p50": idle.0, "p99": idle.1 },
    })
}

fn late(late: &Lateness) -> Value {
    json!({
        "answers": late.count,
        "mean": late.mean_us,
        "p50": late.p50_us,
        "p99": late.p99_us,
        "max": late.max_us,
    })
}
