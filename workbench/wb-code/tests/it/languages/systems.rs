//! Rust and Go.

use wb_code::Language;

use super::check;

#[test]
fn rust() {
    let source = r#"//! A stack.

/// A stack of things.
pub struct Stack<T> {
    /// The items, last on top.
    items: Vec<T>,
}

impl<T: Clone> Stack<T> {
    /// Pushes `item` on top of the [`Stack`], see [the book](https://example.org/stack).
    ///
    /// Grows the storage when needed.
    ///
    /// # Panics
    ///
    /// If the capacity overflows.
    ///
    /// # Examples
    ///
    /// ```
    /// stack.push(1);
    /// ```
    #[inline]
    pub fn push(&mut self, item: T) {
        // Amortized.
        self.items.push(item);
    }

    #[must_use]
    /// The top item, [if any][none].
    ///
    /// [none]: Option::None
    #[doc = "Does not remove it."]
    #[doc(alias = "peek")]
    pub fn top(&self) -> Option<&T> {
        self.items.last()
    }

    pub fn undocumented(&self) {}
}

/// Things with a size.
pub trait Sized2 {
    /// How many bytes.
    fn size(&self) -> usize;

    /// Whether the size is zero.
    fn is_zero(&self) -> bool {
        self.size() == 0
    }
}

mod inner {
    /**
     * Adds two numbers
     * without carrying.
     */
    pub(crate) async fn add(a: u32, b: u32) -> u32 {
        /// Exclusive or, bit by bit.
        fn xor(a: u32, b: u32) -> u32 {
            a ^ b
        }
        xor(a, b)
    }

    // A remark, no documentation.
    fn remarked() {}

    //// Four slashes are no documentation.
    fn four() {}
}
"#;
    let expected = [
        (
            "push",
            [23, 27],
            "Pushes item on top of the Stack, see the book. Grows the storage when needed.",
            "#[inline]\npub fn push(&mut self, item: T) {\n    // Amortized.\n    self.items.push(item);\n}",
        ),
        (
            "top",
            [29, 37],
            "The top item, if any. Does not remove it.",
            "#[must_use]\npub fn top(&self) -> Option<&T> {\n    self.items.last()\n}",
        ),
        ("is_zero", [48, 50], "Whether the size is zero.", "fn is_zero(&self) -> bool {\n    self.size() == 0\n}"),
        (
            "add",
            [58, 64],
            "Adds two numbers without carrying.",
            "pub(crate) async fn add(a: u32, b: u32) -> u32 {\n    /// Exclusive or, bit by bit.\n    fn xor(a: u32, b: u32) -> u32 {\n        a ^ b\n    }\n    xor(a, b)\n}",
        ),
        ("xor", [60, 62], "Exclusive or, bit by bit.", "fn xor(a: u32, b: u32) -> u32 {\n    a ^ b\n}"),
    ];
    check(Language::Rust, source, &expected);
}

#[test]
fn go() {
    let source = r#"// Package stack is a stack.
package stack

import "errors"

// ErrEmpty says that there is nothing.
var ErrEmpty = errors.New("empty") // trailing remark

// Push puts item on top of [Stack].
//
// It grows the storage:
//
//	s.Push(1)
//
// # Cost
//
// Constant.
//
//go:noinline
func (s *Stack[T]) Push(item T) {
	s.items = append(s.items, item)
}

// A comment that stands apart.

func apart() {}

var x = 1 // not about the next function
func next() int { return x }

/*
Max returns the larger of a and b.
*/
func Max(a, b int) int {
	if a > b {
		return a
	}
	return b
}

// Reader reads.
type Reader interface {
	// Read fills p.
	Read(p []byte) (int, error)
}
"#;
    let expected = [
        (
            "Push",
            [20, 22],
            "Push puts item on top of Stack. It grows the storage:",
            "func (s *Stack[T]) Push(item T) {\n\ts.items = append(s.items, item)\n}",
        ),
        (
            "Max",
            [34, 39],
            "Max returns the larger of a and b.",
            "func Max(a, b int) int {\n\tif a > b {\n\t\treturn a\n\t}\n\treturn b\n}",
        ),
    ];
    check(Language::Go, source, &expected);
}
