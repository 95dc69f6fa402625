//! What `up` and `status` say.

use std::fmt::Write as _;

use assay_analysis::time;
use assay_report::{separated, size};
use assay_spec::units::{Bytes, MIB};
use serde_json::{Value, json};

use super::network::far_end;
use super::shell::run;
use super::state::{Lab, Names, command};
use crate::args::LabProtocol;
use crate::exit::Exit;
use crate::output::terminal::{entry, paragraph, say};

/// Largest size of the first runs that are suggested.
const FIRST_SIZE_MAX: u64 = 256 * MIB;
/// Columns of the names of facts, with their indent.
const FACT_COLUMNS: usize = 10;
/// Answers later than this at the 99th percentile blur service times of disks.
const LATE_US: f64 = 1000.0;

/// Returns what the serving process has written last.
pub(super) fn served(names: &Names) -> Option<Value> {
    serde_json::from_str(&std::fs::read_to_string(names.served_file()).ok()?).ok()
}

/// Returns what to do with a lab that is up.
pub(super) fn introduction(lab: &Lab) -> String {
    let address = lab.address();
    let mut text = format!("{}\nTry:\n  assay check '{address}'\n", paragraph(&headline(lab), "  "));
    match lab.protocol {
        LabProtocol::Iscsi => {
            let _ =
                writeln!(text, "  assay run vmware '{address}' --quick --overwrite {}", lab.names().serial());
            let _ = writeln!(text, "  assay diagnose '{address}'");
        }
        LabProtocol::Nfs => {
            // The file system needs some of the space.
            let size = Bytes((lab.capacity_bytes / 2).min(FIRST_SIZE_MAX) / MIB * MIB);
            let _ = writeln!(text, "  assay run vmware '{address}/t.dat' --quick --size {size}");
            let _ = writeln!(text, "  assay diagnose '{address}/t.dat' --size {size}");
        }
    }
    let (status, down) = (command("status", &lab.name), command("down", &lab.name));
    text.push_str(&paragraph(&format!("{status} shows what it has served; {down} removes it."), "  "));
    text
}

fn headline(lab: &Lab) -> String {
    let plural = if lab.links == 1 { "link" } else { "links" };
    format!(
        "The lab `{}` is up: {} ({}), {} by {} over {} {plural} of {}, MTU {}.",
        lab.name,
        lab.array,
        lab.title,
        size(lab.capacity_bytes),
        server(lab),
        lab.links,
        rate(lab.mbit),
        lab.mtu
    )
}

fn server(lab: &Lab) -> &'static str {
    match lab.protocol {
        LabProtocol::Iscsi => "tgt (iSCSI)",
        LabProtocol::Nfs => "nfs-ganesha (NFSv3)",
    }
}

fn rate(mbit: u32) -> String {
    if mbit >= 1000 { format!("{} Gbit/s", f64::from(mbit) / 1000.0) } else { format!("{mbit} Mbit/s") }
}

/// Prints the state of a lab.
pub(super) fn status(lab: &Lab, is_json: bool) -> anyhow::Result<Exit> {
    let names = lab.names();
    let is_alive = !super::pids(&names).is_empty();
    let served = served(&names).filter(|_| is_alive);
    if is_json {
        let links: Vec<Value> = (1..=lab.links).map(|link| link_json(lab, &names, link)).collect();
        let document = json!({
            "lab": lab.name,
            "array": lab.array,
            "address": lab.address(),
            "serial": names.serial(),
            "capacity_bytes": lab.capacity_bytes,
            "data": lab.data,
            "data_bytes_used": used_bytes(lab),
            "links": links,
            "broken": lab.broken.iter().map(|broken| broken.says()).collect::<Vec<_>>(),
            "running": is_alive,
            "served": served,
        });
        say(&format!("{document:#}\n"))?;
    } else {
        say(&text(lab, &names, served.as_ref()))?;
    }
    Ok(if is_alive { Exit::Done } else { Exit::Errors })
}

