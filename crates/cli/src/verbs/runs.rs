//! `assay runs`, `show`, `report`, `label`, `rm`: stored runs.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::bail;
use assay_analysis::compare::Side;
use assay_record::Outcome;
use assay_report::RunListing;
use assay_report::repeats::Repeats;
use assay_report::table::Format;
use assay_results::{complete, incomplete};
use assay_store::{RunFilter, RunRow, RunSlice, RunState, Store, StoreError};

use crate::args::{
    Findings, Form, LabelArgs, ReportArgs, RmArgs, RunsArgs, ShowArgs, Since, Status, StoreArgs,
};
use crate::exit::Exit;
use crate::output::render::{Page, Rendered as _, RunList};
use crate::output::terminal::{list_options, note, say, terminal_rows, text_options};
use crate::output::{Kept, Output};
use crate::verbs::run::repeats_of;
use crate::words::run_file::is_export;
use crate::words::store::existing_store;
use crate::words::stored::{self, Stored, labelled, status};

/// Runs that are listed for people where no number was asked for.
const SHOWN: usize = 1000;
/// Lines of a screen beside those of its runs: the command, the titles, the remark that there are more, the prompt.
const AROUND: usize = 4;
/// Runs that are listed in the lowest of terminals.
const LISTED_MIN: usize = 10;
/// Rows that are read and printed at once.
const PART: usize = 256;

pub(crate) fn runs(args: &RunsArgs) -> anyhow::Result<Exit> {
    let is_first_use = args.store.named().is_none() && !args.store.address()?.exists();
    let place = |path: &PathBuf| Output::check_named(path, Kept::of(&args.store, &[]), None);
    let output = args.output.as_ref().map(place).transpose()?;
    let store = if is_first_use { None } else { Some(existing_store(&args.store)?) };
    if let Some(store) = store.as_ref().filter(|_| args.find.is_some() || args.findings.is_some()) {
        // Tests and findings are found in digests, which runs of earlier versions lack. A store that can only be read
        // is searched without them.
        incomplete(store)?.iter().for_each(|run| drop(complete(store, run)));
    }
    let list = Listed { store, filter: filter(args), limit: args.limit };
    if let Some(output) = &output {
        with_listings(&list.rows(usize::MAX)?, |listings| RunList(listings).write(output, "list"))?;
    }
    match args.form.form() {
        Form::Text => list.print_text()?,
        form @ (Form::Csv | Form::Json) => list.print_in_parts(form)?,
        form @ (Form::Md | Form::Bbcode) => with_listings(&list.rows(usize::MAX)?, |listings| {
            say(&RunList(listings).printed(form, text_options()))
        })?,
    }
    Ok(Exit::Done)
}

/// The runs that a command line asks for.
struct Listed {
    /// `None`: there is none yet.
    store: Option<Store>,
    filter: RunFilter,
    limit: Option<usize>,
}

impl Listed {
    fn slice(&self, most: usize) -> RunSlice {
        RunSlice { limit: self.limit.unwrap_or(most), ..RunSlice::ALL }
    }

    fn rows(&self, most: usize) -> Result<Vec<RunRow>, StoreError> {
        self.store.as_ref().map_or(Ok(Vec::new()), |store| store.rows(&self.filter, self.slice(most)))
    }

    /// People get the newest runs, unless they ask for more.
    fn print_text(&self) -> anyhow::Result<()> {
        let most = terminal_rows().map_or(SHOWN, |rows| rows.saturating_sub(AROUND).max(LISTED_MIN));
        let rows = self.rows(most)?;
        let Some(store) = &self.store else { return with_listings(&rows, say_text) };
        if rows.is_empty() && store.count()? > 0 {
            note!("none of the {} stored runs matches", store.count()?);
            return Ok(());
        }
        with_listings(&rows, say_text)?;
        let matching = store.matching(&self.filter)?;
        if self.limit.is_none() && matching > rows.len() {
            note!("the newest {} of {matching} runs; for all of them: assay runs -n {matching}", rows.len());
        }
        Ok(())
    }

