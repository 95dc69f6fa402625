//! `assay agent`, `assay hosts` and `assay attach`: hosts that find each other over NATS, and runs over them.

use std::path::Path;

use anyhow::Context as _;
use assay_fleet::{
    Agent, AgentOptions, AgentStop, BusOptions, HostChoice, HostList, HostState, InitOptions, LEASE,
    ListedHost, Offset, WallClock,
};
use serde_json::{Value, json};

use super::serve::signals;
use crate::args::{AgentArgs, AttachArgs, HostsArgs, HostsVerb};
use crate::exit::Exit;
use crate::output::terminal::{note, paragraph, say};
use crate::running::fleet::part_of_agent;
use crate::running::tell::{Telling, before, tell};
use crate::signals::stop_on_signals;
use crate::words::fail_if::judged;
use crate::words::fleet::{Fleet, allowed, bus};
use crate::words::store::open_store;
use crate::words::typed::quoted;

pub(crate) fn agent(args: &AgentArgs) -> anyhow::Result<Exit> {
    let name = args.name.clone().unwrap_or_else(|| {
        let host = assay_host::host_facts().name;
        host.split('.').next().unwrap_or_default().to_owned()
    });
    let allowed = allowed(args.config.as_deref())?;
    // Before the agent: its client starts threads, to resolve names and to read files.
    let signals = signals()?;
    let names: Vec<String> = match args.swarm {
        None => vec![name.clone()],
        Some(count) => (1..=count).map(|number| format!("{name}-{number}")).collect(),
    };
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
    let (bus, run_here) = (bus(&args.bus), part_of_agent());
    let options = AgentOptions { name, bus, allowed, run_here, wall: WallClock::default() };
    let agents = Agent::swarm(&options, &names)?;
    match names.as_slice() {
        [name] => note!("agent {name} is on {}; Ctrl-C ends it", args.bus.nats),
        names => note!("{} agents are on {}; Ctrl-C ends them", names.len(), args.bus.nats),
    }
    agents.serve(&stop)?;
    Ok(Exit::Done)
}

pub(crate) fn hosts(args: &HostsArgs) -> anyhow::Result<Exit> {
    if let Some(HostsVerb::Init { folder, host, server, listen }) = &args.verb {
        let (folder, hosts, server) = (folder.clone(), host.clone(), server.clone());
        return init(&InitOptions { folder, hosts, server, listen: listen.clone() });
    }
    let url = args
        .nats
        .clone()
        .context("assay hosts needs the address of the NATS server: --nats nats://HOST:4222")?;
    let list =
        assay_fleet::hosts(&BusOptions { url: url.clone(), nkey: args.nkey.clone(), ca: args.ca.clone() })?;
    match args.form.json {
        true => say(&format!("{:#}\n", document(&list)))?,
        false => say(&text(&list, &url))?,
    }
    Ok(Exit::Done)
}

/// `assay attach`: follows a run whose coordinator has ended.
pub(crate) fn attach(args: &AttachArgs) -> anyhow::Result<Exit> {
    let store = open_store(&args.store)?;
    let fleet = Fleet { bus: bus(&args.bus), hosts: HostChoice::All };
    let stop = stop_on_signals()?;
    let done = crate::running::fleet::attach(&args.run, &fleet, &stop, &store)?;
    let before = before(&store, &done);
    let telling =
        Telling { note: None, form: args.view.form(), options: args.view.options(), before: before.as_ref() };
    let printed = tell(telling, &done, None).map(|exit| match exit {
        Exit::Done => judged(&[], &done, before.as_ref()),
        exit => exit,
    });
    done.end(printed)
}

fn init(options: &InitOptions) -> anyhow::Result<Exit> {
    let done = assay_fleet::init(options)?;
    let quoted = |path: &Path| quoted(&path.display().to_string());
    let (scheme, ca) = match &done.ca {
        Some(ca) => ("tls", format!(" --ca {}", quoted(ca))),
        None => ("nats", String::new()),
    };
    let server = options.server.first().map_or("BUS", String::as_str);
    let port = options.listen.rsplit(':').next().unwrap_or("4222");
    let url = format!("{scheme}://{server}:{port}");
    let mut says = format!("nats-server -c {}\n", quoted(&done.config));
    says.push_str(&format!("assay hosts --nats {url} --nkey {}{ca}\n", quoted(&done.coordinator)));
    for (host, key) in options.hosts.iter().zip(&done.agents) {
        says.push_str(&format!("assay agent --name {host} --nats {url} --nkey {}{ca}\n", quoted(key)));
    }
    note!("copy each key to its host alone; then, in this order:");
    say(&says)?;
    Ok(Exit::Done)
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
            "targets": host.targets,
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
        |facts| {
            let clock = facts.clock.as_ref().map(|clock| format!(", clock {}", clock.words()));
            let clock = clock.unwrap_or_default();
            format!("{}, kernel {}, {} CPUs{clock}", facts.os, facts.kernel, facts.cpus)
        },
    );
    format!("{:<width$}  {state:<13}  {lease:>6}  {clock:>24}  {system}\n", host.name)
}

/// Returns an offset with the bound of its error, ms.
fn clock(offset: Offset) -> String {
    format!("{:+.3} ± {:.3}", offset.ahead_ns as f64 / 1e6, offset.error_ns as f64 / 1e6)
}

/// Returns what to do about a host that cannot be worked with.
fn remark(host: &ListedHost, version: &str) -> Option<String> {
    match host.state {
        HostState::Ready => None,
        HostState::Silent => Some(format!(
            "{} does not answer: its agent, its host or its network has stopped. Its lease ends within {} s.",
            host.name,
            LEASE.as_secs()
        )),
        HostState::OtherVersion => Some(host.other_version(version)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(name: &str, state: HostState, offset: Option<Offset>) -> ListedHost {
        let lease_left_ms = offset.map(|_| 14_200);
        ListedHost {
            name: name.into(),
            version: "0+bus0".into(),
            state,
            lease_left_ms,
            offset,
            facts: None,
            targets: vec![],
        }
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
