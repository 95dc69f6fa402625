//! What an array file and a load can say beyond disks and links: durable writes, tiers, logs, shingled disks, ports,
//! several clients, software by its name. Each by its formula, and simulated.

use assay_model::array::{Array, LinkRate};
use assay_model::closed::closed_form;
use assay_model::des::{SimOptions, simulate};
use assay_model::predict::{Engines, predict};
use assay_model::quantity::Corner;
use assay_model::resolved::{ResolvedArray, Tables, issued};
use assay_model::workload::{Arrivals, LoadModel, Skew, Workload};
use assay_spec::units::{Bytes, GIB, Nanos};

use crate::{array, changed};

/// I/Os per second by the closed form and by the simulation, which agree within 10 %.
fn rate(a: &Array, load: &Workload) -> f64 {
    let load = &issued(a, load);
    let resolved = ResolvedArray::new(a, Corner::Nominal, load.region(), &mut Tables::default());
    let closed = closed_form(&resolved, &resolved.classes(load), load);
    let run_s = load.duration.as_secs_f64();
    let cache_full = closed.absorbing.is_some_and(|(_, fill_s)| fill_s < run_s / 2.0);
    let options = SimOptions { max_ios: 200_000, cache_full, ..SimOptions::default() };
    let simulated = simulate(&resolved, std::slice::from_ref(load), options)[0].iops;
    let apart = closed.iops / simulated;
    assert!((0.9..1.1).contains(&apart), "{}: {:.1} and {simulated:.1}", load.name, closed.iops);
    closed.iops
}

fn long(load: Workload) -> Workload {
    Workload { duration: Nanos::from_secs(1_000_000_000), ..load }
}

fn durable(read_pct: f64, random_pct: f64, outstanding: u32) -> Workload {
    let load = Workload::simple("durable", 4096, read_pct, random_pct, outstanding);
    long(Workload { flush_every: Some(1), ..load })
}

fn plain(read_pct: f64, random_pct: f64, outstanding: u32) -> Workload {
    Workload { flush_every: None, ..durable(read_pct, random_pct, outstanding) }
}

fn near(value: f64, expected: f64, within: f64) {
    assert!((value / expected - 1.0).abs() < within, "{value:.2}, not {expected:.2}");
}

#[test]
fn a_durable_write_that_continues_the_last_waits_for_a_revolution() {
    let disk = changed("hdd-7200", "link=none device.write_cache=none");
    // 60 s / 7200 and 0.1 ms for the command.
    near(rate(&disk, &durable(0.0, 0.0, 1)), 1000.0 / (60_000.0 / 7200.0 + 0.1), 0.01);
    // All that wait share it, as a group commit does. (The simulation does not count the write that just ended.)
    let together = predict(&disk, &durable(0.0, 0.0, 8), Engines::Closed, &mut Tables::default());
    assert!(together.iops.value > 4.0 * rate(&disk, &durable(0.0, 0.0, 1)), "{:?}", together.iops);
}

#[test]
fn the_cache_of_a_disk_does_not_help_a_durable_write_and_one_with_a_battery_does() {
    let disk = |more: &str| changed("hdd-7200", &format!("link=none {more}"));
    let cached = disk("device.write_cache=256MiB");
    near(rate(&cached, &durable(0.0, 100.0, 1)), rate(&cached, &plain(100.0, 100.0, 1)), 0.03);
    assert!(rate(&cached, &plain(0.0, 100.0, 1)) > 1.3 * rate(&cached, &durable(0.0, 100.0, 1)));
    let volatile = disk("controller.write_back=1GiB");
    let wide = |load: Workload| Workload { span: Bytes(500 * GIB), ..load };
    let [buffered, through] =
        [plain(0.0, 100.0, 1), durable(0.0, 100.0, 1)].map(|l| rate(&volatile, &wide(l)));
    assert!(buffered > 1.2 * through, "{buffered} {through}");
    let safe = disk("controller.write_back=1GiB controller.battery=yes");
    near(rate(&safe, &plain(0.0, 100.0, 1)), rate(&safe, &durable(0.0, 100.0, 1)), 1e-9);
    // Reads are as they were.
    near(rate(&cached, &plain(100.0, 100.0, 8)), rate(&cached, &durable(100.0, 100.0, 8)), 1e-9);
}

