//! The style sheet, the script and the icon, from the binary. Their addresses change with their content, so that a
//! browser asks for each once.

use std::sync::LazyLock;

use sha2::{Digest as _, Sha256};

use crate::token::hex;

/// Bytes of the digest in an address.
const DIGEST_BYTES: usize = 8;

/// A file of the binary.
pub(crate) struct Asset {
    pub(crate) name: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) text: String,
    pub(crate) digest: String,
}

impl Asset {
    fn new(name: &'static str, kind: &'static str, text: String) -> Self {
        let digest = hex(&Sha256::digest(text.as_bytes())[..DIGEST_BYTES]);
        Self { name, kind, text, digest }
    }

    /// Returns its address.
    pub(crate) fn path(&self) -> String {
        format!("/assets/{}/{}", self.digest, self.name)
    }
}

/// The style of reports, and what a page that is served has beside them.
pub(crate) static STYLE: LazyLock<Asset> = LazyLock::new(|| {
    let text = format!("{}\n{}", assay_report::html::STYLE, include_str!("assets/page.css"));
    Asset::new("style.css", "text/css; charset=utf-8", text)
});

pub(crate) static SCRIPT: LazyLock<Asset> = LazyLock::new(|| {
    let text = include_str!("assets/page.js").to_owned();
    Asset::new("page.js", "text/javascript; charset=utf-8", text)
});

pub(crate) static ICON: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("icon.svg", "image/svg+xml", include_str!("assets/icon.svg").to_owned()));

/// Every file.
pub(crate) const ALL: [&LazyLock<Asset>; 3] = [&STYLE, &SCRIPT, &ICON];
