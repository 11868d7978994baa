//! A bound on the work of one parse, which counts what the parser does and no time: every machine gives up the same texts.

use std::{cell::Cell, ops::ControlFlow};

/// Bytes that the parser is given at once. What it reads ahead is counted in such pieces.
const PIECE: usize = 256;

/// Checks that any text may have, and bytes of it that allow for one more. The parser checks after each hundred steps,
/// which real sources need no more often than every 16 bytes.
const CHECKS: usize = 200;
const BYTES_PER_CHECK: usize = 8;

/// Bytes that may be read of any text, and how often each of its bytes may be on top of them. Real sources are read less
/// than four times, those of Python, where each line is read again for its margin, up to 33 times.
const READ: usize = 250_000;
const READ_PER_BYTE: usize = 64;

/// Brackets that may be open at one place, those in strings and comments too, and that may still be open at the end. Of
/// 120,000 real sources the deepest has 423; what is generated and closes all of them may have more.
const DEPTH: usize = 25_000;
const UNCLOSED: usize = 1_000;

/// True where more brackets are open than in any source.
///
/// The parser frees what it has read by recursion and tries all readings together at the end of a text, and checks in neither:
/// some ten thousand brackets that nothing closes end the process by a stack overflow, or take minutes in one step.
pub(super) fn nests_too_deep(source: &str) -> bool {
    let (mut open, mut deepest) = (0_usize, 0_usize);
    for byte in source.bytes() {
        match byte {
            b'(' | b'[' | b'{' => open += 1,
            b')' | b']' | b'}' => open = open.saturating_sub(1),
            _ => continue,
        }
        deepest = deepest.max(open);
    }
    deepest > DEPTH || open > UNCLOSED
}

/// Work that one parse may do, and that it has done.
///
/// Two things make a text slow that is no source: steps that get no further, where many readings of it are tried side by
/// side, and searches for an end that is not there, which read the rest of the text at each token within a single step.
pub(super) struct Budget {
    start: usize,
    most_read: usize,
    /// The furthest place so far: steps are measured by the bytes before it, so that a long rest allows for none.
    reached: Cell<usize>,
    checks: Cell<usize>,
    read: Cell<usize>,
}

impl Budget {
    /// The budget of a text that begins at a place.
    pub(super) fn of(start: usize, length: usize) -> Self {
        Self {
            start,
            most_read: READ + READ_PER_BYTE * length,
            reached: Cell::new(0),
            checks: Cell::new(0),
            read: Cell::new(0),
        }
    }

    /// The next piece of a text; none where too much was read, which ends the search of a step that would not end otherwise.
    pub(super) fn piece<'t>(&self, rest: &'t [u8]) -> &'t [u8] {
        let piece = rest.get(..PIECE).unwrap_or(rest);
        self.read.set(self.read.get() + piece.len());
        if self.is_spent() { &[] } else { piece }
    }

    /// Counts a check at a place, and says whether to go on.
    pub(super) fn check(&self, at: usize) -> ControlFlow<()> {
        self.checks.set(self.checks.get() + 1);
        self.reached.set(self.reached.get().max(at.saturating_sub(self.start)));
        if self.is_spent() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// True where the text is given up.
    pub(super) fn is_spent(&self) -> bool {
        self.read.get() > self.most_read || self.checks.get() > CHECKS + self.reached.get() / BYTES_PER_CHECK
    }
}
