//! Meaning of names: one search over the structures of all files, as far as a question needs it.
//!
//! Each question is a set that grows until nothing more comes in (a least fixed point): the things that a value may
//! be, the places that a name may stand for. Sets are worked out when they are asked for, and kept. A function's
//! parameters are what the call at hand gives them ([`Frame`]); asked from within, a parameter is an unknown thing, or, with
//! [`Solver::with_callers`], what all calls give it. The order of
//! statements counts in Python alone.

mod aliases;
mod applied;
mod calls;
mod edges;
mod exact;
mod extensions;
mod frames;
mod inherited;
mod lookup;
mod members;
mod records;
mod things;

use std::collections::VecDeque;

use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap};

pub use aliases::{Definition, DefinitionStep, EdgeClass};

use self::frames::Frame;
use super::{
    builder::deep,
    file::{BindingId, FileStructure, NameSpace, Value, ValueId},
    project::Project,
    tables::{FileTables, Owned, PackageTables},
};

/// Number of a thing.
pub(super) type ThingId = u32;
/// Number of a frame, and so of all around it; 0 for none.
pub(super) type Context = u32;

/// Something that a value may be.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Thing {
    /// Something made at a place: a function, a class, a record, a constant, something unknown.
    Site { file: usize, value: ValueId, context: Context },
    /// An instance of a class (or of a function that `new` is called on), with the call that made it.
    Instance { class: ThingId, made: Option<(usize, ValueId, Context)> },
    /// A method with its object.
    Bound { function: ThingId, receiver: ThingId },
    /// A package.
    Package(u32),
    /// A parameter, a field of which nothing else is known.
    Unknown { file: usize, binding: BindingId, context: Context },
    /// The instance as the bases of a class see it.
    Super { class: ThingId },
    /// Something that is not in the project; `depth` names of the path that was imported are read.
    Outside { file: usize, binding: Option<BindingId>, path: String, depth: usize },
    /// Something that gives these one by one.
    Many(ThingId),
    /// Something to wait for.
    Later(ThingId),
}

/// A place that a name may stand for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Found {
    pub file: usize,
    pub binding: BindingId,
    pub context: Context,
    /// The object whose member it is.
    pub receiver: Option<ThingId>,
}

/// A question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Question {
    /// The things that a value may be.
    Value(Context, usize, ValueId),
    /// The things that a binding may have.
    Bound(Context, usize, BindingId),
    /// Numbers of [`Found`] places that a value stands for, by way of other names too.
    Places(Context, usize, ValueId),
    /// Numbers of those of them that are the value's own, with the imports on the way.
    Own(Context, usize, ValueId),
    /// Numbers of calls of a function in [`Solver::sites`].
    Callers(usize, ValueId),
    /// The things that are elements of a thing.
    Elements(ThingId),
    /// The things that are instances of a type.
    Instances(ThingId),
    /// Numbers of the places of an element, by the number of its key, or of all elements, as a file sees them.
    Items(usize, ThingId, Option<u32>),
    /// A class and its bases in the order in which members are looked for.
    Lineage(ThingId),
    /// Numbers of the places of a member, by the number of its name, as a file sees it.
    Members(usize, ThingId, u32, NameSpace),
    /// The things that a call of a thing gives.
    Result(ThingId, (usize, ValueId, Context), bool),
}

/// A set of small keys in the order in which they came.
type FxIndexSet<T> = IndexSet<T, FxBuildHasher>;

/// A set with those who have read it.
#[derive(Debug, Default)]
struct Answer {
    set: Vec<u32>,
    /// Questions that have read it since it grew, in the order in which they came: where a set is full, that decides what is
    /// in it.
    readers: Vec<Question>,
    is_queued: bool,
}

/// Questions that are worked out within each other.
const NESTED: usize = 60;
/// Elements of a set; what may be more is not told apart.
const MOST: usize = 32;
/// Steps for one question, after which what was found is all that is said.
const STEPS: usize = 30_000;

/// Meaning of the names of a project.
pub struct Solver<'p> {
    project: &'p Project,
    with_callers: bool,
    things: FxIndexSet<Thing>,
    frames: FxIndexSet<Frame>,
    places: FxIndexSet<Found>,
    names: IndexSet<String>,
    /// Calls with their files, contexts and receivers.
    sites: FxIndexSet<(usize, ValueId, Context, Option<ThingId>)>,
    answers: FxHashMap<Question, Answer>,
    asked: Vec<Question>,
    queue: VecDeque<Question>,
    steps: usize,
}

/// Names that are followed on the way to places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// Imports, and variables that stand for something with another name.
    All,
    /// Imports.
    Own,
}

impl Reach {
    fn places(self, context: Context, file: usize, value: ValueId) -> Question {
        match self {
            Self::All => Question::Places(context, file, value),
            Self::Own => Question::Own(context, file, value),
        }
    }
}

impl<'p> Solver<'p> {
    /// A solver of which nothing was asked.
    pub fn new(project: &'p Project) -> Self {
        Self {
            project,
            with_callers: false,
            things: FxIndexSet::default(),
            frames: FxIndexSet::default(),
            places: FxIndexSet::default(),
            names: IndexSet::new(),
            sites: FxIndexSet::default(),
            answers: FxHashMap::default(),
            asked: Vec::new(),
            queue: VecDeque::new(),
            steps: 0,
        }
    }

