//! `assay agent` and `assay hosts`: hosts that find each other over NATS.

use anyhow::Context as _;
use assay_fleet::{
    Agent, AgentOptions, AgentStop, BusOptions, HostList, HostState, LEASE, ListedHost, Offset,
};
use serde_json::{Value, json};

use super::serve::signals;
use crate::args::{AgentArgs, BusArgs, HostsArgs};
use crate::exit::Exit;
use crate::output::terminal::{note, paragraph, say};

pub(crate) fn agent(args: &AgentArgs) -> anyhow::Result<Exit> {
    let name = args.name.clone().unwrap_or_else(|| {
        let host = assay_host::host_facts().name;
        host.split('.').next().unwrap_or_default().to_owned()
    });
    // Before the agent: its client starts threads, to resolve names and to read files.
    let signals = signals()?;
    let stop = AgentStop::default();
    let on_signal = stop.clone();
    let listen = move || {
        let _ = signals.wait();
        on_signal.stop();
        // The first one may wait for a server that does not answer.
        let _ = signals.wait();
        std::process::exit(Exit::Interrupted as i32);
    };
    std::thread::Builder::new().name("signals".into()).spawn(listen).context("cannot listen for Ctrl-C")?;
    let agent = Agent::start(AgentOptions { name: name.clone(), bus: bus(&args.bus), clock_ahead_ns: 0 })?;
    note!("agent {name} is on {}; Ctrl-C ends it", args.bus.nats);
    agent.serve(&stop)?;
    Ok(Exit::Done)
}

pub(crate) fn hosts(args: &HostsArgs) -> anyhow::Result<Exit> {
    let list = assay_fleet::hosts(&bus(&args.bus))?;
    match args.form.json {
        true => say(&format!("{:#}\n", document(&list)))?,
        false => say(&text(&list, &args.bus.nats))?,
    }
    Ok(Exit::Done)
}

fn bus(args: &BusArgs) -> BusOptions {
    BusOptions { url: args.nats.clone(), nkey: args.nkey.clone(), ca: args.ca.clone() }
}

fn document(list: &HostList) -> Value {
    let host = |host: &ListedHost| {
        json!({
            "name": host.name,
            "state": host.state,
            "version": host.version,
            "lease_left_ms": host.lease_left_ms,
            "clock_ahead_ns": host.offset.map(|offset| offset.ahead_ns),
            "clock_error_ns": host.offset.map(|offset| offset.error_ns),
            "facts": host.facts,
        })
    };
    json!({
        "schema": "assay.hosts/1",
        "version": list.version,
        "hosts": list.hosts.iter().map(host).collect::<Vec<_>>(),
        "differences": list.differences,
    })
}

fn text(list: &HostList, url: &str) -> String {
    if list.hosts.is_empty() {
        let none = format!("No agent is on {url}. Start one on each host: assay agent --nats {url}");
        return paragraph(&none, "");
    }
    let width = list.hosts.iter().map(|host| host.name.len()).fold(4, usize::max);
    let title =
        format!("{:<width$}  {:<13}  {:>6}  {:>24}  System\n", "Host", "State", "Lease", "Clock ahead, ms");
    let rows = list.hosts.iter().map(|host| row(host, width));
    let remarks = list.hosts.iter().filter_map(|host| remark(host, &list.version));
    let remarks = remarks.chain(list.differences.iter().cloned()).map(|remark| paragraph(&remark, ""));
    let rows: String = std::iter::once(title).chain(rows).collect();
    let remarks: String = remarks.collect();
    if remarks.is_empty() { rows } else { format!("{rows}\n{remarks}") }
}

fn row(host: &ListedHost, width: usize) -> String {
    let state = match host.state {
        HostState::Ready => "ready",
        HostState::Silent => "silent",
        HostState::OtherVersion => "other version",
    };
    let lease =
        host.lease_left_ms.map_or_else(|| "–".to_owned(), |left| format!("{} s", left.div_ceil(1000)));
    let clock = host.offset.map_or_else(|| "–".to_owned(), clock);
    let system = host.facts.as_ref().map_or_else(
        || "–".to_owned(),
        |facts| format!("{}, kernel {}, {} CPUs", facts.os, facts.kernel, facts.cpus),
    );
    format!("{:<width$}  {state:<13}  {lease:>6}  {clock:>24}  {system}\n", host.name)
}

/// Returns an offset with the bound of its error, ms.
fn clock(offset: Offset) -> String {
    format!("{:+.3} ± {:.3}", offset.ahead_ns as f64 / 1e6, offset.error_ns as f64 / 1e6)
}

/// Returns what to do about a host that cannot be worked with.
fn remark(host: &ListedHost, version: &str) -> Option<String> {
    let ListedHost { name, version: theirs, .. } = host;
    match host.state {
        HostState::Ready => None,
        HostState::Silent => Some(format!(
            "{name} does not answer: its agent, its host or its network has stopped. Its lease ends within {} s.",
            LEASE.as_secs()
        )),
        HostState::OtherVersion => Some(format!(
            "{name} has Assay {theirs}, and this is {version}. Install this version there and start its agent again, \
             for example: scp \"$(command -v assay)\" {name}:/usr/local/bin/assay"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(name: &str, state: HostState, offset: Option<Offset>) -> ListedHost {
        let lease_left_ms = offset.map(|_| 14_200);
        ListedHost { name: name.into(), version: "0+bus0".into(), state, lease_left_ms, offset, facts: None }
    }

    #[test]
    fn every_host_has_a_row_and_what_is_wrong_a_sentence() {
        let offset = Offset { ahead_ns: -3_000_012_000, error_ns: 43_000 };
        let hosts = vec![
            host("esx1-vm3", HostState::Ready, Some(offset)),
            host("b", HostState::Silent, None),
            host("c", HostState::OtherVersion, None),
        ];
        let differences = vec!["The kernel differs: 1 (b); 2 (c).".into()];
        let text = text(&HostList { hosts, differences, version: "1+bus1".into() }, "nats://bus:4222");
        let (table, remarks) = text.split_once("\n\n").unwrap();
        insta::assert_snapshot!(table, @r"
        Host      State           Lease           Clock ahead, ms  System
        esx1-vm3  ready            15 s         -3000.012 ± 0.043  –
        b         silent              –                         –  –
        c         other version       –                         –  –
        ");
        let said = [
            "b does not answer",
            "scp \"$(command -v assay)\" c:/usr/local/bin/assay",
            "The kernel differs: 1 (b); 2 (c).",
        ];
        assert_eq!(remarks.lines().count(), said.len(), "{remarks}");
        for (line, says) in remarks.lines().zip(said) {
            assert!(line.contains(says), "{line}");
        }
    }

    #[test]
    fn without_hosts_the_command_that_starts_one_is_printed() {
        let list = HostList { hosts: vec![], differences: vec![], version: "1+bus1".into() };
        assert!(text(&list, "nats://bus:4222").contains("assay agent --nats nats://bus:4222"));
    }
}
