//! What a reader needs to judge or repeat the run: targets, host, plan, seed, versions, notes.

use assay_analysis::{Ceiling, RunSummary};
use assay_record::{Content, DeviceFacts, Imported, MemberFacts, PathFacts, RunHeader, TargetFacts};
use assay_spec::{Access, Job, Pacing, Semantics, Span, Step};

use crate::number;
use crate::svg::escape;

/// A name, and what is known under it.
pub(super) type Fact = (String, String);

/// Everything, as tables.
pub(super) fn all(header: &RunHeader, summary: &RunSummary) -> String {
    let mut text = String::from("<h2>Set-up</h2>\n");
    for target in &header.targets {
        text.push_str(&format!(
            "<h3>Target {}</h3>\n{}",
            escape(&target.address),
            table(&target_facts(target, header.imported.is_some()))
        ));
        for (index, path) in target.member.paths().iter().enumerate() {
            let ceiling = match &target.member.nfs {
                Some(nfs) => assay_analysis::nfs_ceiling(nfs),
                None => assay_analysis::ceiling(path),
            };
            text.push_str(&format!(
                "<h4>Path {index}, {}</h4>\n{}",
                escape(&path.portal),
                table(&path_facts(path, ceiling))
            ));
        }
    }
    let host = host_facts(header);
    if host.iter().any(|(_, value)| !value.is_empty()) {
        text.push_str(&format!("<h3>Host</h3>\n{}", table(&host)));
    }
    text.push_str(&format!("<h3>Plan</h3>\n{}", table(&plan_facts(header))));
    if !header.plan.notes.is_empty() {
        text.push_str("<h3>Notes of the plan</h3>\n<ul>\n");
        header.plan.notes.iter().for_each(|n| text.push_str(&format!("<li>{}</li>\n", escape(n))));
        text.push_str("</ul>\n");
    }
    if !summary.warnings.is_empty() {
        text.push_str("<h3>Warnings before and during the run</h3>\n<ul>\n");
        let item = |says: &str| format!("<li>{}</li>\n", escape(says));
        summary.warnings.iter().for_each(|warning| text.push_str(&item(&warning.says)));
        text.push_str("</ul>\n");
    }
    text.push_str(&format!(
        "<p class=\"note\">Written by assay {} from the stored events of run {}.</p>
",
        escape(&header.version),
        escape(&header.run)
    ));
    text
}

/// Returns a table of two columns, without the names under which nothing is known.
pub(super) fn table(facts: &[Fact]) -> String {
    let row =
        |(name, value): &Fact| format!("<tr><th>{}</th><td>{}</td></tr>\n", escape(name), escape(value));
    let rows: String = facts.iter().filter(|(_, value)| !value.is_empty()).map(row).collect();
    format!("<table class=\"facts\"><tbody>\n{rows}</tbody></table>\n")
}

fn fact(name: &str, value: impl Into<String>) -> Fact {
    (name.to_owned(), value.into())
}

/// The facts that `assay check` shows.
fn path_facts(path: &PathFacts, ceiling: Option<Ceiling>) -> Vec<Fact> {
    let mut facts: Vec<Fact> =
        crate::network::path_facts(path, ceiling).into_iter().map(|(name, says)| fact(name, says)).collect();
    facts.extend(path.agreed.as_ref().map(|agreed| fact("negotiated", crate::network::agreed(agreed))));
    facts
}

fn target_facts(target: &TargetFacts, is_imported: bool) -> Vec<Fact> {
    let member = &target.member;
    let mut facts = vec![fact("I/O goes to", member.path.clone())];
    if member.capacity_bytes > 0 {
        let used = format!("{} of {}", number::size(member.span_bytes), number::size(member.capacity_bytes));
        facts.push(fact("Size used", used));
    }
    // Another tool does not say how it issued its I/Os, and on which data.
    if !is_imported {
        facts.extend([fact("Issued by", issued(member)), fact("Content", content(member))]);
    }
    if let Some(lun) = &member.lun {
        let together = assay_analysis::ceiling_together(&lun.paths);
        facts.push(fact("Paths", format!("{}, {}", lun.paths.len(), lun.policy)));
        facts.push(fact("Ceiling of all paths", together.arithmetic));
    }
    if let Some(place) = &member.placement {
        facts.push(fact(
            "Place on the disk",
            format!(
                "{} to {} of {}, in {} {}",
                number::size(place.first_bytes),
                number::size(place.end_bytes),
                number::size(place.device_bytes),
                place.pieces,
                if place.pieces == 1 { "piece" } else { "pieces" }
            ),
        ));
    }
    if let Some(fs) = &member.filesystem {
        let free = number::size(fs.free_bytes);
        facts.push(fact(
            "File system",
            format!("{} {} at {}, {free} free, {}", fs.kind, fs.source, fs.mount_point, fs.options),
        ));
    }
    if let Some(device) = &member.device {
        let kind = if device.rotational { "rotating" } else { "not rotating" };
        let serial = device.serial.as_ref().map(|s| format!(", serial {s}")).unwrap_or_default();
        facts.push(fact(
            "Device",
            format!("{}, {}, {kind}{serial}", device_name(device), number::size(device.size_bytes)),
        ));
        facts.push(fact(
            "Scheduler, write cache",
            format!("{}, {}", device.scheduler, device.write_cache).trim_matches([',', ' ']).to_owned(),
        ));
        facts.push(fact("Devices below", device.stack.join(", ")));
    }
    facts
}

/// The name of a device, and its model where it has one: a disk of virtio has none.
fn device_name(device: &DeviceFacts) -> String {
    format!("{} {}", device.name, device.model.trim()).trim_end().to_owned()
}

