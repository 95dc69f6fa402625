//! `assay store`: a store in a server made, and one store copied to another.

use anyhow::{Context as _, bail};
use assay_store::{Copied, Store, StoreAddress, copy, init_sql};

use crate::args::{StoreVerb, StoreVerbArgs};
use crate::exit::Exit;
use crate::output::terminal::{note, say};

/// Runs after which a copy says how far it is.
const TOLD_EVERY: usize = 1000;
/// Differences that are printed.
const SHOWN: usize = 20;

pub(crate) fn store(args: &StoreVerbArgs) -> anyhow::Result<Exit> {
    match &args.verb {
        StoreVerb::Copy { from, to } => copied(&StoreAddress::parse(from)?, &StoreAddress::parse(to)?),
        StoreVerb::InitSql { schema } => {
            let StoreAddress::Postgres(of) = StoreAddress::parse(format!("postgres://?schema={schema}"))?
            else {
                bail!("{schema} is no schema");
            };
            say(&init_sql(&of)).map(|()| Exit::Done)
        }
    }
}

fn copied(from: &StoreAddress, to: &StoreAddress) -> anyhow::Result<Exit> {
    if from.absolute() == to.absolute() {
        bail!("{from} and {to} are one store");
    }
    let source = Store::open_existing(from)?.with_context(|| format!("there is no store {from}"))?;
    let target = Store::open(to)?;
    let mut tell = |done: usize, all: usize| {
        if done.is_multiple_of(TOLD_EVERY) {
            note!("{done} of {all} runs");
        }
    };
    let Copied { copied, same, beside, different } = copy(&source, &target, &mut tell)?;
    say(&format!(
        "{copied} runs copied, {same} were there already; {beside} arrays, prices, baselines, checks and journals. \
         All of them are the same in both stores.\n"
    ))?;
    for what in different.iter().take(SHOWN) {
        note!("error: {what}");
    }
    if different.len() > SHOWN {
        note!("{} more", different.len() - SHOWN);
    }
    Ok(if different.is_empty() { Exit::Done } else { Exit::Errors })
}
