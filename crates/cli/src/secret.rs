//! Asks for a CHAP secret, where a LUN needs one and nothing else has it.

use std::io::IsTerminal as _;

use anyhow::Context as _;
use assay_spec::{Address, IscsiAddress};
use assay_target::lun::{Secret, needs_prompt};

/// Asks once, for the first address that needs it. Without a terminal nobody is asked; what is missing is said later.
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