fn issued(member: &MemberFacts) -> String {
    let path = if member.direct { "direct, bypassing the page cache" } else { "through the page cache" };
    let durable = if member.sync { ", each write durable (O_DSYNC)" } else { "" };
    format!(
        "{}, {path}{durable}, smallest I/O {}",
        member.engine,
        number::size(u64::from(member.block_bytes))
    )
}

fn content(member: &MemberFacts) -> String {
    let mut text = match member.content {
        Content::Prepared => "written by Assay for this run",
        Content::Reused => "written by Assay for an earlier run",
        Content::Foreign => "written by another program",
        Content::None => "none",
    }
    .to_owned();
    if let Some(bytes) = member.unwritten_bytes {
        text.push_str(&format!(", {} never written", number::size(bytes)));
    }
    if let Some(extents) = member.extents {
        text.push_str(&format!(", {extents} pieces"));
    }
    text
}

fn host_facts(header: &RunHeader) -> Vec<Fact> {
    let host = &header.host;
    let limit = host.cgroup_cpus.map(|c| format!(", limited to {c} by a cgroup")).unwrap_or_default();
    let memory_limit =
        host.cgroup_memory_bytes.map(|b| format!(", limited to {} by a cgroup", number::size(b)));
    let known = |is_known: bool, says: String| if is_known { says } else { String::new() };
    let cpus = format!("{}, {} of {} CPUs{limit}", host.cpu_model, host.cpus, host.cpus_online);
    let memory = format!("{}{}", number::size(host.memory_bytes), memory_limit.unwrap_or_default());
    vec![
        fact("Name", host.name.clone()),
        fact("System", known(!host.kernel.is_empty(), format!("{}, Linux {}", host.os, host.kernel))),
        fact("CPU", known(host.cpus > 0, cpus)),
        fact("Memory", known(host.memory_bytes > 0, memory)),
        fact("Clock source", host.clocksource.clone()),
        fact("Wall clock", host.clock.as_ref().map(assay_record::ClockState::words).unwrap_or_default()),
        fact("Hypervisor", host.hypervisor.clone().unwrap_or_default()),
        fact("CPU governor", host.governor.clone().unwrap_or_default()),
    ]
}

fn plan_facts(header: &RunHeader) -> Vec<Fact> {
    let plan = &header.plan;
    let semantics = match plan.semantics {
        Semantics::Assay => "assay: own slices, redrawn random offsets, a queue that stays full",
        Semantics::Fio => "fio: as fio does it: a stream for each direction, every block once",
        Semantics::Iometer => "iometer: as Iometer does it, for comparison with published tables",
    };
    let span = match plan.span {
        Span::Whole => "all of each target".to_owned(),
        Span::Size(size) => size.to_string(),
    };
    // What is Assay's own says nothing of another tool.
    let own = |says: String| if header.imported.is_some() { String::new() } else { says };
    let mut facts = vec![
        fact("Name", plan.name.clone()),
        fact("Semantics", own(semantics.to_owned())),
        fact("Requested size", own(span)),
        fact("Seed", own(plan.seed.to_string())),
        fact("Shortened", if plan.quick { "yes (--quick)" } else { "" }),
        fact("Source of its numbers", plan.source.clone()),
    ];
    let says_load = header.imported.as_ref().is_none_or(Imported::says_load);
    for test in plan.tests.iter().filter(|_| says_load) {
        let Some(step) = test.steps.first() else { continue };
        let sweep = if test.steps.len() > 1 {
            format!("{} steps; the first: ", test.steps.len())
        } else {
            String::new()
        };
        facts.push(fact(&test.name, format!("{sweep}{}", step_text(step))));
    }
    facts
}

fn step_text(step: &Step) -> String {
    let jobs: Vec<String> = step.jobs.iter().map(|job| job_text(job, step.jobs.len() > 1)).collect();
    let warmup = if step.warmup.0 > 0 { format!("{} warm-up, ", step.warmup) } else { String::new() };
    let verify = if step.verify { ", every read verified" } else { "" };
    format!("{}; {warmup}{} measured{verify}", jobs.join("; "), step.stop.words())
}

fn job_text(job: &Job, is_named: bool) -> String {
    let mix: Vec<String> = job.mix.iter().map(|a| access_text(a, job.mix.len() > 1)).collect();
    let name = if is_named { format!("{}: ", job.name) } else { String::new() };
    let pace = match job.pacing {
        Pacing::Closed => String::new(),
        Pacing::Throttled { rate } => format!(", at most {rate}"),
        Pacing::Open { rate, arrivals } => format!(", open load of {rate} ({arrivals:?})").to_lowercase(),
    };
    let reconnect = job.reconnect_every.map(|n| format!(", reopened every {n} I/Os")).unwrap_or_default();
    let workers = if job.workers == 1 { "1 worker".to_owned() } else { format!("{} workers", job.workers) };
    let particulars = job.particulars();
    format!(
        "{name}{}; {workers}, {} outstanding{pace}{reconnect}{particulars}",
        mix.join(" + "),
        job.outstanding
    )
}

fn access_text(access: &Access, is_weighted: bool) -> String {
    let weight = if is_weighted { format!("{} of ", access.weight) } else { String::new() };
    let particulars = access.particulars();
    format!("{weight}{}, {} % read, {} % random{particulars}", access.size, access.read, access.random)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_without_a_model_has_its_name_alone() {
        let of = |model: &str| DeviceFacts { name: "vda".into(), model: model.into(), ..Default::default() };
        assert_eq!(device_name(&of("")), "vda");
        assert_eq!(device_name(&of("QEMU HARDDISK ")), "vda QEMU HARDDISK");
    }
}
