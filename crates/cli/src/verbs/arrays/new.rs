//! `assay arrays new`: ten questions, and the array file that the answers are.

use std::io::{BufRead, IsTerminal as _};
use std::path::Path;

use anyhow::{Context as _, bail};
use assay_model::array::{ArrayError, parse};
use assay_model::catalogue::{self, Class};

use crate::exit::Exit;
use crate::output::terminal::{note, say};

/// A question, and where its answer stands in the file.
struct Question {
    asks: &'static str,
    /// The answer to an empty line.
    usual: &'static str,
    put: fn(&mut Answers, &str),
}

/// What was answered so far.
#[derive(Debug, Clone, Default)]
struct Answers {
    title: String,
    model: String,
    count: String,
    level: String,
    write_back: String,
    tier: String,
    software: String,
    kind: String,
    rate: String,
    ram: String,
}

/// The usual rate depends on how the array is reached.
const RATE: &str = "rate";

/// Words in the name of a product, and what its family is often set up with, in the order of the questions; empty: as
/// of any array. They are assumed, and who is asked sees each before it is taken.
const FAMILIES: &[(&[&str], [&str; QUESTIONS.len()])] = &[
    (
        &[
            "synology", "diskstation", "qnap", "readynas", "terastation", "asustor", "thecus", "lenovoemc",
            "iomega",
        ],
        ["", "", "4", "5", "0", "0", "md", "iscsi", "1GbE", ""],
    ),
    (
        &["truenas", "freenas", "nexenta", "napp"],
        ["", "", "6", "raidz2", "0", "0", "zfs", "iscsi", "10GbE", ""],
    ),
    (&["aff"], ["", "ssd-sas", "24", "RAID-DP", "", "", "wafl", "nfs", "10GbE", ""]),
    (&["netapp", "fas"], ["", "hdd-10k", "16", "RAID-DP", "", "", "wafl", "nfs", "10GbE", ""]),
    (&["equallogic"], ["", "hdd-10k", "14", "10", "", "", "none", "iscsi", "10GbE", ""]),
    (&["powervault", "md3", "p2000", "msa"], ["", "hdd-10k", "12", "10", "", "", "none", "sas", "none", ""]),
    (
        &["vnx", "clariion", "unity", "compellent", "3par", "storwize"],
        ["", "hdd-10k", "24", "10", "", "", "none", "fc", "8GFC", ""],
    ),
    (&["perc", "megaraid", "adaptec"], ["", "", "", "", "1GiB", "0", "none", "local", "none", ""]),
];

const QUESTIONS: [Question; 10] = [
    Question { asks: "What is it called?", usual: "my array", put: |a, text| a.title = text.to_owned() },
    Question {
        asks: "Which drives? The model as the system reports it (lsblk -o MODEL), or hdd-7200, hdd-5400, hdd-10k, \
               ssd-sata, nvme, \
               nvme4",
        usual: "hdd-7200",
        put: |a, text| a.model = text.to_owned(),
    },
    Question {
        asks: "How many of them hold data or parity?",
        usual: "4",
        put: |a, text| a.count = text.to_owned(),
    },
    Question {
        asks: "Which RAID level? 0, 1, 5, 6, 10, 50, 60, raidz, raidz2, …; single for one drive",
        usual: "",
        put: |a, text| a.level = text.to_owned(),
    },
    Question {
        asks: "How large is the controller's write cache, where a battery or flash keeps it? 0: there is none",
        usual: "0",
        put: |a, text| a.write_back = text.to_owned(),
    },
    Question {
        asks: "How large is the SSD cache in front of the drives? 0: there is none",
        usual: "0",
        put: |a, text| a.tier = text.to_owned(),
    },
    Question {
        asks: "Which software combines them? md, zfs, lvm, none (a RAID controller, or nothing), unknown",
        usual: "unknown",
        put: |a, text| a.software = text.to_owned(),
    },
    Question {
        asks: "How is it reached? local, sas, iscsi, nfs, smb, fc, nvme-tcp, nvme-rdma",
        usual: "local",
        put: |a, text| a.kind = text.to_owned(),
    },
    Question {
        asks: "What is the slowest link on the way? 1GbE, 10GbE, 16GFC, …; none: it is local",
        usual: RATE,
        put: |a, text| a.rate = text.to_owned(),
    },
    Question {
        asks: "How much memory of a storage server may cache data? 0: none",
        usual: "0",
        put: |a, text| a.ram = text.to_owned(),
    },
];

