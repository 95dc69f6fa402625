//! A set-up as the record of a run has it: the plan of experiments, the host, and the target.

use assay_diagnose::{Cause, Order, OtherWays, Reach, WritesAllowed, plan};
use assay_record::{
    Agreed, BusFacts, Content, DeviceFacts, DiagnosisFacts, FrameFacts, FrameProbe, HostFacts, HostNote,
    InterfaceFacts, LunFacts, MemberFacts, MemberKind, NetPathFacts, NoteKind, PathFacts, PingFacts,
    Placement, RouteFacts, RunHeader, TargetFacts,
};
use assay_spec::{Engine, Overrides, Plan, PlanFile};

use crate::case::{EVEN_PATHS, MORE_CONNECTIONS, ONE_PATH, PlantedCase};
use crate::world::TARGET_BYTES;

/// Name of the device of a local target.
pub(crate) const DEVICE: &str = "sdb";
pub(crate) const CPUS: u32 = 8;
/// Mean piece of a file in many pieces.
const PIECE_BYTES: u64 = 256 << 10;
/// Payload of a link of 1 Gbit/s, MB/s.
const MB_PER_GBIT: f64 = 117.6;

/// Returns the header of the diagnosis of a set-up.
pub(crate) fn header(case: &PlantedCase) -> RunHeader {
    let setting = &case.setting;
    let target = TargetFacts { address: "planted".to_owned(), member: member(case) };
    let is_one = setting.is_remote() && setting.paths == 1;
    let several = setting.paths > 1;
    let load = load(case);
    let tests = plan(&Order {
        plan: &load,
        budget_s: case.budget_s,
        span_bytes: Some(TARGET_BYTES),
        ways: OtherWays {
            one_path: several.then_some(ONE_PATH),
            even_paths: several.then_some(EVEN_PATHS),
            more_connections: is_one.then_some(MORE_CONNECTIONS),
            without_sync: None,
        },
        writes: if case.may_write { WritesAllowed::Yes } else { WritesAllowed::AsTheLoad },
    });
    RunHeader {
        run: format!("planted-{}", case.seed),
        version: "0.1.0".to_owned(),
        started_unix_ms: 0,
        diagnosis: Some(DiagnosisFacts {
            load: load.name.clone(),
            budget_s: case.budget_s,
            others_busy: Some(case.others_busy),
            busy_before: Some(case.others_busy),
            kept_awake: false,
            experiments: tests.iter().map(|test| test.experiment).collect(),
        }),
        plan: Plan { tests: tests.into_iter().map(|test| test.test).collect(), ..load },
        targets: vec![target; 4],
        host: HostFacts {
            cpus: case.world.cpus as u32,
            cpus_online: CPUS,
            cgroup_cpus: case.world.quota,
            ..HostFacts::default()
        },
        array: None,
        stated: assay_record::StatedMemory::default(),
        imported: None,
        setting: assay_record::RunSetting::default(),
    }
}

