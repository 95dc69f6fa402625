//! Who sent a request, and what they filled in.

use std::net::SocketAddr;

use crate::token::Token;

/// The field of a form by which it proves that a page of this server sent it.
pub(crate) const CSRF: &str = "csrf";

/// Where a request came from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub(crate) SocketAddr);

/// Who sent a request.
#[derive(Debug, Clone)]
pub(crate) enum Visitor {
    /// Somebody who may look, and nothing else.
    Reader,
    /// Somebody who has signed in; the value that forms carry.
    SignedIn {
        /// The value that forms carry.
        csrf: Token,
    },
    /// A program that sends the token with each request.
    Program,
}

impl Visitor {
    /// Returns the value that forms of this visitor carry; `None` for who has no forms.
    pub(crate) fn csrf(&self) -> Option<&str> {
        match self {
            Self::SignedIn { csrf } => Some(csrf.text()),
            Self::Reader | Self::Program => None,
        }
    }

    /// Returns the hidden field of a form.
    pub(crate) fn hidden(&self) -> String {
        let csrf = self.csrf().unwrap_or_default();
        format!("<input type=\"hidden\" name=\"{CSRF}\" value=\"{csrf}\">")
    }
}

/// The fields of a form, from a visitor who may send it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fields(Vec<(String, String)>);

impl Fields {
    pub(crate) fn new(fields: Vec<(String, String)>) -> Self {
        Self(fields)
    }

    /// Returns the value of a field; empty where it was not sent.
    pub(crate) fn get(&self, name: &str) -> &str {
        self.0.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    /// Returns every value of a field.
    pub(crate) fn all<'f>(&'f self, name: &'f str) -> impl Iterator<Item = &'f str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}