pub(crate) fn new(output: Option<&Path>) -> anyhow::Result<Exit> {
    if let Some(path) = output.filter(|path| path.exists()) {
        bail!("{} exists; name another file, or remove it", path.display());
    }
    let text = asked(&mut std::io::stdin().lock(), std::io::stdin().is_terminal())?;
    match output {
        Some(path) => {
            std::fs::write(path, text).with_context(|| format!("failed to write {}", path.display()))?
        }
        None => say(&text)?,
    }
    Ok(Exit::Done)
}

/// Asks until the answers are a file; who is no person is not asked twice.
fn asked(from: &mut impl BufRead, is_person: bool) -> anyhow::Result<String> {
    let mut answers = Answers::default();
    for (number, question) in QUESTIONS.iter().enumerate() {
        let usual = usual(number, question, &answers);
        loop {
            note!("{} [{usual}]", question.asks);
            let mut line = String::new();
            let is_over = from.read_line(&mut line).context("failed to read an answer")? == 0;
            let answer = Some(line.trim()).filter(|text| !text.is_empty()).unwrap_or(usual);
            let mut tried = answers.clone();
            (question.put)(&mut tried, answer);
            match parse("the answers", &file(&tried)) {
                Ok(_) => {
                    answers = tried;
                    break;
                }
                Err(error) if is_person && !is_over => note!("{}", reason(&error)),
                Err(error) => bail!("{}: {}", question.asks, reason(&error)),
            }
        }
    }
    Ok(file(&answers))
}

/// The answer to an empty line, which may depend on what was answered before: that of the family, where it fits.
fn usual(number: usize, question: &Question, answers: &Answers) -> &'static str {
    let title = answers.title.to_lowercase();
    let names = || title.split(|c: char| !c.is_alphanumeric());
    // `FAS2240` is of the family of `fas`, and `fast` is of none.
    let is = |name: &str, word: &&str| {
        name.strip_prefix(*word).is_some_and(|number| number.chars().all(|c| c.is_ascii_digit()))
    };
    let is_of = |words: &[&str]| names().any(|name| words.iter().any(|word| is(name, word)));
    let fits = |text: &&str| {
        let mut tried = answers.clone();
        (question.put)(&mut tried, text);
        !text.is_empty() && parse("the answers", &file(&tried)).is_ok()
    };
    let family = FAMILIES.iter().find(|(words, _)| is_of(words)).map(|(_, usual)| usual[number]);
    if let Some(usual) = family.filter(fits) {
        return usual;
    }
    match (question.usual, answers.count.as_str()) {
        ("", "" | "1") => "single",
        ("", "2") => "1",
        ("", _) => "5",
        ("unknown", _) if answers.level.starts_with("raidz") => "zfs",
        (RATE, _) => usual_rate(&answers.kind),
        (usual, _) => usual,
    }
}

/// A link that can carry the protocol.
fn usual_rate(kind: &str) -> &'static str {
    match kind.trim().to_ascii_lowercase().as_str() {
        "" | "local" | "sas" => "none",
        "fc" => "16GFC",
        _ => "10GbE",
    }
}

fn reason(error: &ArrayError) -> String {
    // The place in a file that nobody has written says nothing.
    let text = error.to_string();
    text.lines().next().unwrap_or_default().to_owned()
}

