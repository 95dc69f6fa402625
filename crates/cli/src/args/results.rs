//! The command line of stored results.

use std::path::PathBuf;

use assay_analysis::Severity;
use assay_analysis::compare::Gate;
use clap::{Args, ValueEnum};

use super::{StoreArgs, label_text};

/// How a result is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Form {
    /// For a terminal.
    #[default]
    Text,
    /// For a spreadsheet: plain numbers under one line of titles.
    Csv,
    /// Markdown, for documents.
    Md,
    /// BBCode, for forums.
    Bbcode,
    /// For programs.
    Json,
}

#[derive(Debug, Args)]
pub(crate) struct FormArgs {
    /// Print the result as text, csv, md (Markdown), bbcode (forums) or json.
    #[arg(
        long,
        value_enum,
        value_name = "FORMAT",
        default_value_t = Form::Text,
        hide_default_value = true,
        hide_possible_values = true
    )]
    format: Form,
    /// Print one JSON document: --format json.
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

impl FormArgs {
    pub(crate) fn form(&self) -> Form {
        if self.json { Form::Json } else { self.format }
    }
}

/// How a result is shown.
#[derive(Debug, Args)]
pub(crate) struct ViewArgs {
    /// Print every finding in full, the meaning of the columns and the sources of the numbers.
    #[arg(long)]
    pub(crate) explain: bool,
    #[command(flatten)]
    form: FormArgs,
}

impl ViewArgs {
    pub(crate) fn form(&self) -> Form {
        self.form.form()
    }
}

/// Of verbs that print text or JSON.
#[derive(Debug, Args)]
pub(crate) struct JsonArgs {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

const RUNS_EXAMPLES: &str = "\
Examples:
  Runs on one NAS since yesterday:
    assay runs --target nas --since 1d
  A run by a word of its note, or by any other text that you remember:
    assay runs --find 'new firmware'
  Failed runs of a plan:
    assay runs --plan vmware --status failed
  The list for a spreadsheet:
    assay runs --format csv";

#[derive(Debug, Args)]
#[command(after_help = RUNS_EXAMPLES)]
pub(crate) struct RunsArgs {
    /// List only runs with this in the address of a target.
    #[arg(long, value_name = "TEXT")]
    pub(crate) target: Option<String>,
    /// List only runs with this in the name of their plan.
    #[arg(long, value_name = "TEXT")]
    pub(crate) plan: Option<String>,
    /// List only runs with this in their label.
    #[arg(long, value_name = "TEXT")]
    pub(crate) label: Option<String>,
    /// List only runs of a host with this in its name.
    #[arg(long, value_name = "TEXT")]
    pub(crate) host: Option<String>,
    /// List only runs with all of these words in their id, plan, label, note, host, targets, tests or findings.
    #[arg(long, value_name = "WORDS")]
    pub(crate) find: Option<String>,
    /// List only runs with a finding of this severity or higher.
    #[arg(long, value_enum, value_name = "SEVERITY")]
    pub(crate) findings: Option<Findings>,
    /// List only runs with this status.
    #[arg(long, value_enum, value_name = "STATUS")]
    pub(crate) status: Option<Status>,
    /// List only runs that started since then: a day (2026-11-21, UTC), `today`, or a time ago (2h, 7d).
    #[arg(long, value_name = "WHEN", value_parser = since)]
    pub(crate) since: Option<Since>,
    /// List at most this many; without it, a terminal has those that fit it, another text the newest 1,000, and JSON
    /// and CSV have all.
    #[arg(short = 'n', long, value_name = "COUNT")]
    pub(crate) limit: Option<usize>,
    /// Also write the list here, by its ending: .csv, .md, .bbcode, .json or .txt.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) form: FormArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// How a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Status {
    /// All steps completed.
    Done,
    /// Ended by errors.
    Failed,
    /// Stopped.
    Interrupted,
    /// In progress.
    Running,
    /// Killed.
    Partial,
}

/// How grave a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Findings {
    /// Any finding.
    Info,
    /// The numbers may not mean what they seem to.
    Warning,
    /// The numbers, or the storage, must not be relied on.
    Critical,
}