/// The load as a plan.
fn load(case: &PlantedCase) -> Plan {
    let load = &case.load;
    let window = if load.span < 1.0 {
        format!("window = \"{}MiB\"\n", (TARGET_BYTES as f64 * load.span) as u64 >> 20)
    } else {
        String::new()
    };
    let align = if load.misaligned { ", align = \"512\"" } else { "" };
    let data = if load.repeats { "data = \"repeating\"\n" } else { "" };
    let text = format!(
        "name = \"{:?}\"\n[[test]]\nname = \"load\"\nworkers = {}\noutstanding = {}\nsync = {}\n{data}{window}access = \
         [{{ size = \"{}\", read = {}, random = {}{align} }}]\n",
        case.cause,
        load.workers,
        (load.outstanding / load.workers).max(1),
        load.is_sync,
        load.size,
        load.reads * 100.0,
        load.random * 100.0,
    );
    let file = PlanFile::parse("planted", &text).unwrap_or_else(|error| panic!("{text}: {error}"));
    file.resolve(&Overrides::default()).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn member(case: &PlantedCase) -> MemberFacts {
    let (setting, world) = (&case.setting, &case.world);
    let local = MemberFacts {
        path: "/dev/sdb".to_owned(),
        kind: if setting.is_file { MemberKind::File } else { MemberKind::Device },
        capacity_bytes: TARGET_BYTES,
        span_bytes: TARGET_BYTES,
        block_bytes: 512,
        engine: Engine::IoUring,
        direct: setting.reach != Reach::Cached,
        content: Content::Prepared,
        unwritten_bytes: Some((world.unmapped * TARGET_BYTES as f64) as u64),
        placement: Some(Placement {
            first_bytes: 0,
            end_bytes: TARGET_BYTES,
            pieces: 1,
            device_bytes: TARGET_BYTES,
        }),
        device: Some(DeviceFacts {
            name: DEVICE.to_owned(),
            stack: vec![DEVICE.to_owned()],
            physical_block_bytes: 4096,
            bus: downgraded_bus(case),
            notes: notes(case),
            ..DeviceFacts::default()
        }),
        extents: Some(if setting.shows(Cause::Fragmented) { TARGET_BYTES / PIECE_BYTES } else { 1 }),
        ..nothing()
    };
    if !setting.is_remote() {
        return local;
    }
    MemberFacts {
        kind: MemberKind::Lun,
        engine: Engine::Iscsi,
        unwritten_bytes: None,
        placement: None,
        device: None,
        lun: Some(Box::new(lun(case))),
        ..local
    }
}

/// What the kernel shows of the device.
fn notes(case: &PlantedCase) -> Vec<HostNote> {
    let kind = |cause: &Cause| match cause {
        Cause::Rebuild => Some(NoteKind::RaidBusy),
        Cause::Crypt => Some(NoteKind::Encrypted),
        Cause::LinkDowngraded => Some(NoteKind::SlowedSata),
        Cause::Thermal => Some(NoteKind::HotDrive),
        Cause::PowerState => Some(NoteKind::DriveSleeps),
        Cause::FirstWrite => Some(NoteKind::Thin),
        _ => None,
    };
    let note = |kind| HostNote {
        kind,
        path: "/sys/planted".to_owned(),
        value: "planted".to_owned(),
        says: "a state".to_owned(),
        mend: "Mend it.".to_owned(),
        limit: None,
    };
    case.setting.shown.iter().filter_map(kind).map(note).collect()
}

/// The speed that a link has now.
fn downgraded_bus(case: &PlantedCase) -> Option<BusFacts> {
    let rate = case.world.bus_rate.filter(|_| case.cause == Cause::LinkDowngraded)?;
    Some(BusFacts { says: "SATA at a lower speed".to_owned(), mb_per_s: rate as u32, full_duplex: false })
}

fn nothing() -> MemberFacts {
    MemberFacts { block_bytes: 512, engine: Engine::IoUring, direct: true, ..MemberFacts::default() }
}

fn lun(case: &PlantedCase) -> LunFacts {
    LunFacts {
        target: "iqn.2026-01.example:planted".to_owned(),
        transfer_bytes_max: 8 << 20,
        thin: case.setting.shows(Cause::FirstWrite),
        paths: (0..case.world.paths).map(|path| path_facts(case, path)).collect(),
        ..LunFacts::default()
    }
}

/// Address of the portal of a path.
pub(crate) fn portal(path: usize) -> String {
    format!("10.0.{path}.1:3260")
}

/// Round trip of an empty command without load, µs.
pub(crate) fn idle_ping_us(case: &PlantedCase) -> f64 {
    (case.world.delay_us + case.world.target_us).max(1.0)
}

fn path_facts(case: &PlantedCase, path: usize) -> PathFacts {
    let device = format!("eth{path}");
    let ping_us = idle_ping_us(case) as u64;
    PathFacts {
        portal: portal(path),
        is_up: true,
        local: Some(format!("10.0.{path}.2:50000")),
        remote: Some(portal(path)),
        access: "optimized".to_owned(),
        agreed: Some(Agreed { max_recv_segment_bytes: 262_144, ..Agreed::default() }),
        tcp: None,
        ping: Some(PingFacts { count: 5, min_us: ping_us, median_us: ping_us, max_us: ping_us }),
        net: Some(Box::new(NetPathFacts {
            route: Some(RouteFacts { device: device.clone(), ..RouteFacts::default() }),
            interface: Some(InterfaceFacts {
                name: device,
                mtu_bytes: 1500,
                speed_mbit_s: Some((case.world.link_rate / MB_PER_GBIT * 1000.0).round() as u32),
                ..InterfaceFacts::default()
            }),
            frames: FrameFacts { how: FrameProbe::Echo, ..FrameFacts::default() },
        })),
    }
}