/// The answers so far as an array file; what was not yet answered is left out.
fn file(a: &Answers) -> String {
    let quoted = toml_string;
    let is_given = |text: &str| !matches!(text, "" | "0" | "none");
    let mut text = format!("title = {}\nsource = \"answers to assay arrays new\"\n", quoted(&a.title));
    let model = if a.model.is_empty() { "hdd-7200" } else { &a.model };
    let count = if a.count.is_empty() { "1" } else { &a.count };
    let class = Class::named(model).filter(|_| catalogue::find(model).is_none());
    let class = class.map_or(String::new(), |class| format!(", class = \"{}\"", class.word()));
    text.push_str(&format!("disks = {{ model = {}{class}, count = {count} }}\n", quoted(model)));
    let level = match (a.level.as_str(), count) {
        ("", "1") => "single",
        ("", _) => "0",
        (level, _) => level,
    };
    text.push_str(&format!("\n[raid]\nlevel = {}\n", quoted(level)));
    if is_given(&a.write_back) {
        text.push_str(&format!(
            "\n[controller]\nfrom = \"assumed: answered\"\nwrite_back = {}\nbattery = true\n",
            quoted(&a.write_back)
        ));
    }
    if is_given(&a.tier) {
        text.push_str(&format!(
            "\n[tier]\nfrom = \"assumed: answered, and as fast as a SATA SSD\"\ncapacity = {}\nholds = \"reads\"\n\
             iops_max = {{ value = 75000, range = [40000, 98000] }}\nmb_s = {{ value = 500, range = [350, 550] }}\n",
            quoted(&a.tier)
        ));
    }
    if is_given(&a.ram) {
        text.push_str(&format!("\n[server]\nfrom = \"assumed: answered\"\nram = {}\n", quoted(&a.ram)));
    }
    if !a.software.is_empty() {
        text.push_str(&format!("\n[target]\nsoftware = {}\n", quoted(&a.software)));
    }
    if !a.kind.is_empty() {
        text.push_str(&format!("\n[protocol]\nkind = {}\n", quoted(&a.kind)));
    }
    // Until it is answered, a link that the protocol runs over.
    let rate = if a.rate.is_empty() { usual_rate(&a.kind) } else { &a.rate };
    if is_given(rate) {
        text.push_str(&format!("\n[link]\nrate = {}\n", quoted(rate)));
    }
    text
}

/// A string of TOML.
fn toml_string(text: &str) -> String {
    let kept: String = text.chars().filter(|c| !c.is_control()).collect();
    format!("\"{}\"", kept.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(lines: &str) -> anyhow::Result<String> {
        asked(&mut lines.as_bytes(), false)
    }

    #[test]
    fn every_answer_has_a_usual_one() {
        let text = answered("").expect("nothing was answered");
        let array = parse("t", &text).expect("it is a file");
        assert_eq!(array.raid.disks.value, 4.0, "{text}");
    }

    #[test]
    fn a_family_has_usual_answers_that_fit_and_give_way_to_those_that_were_given() {
        for (words, usual) in FAMILIES {
            let text = answered(&format!("our {}\n", words[0])).expect("nothing else was answered");
            let array = parse("t", &text).unwrap_or_else(|e| panic!("{e}\n{text}"));
            let disks = usual[2].parse().unwrap_or(4.0);
            assert_eq!(array.raid.disks.value, disks, "{text}");
            for kept in [usual[6], usual[7]].into_iter().filter(|kept| !kept.is_empty()) {
                assert!(text.contains(&format!("\"{kept}\"")), "{words:?}: no {kept} in {text}");
            }
        }
        let two = answered("Synology DS218\n\n2\n").expect("two disks are no RAID5");
        assert!(two.contains("level = \"1\"") && two.contains("\"md\""), "{two}");
    }

    #[test]
    fn answers_become_a_file() {
        let text = answered("\"the\" NAS\nST4000VN008-2DR166\n8\nraidz2\n0\n400GB\nzfs\nnfs\n10GbE\n64GiB\n")
            .expect("they fit");
        let array = parse("t", &text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert_eq!(array.title, "\"the\" NAS");
        assert_eq!(array.raid.disks.value, 8.0);
        assert!(array.tier.capacity.is_some() && array.server.ram.is_some());
    }

    #[test]
    fn what_does_not_fit_is_refused_where_it_was_answered() {
        for (lines, said) in [
            ("x\nACME 1\n", "catalogue does not have `ACME 1`"),
            ("x\n\nmany\n", "How many"),
            ("x\n\n4\nraid7\n", "Which RAID level"),
            ("x\n\n2\n6\n", "Which RAID level"),
            ("x\n\n\n\n\n\n\nnfs\n2 tins and a string\n", "slowest link"),
        ] {
            let message = answered(lines).expect_err("it is wrong").to_string();
            assert!(message.contains(said), "{lines}: {message}");
        }
    }
}