impl Findings {
    pub(crate) fn severity(self) -> Severity {
        match self {
            Self::Info => Severity::Info,
            Self::Warning => Severity::Warning,
            Self::Critical => Severity::Critical,
        }
    }
}

/// A moment, as typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Since {
    /// A time ago, ms.
    Ago(u64),
    /// ms since 1970 UTC.
    At(u64),
    /// The beginning of this day, UTC.
    Today,
}

fn since(text: &str) -> Result<Since, String> {
    let says = || {
        format!(
            "`{text}` is not a point in time; write a day (2026-11-21), `today`, or a time ago with its unit: s, min, \
             h or d (2h, 7d)"
        )
    };
    if !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit()) {
        return Err(format!(
            "it has no unit; write {text}d for {text} days ago, {text}h for hours, {text}min for minutes"
        ));
    }
    if text == "today" {
        return Ok(Since::Today);
    }
    if let Some(unix_ms) = assay_report::day_unix_ms(text) {
        return Ok(Since::At(unix_ms));
    }
    let ago: assay_spec::units::Nanos = text.parse().map_err(|_| says())?;
    Ok(Since::Ago(ago.0 / 1_000_000))
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// Id of a run or a part of it, its label, `last`, `last~1`; a file of assay export; or published:NAME, the table
    /// of an article.
    #[arg(default_value = "last")]
    pub(crate) run: String,
    /// Print the measured windows over time instead, a line for each TIME, as iostat does.
    #[arg(long, value_name = "TIME", conflicts_with = "output")]
    pub(crate) series: Option<assay_spec::units::Nanos>,
    #[command(flatten)]
    pub(crate) view: ViewArgs,
    /// Also write the run here, by its ending: .html (with charts), .csv, .md, .bbcode, .json or .txt.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Id of a run or a part of it, its label, `last`, `last~1`; or a file of assay export.
    #[arg(default_value = "last")]
    pub(crate) run: String,
    /// Where to write, by its ending: .html (with charts), .csv, .md, .bbcode, .json or .txt; `-` writes HTML to
    /// standard output.
    #[arg(short, long, value_name = "FILE", default_value = "assay-report.html")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

const COMPARE_EXAMPLES: &str = "\
Examples:
  Two labels; runs that share a label are repetitions of it:
    assay compare before after
  The last two runs:
    assay compare last~1 last
  One box over two protocols, with charts:
    assay compare nfs iscsi -o compare.html
  Three repetitions of each side, by their ids:
    assay compare k7f2,k9b2,kc41 x1y2,x3y4,x5y6
  A run and the table of an article, or what an array should give:
    assay compare last published:ix4-200d
    assay compare last array:nas-4bay
  For a script: exit code 3 if the p99 of a test rose by more than 10 %:
    assay compare before after --fail-if 'p99 +10%'
  A run of a colleague, from assay export or assay run --json:
    assay compare office.assay last

--explain says how a difference is judged.";

