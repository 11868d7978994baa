//! Elements and fields: those that are written out with a record, and those that are written into a thing later.

use compact_str::CompactString;

use super::{Context, Found, Question, Solver, Thing, ThingId};
use crate::{
    Language,
    structure::file::{FieldKey, NameSpace, RecordValue, Value, ValueId},
};

/// Access to a field of a thing, by a name or by a key. Python keeps them apart: `o.a` is not `o["a"]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FieldAccess {
    Member,
    Item,
}

impl Solver<'_> {
    /// Places of the element with a key; of all elements where there is no key.
    pub(super) fn items(&mut self, asking: usize, object: ThingId, key: Option<&str>) -> Vec<Found> {
        let key = key.map(|key| self.name(key));
        let places = self.get(Question::Items(asking, object, key));
        self.found(places)
    }

    pub(super) fn items_of(&mut self, asking: usize, object: ThingId, key: Option<&str>) -> Vec<Found> {
        match self.value_of(object) {
            Some((file, _, context, Value::Record(record))) => {
                self.in_record(asking, (file, record, context), object, key)
            }
            Some((file, _, context, _)) => self.written(asking, file, object, context, key, FieldAccess::Item),
            None => match self.thing_at(object) {
                Thing::Unknown { file, context, .. } => {
                    self.written(asking, file, object, context, key, FieldAccess::Item)
                }
                Thing::Instance { class, .. } if self.keeps_apart(class) => {
                    key.map_or(Vec::new(), |key| self.items_of_instance(asking, class, key))
                }
                Thing::Instance { .. } => {
                    key.map_or(Vec::new(), |key| self.members(asking, object, key, NameSpace::ANY))
                }
                _ => Vec::new(),
            },
        }
    }

    /// True for a thing whose language keeps names and keys apart.
    fn keeps_apart(&self, thing: ThingId) -> bool {
        self.value_of(thing).is_some_and(|(file, ..)| self.project.at(file).language == Language::Python)
    }

    /// Elements that are written into instances of a class, and of its bases.
    fn items_of_instance(&mut self, asking: usize, class: ThingId, key: &str) -> Vec<Found> {
        let mut found = Vec::new();
        for class in self.lineage(class) {
            let Some((file, _, context, _)) = self.value_of(class) else { continue };
            let instance = self.thing(Thing::Instance { class, made: None });
            found.extend(self.written(asking, file, instance, context, Some(key), FieldAccess::Item));
        }
        found
    }

    /// Elements of something that is gone through.
    pub(super) fn elements(&mut self, object: ThingId) -> Vec<ThingId> {
        self.get(Question::Elements(object))
    }

    pub(super) fn elements_of(&mut self, object: ThingId) -> Vec<ThingId> {
        match self.thing_at(object) {
            Thing::Many(inner) => vec![inner],
            Thing::Instance { .. } => {
                let mut all = Vec::new();
                let mut makers = self.members(0, object, "__iter__", NameSpace::ANY);
                let mut next_name = "__next__";
                if makers.is_empty() {
                    makers = self.members(0, object, "iterator", NameSpace::METHOD);
                    next_name = "next";
                }
                for found in makers {
                    for method in self.of_places(vec![found]) {
                        for iterator in self.result_of(method) {
                            let next = match self.thing_at(iterator) {
                                Thing::Instance { .. } => self.members(0, iterator, next_name, NameSpace::METHOD),
                                _ => Vec::new(),
                            };
                            match next.is_empty() {
                                true if iterator != object => all.extend(self.elements(iterator)),
                                true => {}
                                false => {
                                    let methods = self.of_places(next);
                                    all.extend(methods.into_iter().flat_map(|next| self.result_of(next)));
                                }
                            }
                        }
                    }
                }
                all
            }
            _ => {
                let found = self.items(0, object, None);
                self.of_places(found)
            }
        }
    }

    /// The element at a place.
    pub(super) fn element_at(&mut self, object: ThingId, place: usize) -> Vec<ThingId> {
        match self.thing_at(object) {
            Thing::Many(inner) => vec![inner],
            _ => {
                let found = self.items(0, object, Some(&place.to_string()));
                self.of_places(found)
            }
        }
    }

    pub(super) fn in_record(
        &mut self,
        asking: usize,
        (file, record, context): (usize, &RecordValue, Context),
        object: ThingId,
        key: Option<&str>,
    ) -> Vec<Found> {
        let mut found = Vec::new();
        for (own, binding) in &record.fields {
            if self.fits(context, file, own, key) {
                found.push(Found { file, binding: *binding, context, receiver: Some(object) });
            }
        }
        let language = self.project.at(file).language;
        let written = self.written(asking, file, object, context, key, FieldAccess::Item);
        // What is written later is what is there, where the order of calls is asked for.
        if !written.is_empty() && self.with_callers && language == Language::Python && key.is_some() {
            found.clear();
        }
        found.extend(written);
        for spread in &record.spreads {
            for other in self.things(context, file, *spread) {
                match (key, self.value_of(other)) {
                    (Some(_), Some((.., Value::Record(_)))) | (None, _) => found.extend(self.items(asking, other, key)),
                    (Some(key), _) => found.extend(self.members(asking, other, key, NameSpace::ANY)),
                }
            }
        }
        found
    }

    /// Places where a field of a thing is written, in its own file and in that which asks.
    pub(super) fn written(
        &mut self,
        asking: usize,
        home: usize,
        object: ThingId,
        context: Context,
        key: Option<&str>,
        access: FieldAccess,
    ) -> Vec<Found> {
        let mut found = Vec::new();
        let files = if asking == home { vec![home] } else { vec![home, asking] };
        for file in files {
            let tables = self.tables(file);
            let by_name = &tables.writes;
            let is_apart = self.project.at(file).language == Language::Python;
            // Those with a name of their own, and those with a key.
            let [by_member, by_item] = [FieldAccess::Member, FieldAccess::Item].map(|one| !is_apart || one == access);
            let named: Vec<usize> = match key {
                Some(key) => {
                    let names = [(key, by_member), ("", by_item)].into_iter().filter(|(_, is_asked)| *is_asked);
                    names.filter_map(|(name, _)| by_name.get(name)).flatten().copied().collect()
                }
                None => {
                    let writes = self.structure(file).writes.iter().zip(0..);
                    let is_asked = |key: &FieldKey| if matches!(key, FieldKey::Name(_)) { by_member } else { by_item };
                    writes.filter(|(write, _)| is_asked(&write.key)).map(|(_, at)| at).collect()
                }
            };
            for at in named {
                let write = &self.structure(file).writes[at];
                if !self.fits(0, file, &write.key, key) {
                    continue;
                }
                let objects = self.things(0, file, write.of);
                if objects.into_iter().any(|other| self.is_same(other, object)) {
                    let context = if file == home { context } else { 0 };
                    found.push(Found { file, binding: write.binding, context, receiver: Some(object) });
                }
            }
        }
        found
    }

    /// True for the same thing, whatever call it comes from.
    pub(super) fn is_same(&self, one: ThingId, other: ThingId) -> bool {
        one == other
            || match (&self.things[one as usize], &self.things[other as usize]) {
                (Thing::Site { file, value, .. }, Thing::Site { file: f, value: v, .. }) => file == f && value == v,
                (Thing::Unknown { file, binding, .. }, Thing::Unknown { file: f, binding: b, .. }) => {
                    file == f && binding == b
                }
                (Thing::Instance { class, .. }, Thing::Instance { class: c, .. }) => self.is_same(*class, *c),
                (Thing::Package(one), Thing::Package(other)) => one == other,
                _ => false,
            }
    }

    /// True where a field may have a key; any where none is asked for.
    pub(super) fn fits(&mut self, context: Context, file: usize, own: &FieldKey, key: Option<&str>) -> bool {
        let Some(key) = key else { return true };
        match own {
            FieldKey::Name(name) => name == key,
            FieldKey::Any => key.bytes().all(|byte| byte.is_ascii_digit()),
            FieldKey::Value(value) => self.constants(context, file, *value).iter().any(|text| text == key),
        }
    }

    /// Constants that a value may be, as they are written.
    pub(super) fn constants(&mut self, context: Context, file: usize, value: ValueId) -> Vec<CompactString> {
        let things = self.get(Question::Value(context, file, value));
        let constant = |thing: ThingId| match self.value_of(thing) {
            Some((_, _, _, Value::Constant { text, .. })) => Some(text.clone()),
            _ => None,
        };
        things.into_iter().filter_map(constant).collect()
    }
}
