//! A job file as jobs: each a list of options, those of `[global]` first.

use super::value::{Division, calculated};
use crate::surroundings::Surroundings;
use crate::{ImportError, TEXT_BYTES_MAX, complain, without_secrets};

/// Words that fio replaces by what it knows of the machine: a page in bytes, the memory in MiB, the processors.
const KEYWORDS: [&str; 3] = ["$pagesize", "$mb_memory", "$ncpus"];
/// How deep files may include others.
const INCLUDE_DEPTH_MAX: usize = 8;
/// The most jobs, and the most options of one job.
const JOBS_MAX: usize = 10_000;
const OPTIONS_MAX: usize = 1_000;
/// The longest line after variables are put in, bytes.
const LINE_BYTES_MAX: usize = 64 << 10;

/// An option as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OptionLine {
    /// File and line, for messages.
    pub(super) file: String,
    pub(super) line: usize,
    pub(super) key: String,
    /// Empty where there is no `=`.
    pub(super) value: String,
    /// A variable in the value that is not set; an error only for who needs the value.
    pub(super) unset: Option<String>,
}

impl OptionLine {
    /// The value, where all its variables are set.
    pub(super) fn known(&self) -> Result<&str, ImportError> {
        match &self.unset {
            None => Ok(&self.value),
            Some(name) => Err(self.complain(format!("the environment variable {name} is not set"))),
        }
    }

    pub(super) fn complain(&self, message: impl Into<String>) -> ImportError {
        complain(&self.file, self.line, format!("{}: {}", self.key, message.into()))
    }
}

/// A section whose name does not begin with `global`.
#[derive(Debug)]
pub(super) struct JobLines {
    pub(super) name: String,
    pub(super) file: String,
    pub(super) line: usize,
    /// Number of the command of fio that it belongs to.
    pub(super) command: usize,
    /// Those of the global sections before it come first.
    pub(super) options: Vec<OptionLine>,
}

/// What is being read.
pub(super) struct Reader<'s> {
    surroundings: &'s Surroundings<'s>,
    bytes_left: u64,
    global: Vec<OptionLine>,
    jobs: Vec<JobLines>,
    section: Section,
    /// True while a file is read that another one includes: what it holds is not for messages.
    is_included: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    None,
    Global,
    Job,
}

/// Returns all jobs in their order.
pub(super) fn jobs(
    origin: &str,
    text: &str,
    surroundings: &Surroundings<'_>,
) -> Result<Vec<JobLines>, ImportError> {
    let mut reader = Reader::new(surroundings, Section::None);
    reader.file(origin, text, &mut vec![origin.to_owned()])?;
    if reader.jobs.is_empty() && !reader.global.is_empty() {
        // What is run with further jobs on the command line.
        reader.section = Section::Job;
        let options = std::mem::take(&mut reader.global);
        reader.jobs.push(JobLines {
            name: "global".to_owned(),
            file: origin.to_owned(),
            line: 0,
            command: 0,
            options,
        });
    }
    match reader.jobs.is_empty() {
        true => Err(complain(origin, 0, "has no job: a section [name] with the options of a job is missing")),
        false => Ok(reader.jobs),
    }
}

impl<'s> Reader<'s> {
    fn new(surroundings: &'s Surroundings<'s>, section: Section) -> Self {
        Self {
            surroundings,
            bytes_left: TEXT_BYTES_MAX,
            global: Vec::new(),
            jobs: Vec::new(),
            section,
            is_included: false,
        }
    }

    /// Of a command line, whose options before the first job are those of all jobs.
    pub(super) fn of_command(surroundings: &'s Surroundings<'s>) -> Self {
        Self::new(surroundings, Section::Global)
    }

    pub(super) fn has_jobs(&self) -> bool {
        !self.jobs.is_empty()
    }

    pub(super) fn into_jobs(self) -> Vec<JobLines> {
        self.jobs
    }

    /// Reads a job file that a command line names.
    pub(super) fn job_file(&mut self, origin: &str, line: usize, path: &str) -> Result<(), ImportError> {
        let text = (self.surroundings.include)(path)
            .map_err(|why| complain(origin, line, format!("cannot read the job file {path}: {why}")))?;
        self.section = Section::None;
        self.file(path, &text, &mut vec![path.to_owned()])
    }