#[test]
fn flushes_between_writes_cost_less_than_durable_ones_and_more_than_none() {
    let ssd = |ms: &str| changed("ssd-sata", &format!("link=none device.flush_ms={ms}"));
    let every = |k: u32| Workload { flush_every: Some(k), ..durable(0.0, 100.0, 1) };
    let alone_ms = 1e3 / rate(&ssd("0"), &every(1));
    near(1e3 / rate(&ssd("2"), &every(1)), alone_ms + 2.0, 0.01);
    near(1e3 / rate(&ssd("2"), &every(4)), alone_ms + 0.5, 0.02);
    near(rate(&ssd("0"), &every(1)), rate(&ssd("0"), &plain(0.0, 100.0, 1)), 1e-9);
    // Nobody said how long its flush takes: the interval holds a drive that survives a power cut, and a slow one.
    let unknown =
        predict(&changed("ssd-sata", "link=none"), &every(1), Engines::Closed, &mut Tables::default());
    assert!(unknown.iops.lo < 300.0 && unknown.iops.hi > 10_000.0, "{:?}", unknown.iops);
}

#[test]
fn a_log_device_answers_durable_writes_until_the_disks_fall_behind() {
    let with = |log: &str| changed("hdd-7200", &format!("link=none raid=10 disks=8 {log}"));
    let log = "log.iops_max=30000 log.mb_s=400 log.latency_us=50";
    let burst = |n| Workload { duration: Nanos::from_secs(5), ..durable(0.0, 100.0, n) };
    near(rate(&with(log), &burst(1)), 20_000.0, 0.02);
    near(rate(&with(log), &burst(16)), 30_000.0, 0.05);
    assert!(rate(&with(""), &durable(0.0, 100.0, 16)) < 1500.0);
    // In the long run the disks take what the log took.
    assert!(rate(&with(log), &durable(0.0, 100.0, 16)) < 3000.0);
    // Writes that need not be durable do not pass it.
    near(rate(&with(log), &plain(0.0, 100.0, 4)), rate(&with(""), &plain(0.0, 100.0, 4)), 1e-9);
}

#[test]
fn a_synchronous_export_writes_data_and_journal_before_it_answers() {
    let nfs = |more: &str| changed("hdd-7200", &format!("link=1GbE protocol.kind=nfs {more}"));
    let one = plain(0.0, 100.0, 1);
    let [lazy, sync, safe, log] = [
        "",
        "protocol.nfs_sync=yes",
        "protocol.nfs_sync=yes controller.write_back=1GiB controller.battery=yes",
        "protocol.nfs_sync=yes log.iops_max=30000 log.mb_s=400",
    ]
    .map(|more| rate(&nfs(more), &one));
    // A write of 5 ms on a short stroke, the journal elsewhere another 5 and a revolution for its last record.
    assert!(
        (25.0..60.0).contains(&sync) && sync < 0.5 * lazy && sync < safe && sync < log,
        "{sync} {safe} {log}"
    );
    // Writes that wait together share the commit of the journal; each goes to its own place.
    assert!(rate(&nfs("protocol.nfs_sync=yes"), &plain(0.0, 100.0, 8)) > 2.0 * sync);
}

#[test]
fn a_tier_answers_its_share_and_the_disks_the_rest() {
    let tier = "tier.iops_max=80000 tier.mb_s=500 tier.latency_us=100";
    let with = |more: &str| changed("hdd-7200", &format!("link=none raid=10 disks=8 {more}"));
    let load = |skew| Workload { span: Bytes(1000 * GIB), skew, ..plain(100.0, 100.0, 32) };
    let bare = rate(&with(""), &load(Skew::None));
    // Half of the reads, so that the disks carry twice as many.
    near(rate(&with(&format!("{tier} tier.capacity=500GiB")), &load(Skew::None)), 2.0 * bare, 0.1);
    near(
        rate(&with(&format!("{tier} tier.capacity=10GiB tier.hit_pct=90")), &load(Skew::None)),
        10.0 * bare,
        0.25,
    );
    // What is used unevenly needs less.
    let small = with(&format!("{tier} tier.capacity=50GiB"));
    assert!(rate(&small, &load(Skew::Zipf(1.1))) > 2.0 * rate(&small, &load(Skew::None)));
    // All of it: the tier is the limit.
    near(rate(&with(&format!("{tier} tier.capacity=2TiB")), &load(Skew::None)), 80_000.0, 0.05);
    // A tier of reads leaves writes to the disks, one of everything does not.
    let writes = Workload { span: Bytes(1000 * GIB), ..plain(0.0, 100.0, 32) };
    near(rate(&with(&format!("{tier} tier.capacity=2TiB")), &writes), rate(&with(""), &writes), 1e-9);
    assert!(rate(&with(&format!("{tier} tier.capacity=2TiB tier.holds=all")), &writes) > 20_000.0);
}

