//! Lists that are read into memory of just their size: `serde` believes no length beyond a megabyte, and a list that grows
//! is copied, and leaves behind what it had.

use std::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{SeqAccess, Visitor},
};

/// Elements for which memory is taken on the word of a length, which touches none of it; what is more grows.
const MOST: usize = 1 << 20;

/// Reads a list.
pub(super) fn list<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Vec<T>, D::Error> {
    from.deserialize_seq(ListVisitor(PhantomData))
}

struct ListVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ListVisitor<T> {
    type Value = Vec<T>;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Vec<T>, A::Error> {
        let mut all = Vec::with_capacity(from.size_hint().unwrap_or(0).min(MOST));
        while let Some(one) = from.next_element()? {
            all.push(one);
        }
        Ok(all)
    }
}
