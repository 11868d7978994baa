//! `wb ls`: runs with their scores, or what there is to choose from.

use anyhow::Result;
use wb_pipeline::{config, listings};

use super::End;
use crate::{args, output};

/// `wb ls`
pub fn ls(arguments: &args::Ls) -> Result<End> {
    if arguments.benchmarks {
        listings::benchmarks(&arguments.external, arguments.places.folders())?;
    } else if arguments.tasks {
        listings::tasks()?;
    } else if arguments.schema {
        output::line(config::schema()?);
    } else if arguments.defaults {
        output::line(config::with_tables(include_str!("../../../../configs/README.md"))?.trim_end());
    } else {
        listings::runs(&arguments.places.runs, arguments.leaderboard.as_deref())?;
    }
    Ok(End::Done)
}
