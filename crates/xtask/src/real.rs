//! `cargo xtask diagnose-real`: causes planted on this machine and in machines under QEMU, diagnosed by the real
//! program with several budgets, unattended. Prints each row as it comes, and for each budget how often it was right
//! and what was said of which cause.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use anyhow::{Context as _, bail};

use crate::bench::{build, target_folder};

/// What plants: on this machine, and under QEMU.
const SCRIPTS: [&str; 2] = ["scripts/diagnosis-planted.sh", "scripts/diagnosis-vm.sh"];
const BUDGETS: &str = "30s,2min,10min";
/// From this probability on an answer is confident, percent.
const CONFIDENT: f64 = 80.0;
const NONE_OF_THESE: &str = "none-of-these";

/// A set-up and what was said of it.
#[derive(Debug, Clone, PartialEq)]
struct Row {
    case: String,
    /// Any of these is right.
    planted: Vec<String>,
    first: String,
    /// Of the first, percent.
    probability: f64,
    second: String,
}

/// Arguments: `--budgets LIST`, `--program PATH` (else one is built), `--script PATH`…, names of cases.
pub(crate) fn diagnose_real(args: &[String]) -> anyhow::Result<()> {
    let (mut budgets, mut scripts, mut cases) = (BUDGETS.to_owned(), Vec::new(), Vec::new());
    let mut program = None;
    let mut words = args.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().cloned().with_context(|| format!("{word} needs a value"));
        match word.as_str() {
            "--budgets" => budgets = value()?,
            "--program" => program = Some(PathBuf::from(value()?)),
            "--script" => scripts.push(value()?),
            option if option.starts_with("--") => bail!("{option} is no option of diagnose-real"),
            case => cases.push(case.to_owned()),
        }
    }
    if scripts.is_empty() {
        scripts = SCRIPTS.map(str::to_owned).into();
    }
    let assay = program.map_or_else(build, Ok)?;
    let folder = target_folder()?.join("diagnose-real");
    std::fs::create_dir_all(&folder)?;
    for budget in budgets.split(',') {
        let (mut rows, mut without) = (Vec::new(), Vec::new());
        let mut kept = std::fs::File::create(folder.join(format!("{budget}.md")))?;
        for script in &scripts {
            let status = planted(script, &assay, budget, &cases, &mut |line| {
                println!("{line}");
                match row(line) {
                    Some(row) => rows.push(row),
                    None => without.extend(case_without_answer(line)),
                }
                // A machine that stops has its rows until then.
                writeln!(kept, "{line}")
            })?;
            if !status.success() {
                println!("{script} ended with {status}: what it had not reached has no row");
            }
        }
        println!("\n{}", summary(budget, &rows, &without));
    }
    Ok(())
}

/// Runs a script, and passes on each line as it comes.
fn planted(
    script: &str,
    assay: &Path,
    budget: &str,
    cases: &[String],
    took: &mut dyn FnMut(&str) -> std::io::Result<()>,
) -> anyhow::Result<ExitStatus> {
    let mut child = Command::new(script)
        .args(cases)
        .env("ASSAY", assay)
        .env("BUDGET", budget)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("{script} cannot be started"))?;
    let lines = BufReader::new(child.stdout.take().context("its output is piped")?).lines();
    for line in lines {
        took(&line?)?;
    }
    // Set-ups that this machine cannot make are rows without an answer, and no reason to stop.
    Ok(child.wait()?)
}

/// A line of the scripts' table; `None` for its head, and for what has no answer.
fn row(line: &str) -> Option<Row> {
    let cells: Vec<&str> = line.trim().trim_matches('|').split('|').map(str::trim).collect();
    let [case, planted, first, second, ..] = cells.as_slice() else { return None };
    let (cause, probability) = first.rsplit_once(", ")?;
    Some(Row {
        case: (*case).to_owned(),
        planted: planted.split(" or ").map(str::to_owned).collect(),
        first: cause.to_owned(),
        probability: probability.trim_end_matches(['%', ' ']).parse().ok()?,
        second: second.rsplit_once(", ")?.0.to_owned(),
    })
}

