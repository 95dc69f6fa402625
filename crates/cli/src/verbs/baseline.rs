//! `assay baseline`: what later runs of a plan on a target are compared with, and how a run stands against it.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, bail};
use assay_analysis::compare::Gate;
use assay_fleet::HostChoice;
use assay_record::{FleetHost, RunHeader};
use assay_results::baseline_of;
use assay_store::{Baseline, BaselineOf, RunRow, Store, target_key};
use serde_json::json;

use crate::args::{BaselineArgs, BaselineVerb};
use crate::exit::Exit;
use crate::output::terminal::{note, say};
use crate::words::fleet::Fleet;
use crate::words::store::{existing_store, store_if_any};
use crate::words::stored::read;

pub(crate) fn baseline(args: &BaselineArgs) -> anyhow::Result<Exit> {
    match &args.verb {
        BaselineVerb::Set { run, target } => set(&existing_store(&args.store)?, run, target.as_deref())?,
        BaselineVerb::List { form } => {
            let known = store_if_any(&args.store)?.map_or(Ok(Vec::new()), |store| store.baselines())?;
            if form.json {
                say(&format!("{:#}\n", known.iter().map(as_json).collect::<serde_json::Value>()))?;
            } else if known.is_empty() {
                say(
                    "No baseline is set; assay baseline set RUN makes a run the baseline of its plan and target.\n",
                )?;
            } else {
                say(&known.iter().map(as_line).collect::<String>())?;
            }
        }
        BaselineVerb::Remove { target, plan } => {
            remove(&existing_store(&args.store)?, target, plan.as_deref())?
        }
    }
    Ok(Exit::Done)
}

fn as_json(baseline: &Baseline) -> serde_json::Value {
    let (run, label) = match &baseline.of {
        BaselineOf::Run(run) => (Some(run), None),
        BaselineOf::Label(label) => (None, Some(label)),
    };
    let set_unix_ms = baseline.set_unix_ms;
    json!({
        "target": baseline.address, "plan": baseline.plan, "run": run, "label": label, "set_unix_ms": set_unix_ms,
    })
}

fn as_line(baseline: &Baseline) -> String {
    let line = format!("{} on {}: {}", baseline.plan, baseline.address, reference(&baseline.of));
    format!("{}\n", assay_report::escape::line(&line))
}

fn reference(of: &BaselineOf) -> String {
    match of {
        BaselineOf::Run(run) => format!("run {run}"),
        BaselineOf::Label(label) => format!("runs labelled {label}"),
    }
}

fn set(store: &Store, name: &str, target: Option<&str>) -> anyhow::Result<()> {
    let labelled = store.labelled(name)?;
    let (rows, of) = if labelled.is_empty() {
        let row = store.row(&store.find(name)?)?;
        let of = BaselineOf::Run(row.run.clone());
        (vec![row], of)
    } else {
        (labelled, BaselineOf::Label(name.to_owned()))
    };
    check(name, &rows)?;
    has_results(store, name, &rows)?;
    let first = rows.first().context("a baseline has at least one run")?;
    let header = store.header(&first.run)?;
    let address = target_of(&header, &assay_results::keys_of(store, &header)?, target)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let set_unix_ms = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
    let baseline = Baseline { address, plan: first.name.clone(), of, set_unix_ms };
    store.set_baseline(&baseline)?;
    let reference = reference(&baseline.of);
    note!("later runs of {} on {} are compared with {reference}", baseline.plan, baseline.address);
    Ok(())
}

/// A baseline is of one plan, and has results.
fn check(name: &str, rows: &[RunRow]) -> anyhow::Result<()> {
    if let Some(row) = rows.iter().find(|row| row.is_running) {
        bail!("run {} is still in progress; set the baseline when it has ended", row.run);
    }
    let mut plans: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
    plans.sort_unstable();
    plans.dedup();
    if plans.len() > 1 {
        bail!("`{name}` labels runs of several plans ({}); name one run by its id", plans.join(", "));
    }
    Ok(())
}

/// Refuses runs of which no step completed: there is nothing to compare with. Says where some of the plan is missing.
fn has_results(store: &Store, name: &str, rows: &[RunRow]) -> anyhow::Result<()> {
    for row in rows {
        let steps = read(store, &row.run)?.summary.steps;
        let complete = steps.iter().filter(|step| step.complete).count();
        if complete == 0 {
            bail!(
                "run {} of `{name}` ended before a step of it was complete, so it is no baseline; choose another \
                 (assay runs --status done)",
                row.run
            );
        }
        if complete < steps.len() {
            note!(
                "run {}: {complete} of {} steps are complete; the others have no baseline",
                row.run,
                steps.len()
            );
        }
    }
    Ok(())
}