    /// Programs get all, and a store of any size is listed in the memory of one part.
    fn print_in_parts(&self, form: Form) -> anyhow::Result<()> {
        let is_json = matches!(form, Form::Json);
        let Some(store) = &self.store else { return say(&RunList(&[]).printed(form, text_options())) };
        let (mut count, mut printed) = (0, Ok(()));
        let print = &mut |rows: Vec<RunRow>| {
            let text = with_listings(&rows, |listings| RunList(listings).printed(form, text_options()));
            let inner = text.strip_prefix("[\n").and_then(|text| text.strip_suffix("\n]\n"));
            printed = match inner.filter(|_| is_json) {
                Some(objects) => say(&format!("{}{objects}", if count == 0 { "[\n" } else { ",\n" })),
                None if count == 0 => say(&text),
                // The line of titles was printed before.
                None => say(text.split_once('\n').map_or("", |(_, lines)| lines)),
            };
            count += rows.len();
            printed.is_ok()
        };
        store.visit_rows(&self.filter, self.slice(usize::MAX), PART, print)?;
        printed?;
        match (count, is_json) {
            (0, _) => say(&RunList(&[]).printed(form, text_options())),
            (_, true) => say("\n]\n"),
            (_, false) => Ok(()),
        }
    }
}

fn say_text(listings: &[RunListing<'_>]) -> anyhow::Result<()> {
    say(&RunList(listings).printed(Form::Text, list_options()))
}

fn with_listings<T>(rows: &[RunRow], act: impl FnOnce(&[RunListing<'_>]) -> T) -> T {
    let unreadable: Vec<Option<String>> = rows.iter().map(|row| Some(row.error()?.to_string())).collect();
    let listings: Vec<RunListing<'_>> =
        rows.iter().zip(&unreadable).map(|(row, says)| listing(row, says.as_deref())).collect();
    act(&listings)
}

/// Returns the filter that a command line asks for.
fn filter(args: &RunsArgs) -> RunFilter {
    RunFilter {
        text: args.find.clone().unwrap_or_default(),
        target: args.target.clone(),
        plan: args.plan.clone(),
        label: args.label.clone(),
        host: args.host.clone(),
        since_unix_ms: args.since.map(since_unix_ms),
        state: args.status.map(state),
        severity: args.findings.map(Findings::severity),
        ..RunFilter::default()
    }
}

fn since_unix_ms(since: Since) -> u64 {
    const DAY_MS: u64 = 86_400_000;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now_ms = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
    match since {
        Since::At(unix_ms) => unix_ms,
        Since::Ago(ms) => now_ms.saturating_sub(ms),
        Since::Today => now_ms / DAY_MS * DAY_MS,
    }
}

fn state(status: Status) -> RunState {
    match status {
        Status::Done => RunState::Ended(Outcome::Done),
        Status::Failed => RunState::Ended(Outcome::Failed),
        Status::Interrupted => RunState::Ended(Outcome::Interrupted),
        Status::Running => RunState::Running,
        Status::Partial => RunState::Partial,
    }
}

fn listing<'r>(row: &'r RunRow, unreadable: Option<&'r str>) -> RunListing<'r> {
    RunListing {
        run: &row.run,
        name: &row.name,
        status: if unreadable.is_some() { "unreadable" } else { status(row).name() },
        label: row.label.as_deref(),
        note: row.note.as_deref(),
        lost: row.lost.as_deref(),
        started_unix_ms: row.started_unix_ms,
        targets: &row.targets,
        unreadable,
    }
}

pub(crate) fn show(args: &ShowArgs) -> anyhow::Result<Exit> {
    if let Some(name) = args.run.strip_prefix("published:") {
        if args.output.is_some() {
            bail!("a published table is only printed; assay compare {} RUN -o FILE writes it", args.run);
        }
        return crate::verbs::published::show(name, &args.view);
    }
    if let Some(output) = &args.output {
        write_report(&args.store, &args.run, output)?;
    }
    if let Some(repeats) = repetitions(&args.store, &args.run)? {
        say(&repeats.printed(args.view.form(), args.view.options()))?;
        return Ok(Exit::Done);
    }
    let stored = stored::named(&args.store, &args.run)?;
    if let Some(every) = args.series {
        return show_series(&stored, every, args);
    }
    say(&Page::of(&stored).printed(args.view.form(), args.view.options()))?;
    Ok(Exit::Done)
}

/// Prints the measured windows over time.
fn show_series(stored: &Stored, every: assay_spec::units::Nanos, args: &ShowArgs) -> anyhow::Result<Exit> {
    let every_s = every.0 as f64 / 1e9;
    if every_s < 1.0 {
        bail!("--series {every}: results are kept for each second; give 1s or more");
    }
    let table = assay_report::series::table(&stored.summary.steps, every_s);
    let format = match args.view.form() {
        Form::Text => Format::Text(args.view.options().width),
        Form::Csv => Format::Csv,
        Form::Md => Format::Markdown,
        Form::Bbcode => Format::BbCode,
        Form::Json => {
            bail!("--series has no JSON of its own: assay show {} --json has `series`, each second", args.run)
        }
    };
    say(&table.render(format))?;
    Ok(Exit::Done)
}

pub(crate) fn report(args: &ReportArgs) -> anyhow::Result<Exit> {
    write_report(&args.store, &args.run, &args.output).map(|()| Exit::Done)
}

/// Writes a stored run, or the repetitions of a label, to a file in the format that its ending names.
fn write_report(store: &StoreArgs, run: &str, path: &Path) -> anyhow::Result<()> {
    let kept = Kept::of(store, &[]);
    if let Some(repeats) = repetitions(store, run)? {
        return repeats.write(&Output::check_named(path, kept, None)?, "report");
    }
    let stored = stored::named(store, run)?;
    let output = Output::check_named(path, kept, Some(&stored.header.run))?;
    Page::of(&stored).write(&output, "report")
}

fn repetitions(args: &StoreArgs, name: &str) -> anyhow::Result<Option<Repeats>> {
    if is_export(Path::new(name)) || !args.address()?.exists() {
        return Ok(None);
    }
    let store = existing_store(args)?;
    let runs = labelled(&store, name)?;
    if runs.len() < 2 {
        return Ok(None);
    }
    let readings = runs.iter().map(|run| Ok(stored::read(&store, run)?.result_set()));
    let readings = readings.collect::<anyhow::Result<Vec<_>>>()?;
    Ok(Some(repeats_of(&[Side { name: name.to_owned(), readings }], &[])))
}

pub(crate) fn label(args: &LabelArgs) -> anyhow::Result<Exit> {
    if args.label.is_none() && args.note.is_none() {
        bail!("give a label, or --note TEXT");
    }
    let store = existing_store(&args.store)?;
    let run = store.find(&args.run)?;
    let text = |text: &str| Some(text.trim().to_owned()).filter(|t| !t.is_empty());
    if let Some(label) = &args.label {
        store.set_label(&run, text(label).as_deref())?;
    }
    if let Some(note) = &args.note {
        store.set_note(&run, text(note).as_deref())?;
    }
    Ok(Exit::Done)
}

pub(crate) fn rm(args: &RmArgs) -> anyhow::Result<Exit> {
    let store = existing_store(&args.store)?;
    // All names are resolved before anything is removed.
    let runs: Vec<String> = args.runs.iter().map(|name| store.find(name)).collect::<Result<_, _>>()?;
    for run in &runs {
        if store.is_going_on(run)? {
            bail!(StoreError::Running { run: run.clone() });
        }
    }
    for run in runs {
        store.remove(&run)?;
        note!("removed run {run}");
    }
    Ok(Exit::Done)
}
