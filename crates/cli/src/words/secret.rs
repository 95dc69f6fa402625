//! Prompts for a CHAP secret that a LUN needs and the environment does not have.

use std::io::IsTerminal as _;

use anyhow::{Context as _, bail};
use assay_report::escape;
use assay_spec::{Address, IscsiAddress, has_secret, without_secret};
use assay_target::lun::{Secret, exposed_file, keep_out_of_dumps, needs_prompt};

use crate::output::terminal::note;

/// Refuses a command line with a secret in it, before any other part of the program sees it: it would get into
/// messages, results and the store. It has been in the list of processes and in the shell's history by then.
pub(crate) fn refuse_typed(words: &[String]) -> anyhow::Result<()> {
    // The value of an option (`--overwrite=…`) or of a key (`--set run=…`), unless the word is an address itself.
    let value = |word: &'_ str| match word.split_once('=') {
        Some((key, value)) if !key.contains([':', '/', '@', '?']) => value.to_owned(),
        _ => word.to_owned(),
    };
    let Some(word) = words.iter().map(|word| value(word)).find(|word| has_secret(word)) else {
        return Ok(());
    };
    bail!(
        "`{}` has a secret in it, which every user of this machine can read (ps, the shell's history); change it, \
         and {}",
        without_secret(&word),
        place_of(&word)
    );
}

/// Where the secret of an address belongs.
fn place_of(word: &str) -> &'static str {
    let scheme = word.split_once("://").map_or("", |(scheme, _)| scheme);
    match scheme {
        "nats" => "put a key of the NATS server into a file of mode 0600: --nkey FILE",
        "postgres" => "put the new one into ~/.pgpass",
        _ => {
            "put the new one into a file of mode 0600 (chap_file=PATH in the address, or ASSAY_CHAP_FILE), into \
             ASSAY_CHAP_SECRET, or type it at the prompt"
        }
    }
}

/// Prompts once, for the first address that needs a secret. Without a terminal there is no prompt, and the login fails
/// later with the reason.
pub(crate) fn ask(addresses: &[Address]) -> anyhow::Result<Option<Secret>> {
    let luns = addresses.iter().filter_map(|address| match address {
        Address::Iscsi(lun) => Some(lun.as_ref()),
        _ => None,
    });
    let luns: Vec<&IscsiAddress> = luns.collect();
    for (path, mode) in luns.iter().filter_map(|lun| exposed_file(lun)) {
        note!(
            "warning: other users can read the CHAP secret in {0} (mode {mode:04o}); chmod 600 {0} ends that",
            path.display()
        );
    }
    luns.into_iter().find(|lun| needs_prompt(lun)).map_or(Ok(None), ask_for)
}

fn ask_for(lun: &IscsiAddress) -> anyhow::Result<Option<Secret>> {
    if !std::io::stdin().is_terminal() {
        return Ok(None);
    }
    let user = lun.user.as_deref().unwrap_or_default();
    keep_out_of_dumps();
    let prompt = format!("CHAP secret of {user} for {}: ", lun.target);
    let secret = rpassword::prompt_password(escape::line(&prompt)).context("cannot read the secret")?;
    Ok(Some(Secret::new(secret)))
}
