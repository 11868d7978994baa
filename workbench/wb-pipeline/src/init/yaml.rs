//! The YAML that `wb init` writes: a head with needs, cost and commands, and every section with a line that says what it is.

use std::path::Path;

use wb_core::quantities::about_duration;

use super::{
    choice::RecipeChoice,
    recipe::{Draft, MINILM, Recipe},
};

/// The whole text; for the same draft and choice the same.
pub fn text(draft: &Draft, choice: &RecipeChoice) -> String {
    [head(draft, choice), data(draft), encoder(&choice.recipe), train(draft, choice), bench()].join("\n")
}

fn head(draft: &Draft, choice: &RecipeChoice) -> String {
    let Draft { name, file, device, minutes, .. } = draft;
    let file = shell(file);
    let asked = if *minutes == 1 { "1 minute was".to_owned() } else { format!("{minutes} minutes were") };
    let over = if choice.seconds() > 60.0 * f64::from(*minutes) { "; it does not get quicker than that" } else { "" };
    let reckoned = &choice.reckoned;
    let (data, training, bench) =
        (about_duration(reckoned.data), about_duration(choice.training()), about_duration(reckoned.bench));
    format!(
        "# {summary}.\n\
         #\n\
         # Needs: {needs}.\n\
         # Cost: {time}, where {asked} asked for{over}: pairs {data}, training {training}, benchmark {bench}.\n\
         # Measured by `wb init`: {speed}.\n\
         #\n\
         #   wb check {file}\n\
         #   wb run {file}\n\
         name: {name}\n\
         seed: 17\n\
         device: {device}\n",
        summary = capital(&draft.summary(choice)),
        needs = needs(draft, &choice.recipe),
        time = choice.time(),
        speed = reckoned.speed,
    )
}

fn needs(draft: &Draft, recipe: &Recipe) -> String {
    let model = match recipe {
        Recipe::Lora => format!("; {MINILM}, from the hub's cache or the hub"),
        Recipe::Transformer | Recipe::Bag => "; no model and no network".to_owned(),
    };
    format!("{}{model}", draft.data())
}

fn data(draft: &Draft) -> String {
    let material = &draft.material;
    let (by, why) = match material.by_pair {
        true => ("by: pair, ", "pair by pair: there are too few projects to hold whole ones out"),
        false => ("", "by project, so that what is measured on was never seen"),
    };
    // A tenth of a few pairs is what validation and test need to tell anything.
    let validation = if material.pairs < 5000.0 { "0.1" } else { "0.02" };
    format!(
        "# Pairs of a description and a function, and what of them is held out, {why}.\n\
         data:\n\
         \x20 sources:\n\
         \x20   - {source}\n\
         \x20 split: {{ {by}validation: {validation}, test: 0.1, max_test: 2500 }}\n",
        source = material.source,
    )
}

fn encoder(recipe: &Recipe) -> String {
    match recipe {
        Recipe::Lora => {
            format!(
                "# A pretrained encoder, beside whose frozen weights small adapters are trained.\n\
                 encoder:\n\
                 \x20 model: {{ pretrained: {MINILM} }}\n\
                 \x20 max_tokens: {{ query: 64, document: 192 }}\n\
                 \x20 lora: {{ rank: 8, alpha: 16, dropout: 0.1, targets: [query, value] }}\n"
            )
        }
        Recipe::Transformer => "# A small transformer from scratch: it reads words in their order, and needs many pairs.\n\
             encoder:\n\
             \x20 model:\n\
             \x20   transformer: { hidden_size: 128, layers: 2, heads: 4, intermediate_size: 512, positions: 128, dropout: 0.0 }\n\
             \x20 tokenizer: { vocab_size: 16384 }\n\
             \x20 max_tokens: { query: 64, document: 128 }\n"
            .to_owned(),
        Recipe::Bag => "# A bag of token vectors from scratch: trained in seconds, it encodes thousands of texts a second.\n\
             encoder:\n\
             \x20 model: { static_embedding: { dim: 256, weighted: true, positions: 48 } }\n\
             \x20 tokenizer: { vocab_size: 16384 }\n\
             \x20 max_tokens: { query: 256, document: 512 }\n"
            .to_owned(),
    }
}

fn train(draft: &Draft, choice: &RecipeChoice) -> String {
    let both = "{ mnrl: { scale: 20, directions: [query_to_doc, doc_to_query], partition: per_direction } }";
    let (loss, optimizer) = match &choice.recipe {
        Recipe::Lora => ("{ mnrl: { scale: 20 } }", "{ adamw: { learning_rate: 5.0e-4, weight_decay: 0.01 } }"),
        Recipe::Transformer => (both, "{ adamw: { learning_rate: 1.0e-3, weight_decay: 0.01 } }"),
        Recipe::Bag => {
            (both, "{ adamw: { learning_rate: 0.01, weight_decay: 0.0, rate_factors: { position_weights: 15 } } }")
        }
    };
    let batch = draft.batch(&choice.recipe);
    let steps = match choice.max_steps {
        0 => String::new(),
        steps => format!("\n\x20 max_steps: {steps}             # as many as there is time for"),
    };
    format!(
        "# Each description is told apart from all functions of its batch; the weights that validate best are kept.\n\
         train:\n\
         \x20 loss: {loss}\n\
         \x20 batch: {{ pairs: {batch} }}\n\
         \x20 optimizer: {optimizer}\n\
         \x20 schedule: {{ cosine: {{ warmup: 0.1 }} }}\n\
         \x20 epochs: {epochs}{steps}\n",
        epochs = choice.epochs,
    )
}

