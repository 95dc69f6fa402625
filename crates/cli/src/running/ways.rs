//! The same storage reached in another way: one path, every path in turn, more connections, writes without sync.

use assay_diagnose::OtherWays;
use assay_engine::RunTargets;
use assay_record::TargetFacts;
use assay_spec::{NfsSync, PathPolicy, Plan};
use assay_target::{Durability, Member};

/// Sessions of a LUN and connections of an NFS server, times those of the load.
const TIMES: u8 = 4;
/// Most of each that addresses allow.
const SESSIONS_MAX: u8 = 32;
const CONNECTIONS_MAX: u8 = 16;
/// Every I/O on the next path.
const EVERY_IO: PathPolicy = PathPolicy::RoundRobin { ios: 1, bytes: u64::MAX };

/// Returns the targets with other ways to the first of them behind it.
pub(super) fn with_other_ways(mut targets: RunTargets, plan: &Plan) -> (RunTargets, OtherWays) {
    let mut ways = OtherWays::default();
    let (Some(member), Some(facts)) = (targets.members.first().cloned(), targets.facts.first().cloned())
    else {
        return (targets, ways);
    };
    let mut add = |way: Option<(Member, TargetFacts)>| {
        let (member, facts) = way?;
        let index = u32::try_from(targets.members.len()).ok()?;
        targets.members.push(member);
        targets.facts.push(facts);
        Some(index)
    };
    ways.one_path = add(one_path(&member, &facts));
    ways.even_paths = add(even_paths(&member, &facts));
    ways.more_connections = add(more_connections(&member, &facts));
    ways.without_sync = add(plan.writes().then(|| without_sync(&member, &facts)).flatten());
    (targets, ways)
}

fn named(facts: &TargetFacts, what: &str) -> TargetFacts {
    TargetFacts { address: format!("{} ({what})", facts.address), ..facts.clone() }
}

fn one_path(member: &Member, facts: &TargetFacts) -> Option<(Member, TargetFacts)> {
    let Member::Lun(lun) = member else { return None };
    let paths = facts.member.paths().iter().filter(|path| path.is_up).count();
    if paths < 2 {
        return None;
    }
    let mut lun = lun.clone();
    lun.address.portals.truncate(1);
    (lun.address.all_portals, lun.address.sessions) = (false, 1);
    let mut facts = named(facts, "one path");
    if let Some(of) = &mut facts.member.lun {
        of.paths.truncate(1);
    }
    Some((Member::Lun(lun), facts))
}

fn even_paths(member: &Member, facts: &TargetFacts) -> Option<(Member, TargetFacts)> {
    let Member::Lun(lun) = member else { return None };
    let paths = facts.member.paths().iter().filter(|path| path.is_up).count();
    if paths < 2 || lun.address.policy == EVERY_IO {
        return None;
    }
    let mut lun = lun.clone();
    lun.address.policy = EVERY_IO;
    Some((Member::Lun(lun), named(facts, "every I/O on the next path")))
}

fn more_connections(member: &Member, facts: &TargetFacts) -> Option<(Member, TargetFacts)> {
    let facts = named(facts, "more connections");
    match member {
        Member::Lun(lun) if facts.member.paths().len() == 1 => {
            let mut lun = lun.clone();
            lun.address.sessions = lun.address.sessions.saturating_mul(TIMES).min(SESSIONS_MAX);
            Some((Member::Lun(lun), facts))
        }
        Member::Nfs(nfs) if nfs.address.connections < CONNECTIONS_MAX => {
            let mut nfs = nfs.clone();
            nfs.address.connections = nfs.address.connections.saturating_mul(TIMES).min(CONNECTIONS_MAX);
            let mut facts = facts;
            if let Some(of) = &mut facts.member.nfs {
                of.connections = nfs.address.connections;
            }
            Some((Member::Nfs(nfs), facts))
        }
        _ => None,
    }
}

fn without_sync(member: &Member, facts: &TargetFacts) -> Option<(Member, TargetFacts)> {
    let mut facts = named(facts, "without sync");
    facts.member.sync = false;
    match member {
        Member::File(file) if file.durability == Durability::Sync => {
            let mut file = file.clone();
            file.durability = Durability::Device;
            Some((Member::File(file), facts))
        }
        Member::Lun(lun) if lun.durability == Durability::Sync => {
            let mut lun = lun.clone();
            lun.durability = Durability::Device;
            Some((Member::Lun(lun), facts))
        }
        Member::Nfs(nfs) if nfs.durability == Durability::Sync || nfs.address.sync == NfsSync::File => {
            let mut nfs = nfs.clone();
            (nfs.durability, nfs.address.sync) = (Durability::Device, NfsSync::Unstable);
            if let Some(of) = &mut facts.member.nfs {
                "unstable".clone_into(&mut of.sync);
            }
            Some((Member::Nfs(nfs), facts))
        }
        _ => None,
    }
}
