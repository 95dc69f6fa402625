//! `assay size`: the answer to a sizing question.

use std::path::Path;

use anyhow::{Context as _, bail};
use assay_model::array::{Array, to_toml};
use assay_record::RunHeader;
use assay_sizing::{Measured, MeasuredError, Precision, Prices, Question};
use assay_spec::without_secret;
use assay_store::{RunFilter, RunSlice, Store, target_key};

use crate::args::SizeArgs;
use crate::exit::{Exit, Failed};
use crate::output::render::Rendered as _;
use crate::output::terminal::{note, say};
use crate::output::{Kept, Output, OutputKind};
use crate::words::array::{array, check_described};
use crate::words::run_file;
use crate::words::store::existing_store;
use crate::words::stored::{Stored, of_file};

pub(crate) fn size(args: &SizeArgs) -> anyhow::Result<Exit> {
    let output = args.output.as_deref().map(place).transpose()?;
    let file = args.write_array.as_deref().map(array_place).transpose()?;
    let mut question = question(args)?;
    if let Some(against) = &args.against {
        return answer_measured(args, &question, against, output.as_ref());
    }
    question.changes.extend(args.what_if.iter().cloned());
    let arrays: Vec<Array> = args.array.iter().map(|name| array(name)).collect::<anyhow::Result<_>>()?;
    arrays.iter().try_for_each(check_described)?;
    let precision = if args.closed_form { Precision::Closed } else { Precision::Simulated };
    let answer = assay_sizing::answer(question, &arrays, &prices(args)?, precision)?;
    if let (Some(file), Some(best)) = (&file, answer.candidates.first()) {
        // What was proposed is more than the one device that its class describes.
        let title = if arrays.is_empty() { best.name.clone() } else { best.array.title.clone() };
        let text = to_toml(&Array { name: stem(args.write_array.as_deref()), title, ..best.array.clone() });
        file.write(&text, None).map_err(|error| Failed::new(Exit::Errors, error))?;
        note!("array written to {file}");
    }
    if let Some(output) = &output {
        answer.write(output, "sizing answer")?;
    }
    say(&answer.printed(args.view.form(), args.view.options()))?;
    Ok(Exit::Done)
}

/// Answers from a load curve.
fn answer_measured(
    args: &SizeArgs,
    question: &Question,
    against: &str,
    output: Option<&Output>,
) -> anyhow::Result<Exit> {
    let answer = match run_file::is_export(Path::new(against)) {
        true => answer_of(question, &of_file(Path::new(against))?)?,
        false => newest_curve(args, question, against)?,
    };
    if let Some(output) = output {
        answer.write(output, "sizing answer")?;
    }
    say(&answer.printed(args.view.form(), args.view.options()))?;
    Ok(Exit::Done)
}

fn answer_of(question: &Question, stored: &Stored) -> anyhow::Result<Measured> {
    Ok(assay_sizing::measured(question, &stored.header, &stored.summary)?)
}

