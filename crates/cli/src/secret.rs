//! Prompts for a CHAP secret that a LUN needs and the environment does not have.

use std::io::IsTerminal as _;

use anyhow::Context as _;
use assay_spec::{Address, IscsiAddress};
use assay_target::lun::{Secret, needs_prompt};

/// Prompts once, for the first address that needs a secret. Without a terminal there is no prompt, and the login fails
/// later with the reason.
pub(crate) fn ask(addresses: &[Address]) -> anyhow::Result<Option<Secret>> {
    let luns = addresses.iter().filter_map(|address| match address {
        Address::Iscsi(lun) => Some(lun.as_ref()),
        _ => None,
    });
    luns.into_iter().find(|lun| needs_prompt(lun)).map_or(Ok(None), ask_for)
}

fn ask_for(lun: &IscsiAddress) -> anyhow::Result<Option<Secret>> {
    if !std::io::stdin().is_terminal() {
        return Ok(None);
    }
    let user = lun.user.as_deref().unwrap_or_default();
    let secret = rpassword::prompt_password(format!("CHAP secret of {user} for {}: ", lun.target))
        .context("cannot read the secret")?;
    Ok(Some(Secret::new(secret)))
}