#[test]
fn a_cold_tier_warms_up_while_the_disks_read() {
    let tier = "tier.iops_max=80000 tier.mb_s=500 tier.capacity=500GiB";
    let a = |more: &str| changed("hdd-7200", &format!("link=none raid=10 disks=8 {tier} {more}"));
    let run = |seconds| Workload {
        span: Bytes(1000 * GIB),
        duration: Nanos::from_secs(seconds),
        ..Workload::simple("cold", 65_536, 100.0, 100.0, 32)
    };
    let cold = a("tier.warm=no");
    assert!(rate(&cold, &run(60)) < 1.1 * rate(&a("tier.capacity=1GiB"), &run(60)));
    near(rate(&cold, &run(10_000_000)), rate(&a(""), &run(60)), 0.05);
    let warm_up_s = predict(&cold, &run(60), Engines::Closed, &mut Tables::default()).warm_up_s.unwrap();
    // 500 GiB in reads of 64 KiB, some 900 each second, and ln 10 for 90 %.
    assert!((10_000.0..40_000.0).contains(&warm_up_s), "{warm_up_s}");
}

#[test]
fn a_shingled_disk_takes_random_writes_until_its_media_cache_is_full() {
    let conventional = changed("hdd-7200", "link=none device.write_cache=128MiB device.capacity=8TB");
    let shingled =
        changed("hdd-7200", "link=none device.write_cache=128MiB device.capacity=8TB device.shingled=yes");
    let writes = |seconds| Workload {
        span: Bytes(7_000_000_000_000),
        duration: Nanos::from_secs(seconds),
        ..Workload::simple("writes", 4096, 0.0, 100.0, 4)
    };
    near(rate(&shingled, &writes(60)), rate(&conventional, &writes(60)), 0.01);
    // Aghayev and Desnoyers, FAST 2015: 3 to 25 sustained writes per second.
    let sustained = rate(&shingled, &writes(1_000_000_000));
    assert!((1.0..30.0).contains(&sustained), "{sustained}");
    let same = |load: &Workload| near(rate(&shingled, load), rate(&conventional, load), 1e-9);
    same(&plain(100.0, 100.0, 16));
    same(&plain(0.0, 0.0, 4));
}

/// The map of the media cache has 182,000 entries: with small writes they are used up long before its 20 GB.
#[test]
fn the_map_of_a_media_cache_is_full_before_its_bytes_where_writes_are_small() {
    let disk =
        changed("hdd-7200", "link=none device.write_cache=128MiB device.capacity=8TB device.shingled=yes");
    let load = |size, ios: u64| {
        let span = Bytes(7_000_000_000_000);
        let load = Workload { span, ..long(Workload::simple("writes", size, 0.0, 100.0, 4)) };
        let resolved = ResolvedArray::new(&disk, Corner::Nominal, load.region(), &mut Tables::default());
        let closed = closed_form(&resolved, &resolved.classes(&load), &load);
        let (rate, fill_s) = closed.absorbing.expect("the media cache fills");
        let options = SimOptions { max_ios: ios, ..SimOptions::default() };
        let simulated = simulate(&resolved, &[load], options).remove(0);
        (rate * fill_s, simulated.percentile_ms(100.0))
    };
    let (writes, _) = load(4096, 1);
    near(writes, 182_000.0, 0.01);
    let (writes, _) = load(262_144, 1);
    near(writes, 20e9 / 262_144.0, 0.01);
    // A write that waits for the cleaning of a band takes longer than any before it.
    let (before, after) = (load(4096, 180_000).1, load(4096, 184_000).1);
    assert!(after > 3.0 * before, "{before:.0} and {after:.0} ms");
}

