//! Prompts for language models, out of a template that users can edit.

use std::path::Path;

use minijinja::{AutoEscape, Environment, UndefinedBehavior, Value, value::Serde};
use serde::Serialize;

use crate::{Error, Result, examples::ExampleDocument};

/// The template that is used unless a file is given.
///
/// Placeholders: `{{ question }}`, `{{ context }}` (the schema of the question's database), and `{{ examples }}`, which
/// is all of them as one text; `{% for example in example_list %}` gives `example.context`, `example.question` (may be
/// empty) and `example.sql` one by one. Without retrieval `examples` is empty, and so the same file serves both arms.
pub const DEFAULT_PROMPT: &str = include_str!("../templates/text-to-sql.txt");

/// A prompt template.
#[derive(Debug)]
pub struct Prompt {
    text: String,
    environment: Environment<'static>,
}

/// An example as a template sees it, fenced.
#[derive(Serialize)]
struct Example {
    context: String,
    question: String,
    sql: String,
}

/// Values that a template may name.
#[derive(Serialize)]
struct Values {
    question: String,
    context: String,
    examples: String,
    example_list: Vec<Example>,
}

const NAME: &str = "prompt";

impl Prompt {
    /// A template from its text.
    ///
    /// # Errors
    ///
    /// If it is no template, or names what there is not: it is filled once with empty texts.
    pub fn new(text: &str) -> Result<Self> {
        let mut environment = Environment::new();
        environment.set_auto_escape_callback(|_| AutoEscape::None);
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.add_template_owned(NAME, text.to_owned()).map_err(failed)?;
        let prompt = Self { text: text.to_owned(), environment };
        let document = ExampleDocument { id: String::new(), db_id: String::new(), question: None, sql: String::new() };
        prompt.fill("", "", &[], &str::to_owned)?;
        prompt.fill("", "", &[(&document, String::new())], &str::to_owned)?;
        Ok(prompt)
    }

    /// A template from a file.
    ///
    /// # Errors
    ///
    /// As for [`new`](Self::new), and if it cannot be read.
    pub fn load(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(Error::io("read", path))?;
        Self::new(&text).map_err(|error| Error::file(path, error.to_string()))
    }

    /// The template's text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The prompt for a question over a schema, with examples and their schemas; without retrieval there are none.
    ///
    /// Every foreign text (question, contexts, the examples' questions and queries) goes through `fence` once, so that
    /// the caller can mark it as data; the template's own words do not.
    ///
    /// # Errors
    ///
    /// If the template does with its values what cannot be done.
    pub fn fill(
        &self,
        question: &str,
        schema: &str,
        examples: &[(&ExampleDocument, String)],
        fence: &dyn Fn(&str) -> String,
    ) -> Result<String> {
        let fenced = |text: &str| if text.is_empty() { String::new() } else { fence(text) };
        let list: Vec<Example> = examples
            .iter()
            .map(|(document, schema)| Example {
                context: fenced(schema),
                question: document.question.as_deref().map(fenced).unwrap_or_default(),
                sql: fenced(&document.sql),
            })
            .collect();
        let joined: Vec<String> = list
            .iter()
            .map(|example| {
                let parts = [("Schema", &example.context), ("Question", &example.question), ("SQL", &example.sql)];
                let parts = parts.into_iter().filter(|(_, text)| !text.is_empty());
                parts.map(|(name, text)| format!("{name}:\n{text}\n")).collect::<String>()
            })
            .collect();
        let (question, schema) = (fenced(question), fenced(schema));
        let template = self.environment.get_template(NAME).map_err(failed)?;
        let values = Values { question, context: schema, examples: joined.join("\n"), example_list: list };
        template.render(Value::from(Serde(&values))).map_err(failed)
    }
}

#[allow(clippy::needless_pass_by_value, reason = "the shape that map_err wants")]
fn failed(error: minijinja::Error) -> Error {
    Error::failed(format!(
        "prompt template: {error:#}; it may use {{{{ question }}}}, {{{{ context }}}} and {{{{ examples }}}}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_arms_come_from_one_template() {
        let prompt = Prompt::new(DEFAULT_PROMPT).unwrap();
        let document = ExampleDocument {
            id: "train-00001".into(),
            db_id: "shop".into(),
            question: Some("How many?".into()),
            sql: "SELECT count(*) FROM item".into(),
        };
        let fence = |text: &str| format!("<<{text}>>");
        let with = prompt.fill("Which {{ items }}?", "item(id)", &[(&document, "shop(id)".into())], &fence).unwrap();
        for part in
            ["<<Which {{ items }}?>>", "<<item(id)>>", "<<shop(id)>>", "<<How many?>>", "<<SELECT count(*) FROM item>>"]
        {
            assert_eq!(with.matches(part).count(), 1, "{part} in {with}");
        }
        let without = prompt.fill("Which {{ items }}?", "item(id)", &[], &fence).unwrap();
        assert!(!without.contains("xample") && without.contains("<<item(id)>>"), "{without}");
    }

    #[test]
    fn templates_of_users_are_checked_when_they_are_read() {
        let prompt =
            Prompt::new("{{ context }}|{{ question }}|{% for one in example_list %}{{ one.sql }};{% endfor %}")
                .unwrap();
        let document = ExampleDocument { id: String::new(), db_id: String::new(), question: None, sql: "s".into() };
        let all = [(&document, String::new()), (&document, String::new())];
        assert_eq!(prompt.fill("q", "c", &all, &str::to_owned).unwrap(), "c|q|s;s;");
        for (text, expected) in [("{{ qestion }}", "undefined"), ("{% if %}", "syntax"), ("{{ question", "syntax")] {
            let error = Prompt::new(text).unwrap_err().to_string();
            assert!(error.contains(expected) && error.contains("{{ examples }}"), "{error}");
        }
    }
}