/// The case of a line that has no answer; `None` for the head of the table.
fn case_without_answer(line: &str) -> Option<String> {
    let cells: Vec<&str> = line.trim().trim_matches('|').split('|').map(str::trim).collect();
    let is_row = cells.len() > 3 && cells[0] != "case" && !cells[0].starts_with("---");
    is_row.then(|| cells[0].to_owned())
}

fn is_right(row: &Row) -> bool {
    row.planted.contains(&row.first)
}

fn is_confidently_wrong(row: &Row) -> bool {
    !is_right(row) && row.first != NONE_OF_THESE && row.probability >= CONFIDENT
}

/// How often it was right, which cases have no answer, and what was said of which cause: a row for each planted one.
fn summary(budget: &str, rows: &[Row], without: &[String]) -> String {
    let count = |of: &dyn Fn(&Row) -> bool| rows.iter().filter(|row| of(row)).count();
    let percent = |part: usize| 100.0 * part as f64 / rows.len().max(1) as f64;
    let (right, wrong) = (count(&is_right), count(&is_confidently_wrong));
    let second = count(&|row| !is_right(row) && row.planted.contains(&row.second));
    let none = count(&|row| row.first == NONE_OF_THESE);
    let mut text = format!(
        "{budget}: {} set-ups, right {right} ({:.0} %), second {second}, none of these {none}, another with 80 % or \
         more {wrong} ({:.0} %)\n",
        rows.len(),
        percent(right),
        percent(wrong)
    );
    if !without.is_empty() {
        let _ = writeln!(text, "without an answer, and not counted: {}", without.join(", "));
    }
    text.push_str("\n| planted | said |\n|---|---|\n");
    let mut said: BTreeMap<String, BTreeMap<&str, usize>> = BTreeMap::new();
    for row in rows {
        *said.entry(row.planted.join(" or ")).or_default().entry(&row.first).or_default() += 1;
    }
    for (planted, said) in said {
        let said: Vec<String> = said.iter().map(|(cause, count)| format!("{cause} {count}")).collect();
        let _ = writeln!(text, "| {planted} | {} |", said.join(", "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &str = "| case | planted | said first | said second | right | experiments, rate |\n\
        |---|---|---|---|---|---|\n\
        | iops | iops-cap | iops-cap, 96 % | bytes-cap, 1 % | yes | 11, 800 IOPS |\n\
        | quota | tester-cpu or host-cpu | host-cpu, 87 % | target-per-io, 13 % | yes | 14, 35651 IOPS |\n\
        | loss | network-fault | bytes-cap, 81 % | network-fault, 15 % | second | 10, 91 IOPS |\n\
        | part | weak-region | none-of-these, 90 % | few-outstanding, 5 % | no | 9, 91 IOPS |\n\
        | lost | link | none (exit code 2): no route | | | |\n";

    #[test]
    fn rows_of_the_scripts_are_counted_by_what_was_planted_and_said() {
        let rows: Vec<Row> = LINES.lines().filter_map(row).collect();
        assert_eq!(rows.len(), 4);
        assert_eq!((rows[1].planted.len(), rows[1].probability), (2, 87.0));
        let without: Vec<String> =
            LINES.lines().filter(|line| row(line).is_none()).filter_map(case_without_answer).collect();
        let text = summary("30s", &rows, &without);
        assert!(
            text.starts_with(
                "30s: 4 set-ups, right 2 (50 %), second 1, none of these 1, another with 80 % or more 1 (25 %)\n\
                 without an answer, and not counted: lost\n"
            ),
            "{text}"
        );
        assert!(
            text.contains("| network-fault | bytes-cap 1 |\n| tester-cpu or host-cpu | host-cpu 1 |\n"),
            "{text}"
        );
    }
}
