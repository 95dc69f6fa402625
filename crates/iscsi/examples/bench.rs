//! Measures the initiator alone: IOPS, MB/s, and processor time per I/O, user and system.
//!
//! `bench --portal 127.0.0.1:3260 --target iqn… [--portal …] [--lun 1] [--sessions 1] [--size 4096] [--depth 32]
//! [--seconds 5] [--sequential] [--write] [--policy rr|rr1000|least]`

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program that prints its result")]

use std::time::{Duration, Instant};

use assay_iscsi::scsi::cdb::Fua;
use assay_iscsi::{Command, Config, Initiator, Kind, Policy};
use rustix::time::{ClockId, clock_gettime};

#[derive(Clone)]
struct Load {
    kind: Kind,
    data_bytes: u32,
    depth: u16,
    duration: Duration,
    is_sequential: bool,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let all = |name: &str| -> Vec<String> {
        let pairs = arguments.windows(2).filter(|pair| pair[0] == name);
        pairs.map(|pair| pair[1].clone()).collect()
    };
    let number = |name: &str, default: u32| {
        all(name).first().map_or(default, |value| value.parse().expect("a number is needed"))
    };
    let has = |name: &str| arguments.iter().any(|argument| argument == name);
    let (portals, targets) = (all("--portal"), all("--target"));
    let [target] = &targets[..] else {
        return eprintln!("usage: bench --portal HOST:PORT --target NAME [options], see the source");
    };
    let small =
        |name: &str, default: u32| u16::try_from(number(name, default)).expect("a small number is needed");
    let load = Load {
        kind: if has("--write") { Kind::Write } else { Kind::Read },
        data_bytes: number("--size", 4096),
        depth: small("--depth", 32),
        duration: Duration::from_secs(number("--seconds", 5).into()),
        is_sequential: has("--sequential"),
    };
    let config = Config {
        sessions_per_portal: u8::try_from(number("--sessions", 1)).expect("a small number is needed"),
        depth: load.depth,
        policy: match all("--policy").first().map(String::as_str) {
            Some("rr1000") => Policy::VMWARE_IOS,
            Some("least") => Policy::LeastOutstanding,
            _ => Policy::ROUND_ROBIN_EACH,
        },
        ..Config::new(portals, target.clone(), small("--lun", 1))
    };
    match Initiator::connect(config) {
        Ok(initiator) => run(initiator, &load),
        Err(error) => eprintln!("failed to connect: {error}"),
    }
}

fn run(mut initiator: Initiator<Vec<u8>>, load: &Load) {
    let blocks = initiator.capacity().bytes() / u64::from(load.data_bytes);
    let (mut state, mut cursor) = (0x9e37_79b9_7f4a_7c15_u64, 0);
    let mut next_offset = || {
        let block = if load.is_sequential {
            cursor = (cursor + 1) % blocks;
            cursor
        } else {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % blocks
        };
        block * u64::from(load.data_bytes)
    };
    let mut issue = |initiator: &mut Initiator<Vec<u8>>, tag, buf| {
        let offset_bytes = next_offset();
        let command =
            Command { tag, kind: load.kind, offset_bytes, data_bytes: load.data_bytes, fua: Fua::Off, buf };
        assert!(initiator.submit(command).is_ok(), "depth fits");
    };
    for tag in 0..u64::from(load.depth) {
        issue(&mut initiator, tag, vec![0x5a; load.data_bytes as usize]);
    }
    let mut done = Vec::with_capacity(usize::from(load.depth));
    let (begin, cpu, ticks) = (Instant::now(), cpu_ns(), user_system_ticks());
    let (mut ios, mut errors, mut polls) = (0u64, 0u64, 0u64);
    while begin.elapsed() < load.duration {
        initiator.poll(Some(Duration::from_secs(1)), &mut done).expect("the target is there");
        polls += 1;
        for completion in done.drain(..) {
            ios += 1;
            errors += u64::from(completion.result.is_err());
            issue(&mut initiator, completion.tag, completion.buf);
        }
    }
    let (elapsed, cpu, ticks_end) = (begin.elapsed(), cpu_ns() - cpu, user_system_ticks());
    let seconds = elapsed.as_secs_f64();
    let user = (ticks_end.0 - ticks.0) as f64 / (ticks_end.0 - ticks.0 + ticks_end.1 - ticks.1).max(1) as f64;
    let per_io = cpu as f64 / 1000.0 / ios as f64;
    println!(
        "{:.0} IOPS  {:.1} MB/s  cpu {per_io:.2} us/IO (user {:.2}, system {:.2})  {:.1} IOs per poll  errors {errors}",
        ios as f64 / seconds,
        ios as f64 * f64::from(load.data_bytes) / 1e6 / seconds,
        per_io * user,
        per_io * (1.0 - user),
        ios as f64 / polls as f64,
    );
    for path in initiator.stats() {
        let latency = &path.stats.latency_ns;
        println!(
            "  path {} {}: {} reads {} writes, latency p50 {} us p99 {} us, tcp {:?}",
            path.path,
            path.portal,
            path.stats.reads,
            path.stats.writes,
            latency.value_at_quantile(0.5) / 1000,
            latency.value_at_quantile(0.99) / 1000,
            path.tcp.map(|tcp| (tcp.rtt_us, tcp.retransmits_total, tcp.send_mss_bytes)),
        );
    }
}

/// Processor time of the process, ns.
fn cpu_ns() -> i64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// User and system time of the process in ticks, for the split.
fn user_system_ticks() -> (u64, u64) {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse().ok()).unwrap_or(0);
    (ticks(11), ticks(12))
}
