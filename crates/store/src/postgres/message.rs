//! What the client and the server say where they fail.

/// Returns an error with its causes: the message of the client alone does not say what the server said.
pub(super) fn says(error: &tokio_postgres::Error) -> String {
    if let Some(server) = error.as_db_error() {
        let hint = server.hint().map_or_else(String::new, |hint| format!(" ({hint})"));
        return format!("{}{hint}", server.message());
    }
    let causes = std::iter::successors(std::error::Error::source(error), |cause| cause.source());
    causes.map(ToString::to_string).fold(error.to_string(), |text, cause| {
        if text.contains(&cause) { text } else { format!("{text}: {cause}") }
    })
}