    fn file(&mut self, origin: &str, text: &str, open: &mut Vec<String>) -> Result<(), ImportError> {
        self.bytes_left = self
            .bytes_left
            .checked_sub(text.len() as u64)
            .ok_or_else(|| complain(origin, 0, "is too large together with the files it includes"))?;
        for (index, raw) in text.lines().enumerate() {
            // As in fio, a comment may stand behind an option.
            let (line, trimmed) = (index + 1, raw.split(['#', ';']).next().unwrap_or_default().trim());
            if trimmed.is_empty() {
                continue;
            }
            if let Some(path) = trimmed.strip_prefix("include ").map(str::trim) {
                self.include(origin, line, path, open)?;
            } else if let Some(name) = trimmed.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                self.begin(origin, line, name.trim())?;
            } else {
                self.option(origin, line, trimmed)?;
            }
        }
        Ok(())
    }

    fn include(
        &mut self,
        origin: &str,
        line: usize,
        path: &str,
        open: &mut Vec<String>,
    ) -> Result<(), ImportError> {
        if open.iter().any(|known| known == path) {
            return Err(complain(origin, line, format!("includes {path}, which is being included already")));
        }
        if open.len() >= INCLUDE_DEPTH_MAX {
            return Err(complain(
                origin,
                line,
                format!("includes are nested more than {INCLUDE_DEPTH_MAX} files deep"),
            ));
        }
        let text = (self.surroundings.include)(path)
            .map_err(|why| complain(origin, line, format!("cannot include {path}: {why}")))?;
        open.push(path.to_owned());
        let outer = std::mem::replace(&mut self.is_included, true);
        self.file(path, &text, open)?;
        self.is_included = outer;
        open.pop();
        Ok(())
    }

    /// Begins a section.
    pub(super) fn begin(&mut self, origin: &str, line: usize, name: &str) -> Result<(), ImportError> {
        // fio compares the first six letters.
        if name.starts_with("global") {
            self.section = Section::Global;
            return Ok(());
        }
        if name.is_empty() {
            return Err(complain(origin, line, "a job needs a name between [ and ]"));
        }
        if self.jobs.len() >= JOBS_MAX {
            return Err(complain(origin, line, format!("there are more than {JOBS_MAX} jobs")));
        }
        self.section = Section::Job;
        let options = self.global.clone();
        self.jobs.push(JobLines {
            name: name.to_owned(),
            file: origin.to_owned(),
            line,
            command: 0,
            options,
        });
        Ok(())
    }

    /// Reads an option, `bs=4k`, of the present section.
    pub(super) fn option(&mut self, origin: &str, line: usize, text: &str) -> Result<(), ImportError> {
        let (key, value) = text.split_once('=').unwrap_or((text, ""));
        let key = key.trim().to_lowercase();
        if key.is_empty() || !key.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c)) {
            let short: String = text.chars().take(60).collect();
            let says = match self.is_included {
                true => {
                    "is not an option of fio; one looks like bs=4k (an included file is not shown)".to_owned()
                }
                false => format!("`{short}` is not an option of fio; one looks like bs=4k"),
            };
            return Err(complain(origin, line, says));
        }
        // Only now an address that was put together of variables is one.
        let (value, unset) = self.expanded(origin, line, value.trim())?;
        let value = self.with_keywords(origin, line, value)?;
        let option = OptionLine { file: origin.to_owned(), line, key, value: without_secrets(&value), unset };
        let list = match (self.section, self.jobs.last_mut()) {
            (Section::Global, _) => &mut self.global,
            (Section::Job, Some(job)) => &mut job.options,
            _ => {
                return Err(complain(
                    origin,
                    line,
                    "options come after a section: [global] or the name of a job",
                ));
            }
        };
        if list.len() >= OPTIONS_MAX {
            return Err(complain(
                origin,
                line,
                format!("there are more than {OPTIONS_MAX} options in one job"),
            ));
        }
        list.push(option);
        Ok(())
    }

    /// Puts in what fio knows of the machine, and calculates as it does where there was such a word.
    fn with_keywords(&self, origin: &str, line: usize, value: String) -> Result<String, ImportError> {
        if !KEYWORDS.iter().any(|keyword| value.contains(keyword)) {
            return Ok(value);
        }
        let mut text = value;
        for keyword in KEYWORDS.into_iter().filter(|keyword| text.contains(keyword)).collect::<Vec<_>>() {
            let known = (self.surroundings.variable)(keyword)
                .ok_or_else(|| complain(origin, line, format!("{keyword} is not known of this machine")))?;
            text = text.replace(keyword, &known);
        }
        let number = |text: &str| text.parse::<f64>().ok();
        match calculated(&text, &number, Division::Whole) {
            Some(value) => Ok(format!("{value:.0}")),
            // Words that are no calculation stand as they are.
            None => Ok(text),
        }
    }

    /// Puts the values of `${NAME}` in; names one that is not set.
    fn expanded(
        &self,
        origin: &str,
        line: usize,
        value: &str,
    ) -> Result<(String, Option<String>), ImportError> {
        let (mut text, mut unset) = (String::new(), None);
        let mut rest = value;
        while let Some((before, after)) = rest.split_once("${") {
            let Some((name, behind)) = after.split_once('}') else {
                return Err(complain(origin, line, "`${` has no closing `}`"));
            };
            text.push_str(before);
            match (self.surroundings.variable)(name) {
                Some(known) => text.push_str(&known),
                None => {
                    text.push_str(&format!("${{{name}}}"));
                    unset = unset.or_else(|| Some(name.to_owned()));
                }
            }
            if text.len() > LINE_BYTES_MAX {
                return Err(complain(origin, line, "the line is too long with its variables"));
            }
            rest = behind;
        }
        Ok((text + rest, unset))
    }
}
