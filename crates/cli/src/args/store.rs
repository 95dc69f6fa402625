//! The command line of `assay store`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

const STORE_EXAMPLES: &str = "\
Examples:
  Make a store in a PostgreSQL database, with a role that writes and one that reads:
    assay store init-sql | psql -v ON_ERROR_STOP=1 runs
  Keep and read runs there (password: ~/.pgpass):
    export ASSAY_STORE=postgres://alice@db.example.org/runs
    assay run vmware /srv/t.dat
  Copy the runs of this user there:
    assay store copy ~/.local/share/assay/runs.sqlite \"$ASSAY_STORE\"

docs/guide/postgresql.md has the address in full, roles, TLS, and what happens when the server is away.";

#[derive(Debug, Args)]
#[command(after_help = STORE_EXAMPLES)]
pub(crate) struct StoreVerbArgs {
    #[command(subcommand)]
    pub(crate) verb: StoreVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum StoreVerb {
    /// Copy all runs, baselines, journals, arrays and prices to another store, and check that both have the same.
    Copy {
        /// The store that has them: a file or postgres://USER@HOST/DATABASE.
        from: PathBuf,
        /// The store that gets them; made where there is none. What it has already stays, and must be the same.
        to: PathBuf,
    },
    /// Print the SQL that makes a store in a PostgreSQL database, with its roles.
    InitSql {
        /// Name of the schema; the roles are NAME_writer and NAME_reader.
        #[arg(long, value_name = "NAME", default_value = "assay")]
        schema: String,
    },
}
