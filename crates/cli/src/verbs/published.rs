//! `assay published` and `assay validate`: measured tables of articles, and the model compared with them.

use std::path::PathBuf;

use anyhow::bail;
use assay_analysis::{Judgement, judge_published};
use assay_model::published::{self, Published};
use assay_model::validate::{grid, validate};
use assay_report::text::Detail;
use assay_report::{expected, validation};
use assay_spec::suggest;
use serde_json::{Value, json};

use crate::args::{Form, PublishedArgs, ValidateArgs, ViewArgs};
use crate::exit::{Exit, Failed};
use crate::output::terminal::{entry_in_a_line, note, paragraph, say, terminal_columns};
use crate::output::{Kept, Output, OutputKind};

/// Columns of the names in the list.
const NAME_COLUMNS: usize = 16;

pub(crate) fn published(args: &PublishedArgs) -> anyhow::Result<Exit> {
    let tables = published::all()?;
    if args.form.json {
        let list = tables.iter().map(
            |t| json!({ "published": t.name, "system": t.system, "source": t.source, "rows": t.rows.len() }),
        );
        say(&format!("{:#}\n", list.collect::<Value>()))?;
        return Ok(Exit::Done);
    }
    let line = |t: &Published| {
        let source = format!("{} ({} rows)", t.source, t.rows.len());
        entry_in_a_line(&t.name, NAME_COLUMNS, &t.system) + &entry_in_a_line("", NAME_COLUMNS, &source)
    };
    let mut text: String = tables.iter().map(line).collect();
    text.push_str(&paragraph(
        "assay show published:NAME prints one with its findings and expectations.",
        "  ",
    ));
    say(&text)?;
    Ok(Exit::Done)
}

/// Prints a published table like a run: in brief what limits it stands below the rows, and the rest is counted.
pub(crate) fn show(name: &str, view: &ViewArgs) -> anyhow::Result<Exit> {
    let (table, judgement) = judged(name)?;
    let form = view.form();
    if form == Form::Json {
        say(&format!("{:#}\n", expected::published_json(&table, &judgement)))?;
        return Ok(Exit::Done);
    }
    if form != Form::Text {
        bail!("published tables print as text or json; assay compare published:{name} RUN has every format");
    }
    let options = view.options();
    say(&expected::published_table(&table, options.width.min(110)))?;
    if options.detail == Detail::Brief {
        return brief(&judgement);
    }
    say(&assay_report::text::findings(&judgement.findings, options))?;
    say(&expected::text(&judgement, options.width.min(110)))?;
    say("\nExpectations are from data sheets alone; they do not contain the software cost of the target.\n")?;
    Ok(Exit::Done)
}

fn brief(judgement: &Judgement) -> anyhow::Result<Exit> {
    let limit =
        judgement.verdict.as_ref().map(|verdict| paragraph(&format!("LIMIT  {}", verdict.brief), "  "));
    let rules: Vec<&str> = judgement.findings.iter().map(|finding| finding.rule.as_str()).collect();
    let rest = format!(
        "--explain adds {} findings ({}) and what is expected of each row.",
        rules.len(),
        rules.join(", ")
    );
    say(&format!("\n{}{}", limit.unwrap_or_default(), paragraph(&rest, "  ")))?;
    Ok(Exit::Done)
}

/// Returns the table of that name with its judgement.
pub(crate) fn judged(name: &str) -> anyhow::Result<(Published, Judgement)> {
    let mut tables = published::all()?;
    let Some(index) = tables.iter().position(|t| t.name == name) else {
        let names: Vec<&str> = tables.iter().map(|t| t.name.as_str()).collect();
        bail!("no published table is called `{name}`{}", suggest(name, &names));
    };
    let table = tables.swap_remove(index);
    let judgement = judge_published(&table);
    Ok((table, judgement))
}

pub(crate) fn validation(args: &ValidateArgs) -> anyhow::Result<Exit> {
    let place = |path: &PathBuf| Output::check(path, OutputKind::Validation, Kept::of_environment(), None);
    let output = args.output.as_ref().map(place).transpose()?;
    if output.is_none() && !args.explain {
        say(&validation::model_brief(&validate()?, terminal_columns().unwrap_or(80).min(80)))?;
        return Ok(Exit::Done);
    }
    let text = validation::model_document(&validate()?, &grid()?);
    let Some(output) = output.filter(|output| !output.is_stdout()) else {
        say(&text)?;
        return Ok(Exit::Done);
    };
    output.write(&text, None).map_err(|error| Failed::new(Exit::Errors, error))?;
    note!("written to {output}");
    Ok(Exit::Done)
}