fn bench() -> String {
    "# What is measured at the end on the held-out pairs: BM25, the encoder before and after training, and both together.\n\
     bench:\n\
     \x20 benchmarks:\n\
     \x20   - benchmark: { pairs: {} }\n"
        .to_owned()
}

/// A path as a shell takes it: in quotes where it needs them.
pub fn shell(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "/._-~+,@".contains(c);
    if !text.is_empty() && text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    // A model's name keeps its first letter.
    match letters.next() {
        Some(first) if text.starts_with("a ") => first.to_uppercase().chain(letters).collect(),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{choice::Reckoned, recipe::tests::draft},
        *,
    };
    use crate::config::{Experiment, ModelChoice};

    fn choice(recipe: Recipe) -> RecipeChoice {
        let speed = "1,000 tokens/s embedded, 400 tokens/s trained, by cpu (2 threads), measured in 4.0 s".to_owned();
        let reckoned = Reckoned { data: 2.0, epoch: 10.0, bench: 3.0, steps: 20.0, speed };
        RecipeChoice { recipe, epochs: 3, max_steps: 0, reckoned }
    }

    fn experiment(text: &str) -> Experiment {
        Experiment::of_text("wb init", text, Path::new("mine.yaml")).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    #[test]
    fn a_bag_of_a_single_project() {
        let text = text(&draft(300.0, 2), &choice(Recipe::Bag));
        insta::assert_snapshot!(text, @r#"
        # A bag of token vectors from scratch on the code in ../code.
        #
        # Needs: the code in ../code: 300 pairs before any gate; no model and no network.
        # Cost: about 35 seconds here, where 2 minutes were asked for: pairs about 2 seconds, training about 30 seconds, benchmark about 3 seconds.
        # Measured by `wb init`: 1,000 tokens/s embedded, 400 tokens/s trained, by cpu (2 threads), measured in 4.0 s.
        #
        #   wb check mine.yaml
        #   wb run mine.yaml
        name: mine
        seed: 17
        device: cpu

        # Pairs of a description and a function, and what of them is held out, pair by pair: there are too few projects to hold whole ones out.
        data:
          sources:
            - code: { path: "../code" }
          split: { by: pair, validation: 0.1, test: 0.1, max_test: 2500 }

        # A bag of token vectors from scratch: trained in seconds, it encodes thousands of texts a second.
        encoder:
          model: { static_embedding: { dim: 256, weighted: true, positions: 48 } }
          tokenizer: { vocab_size: 16384 }
          max_tokens: { query: 256, document: 512 }

        # Each description is told apart from all functions of its batch; the weights that validate best are kept.
        train:
          loss: { mnrl: { scale: 20, directions: [query_to_doc, doc_to_query], partition: per_direction } }
          batch: { pairs: 32 }
          optimizer: { adamw: { learning_rate: 0.01, weight_decay: 0.0, rate_factors: { position_weights: 15 } } }
          schedule: { cosine: { warmup: 0.1 } }
          epochs: 3

        # What is measured at the end on the held-out pairs: BM25, the encoder before and after training, and both together.
        bench:
          benchmarks:
            - benchmark: { pairs: {} }
        "#);
        assert!(matches!(experiment(&text).encoder.unwrap().model, ModelChoice::StaticEmbedding(_)));
    }

    #[test]
    fn every_recipe_is_a_valid_experiment() {
        let made = experiment(&text(&draft(9000.0, 30), &choice(Recipe::Lora)));
        let Some(pretrained) = made.pretrained() else { panic!("{:?}", made.encoder) };
        assert_eq!(pretrained.to_string(), MINILM);
        assert_eq!((made.train.batch.pairs, made.train.epochs, made.name.as_str()), (64, 3, "mine"));
        let cut = RecipeChoice { epochs: 1, max_steps: 400, ..choice(Recipe::Transformer) };
        let made = experiment(&text(&draft(2e5, 30), &cut));
        assert_eq!((made.train.max_steps, made.train.batch.pairs), (400, 256));
        assert_eq!(made.data.as_ref().unwrap().split.validation, 0.02);
    }

    #[test]
    fn a_run_that_takes_longer_says_so_in_its_head() {
        let slow = RecipeChoice { epochs: 40, ..choice(Recipe::Bag) };
        let text = text(&draft(300.0, 2), &slow);
        assert!(text.contains("2 minutes were asked for; it does not get quicker than that: pairs"), "{text}");
    }

    #[test]
    fn paths_with_spaces_are_quoted() {
        for (path, expected) in
            [("a/b-1.yaml", "a/b-1.yaml"), ("my file.yaml", "'my file.yaml'"), ("it's", r"'it'\''s'")]
        {
            assert_eq!(shell(Path::new(path)), expected);
        }
    }
}
