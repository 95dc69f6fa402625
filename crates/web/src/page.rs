//! What every page has around its content.

use assay_report::html::escape;

use crate::assets;
use crate::visitor::Visitor;

/// Where in the navigation a page is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Now,
    Runs,
    Compare,
    Targets,
    Predict,
    Diagnose,
    NewRun,
    /// In none of them.
    None,
}

/// The navigation, in its order.
const PLACES: [(Place, &str, &str); 7] = [
    (Place::Now, "/", "Now"),
    (Place::Runs, "/runs", "Runs"),
    (Place::Compare, "/compare", "Compare"),
    (Place::Targets, "/targets", "Targets"),
    (Place::Predict, "/predict", "Predict"),
    (Place::Diagnose, "/diagnose", "Diagnose"),
    (Place::NewRun, "/new", "New run"),
];

/// A page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Page<'p> {
    title: &'p str,
    place: Place,
    body: &'p str,
    /// Seconds after which a browser without script asks for it again.
    reload_s: Option<u32>,
    /// The same for every browser.
    always_reload_s: Option<u32>,
    visitor: Option<&'p Visitor>,
}

impl<'p> Page<'p> {
    /// A page for somebody who is not known.
    pub(crate) fn plain(title: &'p str, place: Place, body: &'p str) -> Self {
        Self { title, place, body, reload_s: None, always_reload_s: None, visitor: None }
    }

    /// A page for a visitor.
    pub(crate) fn of(visitor: &'p Visitor, title: &'p str, place: Place, body: &'p str) -> Self {
        Self { visitor: Some(visitor), ..Self::plain(title, place, body) }
    }

    /// The same, asked for again after so many seconds where there is no script.
    pub(crate) fn reloaded_without_script(self, seconds: u32) -> Self {
        Self { reload_s: Some(seconds), ..self }
    }

    /// The same, asked for again after so many seconds.
    pub(crate) fn reloaded(self, seconds: u32) -> Self {
        Self { always_reload_s: Some(seconds), ..self }
    }

    /// Returns the document.
    pub(crate) fn text(&self) -> String {
        let title = escape(self.title);
        let (style, script, icon) = (assets::STYLE.path(), assets::SCRIPT.path(), assets::ICON.path());
        let refresh = |seconds: u32| format!("<meta http-equiv=\"refresh\" content=\"{seconds}\">");
        let reload = match (self.reload_s, self.always_reload_s) {
            (_, Some(seconds)) => refresh(seconds),
            (Some(seconds), None) => format!("<noscript>{}</noscript>", refresh(seconds)),
            (None, None) => String::new(),
        };
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
             content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
             <meta name=\"description\" content=\"{title} in Assay, the test bench for storage\">\n<title>{title} · \
             Assay</title>\n<link rel=\"icon\" href=\"{icon}\" type=\"image/svg+xml\">\n<link rel=\"stylesheet\" \
             href=\"{style}\">\n<script src=\"{script}\" defer></script>\n{reload}</head>\n<body>\n\
             <a class=\"skip\" href=\"#main\">Skip to the content</a>\n{}<main id=\"main\">\n{}</main>\n</body>\n\
             </html>\n",
            self.navigation(),
            self.body
        )
    }

    fn navigation(&self) -> String {
        let link = |(place, path, name): &(Place, &str, &str)| {
            let current = if *place == self.place { " aria-current=\"page\"" } else { "" };
            format!("<a href=\"{path}\"{current}>{name}</a>\n")
        };
        let links: String = PLACES.iter().map(link).collect();
        let who = match self.visitor {
            Some(visitor) if visitor.csrf().is_some() => {
                format!(
                    "<form method=\"post\" action=\"/logout\">{}<button>Sign out</button></form>",
                    visitor.hidden()
                )
            }
            Some(_) => "<a class=\"sign\" href=\"/login\">Sign in</a>".to_owned(),
            None => String::new(),
        };
        format!(
            "<header>\n<a class=\"brand\" href=\"/\">Assay</a>\n<nav aria-label=\"Pages\">\n{links}</nav>\n{who}\n\
             </header>\n"
        )
    }
}
