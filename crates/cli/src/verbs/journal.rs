//! `assay journal`: changes to a set-up, each measured by the same plan.
//!
//! The store keeps what a journal is about; its steps are the runs that name it. A step is every run in a row with the
//! same words for its change, so that a change can be measured several times.

use std::collections::BTreeSet;

use anyhow::{Context as _, bail};
use assay_analysis::compare::{Side, compare_with};
use assay_analysis::repeats::pooled;
use assay_record::RunHeader;
use assay_report::journal::{Journal, JournalEntry, Stage, changed_facts};
use assay_spec::units::Bytes;
use assay_spec::{Address, without_secret};
use assay_store::Store;
use serde_json::json;

use crate::args::{JournalArgs, JournalVerb};
use crate::exit::Exit;
use crate::output::render::Rendered as _;
use crate::output::terminal::{note, say, text_options};
use crate::output::{Kept, Output};
use crate::words::journals::{About, OnHosts, all, named};
use crate::words::plan::{Choice, resolve};
use crate::words::store::{existing_store, open_store, store_if_any};
use crate::words::typed::quoted;

pub(crate) fn journal(args: &JournalArgs) -> anyhow::Result<Exit> {
    match &args.verb {
        JournalVerb::New { name, target, plan, storage_ram, fleet } => {
            target.parse::<Address>().with_context(|| format!("target `{}`", without_secret(target)))?;
            // A plan that cannot be read is said now, not at the first step.
            resolve(plan, &Choice::default())?;
            let about = About {
                targets: vec![target.clone()],
                plan: plan.clone(),
                storage_ram_bytes: storage_ram.map(|bytes| bytes.0),
                on: OnHosts::typed(fleet)?,
            };
            let store = open_store(&args.store)?;
            if !store.add_journal(name, &serde_json::to_string(&about)?)? {
                bail!(
                    "a journal `{name}` already exists; choose another name, or remove it: assay journal rm"
                );
            }
            say(&assembled(&store, name, &about)?.text(text_options()))?;
        }
        JournalVerb::Show { name, form, output } => {
            let store = existing_store(&args.store)?;
            let (name, about) = named(&store, name.as_deref())?;
            let check =
                |path: &std::path::PathBuf| Output::check_named(path, Kept::of(&args.store, &[]), None);
            let output = output.as_ref().map(check).transpose()?;
            let journal = assembled(&store, &name, &about)?;
            if let Some(output) = &output {
                journal.write(output, "journal")?;
            }
            if !output.as_ref().is_some_and(Output::is_stdout) {
                say(&journal.printed(form.form(), text_options()))?;
            }
        }
        JournalVerb::List { json } => {
            let known = store_if_any(&args.store)?.map_or(Ok(Vec::new()), |store| all(&store))?;
            if *json {
                let list = known.iter().map(
                    |(name, about)| json!({ "name": name, "targets": about.targets, "plan": about.plan }),
                );
                say(&format!("{:#}\n", list.collect::<serde_json::Value>()))?;
            } else {
                let line = |(name, about): &(String, About)| {
                    format!("{name}  {} on {}\n", about.plan, about.targets.join(", "))
                };
                say(&known.iter().map(line).collect::<String>())?;
            }
        }
        JournalVerb::Rm { name } => {
            if !existing_store(&args.store)?.remove_journal(name)? {
                bail!("there is no journal `{name}`; assay journal list names them");
            }
            note!("removed the journal {name}; its runs are kept");
        }
    }
    Ok(Exit::Done)
}

/// Runs of one step in a row: one after the other, also where the clock of the host was set back meanwhile.
struct Measured {
    change: String,
    side: Side,
    /// Of its first run.
    header: RunHeader,
}

fn steps(store: &Store, name: &str) -> anyhow::Result<Vec<Measured>> {
    let mut steps: Vec<Measured> = Vec::new();
    let running = store.running()?;
    for run in store.as_kept()?.into_iter().filter(|run| !running.contains(run)) {
        let header = store.header(&run)?;
        let Some(step) = header.setting.journal.clone().filter(|step| step.journal == name) else { continue };
        let reading = crate::words::stored::read(store, &run)?.result_set();
        match steps.last_mut().filter(|last| last.change == step.change) {
            Some(last) => last.side.readings.push(reading),
            None => {
                let side = Side { name: step.change.clone(), readings: vec![reading] };
                steps.push(Measured { change: step.change, side, header });
            }
        }
    }
    Ok(steps)
}

fn assembled(store: &Store, name: &str, about: &About) -> anyhow::Result<Journal> {
    let steps = steps(store, name)?;
    let sides: Vec<Side> = steps.iter().map(|step| step.side.clone()).collect();
    let entry = |(index, step): (usize, &Measured)| {
        let before = index.checked_sub(1).map(|before| &steps[before]);
        let against = before.map(|before| compare_with(&[before.side.clone(), step.side.clone()], &sides));
        JournalEntry {
            change: step.change.clone(),
            runs: step.side.readings.iter().map(|reading| reading.id.clone()).collect(),
            tests: pooled(&step.side),
            against,
            facts: before.map(|before| changed_facts(&before.header, &step.header)).unwrap_or_default(),
        }
    };
    Ok(Journal {
        name: name.to_owned(),
        about: format!("{} on {}", about.plan, about.targets.join(", ")),
        steps: steps.iter().enumerate().map(entry).collect(),
        whole: (sides.len() > 1).then(|| compare_with(&sides, &sides)),
        stages: stages(about, &steps),
    })
}

