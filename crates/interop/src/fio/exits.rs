//! `exitall`: the first job that ends takes others along.

use assay_spec::Ends;

use super::lines::JobLines;
use super::options::{FioJob, Group, Scope, Verifies};
use super::value::is_true;
use crate::Note;

/// What fio knows of a job that is read.
struct Known<'j> {
    lines: &'j JobLines,
    /// Number of the jobs that are reported with it.
    reported: usize,
    /// Whether any job of its command has `exitall`, which then holds for all, whatever its value.
    is_on: bool,
}

/// Finds whom each job takes along, in the order of the file, and leaves out the groups that never run.
pub(super) fn exits(
    read: &[JobLines],
    kept: &[&JobLines],
    groups: &mut Vec<Group<'_>>,
    (notes, refused): (&mut Vec<Note>, &mut Vec<Note>),
) -> Vec<Option<Ends>> {
    let known = known(read, kept);
    let mut ends = vec![None; kept.len()];
    let mut gone: Vec<(usize, Scope)> = Vec::new();
    groups.retain(|group| {
        let ended = |(index, _): &(usize, &FioJob)| {
            let own = &known[*index];
            gone.iter().any(|(other, scope)| known[*other].takes_along(own, *scope))
        };
        if group.iter().any(ended) {
            let says = "exitall: fio never runs this job, because one before it ends all; it is left out.";
            notes.extend(group.iter().map(|(_, job)| Note::new(job.line, says)));
            return false;
        }
        for (index, job) in group {
            match whom(&known, *index, job, group) {
                Ok(whom) => {
                    ends[*index] = whom;
                    if whom.is_some() && job.checks == Verifies::Written {
                        let says = "exitall: fio reads back only what the job that ended first has written; here all \
                                    is read back that the jobs use.";
                        notes.push(Note::new(job.line, says));
                    }
                }
                Err(why) => refused.push(why),
            }
            gone.push((*index, job.exit));
        }
        true
    });
    ends
}

impl Known<'_> {
    /// Whether a job that waits is ended by the end of this one.
    fn takes_along(&self, other: &Self, scope: Scope) -> bool {
        let is_meant = match scope {
            Scope::Reported => self.reported == other.reported,
            Scope::Running => false,
            Scope::All => true,
        };
        self.is_on && is_meant && self.lines.command == other.lines.command
    }
}

fn known<'j>(read: &'j [JobLines], kept: &[&'j JobLines]) -> Vec<Known<'j>> {
    let is_on = |lines: &JobLines, key: &str| {
        let option = lines.options.iter().rfind(|option| option.key == key);
        option.is_some_and(|option| is_true(&option.value) != Ok(false))
    };
    let begins = |lines: &JobLines| {
        ["new_group", "stonewall", "wait_for_previous"].iter().any(|key| is_on(lines, key))
    };
    let ends_all = |command: usize| {
        let of_command = read.iter().filter(|lines| lines.command == command);
        of_command.flat_map(|lines| &lines.options).any(|option| option.key == "exitall")
    };
    let reported = |lines: &JobLines| {
        let until = read.iter().take_while(|other| !std::ptr::eq(*other, lines)).chain([lines]);
        until.filter(|lines| begins(lines)).count()
    };
    // Numbers are those of groups begun; a large file has few commands.
    kept.iter()
        .map(|lines| Known { lines, reported: reported(lines), is_on: ends_all(lines.command) })
        .collect()
}

/// Whom a job takes along of those that run side by side with it.
fn whom(known: &[Known<'_>], index: usize, job: &FioJob, group: &Group<'_>) -> Result<Option<Ends>, Note> {
    let own = &known[index];
    let has_one_end = group.iter().all(|(_, other)| {
        (other.end, other.start_delay) == (job.end, job.start_delay) && other.end.is_timed()
    });
    // What ends at a time ends together anyway.
    if !own.is_on || has_one_end {
        return Ok(None);
    }
    let is_meant = |(other, _): &&(usize, &FioJob)| {
        let other = &known[*other];
        let is_reported = job.exit != Scope::Reported || own.reported == other.reported;
        is_reported && own.lines.command == other.lines.command
    };
    let meant = group.iter().filter(is_meant).count();
    match (meant == group.len(), meant, job.workers) {
        (true, 1, 1) => Ok(None),
        (true, ..) => Ok(Some(Ends::Test)),
        (false, 1, 1) => Ok(None),
        (false, 1, _) => Ok(Some(Ends::Job)),
        _ if group.iter().any(|(other, _)| known[*other].lines.command != own.lines.command) => {
            let says = "exitall: it ends the jobs of its own fio command, and not those of another that runs beside \
                        it, which is not supported; convert each command alone";
            Err(Note::new(job.line, says))
        }
        _ => {
            let says = "exitall: it ends those of the jobs that run side by side which are reported together \
                        (new_group), which is supported of all of them or of one; use exit_what=stonewall";
            Err(Note::new(job.line, says))
        }
    }
}