fn text(lab: &Lab, names: &Names, served: Option<&Value>) -> String {
    let mut text = paragraph(&headline(lab), "  ");
    let mut line = |name: &str, says: &str| text.push_str(&fact(name, says));
    line("address", &lab.address());
    let (used, all) = (size(used_bytes(lab)), size(lab.capacity_bytes));
    line("data", &format!("{} (sparse, {used} of {all} written)", lab.data.display()));
    for link in 1..=lab.links {
        let (here, there) = (names.host_address(link), names.server_address(link));
        let state = if is_down(names, link) { "down" } else { "up" };
        line(&format!("link {link}"), &format!("{} {here} to {there}, {state}", names.interface(link)));
    }
    match served {
        Some(served) => {
            text.push_str(&served_text(served));
            let ended = served["server_ended"].as_u64().unwrap_or(0);
            if ended > 0 {
                let log = names.log_file();
                let says = format!(
                    "ended by itself {}, and was started again; its messages are in {}",
                    times(ended),
                    log.display()
                );
                text.push_str(&fact("server", &says));
            }
        }
        None => {
            let (down, up) = (command("down", &lab.name), command("up", &lab.name));
            let says = format!(
                "  The serving process has ended: {down} removes what is left, and {up} builds it again."
            );
            text.push_str(&paragraph(&says, "  "));
        }
    }
    for broken in &lab.broken {
        text.push_str(&fact("broken", &broken.says()));
    }
    text
}

/// Returns a fact under its name.
fn fact(name: &str, says: &str) -> String {
    entry(&format!("  {name}"), FACT_COLUMNS, says)
}

fn times(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}

fn served_text(served: &Value) -> String {
    let number = |value: &Value| value.as_f64().unwrap_or(0.0);
    let thousands = |value: &Value| separated(&format!("{:.0}", number(value)));
    let (late, recent, idle) = (&served["late_us"], &served["recent"], &served["idle_wake_up_late_us"]);
    let says = format!(
        "{} reads and {} writes; in the last {:.0} s {} IOPS, {:.1} MiB/s, by the model {:.2} ms each",
        thousands(&served["reads"]),
        thousands(&served["writes"]),
        number(&recent["seconds"]),
        thousands(&recent["iops"]),
        number(&recent["mib_s"]),
        number(&recent["model_ms_mean"]),
    );
    let mut text = fact("served", &says);
    if number(&late["answers"]) > 0.0 {
        let says = format!(
            "answers are later than the model says by {} in the median, {} at the 99th percentile, {} at most",
            time(number(&late["p50"])),
            time(number(&late["p99"])),
            time(number(&late["max"])),
        );
        text.push_str(&fact("timing", &says));
    }
    let says = format!(
        "an idle CPU of this machine wakes a thread {} late in the median, {} at the 99th percentile",
        time(number(&idle["p50"])),
        time(number(&idle["p99"])),
    );
    text.push_str(&fact("", &says));
    if number(&late["p99"]) > LATE_US {
        text.push_str(&fact(
            "",
            "It blurs service times of a millisecond. Keep other load away; an idle virtual CPU wakes late, one \
             that is kept busy at idle priority does not: chrt -i 0 sh -c 'while :; do :; done'",
        ));
    }
    text
}

fn link_json(lab: &Lab, names: &Names, link: u32) -> Value {
    json!({
        "link": link,
        "interface": names.interface(link),
        "host": names.host_address(link),
        "server": names.server_address(link),
        "mbit_s": lab.mbit,
        "mtu": lab.mtu,
        "is_down": is_down(names, link),
        "broken": lab.broken.iter().filter(|b| b.link() == Some(link)).map(|b| b.says()).collect::<Vec<_>>(),
    })
}

/// Whether the far end of a link is down or gone.
fn is_down(names: &Names, link: u32) -> bool {
    let shown = run(&format!("ip -n {} -br link show {}", names.namespace, far_end(link)));
    shown.map_or(true, |text| text.split_whitespace().nth(1) != Some("UP"))
}

/// Bytes of storage that the data takes.
fn used_bytes(lab: &Lab) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    let Ok(folder) = std::fs::read_dir(&lab.data) else { return 0 };
    folder.filter_map(|file| Some(file.ok()?.metadata().ok()?.blocks() * 512)).sum()
}