    fn tables(&self, file: usize) -> &'p FileTables {
        self.project.tables().of_file(self.project, file)
    }

    fn package_tables(&self, package: u32) -> &'p PackageTables {
        self.project.tables().of_package(self.project, package)
    }

    fn owner_of(&self, file: usize, binding: BindingId) -> Option<(ValueId, Owned)> {
        self.tables(file).parameters.get(&binding).copied()
    }

    /// Parameters are what all calls of the project give them.
    #[must_use]
    pub fn with_callers(self) -> Self {
        Self { with_callers: true, ..self }
    }

    fn structure(&self, file: usize) -> &'p FileStructure {
        &self.project.at(file).structure
    }

    fn thing(&mut self, thing: Thing) -> ThingId {
        self.things.insert_full(thing).0 as ThingId
    }

    fn thing_at(&self, id: ThingId) -> Thing {
        self.things[id as usize].clone()
    }

    fn site(&mut self, file: usize, value: ValueId, context: Context) -> ThingId {
        self.thing(Thing::Site { file, value, context })
    }

    /// The value of a site, where it is one.
    fn value_of(&self, id: ThingId) -> Option<(usize, ValueId, Context, &'p Value)> {
        match self.things[id as usize] {
            Thing::Site { file, value, context } => Some((file, value, context, self.structure(file).value(value))),
            _ => None,
        }
    }

    /// The set as it is now; whoever asks is asked again where it grows.
    fn get(&mut self, question: Question) -> Vec<u32> {
        let reader = self.asked.last().copied();
        if let Some(answer) = self.answers.get_mut(&question) {
            answer.readers.extend(reader.filter(|reader| answer.readers.last() != Some(reader)));
            return answer.set.clone();
        }
        self.answers.insert(question, Answer { readers: reader.into_iter().collect(), ..Answer::default() });
        if self.asked.len() < NESTED && self.steps <= STEPS {
            self.work_out(question);
        } else {
            self.enqueue(question);
        }
        self.answers[&question].set.clone()
    }

    /// The set when nothing more comes in.
    fn settled(&mut self, question: Question) -> Vec<u32> {
        self.steps = 0;
        self.get(question);
        self.settle();
        self.answers[&question].set.clone()
    }

    fn settle(&mut self) {
        while let Some(question) = self.queue.pop_front() {
            if self.steps > STEPS {
                self.queue.push_front(question);
                return;
            }
            if let Some(answer) = self.answers.get_mut(&question) {
                answer.is_queued = false;
            }
            self.work_out(question);
        }
    }

    fn enqueue(&mut self, question: Question) {
        if let Some(answer) = self.answers.get_mut(&question)
            && !answer.is_queued
        {
            answer.is_queued = true;
            self.queue.push_back(question);
        }
    }

    fn work_out(&mut self, question: Question) {
        deep(|| self.work_out_here(question));
    }

    fn work_out_here(&mut self, question: Question) {
        self.steps += 1;
        self.asked.push(question);
        let found = match question {
            Question::Value(context, file, value) => self.things_of(context, file, value),
            Question::Bound(context, file, binding) => self.things_bound(context, file, binding),
            Question::Places(context, file, value) => self.places_of(context, file, value, Reach::All),
            Question::Own(context, file, value) => self.places_of(context, file, value, Reach::Own),
            // Grows where calls are looked at.
            Question::Callers(..) => Vec::new(),
            Question::Elements(thing) => self.elements_of(thing),
            Question::Instances(of) => self.instances_of(of),
            Question::Items(asking, object, key) => {
                let key = key.map(|key| self.names[key as usize].clone());
                let found = self.items_of(asking, object, key.as_deref());
                self.numbers(found)
            }
            Question::Lineage(class) => self.lineage_of(class),
            Question::Members(asking, object, name, space) => {
                let name = self.names[name as usize].clone();
                let found = self.members_of(asking, object, &name, space);
                self.numbers(found)
            }
            Question::Result(callee, call, creates) => self.result_of_thing(callee, call, creates),
        };
        self.asked.pop();
        self.add(question, found);
    }

    /// Puts elements into a set, and asks those again who have read it.
    fn add(&mut self, question: Question, found: Vec<u32>) {
        let answer = self.answers.entry(question).or_default();
        let before = answer.set.len();
        for one in found {
            if answer.set.len() < MOST && !answer.set.contains(&one) {
                answer.set.push(one);
            }
        }
        if answer.set.len() > before {
            // They read it again when they are asked again.
            for reader in std::mem::take(&mut answer.readers) {
                self.enqueue(reader);
            }
        }
    }

    fn number(&mut self, place: Found) -> u32 {
        self.places.insert_full(place).0 as u32
    }

    fn numbers(&mut self, places: Vec<Found>) -> Vec<u32> {
        places.into_iter().map(|place| self.number(place)).collect()
    }

    fn found(&self, numbers: Vec<u32>) -> Vec<Found> {
        numbers.into_iter().map(|place| self.places[place as usize].clone()).collect()
    }

    fn name(&mut self, name: &str) -> u32 {
        match self.names.get_index_of(name) {
            Some(known) => known as u32,
            None => self.names.insert_full(name.to_owned()).0 as u32,
        }
    }

    fn things(&mut self, context: Context, file: usize, value: ValueId) -> Vec<ThingId> {
        self.get(Question::Value(context, file, value))
    }
}