/// A rate that the full media cache carries, but not as fast as the empty one: a run of hours is simulated full.
#[test]
fn a_long_paced_run_is_simulated_with_the_caches_that_it_fills() {
    let disk = changed("hdd-7200", "link=none raid=0 disks=8 device.write_cache=128MiB device.shingled=yes");
    let run = |seconds| {
        let pace = LoadModel::Rate { per_s: 20.0, arrivals: Arrivals::Poisson };
        let load = Workload {
            span: Bytes(2_000_000_000_000),
            duration: Nanos::from_secs(seconds),
            pace,
            ..Workload::simple("paced", 8192, 0.0, 100.0, 512)
        };
        let engines = Engines::Simulated { seeds: 1, max_ios: 20_000 };
        let p = predict(&disk, &load, engines, &mut Tables::default());
        (p.iops.value, p.mean_ms.value, p.closed.mean_ms)
    };
    let ((iops, fresh, _), (long_iops, full, closed)) = (run(600), run(1_000_000_000));
    near(iops, 20.0, 0.05);
    near(long_iops, 20.0, 0.05);
    assert!(full > 3.0 * fresh, "{fresh:.2} ms fresh, {full:.2} ms full");
    assert!(closed > 2.0 * fresh, "the closed form too: {closed:.2} ms");
}

#[test]
fn ports_of_drives_and_of_expanders_limit_what_passes_them() {
    let stream = long(Workload::simple("stream", 1 << 20, 100.0, 0.0, 8));
    let ssds = |more: &str| changed("ssd-sata", &format!("link=none raid=0 disks=8 {more}"));
    let mib_s = |a: &Array| rate(a, &stream) * 1.048_576;
    near(mib_s(&ssds("device.link=SATA2")), 8.0 * 296.5, 0.02);
    // Six Gbit/s on each of four lanes.
    near(mib_s(&ssds("controller.expander=SAS6x4")), 2318.0, 0.02);
    // Copies pass the expander too.
    let writes = long(Workload::simple("writes", 1 << 20, 0.0, 0.0, 8));
    let mirrored = changed("ssd-sata", "link=none raid=10 disks=8 controller.expander=SAS3x4");
    near(rate(&mirrored, &writes) * 1.048_576, 1159.0 / 2.0, 0.02);
    let p = predict(&mirrored, &writes, Engines::Closed, &mut Tables::default());
    assert_eq!(p.limit_name(), "the SAS3x4 port of the expander");
    // "The none port of the expander 0 %": an array without one.
    for load in Workload::forum_tests(Bytes(4 * GIB)) {
        let p = predict(&array("nas-4bay"), &load, Engines::Closed, &mut Tables::default());
        let ports: Vec<_> = p.table.resources.iter().filter(|r| r.name.contains("expander")).collect();
        assert!(ports.is_empty(), "{ports:?}");
    }
}

#[test]
fn several_clients_issue_the_load_each_over_its_own_link() {
    let a = |more: &str| changed("allflash-25gbe", &format!("link=25GbE {more}"));
    let stream = long(Workload::simple("stream", 65_536, 100.0, 0.0, 16));
    let one = rate(&a("initiator.link=1GbE"), &stream);
    near(rate(&a("initiator.link=1GbE initiator.clients=4"), &stream), 4.0 * one, 0.02);
    let p = predict(&a("initiator.link=1GbE"), &stream, Engines::Closed, &mut Tables::default());
    assert_eq!(p.limit_name(), "1 x 1GbE of the clients");
    // Four of eight outstanding each are as one of 32.
    let load = |n| plain(100.0, 100.0, n);
    let disks = |more: &str| changed("hdd-7200", &format!("link=none raid=0 disks=8 {more}"));
    near(rate(&disks("initiator.clients=4"), &load(8)), rate(&disks(""), &load(32)), 1e-9);
}

#[test]
fn software_by_its_name_has_a_cost_queues_and_may_submit_one_at_a_time() {
    let nvme = |more: &str| changed("nvme", &format!("link=none raid=5 disks=4 {more}"));
    let deep = plain(0.0, 100.0, 256);
    let [bare, md, zfs] =
        ["", "target.software=md", "target.software=zfs"].map(|more| rate(&nvme(more), &deep));
    assert!(md < bare && zfs < bare, "{bare} {md} {zfs}");
    // 12 us and 2 us for 4 KiB on one thread.
    near(md, 1e6 / 14.0, 0.05);
    near(rate(&nvme("target.software=none"), &deep), bare, 1e-9);
    // Ten in flight on each drive: a drive of 80 us reads 125,000 per second.
    let ssd = changed("nvme", "link=none raid.member_queue=1");
    let alone = rate(&changed("nvme", "link=none"), &plain(100.0, 100.0, 1));
    near(rate(&ssd, &plain(100.0, 100.0, 64)), alone, 0.1);
    let one = changed("nvme", "link=none initiator.submission=synchronous");
    near(rate(&one, &plain(100.0, 100.0, 64)), alone, 1e-9);
    // What manages the disks of a server is not what answers its clients.
    let server = changed("nas-4bay", "target.software=md");
    let p = predict(&server, &plain(100.0, 100.0, 1), Engines::Closed, &mut Tables::default());
    assert!(p.says().contains("software cost unknown"), "{}", p.says());
}