/// The hosts that a run was placed on, those that never began too; none where it was on one without a name.
fn placed_on(header: &RunHeader) -> Vec<String> {
    let steps = header.plan.tests.iter().flat_map(|test| &test.steps);
    let mut hosts: Vec<String> = Vec::new();
    for host in steps.flat_map(|step| &step.jobs).flat_map(|job| &job.hosts) {
        if !header.setting.hosts.is_empty() && !hosts.contains(host) {
            hosts.push(host.clone());
        }
    }
    hosts
}

/// Over which hosts the next step runs: those of the journal, or of its last step. Where the latter are reached is in
/// no record.
fn on_hosts(about: &About, steps: &[Measured]) -> Option<OnHosts> {
    let of_step = || {
        let hosts = placed_on(&steps.last()?.header);
        let nats = "nats://HOST:4222".to_owned();
        (!hosts.is_empty()).then_some(OnHosts { hosts, nats, nkey: None, ca: None })
    };
    about.on.clone().or_else(of_step)
}

/// Among how many hosts a working set is divided; `None` where that is not known before a run over all of them.
fn parts(about: &About, on: Option<&OnHosts>, steps: &[Measured]) -> Option<u64> {
    // Each host has a target of its own then, and --size is that of each.
    let on = on.filter(|_| about.targets.iter().any(|target| target.contains("{host}")));
    let Some(on) = on else { return Some(1) };
    let count = match on.are_all() {
        true => steps.last().map(|step| placed_on(&step.header).len()).filter(|count| *count > 0)?,
        false => on.hosts.len().max(1),
    };
    Some(count as u64)
}

/// The bytes of the targets of a run. A LUN or an export that several hosts use is one, and a path of each is not.
fn span_bytes<'h>(targets: impl Iterator<Item = (&'h str, u64)>, hosts: &[String]) -> u64 {
    let mut shared: BTreeSet<&str> = BTreeSet::new();
    let mut sum = 0;
    for (address, bytes) in targets {
        let behind = hosts.iter().find_map(|host| address.strip_prefix(host.as_str())?.strip_prefix(':'));
        let is_shared = |own: &&str| matches!(own.parse(), Ok(Address::Iscsi(_) | Address::Nfs(_)));
        if behind.filter(is_shared).is_none_or(|own| shared.insert(own)) {
            sum += bytes;
        }
    }
    sum
}

/// The three stages: the path with a working set in the storage's memory, the same after each change to the path, and
/// the real storage with twice its memory.
fn stages(about: &About, steps: &[Measured]) -> Vec<Stage> {
    let span = |step: &Measured| {
        let targets = step.header.targets.iter().map(|t| (t.address.as_str(), t.member.span_bytes));
        span_bytes(targets, &placed_on(&step.header))
    };
    let ram = about.storage_ram_bytes;
    let is_small = |step: &&Measured| ram.is_some_and(|ram| span(step) < ram);
    let small = steps.iter().filter(is_small).count();
    let on = on_hosts(about, steps);
    let parts = parts(about, on.as_ref(), steps);
    let (in_ram, beyond) = match ram.zip(parts) {
        Some((ram, parts)) => (Bytes(ram / 4 / parts).to_string(), Bytes(ram * 2 / parts).to_string()),
        None => ("SIZE".to_owned(), "SIZE".to_owned()),
    };
    let on = on.map(|on| on.words()).unwrap_or_default();
    let targets: Vec<String> = about.targets.iter().map(|target| quoted(target)).collect();
    let command = |size: &str, words: &str| {
        format!(
            "assay run {} {}{on} --size {size} --repeat 3 --step \"{words}\"",
            quoted(&about.plan),
            targets.join(" ")
        )
    };
    let known = match (ram, parts) {
        (None, _) => " (its size is not known; give it with --storage-ram)",
        (_, None) => " (SIZE is of each host: divide by their number)",
        _ => "",
    };
    vec![
        Stage {
            says: format!("The path alone: a working set in the storage's memory, a quarter of it{known}"),
            steps: small.min(1),
            command: command(&in_ram, "path alone"),
        },
        Stage {
            says: "The path tuned: one change at a time, with the same working set".to_owned(),
            steps: small.saturating_sub(1),
            command: command(&in_ram, "what was changed"),
        },
        Stage {
            says: format!("The real storage: a working set of twice its memory{known}"),
            steps: steps.iter().filter(|step| ram.is_some_and(|ram| span(step) >= 2 * ram)).count(),
            command: command(&beyond, "real storage"),
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::span_bytes;

    /// One LUN that eight hosts use was eight, and "the real storage" was measured in a part of its memory.
    #[test]
    fn a_lun_that_several_hosts_use_is_counted_once() {
        let hosts = ["a", "b"].map(str::to_owned);
        let of = |targets: &[&str], hosts: &[String]| {
            span_bytes(targets.iter().map(|target| (*target, 4_u64)), hosts)
        };
        let lun = "iscsi://nas/iqn.2004-01.example:disk/1";
        let [on_a, on_b] = ["a", "b"].map(|host| format!("{host}:{lun}"));
        assert_eq!(of(&[&on_a, &on_b], &hosts), 4);
        assert_eq!(of(&["a:/dev/sdb", "b:/dev/sdb"], &hosts), 8, "a disk of each");
        assert_eq!(of(&["a.dat", "b.dat"], &[]), 8);
    }
}