#[derive(Debug, Args)]
#[command(after_help = COMPARE_EXAMPLES)]
pub(crate) struct CompareArgs {
    /// The first is the baseline. Each is the id of a run or a part of it, a label, `last`, `last~1`, published:NAME,
    /// array:NAME (what it should give with the plan of the first run), or a file of assay export or --json; several
    /// joined by commas are repetitions.
    #[arg(required = true, num_args = 2.., value_name = "RESULT")]
    pub(crate) results: Vec<String>,
    /// Exit with code 3 if a test changed by more than this: p99 +10%, or iops -5%; changes that noise explains do not
    /// count.
    #[arg(long, value_name = "FIGURE CHANGE")]
    pub(crate) fail_if: Vec<Gate>,
    #[command(flatten)]
    pub(crate) view: ViewArgs,
    /// Also write the comparison here, by its ending: .html (with charts), .csv, .md, .bbcode, .json or .txt; `-`
    /// prints HTML instead.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

#[derive(Debug, Args)]
pub(crate) struct LabelArgs {
    /// Id of the run or a part of it, its label, `last`, `last~1`.
    pub(crate) run: String,
    /// The new label (not `last`, which means the newest run); an empty one removes it.
    #[arg(value_parser = label_text)]
    pub(crate) label: Option<String>,
    /// The new note; an empty one removes it.
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RmArgs {
    /// Ids of runs or parts of them, labels, `last`.
    #[arg(required = true, value_name = "RUN")]
    pub(crate) runs: Vec<String>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// The form of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// The run with all its events, for another Assay.
    Assay,
    /// The plan, as a configuration of Iometer 1.1.0.
    Icf,
    /// Results as Iometer 1.1.0 writes them.
    IometerCsv,
    /// Results as fio writes them (json+), for scripts.
    FioJson,
    /// Results for Prometheus.
    #[value(alias = "prometheus", alias = "prom")]
    Openmetrics,
    /// Latencies second by second, as an interval log of HdrHistogram.
    Hdr,
    /// Every interval with its histogram, for pandas and DuckDB.
    Parquet,
    /// The table, for spreadsheets.
    Csv,
    /// All that the store holds of the run, undecoded and unchecked, a line of JSON each: to save a damaged run.
    Raw,
    /// The table, for documents.
    #[value(alias = "md")]
    Markdown,
    /// The table, for forums.
    Bbcode,
}

const EXPORT_EXAMPLES: &str = "\
Examples:
  The last run, for a colleague:
    assay export
  The last run for scripts that read fio:
    assay export last --format fio-json -o last.json
  The table for a spreadsheet, and the results for Prometheus, by the ending:
    assay export last -o last.csv
    assay export last -o last.prom
  A plan for Iometer:
    assay export vmware --format icf -o vmware.icf";

#[derive(Debug, Args)]
#[command(after_help = EXPORT_EXAMPLES)]
pub(crate) struct ExportArgs {
    /// Id of the run or a part of it, its label, `last`, `last~1`; with --format icf also a suite or a plan file.
    #[arg(default_value = "last")]
    pub(crate) run: String,
    /// What to write. [default: what the ending of the file names, else assay]
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<ExportFormat>,
    /// Where to write; `-` is standard output. [default: RUN.assay; other formats: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

const IMPORT_EXAMPLES: &str = "\
Examples:
  A run of a colleague:
    assay import office.assay
  Results of fio, of Iometer, and a table typed from an article:
    assay import fio.json results.csv article.csv
  A table has a line of titles, of which `test` and one rate are needed:
    system,test,MiB/s,IOPS,avg ms,max ms";

#[derive(Debug, Args)]
#[command(after_help = IMPORT_EXAMPLES)]
pub(crate) struct ImportArgs {
    /// Files of assay export, maps of targets (assay map -o FILE.json), or results of other tools: fio (json, json+,
    /// text, terse), Iometer (CSV), DiskSpd (XML, text), SQLIO, CrystalDiskMark, KDiskMark, yabs, vdbench (summary,
    /// flat file), HCIBench (-res.txt), elbencho (CSV, text), ioping, Bonnie++, iozone, sysbench fileio, hdparm -tT,
    /// dd, iostat, a table (CSV). Of a folder all files in it that are one of these; the others are listed.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Label of the imported runs, to find and compare them. [default: that of the export]
    #[arg(long, value_name = "TEXT", value_parser = label_text)]
    pub(crate) label: Option<String>,
    /// Store nothing; print the table as a file of published measurements (TOML), the form of those that ship.
    #[arg(long, conflicts_with = "label")]
    pub(crate) published: bool,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}