/// Returns the answer of a run, or of the newest run on a target that has a load curve.
fn newest_curve(args: &SizeArgs, question: &Question, against: &str) -> anyhow::Result<Measured> {
    let store = existing_store(&args.store)?;
    let on_target = runs_on(&store, against)?;
    if on_target.is_empty() {
        return answer_of(question, &Stored::read(&store, against)?);
    }
    for run in &on_target {
        // A run without a curve is passed over, and its events are not read.
        if !sweeps_a_load(&store.header(run)?) {
            continue;
        }
        let stored = Stored::read(&store, run)?;
        match assay_sizing::measured(question, &stored.header, &stored.summary) {
            Ok(answer) => return Ok(answer),
            Err(MeasuredError::NoCurve(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let shown = without_secret(against);
    bail!(
        "none of the {} runs on {shown} has a load curve; measure one with assay curve {shown}",
        on_target.len()
    )
}

/// Returns the runs on a target that have ended, the newest first.
fn runs_on(store: &Store, target: &str) -> anyhow::Result<Vec<String>> {
    let wanted = target_key(target);
    let filter = RunFilter { on_target: Some(wanted.clone()), ..RunFilter::default() };
    let mut rows = store.rows(&filter, RunSlice::ALL)?;
    if rows.is_empty() {
        // A store may know them by a path that leads to the same place only now.
        rows = store.runs()?;
        rows.retain(|row| row.targets.iter().any(|target| target_key(target) == wanted));
    }
    Ok(rows.into_iter().filter(|row| !row.is_running).map(|row| row.run).collect())
}

/// Whether a test of a run sweeps the rate of an open loop.
fn sweeps_a_load(header: &RunHeader) -> bool {
    let sweeps =
        |step: &assay_spec::Step| step.swept.iter().any(|one| one.key == "rate" || one.key == "load");
    header.plan.tests.iter().flat_map(|test| &test.steps).any(sweeps)
}

/// Returns the name of the array in that file.
fn stem(path: Option<&Path>) -> String {
    path.and_then(Path::file_stem).map_or(String::new(), |stem| stem.to_string_lossy().into_owned())
}

/// Returns where the answer goes.
fn place(path: &Path) -> anyhow::Result<Output> {
    match OutputKind::of(path)? {
        OutputKind::Html => {
            bail!("an answer has no HTML page; end {} in .csv, .md, .bbcode, .json or .txt", path.display())
        }
        kind => Output::check(path, kind, Kept::of_environment(), None),
    }
}

/// Returns where the array file goes: a new file.
fn array_place(path: &Path) -> anyhow::Result<Output> {
    if path.exists() {
        bail!("{} exists; choose another file", path.display());
    }
    Output::check(path, OutputKind::Array, Kept::of_environment(), None)
}

/// Returns the question. Options become words of it, so that both forms mean the same.
fn question(args: &SizeArgs) -> anyhow::Result<Question> {
    let mut words = args.question.clone();
    let mut add = |option: &Option<String>, before: &str, after: &str| {
        words.extend(
            option.as_ref().map(|value| format!(", {before} {} {after}", value.trim_end_matches(['%', ' ']))),
        );
    };
    add(&args.iops, "", "IOPS");
    add(&args.read, "", "% read");
    add(&args.random, "", "% random");
    add(&args.block, "", "");
    add(&args.p99, "p99", "");
    add(&args.mean, "mean", "");
    add(&args.data, "", "");
    add(&args.active, "", "active");
    add(&args.disks, "", "disks");
    add(&args.disk_size, "", "disks");
    add(&args.link, "", "");
    words.extend(args.raid.iter().map(|level| format!(", {}", level_word(level))));
    words.extend(args.device.iter().map(|class| format!(", {}", class_word(class))));
    let text = words.join(" ");
    if text.trim().is_empty() && args.array.is_empty() {
        bail!(
            "no question is given; write one like assay size \"2000 IOPS, 70% read, 8 KiB, p99 20 ms, 10 TB, RAID10, \
             7200 rpm\", or see assay size --help"
        );
    }
    Ok(assay_sizing::parse(&text)?)
}

/// A level alone is a number; a question needs the word before it.
fn level_word(level: &str) -> String {
    if level.starts_with(|c: char| c.is_ascii_digit()) { format!("raid{level}") } else { level.to_owned() }
}

/// `10k` alone is a size of I/Os.
fn class_word(class: &str) -> String {
    match class {
        "10k" | "15k" => format!("{class} rpm"),
        class => class.to_owned(),
    }
}

fn prices(args: &SizeArgs) -> anyhow::Result<Prices> {
    let one = |text: &String| {
        let (what, amount) = text
            .split_once('=')
            .with_context(|| format!("--price {text}: write it like disk=220, ssd=110 or nas-4bay=800"))?;
        let amount: f64 = amount
            .trim()
            .parse()
            .ok()
            .filter(|amount: &f64| amount.is_finite() && *amount >= 0.0)
            .with_context(|| format!("--price {text}: `{amount}` is not an amount"))?;
        Ok((what.trim().to_owned(), amount))
    };
    args.price.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::args::{Cli, Verb};

    fn asked(typed: &[&str]) -> Question {
        let cli = Cli::parse_from([&["assay", "size"], typed].concat());
        let Verb::Size(args) = cli.verb else { panic!("it is size that was typed") };
        question(&args).unwrap_or_else(|e| panic!("{e:#}"))
    }

    #[test]
    fn options_and_words_ask_the_same() {
        let words =
            asked(&["2000 IOPS, 70% read, 8 KiB, p99 20 ms, 10 TB, RAID10, 10k rpm, 4 TB disks, 10 GbE"]);
        let options = asked(&[
            "--iops", "2000", "--read", "70", "--block", "8KiB", "--p99", "20ms", "--data", "10TB", "--raid",
            "10", "--device", "10k", "--disk-size", "4TB", "--link", "10GbE",
        ]);
        assert_eq!(words, options);
    }
}
