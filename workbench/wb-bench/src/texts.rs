//! Every text of a benchmark once, so that one embedding pass serves all protocols.

use std::{collections::HashMap, sync::Arc};

use wb_core::Side;

/// The distinct texts of one side, in the order in which they were first seen.
#[derive(Debug, Clone, Default)]
pub struct UniqueTexts {
    list: Vec<Arc<str>>,
    position: HashMap<Arc<str>, u32>,
}

impl UniqueTexts {
    /// The number of a text: the one it has already, or the next.
    pub fn number(&mut self, text: &str) -> u32 {
        if let Some(&number) = self.position.get(text) {
            return number;
        }
        let shared: Arc<str> = Arc::from(text);
        let number = self.list.len() as u32;
        self.list.push(Arc::clone(&shared));
        self.position.insert(shared, number);
        number
    }

    /// The text of a number that [`number`](Self::number) gave.
    pub fn text(&self, number: u32) -> &str {
        &self.list[number as usize]
    }

    /// Number of texts.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// True where there are none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// All texts by number.
    pub fn as_strs(&self) -> Vec<&str> {
        self.list.iter().map(AsRef::as_ref).collect()
    }
}

/// The texts of both sides. A text that stands on both is encoded twice, because prompts and lengths may differ.
#[derive(Debug, Clone, Default)]
pub struct BenchmarkTexts {
    /// Texts that are searched with.
    pub queries: UniqueTexts,
    /// Texts that are searched in.
    pub documents: UniqueTexts,
}

impl BenchmarkTexts {
    /// One side.
    pub fn side(&self, side: Side) -> &UniqueTexts {
        match side {
            Side::Query => &self.queries,
            Side::Document => &self.documents,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_share_a_number() {
        let mut texts = UniqueTexts::default();
        assert_eq!((texts.number("a"), texts.number("b"), texts.number("a")), (0, 1, 0));
        assert_eq!((texts.text(1), texts.len()), ("b", 2));
    }
}