#[test]
fn ranges_of_links_timestamps_and_memory_widen_the_interval() {
    let stream = long(Workload::simple("stream", 262_144, 100.0, 0.0, 8));
    let hi = |changes: &str| {
        let a = changed("allflash-10gbe", changes);
        predict(&a, &stream, Engines::Closed, &mut Tables::default()).iops
    };
    let ranged = hi("link.rate=0.9..1.0Gbit/s");
    assert!(ranged.lo < 0.92 * ranged.value && ranged.hi > 1.04 * ranged.value, "{ranged:?}");
    let [unknown, stamped, bare] = [
        "link.rate=1GbE link.timestamps=none",
        "link.rate=1GbE link.timestamps=yes",
        "link.rate=1GbE link.timestamps=no",
    ]
    .map(hi);
    assert!(unknown.hi > 1.001 * stamped.hi, "{unknown:?} {stamped:?}");
    assert!(bare.value > 1.001 * stamped.value, "{bare:?} {stamped:?}");
    let link = array("allflash-10gbe").link;
    let fast = |timestamps| {
        let link = assay_model::array::Link { timestamps, ..link.clone() };
        assay_model::wire::ceiling_at(&link, &array("nas-4bay").protocol, 65_536.0, Corner::Fast)
    };
    near(fast(None) / fast(Some(true)), (link.mtu.value - 40.0) / (link.mtu.value - 52.0), 1e-9);
    near(unknown.value, stamped.value, 1e-9);
    assert_eq!(LinkRate::named("300 Mbit/s"), Some(LinkRate::Ranged { lo: 0.3, hi: 0.3 }));
    assert_eq!(LinkRate::named("1.0..0.9 Gbit/s"), None);

    let random = Workload { span: Bytes(16 * GIB), ..plain(100.0, 100.0, 32) };
    let bound = |changes: &str| {
        let a = changed("nas-4bay", changes);
        predict(&a, &random, Engines::Closed, &mut Tables::default())
    };
    let [none, half, all, client] =
        ["", "server.ram=8GiB", "server.ram=16GiB", "initiator.ram=16GiB server.ram=16GiB"].map(bound);
    assert!(none.iops.hi < half.iops.hi && half.iops.hi < all.iops.hi && all.iops.hi < client.iops.hi);
    near(none.iops.value, all.iops.value, 1e-9);
    assert!(none.says().contains("without caches of the client, the bound of"), "{}", none.says());
    assert!(client.says().contains("MiB/s), the bound of"), "{}", client.says());
}

#[test]
fn smb_has_its_own_headers() {
    let a = |kind: &str| changed("nas-4bay", &format!("protocol.kind={kind}"));
    let stream = long(Workload::simple("stream", 4096, 100.0, 0.0, 64));
    let [smb, nfs] = ["smb", "nfs"].map(|kind| rate(&a(kind), &stream));
    assert!(smb > nfs && smb < 1.03 * nfs, "{smb} {nfs}");
}

#[test]
fn the_hottest_part_of_a_skewed_load_is_the_sum_of_its_places() {
    for theta in [0.5, 0.9, 1.0, 1.2] {
        let weight = |k: u32| f64::from(k).powf(-theta);
        let all: f64 = (1..=100_000).map(weight).sum();
        for part in [0.001, 0.01, 0.1, 0.5] {
            let hot: f64 = (1..=100_000).filter(|k| f64::from(*k) <= part * 100_000.0).map(weight).sum();
            let formula = Skew::Zipf(theta).on_hottest(part, 100_000.0);
            assert!(
                (formula - hot / all).abs() < 0.04,
                "theta {theta}, {part}: {formula:.3}, not {:.3}",
                hot / all
            );
        }
    }
    near(Skew::Pareto(0.2).on_hottest(0.2, 1e6), 0.8, 1e-9);
    near(Skew::None.on_hottest(0.3, 1e6), 0.3, 1e-9);
}
