//! The table of docs/reference/host-facts.md: what is planted here in trees of sysfs and procfs, with what is said.

use std::fmt::Write as _;

use assay_record::{FilesystemFacts, HostNote};
use serde_json::json;

use super::health::{of_nvme, of_smart};
use super::mount::of_mount;
use super::rows_tests::{NVME, SDA, host, notes, with};
use crate::captured::Captured;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/host-facts.md");
/// The lines before and behind the table.
const ENDS: [&str; 2] = ["<!-- planted -->\n", "<!-- end -->\n"];

const V2: [(&str, &str); 2] = [
    ("proc/self/mountinfo", "30 20 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
    ("proc/self/cgroup", "0::/tests/assay\n"),
];
const V1: [(&str, &str); 2] = [
    ("proc/self/mountinfo", "32 31 0:29 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n"),
    ("proc/self/cgroup", "5:blkio:/tests\n"),
];
const DEVICE: &str = "sys/devices/pci0/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0";
const PORT: &str = "sys/devices/pci0/0000:00:17.0/ata3";

fn on_sda(base: [(&str, &str); 2], file: &str, text: &str) -> Vec<HostNote> {
    notes(SDA, &[base[0], base[1], (file, text)])
}

fn groups() -> Vec<HostNote> {
    let blkio = "sys/fs/cgroup/blkio/tests/blkio.throttle.read_iops_device";
    let cpu = [
        V2[0],
        V2[1],
        ("sys/fs/cgroup/tests/cpu.max", "50000 100000\n"),
        ("sys/fs/cgroup/tests/cpu.stat", "nr_periods 90\nnr_throttled 40\nthrottled_usec 12300000\n"),
    ];
    [
        on_sda(V1, blkio, "8:0 800\n"),
        on_sda(V2, "sys/fs/cgroup/tests/io.max", "8:0 rbps=max wbps=20000000 riops=max wiops=max\n"),
        on_sda(V2, "sys/fs/cgroup/tests/db/io.latency", "8:0 target=10000\n"),
        on_sda(V2, "sys/fs/cgroup/io.cost.qos", "8:0 enable=1 ctrl=auto rpct=95.00 rlat=5000\n"),
        host(&cpu),
        host(&[("proc/pressure/memory", "some avg10=12.40 avg60=3.00 avg300=1.00 total=9\n")]),
    ]
    .concat()
}

fn queues() -> Vec<HostNote> {
    let vendor = (format!("{DEVICE}/vendor"), "ATA     \n");
    let [cache, fua, rotates] =
        ["write_cache", "fua", "rotational"].map(|file| format!("sys/devices/{SDA}/queue/{file}"));
    [
        notes(SDA, &[(&format!("{DEVICE}/queue_depth"), "1\n")]),
        notes(SDA, &[(&format!("{DEVICE}/queue_depth"), "4\n")]),
        with(NVME, &[("queue/nr_requests", "8\n")]),
        with(SDA, &[("queue/scheduler", "none mq-deadline [bfq]\n")]),
        with(NVME, &[("queue/scheduler", "none [mq-deadline] kyber\n")]),
        with(NVME, &[("queue/wbt_lat_usec", "2000\n")]),
        notes(SDA, &[(&vendor.0, vendor.1), (&cache, "write through\n"), (&rotates, "1\n")]),
        notes(SDA, &[(&vendor.0, vendor.1), (&cache, "write back\n"), (&fua, "0\n")]),
    ]
    .concat()
}

fn links() -> Vec<HostNote> {
    let pcie = |file: &str| format!("sys/devices/pci0/0000:01:00.0/{file}");
    let [speed, lanes, fastest, widest] =
        ["current_link_speed", "current_link_width", "max_link_speed", "max_link_width"].map(pcie);
    let narrow = [
        (speed.as_str(), "8.0 GT/s PCIe\n"),
        (&lanes, "2\n"),
        (&fastest, "16.0 GT/s PCIe\n"),
        (&widest, "4\n"),
    ];
    let sata = |file: &str| format!("{PORT}/link3/ata_link/link3/{file}");
    let [now, ordered, can] = ["sata_spd", "sata_spd_limit", "hw_sata_spd_limit"].map(sata);
    [
        notes(NVME, &narrow),
        notes(SDA, &[(&now, "1.5 Gbps\n"), (&ordered, "6.0 Gbps\n"), (&can, "6.0 Gbps\n")]),
        notes(SDA, &[(&now, "3.0 Gbps\n"), (&ordered, "3.0 Gbps\n"), (&can, "<unknown>\n")]),
    ]
    .concat()
}

fn arrays() -> Vec<HostNote> {
    let md = |file: &str| format!("sys/devices/virtual/block/md0/md/{file}");
    let [degraded, action, done] = ["degraded", "sync_action", "sync_completed"].map(md);
    let md0 = "virtual/block/md0";
    let zfs = |file: &str, text: &str| {
        let machine = Captured::new();
        machine.file(file, text.as_bytes());
        let (kind, source) = ("zfs".to_owned(), "tank/data".to_owned());
        of_mount(&machine.machine(), &FilesystemFacts { kind, source, ..FilesystemFacts::default() })
    };
    let scrub =
        "  scan: scrub in progress since Sun Nov 30 10:02:11 2025\n\t0B done, 46.01% done, 0:11:45 to go\n";
    let on_btrfs = ("sys/fs/btrfs/u-1/devices/sda/size", "1\n");
    let status = "scrub status:1\nu-1:1|data_extents_scrubbed:5|duration:3|canceled:0|finished:0\n";
    [
        notes(md0, &[(&degraded, "1\n"), (&action, "idle\n")]),
        notes(md0, &[(&degraded, "0\n"), (&action, "recover\n"), (&done, "250 / 1000\n")]),
        notes(md0, &[(&degraded, "0\n"), (&action, "check\n"), (&done, "10 / 1000\n")]),
        zfs("proc/spl/kstat/zfs/tank/state", "DEGRADED\n"),
        zfs("programs/zpool status tank", scrub),
        notes(SDA, &[on_btrfs, ("sys/fs/btrfs/u-1/exclusive_operation", "balance\n")]),
        notes(SDA, &[on_btrfs, ("var/lib/btrfs/scrub.status.u-1", status)]),
    ]
    .concat()
}

fn drives() -> Vec<HostNote> {
    let attribute = |id: u64, raw: u64| json!({"id": id, "raw": {"value": raw}});
    let table = [attribute(5, 12), attribute(197, 8), attribute(199, 31)];
    let nvme = json!({
        "media_errors": 4, "avail_spare": 5, "spare_thresh": 10, "percent_used": 104, "warning_temp_time": 12,
        "critical_warning": 2,
    });
    let sensor = "sys/devices/pci0/0000:01:00.0/nvme/nvme0/hwmon1";
    let [hot, limit] = ["temp1_input", "temp1_max"].map(|file| format!("{sensor}/{file}"));
    let tolerance = "sys/devices/pci0/0000:01:00.0/nvme/nvme0/power/pm_qos_latency_tolerance_us";
    let policy = "sys/devices/pci0/0000:00:17.0/ata3/host2/scsi_host/host2/link_power_management_policy";
    let [control, delay] = ["control", "autosuspend_delay_ms"].map(|file| format!("{DEVICE}/power/{file}"));
    [
        of_smart("sda", &json!({"smart_status": {"passed": false}})),
        of_smart("sda", &json!({"ata_smart_attributes": {"table": table}})),
        of_nvme("nvme0n1", &nvme),
        notes(NVME, &[(&hot, "82000\n"), (&limit, "81850\n")]),
        notes(NVME, &[(tolerance, "100000\n")]),
        notes(SDA, &[(policy, "med_power_with_dipm\n")]),
        of_smart("sda", &json!({"ata_apm": {"level": 127}})),
        notes(SDA, &[(&control, "auto\n"), (&delay, "300000\n")]),
    ]
    .concat()
}

fn cpus() -> Vec<HostNote> {
    let policy = |file: &str| format!("sys/devices/system/cpu/cpufreq/policy0/{file}");
    let [now, can, governor, driver] =
        ["scaling_max_freq", "cpuinfo_max_freq", "scaling_governor", "scaling_driver"].map(policy);
    [
        host(&[(&now, "1200000\n"), (&can, "3400000\n")]),
        host(&[(&governor, "powersave\n"), (&driver, "acpi-cpufreq\n")]),
        host(&[("sys/devices/system/cpu/cpu0/cpuidle/state2/latency", "133\n")]),
    ]
    .concat()
}

fn layers() -> Vec<HostNote> {
    let of = |uuid: &str, program: &str, says: &str| {
        let folder = "virtual/block/dm-0";
        let [of_uuid, name] = ["uuid", "name"].map(|file| format!("sys/devices/{folder}/dm/{file}"));
        notes(
            folder,
            &[(&of_uuid, uuid), (&name, "vol\n"), (&format!("programs/dmsetup {program} vol"), says)],
        )
    };
    let mounted = |kind: &str, options: &str| {
        let (kind, options, mount_point) = (kind.to_owned(), options.to_owned(), "/srv".to_owned());
        let facts = FilesystemFacts { kind, options, mount_point, ..FilesystemFacts::default() };
        of_mount(&Captured::new().machine(), &facts)
    };
    [
        of("CRYPT-LUKS2-aa\n", "table", "0 2097152 crypt aes-xts-plain64 :64:logon:x 0 8:16 32768\n"),
        of("\n", "status", "0 8192 thin-pool 1 11/1024 120/128 - rw\n"),
        of("\n", "status", "0 131072 thin 65536 131071\n"),
        mounted("ext4", "rw,sync,discard,strictatime,nobarrier"),
        mounted("ext4", "rw,data=journal"),
        mounted("nfs4", "rw,soft"),
        mounted("fuse.sshfs", "rw"),
    ]
    .concat()
}

/// The notes as a table; a device's folder is written as the link that people use.
fn table() -> String {
    let mut text =
        "| finding | where, and what stands there | sentence | what changes it |\n|---|---|---|---|\n"
            .to_owned();
    let short = |text: &str| {
        let text =
            [(SDA, "sda"), (NVME, "nvme0n1"), ("virtual/block/md0", "md0"), ("virtual/block/dm-0", "dm-0")]
                .into_iter()
                .fold(text.to_owned(), |text, (folder, name)| {
                    text.replace(&format!("/sys/devices/{folder}"), &format!("/sys/block/{name}"))
                });
        text.replace('|', "\\|")
    };
    for note in [groups(), queues(), links(), arrays(), drives(), cpus(), layers()].concat() {
        let kind = json!(note.kind);
        let kind = kind.as_str().unwrap();
        let kind = if kind == "thin" { "thin-pool" } else { kind };
        let (path, value) = (short(&note.path), short(&note.value));
        writeln!(text, "| {kind} | `{path}`: `{value}` | {} | {} |", note.says, short(&note.mend)).unwrap();
    }
    text
}

/// To write the table anew: UPDATE_PAGE=1 cargo test -p assay-host page_tests
#[test]
fn the_page_of_facts_has_what_is_said_of_each_planted_one() {
    let page = std::fs::read_to_string(PAGE).unwrap();
    let (before, rest) = page.split_once(ENDS[0]).unwrap();
    let (table_of_page, after) = rest.split_once(ENDS[1]).unwrap();
    let table = table();
    if std::env::var_os("UPDATE_PAGE").is_some() {
        std::fs::write(PAGE, format!("{before}{}{table}{}{after}", ENDS[0], ENDS[1])).unwrap();
        return;
    }
    assert_eq!(table_of_page, table, "UPDATE_PAGE=1 cargo test -p assay-host page_tests writes it");
}
