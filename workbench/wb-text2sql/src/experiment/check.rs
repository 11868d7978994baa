//! The files that an experiment needs, looked at before a model is asked.

use wb_core::remote;
use wb_sql::benchmarks::files;

use crate::{Prompt, RagConfig, Result, config::GeneratorChoice};

/// Refuses an experiment whose files are not there, and gives its prompt.
///
/// # Errors
///
/// If a file of the data set is missing, or the prompt's template cannot be read.
pub fn check_files(config: &RagConfig) -> Result<Prompt> {
    let folder = &remote::local(&config.dataset)?;
    files::folder(folder, "rag.dataset is a folder with tables.json, dev.json and database/ID/*.sqlite")?;
    let of_training = config.training.within(folder);
    for file in [folder.join("tables.json"), folder.join(&config.questions)].into_iter().chain(of_training) {
        if !file.is_file() {
            let hint = "rag.questions and rag.training name files in rag.dataset; the defaults are those of Spider";
            let missing = wb_core::Error::data(file.display().to_string(), "there is no such file").with_hint(hint);
            return Err(missing);
        }
    }
    let path = match &config.generator {
        GeneratorChoice::Model(model) => model.prompt.as_deref(),
        GeneratorChoice::Nearest(_) => None,
    };
    match path {
        Some(path) => Prompt::load(path).map_err(|error| error.within("cannot read rag.generator.model.prompt")),
        None => Prompt::new(crate::DEFAULT_PROMPT),
    }
}
