//! Forms in which results are downloaded.

use assay_report::table::Format;
use axum::http::{HeaderValue, header};
use axum::response::Response;

use crate::answer::{Refusal, typed};
use crate::visitor::Fields;

/// A form of a file: as it stands in addresses, its ending, its type, its name for people.
pub(crate) struct Form {
    pub(crate) name: &'static str,
    kind: &'static str,
    says: &'static str,
    /// Whether people put it into a text of their own.
    is_posted: bool,
}

const FORMS: [Form; 5] = [
    Form { name: "html", kind: "text/html; charset=utf-8", says: "HTML", is_posted: false },
    Form { name: "csv", kind: "text/csv; charset=utf-8", says: "CSV", is_posted: false },
    Form { name: "json", kind: "application/json", says: "JSON", is_posted: false },
    Form { name: "md", kind: "text/markdown; charset=utf-8", says: "Markdown", is_posted: true },
    Form { name: "bbcode", kind: "text/plain; charset=utf-8", says: "BBCode", is_posted: true },
];

/// Returns links to every form of what has that address, which ends so that `as=FORM` can follow, and buttons that
/// copy some; it is escaped already.
pub(crate) fn links(address: &str) -> String {
    let link = |form: &Form| format!("<a href=\"{address}as={}\" download>{}</a>", form.name, form.says);
    let all: Vec<String> = FORMS.iter().map(link).collect();
    let copy = |form: &Form| {
        let (name, says) = (form.name, form.says);
        format!(
            "<button type=\"button\" class=\"copy\" data-copy=\"{address}as={name}\" aria-label=\"Copy as {says}\">\
             {says}</button>"
        )
    };
    let copies: Vec<String> = FORMS.iter().filter(|form| form.is_posted).map(copy).collect();
    format!(
        "<span class=\"downloads\">Download: {}</span> <span class=\"copies\">Copy: {}</span>",
        all.join(" "),
        copies.join(" ")
    )
}

pub(crate) fn form(asked: &Fields) -> Result<&'static Form, Refusal> {
    let found = FORMS.iter().find(|form| form.name == asked.get("as"));
    found.ok_or_else(|| Refusal::bad("A file is asked for as=html, csv, json, md or bbcode."))
}

pub(crate) fn table_format(form: &Form) -> Option<Format> {
    Some(match form.name {
        "csv" => Format::Csv,
        "md" => Format::Markdown,
        "bbcode" => Format::BbCode,
        _ => return None,
    })
}

pub(crate) fn file(form: &Form, name: &str, text: String) -> Response {
    let mut response = typed(text, form.kind);
    let ending = if form.name == "bbcode" { "bbcode.txt" } else { form.name };
    // The name consists of ids, which have letters, digits and hyphens.
    let named = format!("attachment; filename=\"{name}.{ending}\"");
    if let Ok(value) = HeaderValue::try_from(named) {
        response.headers_mut().insert(header::CONTENT_DISPOSITION, value);
    }
    response
}