/// Returns the name in the store of the target that is meant.
fn target_of(header: &RunHeader, known: &[String], typed: Option<&str>) -> anyhow::Result<String> {
    let list = || known.join(", ");
    match (typed, known) {
        (None, [only]) => Ok(only.clone()),
        // Whoever runs the plan over hosts again has that of the first.
        (None, [first, ..]) if has_one_each(&header.setting.hosts, known) => Ok(first.clone()),
        (None, _) => bail!("run {} has several targets; choose one with --target: {}", header.run, list()),
        (Some(typed), _) => {
            let is_meant = |key: &&String| **key == target_key(typed) || **key == typed;
            known.iter().find(is_meant).cloned().with_context(|| {
                format!("run {} was not made on {typed}; its targets are: {}", header.run, list())
            })
        }
    }
}

/// Whether every host has one of these targets, whose names begin with that of their host.
fn has_one_each(hosts: &[FleetHost], known: &[String]) -> bool {
    let is_of =
        |key: &String, host: &FleetHost| key.split_once(':').is_some_and(|(name, _)| name == host.name);
    hosts.len() == known.len() && hosts.iter().all(|host| known.iter().any(|key| is_of(key, host)))
}

fn remove(store: &Store, target: &str, plan: Option<&str>) -> anyhow::Result<()> {
    let key = target_key(target);
    let is_meant = |baseline: &&Baseline| {
        (baseline.address == key || baseline.address == target)
            && plan.is_none_or(|plan| baseline.plan == plan)
    };
    let known = store.baselines()?;
    let meant: Vec<&Baseline> = known.iter().filter(is_meant).collect();
    if meant.is_empty() {
        bail!("no baseline is set for {target}; assay baseline list names them");
    }
    for baseline in meant {
        store.remove_baseline(&baseline.address, &baseline.plan)?;
        note!("removed the baseline of {} on {}", baseline.plan, baseline.address);
    }
    Ok(())
}

/// Refuses gates without anything to hold a run against, before anything runs; with hosts, a run over these.
pub(crate) fn check_gates(
    gates: &[Gate],
    store: &Store,
    plan: &str,
    targets: &[String],
    fleet: Option<&Fleet>,
) -> anyhow::Result<()> {
    let keys: Vec<String> = match fleet {
        None => targets.iter().map(|target| target_key(target)).collect(),
        Some(fleet) => keys_on_hosts(&store.baselines()?, targets, &fleet.hosts),
    };
    if gates.is_empty() || baseline_of(store, plan, &keys)?.is_some() {
        return Ok(());
    }
    bail!(
        "--fail-if compares with the baseline of {plan} on {}, and none is set; assay baseline set RUN sets one",
        targets.join(", ")
    )
}

/// Returns the names in the store of those targets on hosts that have a baseline. Which hosts "all" are is not known
/// yet.
fn keys_on_hosts(known: &[Baseline], targets: &[String], hosts: &HostChoice) -> Vec<String> {
    let is_meant = |key: &&String| {
        key.split_once(':').is_some_and(|(host, address)| {
            let is_host = match hosts {
                HostChoice::All => true,
                HostChoice::Named(names) => names.iter().any(|name| name == host),
            };
            let mut on_host = targets.iter().map(|target| target.replace("{host}", host));
            is_host && on_host.any(|target| target == address || target_key(&target) == address)
        })
    };
    known.iter().map(|baseline| &baseline.address).filter(is_meant).cloned().collect()
}

#[cfg(test)]
mod tests {
    use assay_record::HostFacts;
    use assay_spec::{Overrides, PlanFile};

    use super::*;

    /// Two hosts and two targets were taken for one target of each host, and both can be of one host.
    #[test]
    fn the_target_is_left_out_only_where_each_host_has_one() {
        let plan = "[[test]]\nname = \"t\"\naccess = [{ size = \"4KiB\" }]\nrun = \"1s\"\n";
        let plan = PlanFile::parse("p", plan).unwrap().resolve(&Overrides::default()).unwrap();
        let mut header = assay_testkit::synthetic::header(plan);
        let host = |name: &str| FleetHost { name: name.to_owned(), facts: HostFacts::default() };
        header.setting.hosts = ["a", "b"].map(host).to_vec();
        let meant = |keys: &[&str]| {
            let keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
            target_of(&header, &keys, None).ok()
        };
        assert_eq!(meant(&["a:/d", "b:/d"]).as_deref(), Some("a:/d"));
        assert_eq!(meant(&["b:/d", "a:/d"]).as_deref(), Some("b:/d"));
        for unclear in [&["a:/d", "a:/e"][..], &["a:/d", "ab:/d"], &["/d", "/e"], &["a:/d", "a:/e", "b:/d"]] {
            assert_eq!(meant(unclear), None, "{unclear:?}");
        }
    }
}
