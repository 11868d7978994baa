//! C and C++.

use wb_code::Language;

use super::check;

#[test]
fn c() {
    let source = r#"/*
 * License.
 */
#include <stdio.h>

/** Declared only. */
int declared(int a);

/**
 * \brief Adds two numbers.
 *
 * Overflow wraps, see \ref sub and @p a.
 *
 * @param a one
 *   number
 * @param b the other
 *
 * Never fails.
 *
 * \code
 * add(1, 2);
 * \endcode
 */
static inline int add(int a, int b)
{
    return a + b; /**< trailing */
}

/// Subtracts two numbers.
/// @return the difference
int *sub(int a, int b) {
    return a - b;
}

int count; ///< How many there are.
int next(void) { return ++count; }

//! Turns a list around.
struct list *turn(struct list *list)
{
    return list->prev;
}
"#;
    let expected = [
        (
            "add",
            [24, 27],
            "Adds two numbers. Overflow wraps, see sub and a. Never fails.",
            "static inline int add(int a, int b)\n{\n    return a + b; /**< trailing */\n}",
        ),
        ("sub", [31, 33], "Subtracts two numbers.", "int *sub(int a, int b) {\n    return a - b;\n}"),
        (
            "turn",
            [39, 42],
            "Turns a list around.",
            "struct list *turn(struct list *list)\n{\n    return list->prev;\n}",
        ),
    ];
    check(Language::C, source, &expected);
}

#[test]
fn cpp() {
    let source = r#"#pragma once
#include <vector>

namespace a {

/// A stack.
template <typename T>
class Stack {
 public:
  /*! Makes an empty stack. */
  explicit Stack(int limit) : limit_(limit) {}

  //! Copies are not made.
  Stack(const Stack&) = delete;

  /**
   * Puts an item on top.
   *
   * @tparam U what converts to T
   * @param item the item
   */
  template <typename U>
  void push(U&& item) {
    items_.push_back(std::forward<U>(item));
  }

  /// Whether two stacks are equal.
  friend bool operator==(const Stack& a, const Stack& b) { return a.items_ == b.items_; }

 private:
  std::vector<T> items_;  ///< The items.
};

/**
 * Turns a stack around, in <b>linear</b> time.
 */
template <typename T>
Stack<T>& Stack<T>::turn() noexcept {
  std::reverse(items_.begin(), items_.end());
  return *this;
}

}  // namespace a
"#;
    let expected = [
        ("Stack", [11, 11], "Makes an empty stack.", "explicit Stack(int limit) : limit_(limit) {}"),
        (
            "push",
            [22, 25],
            "Puts an item on top.",
            "template <typename U>\nvoid push(U&& item) {\n  items_.push_back(std::forward<U>(item));\n}",
        ),
        (
            "operator==",
            [28, 28],
            "Whether two stacks are equal.",
            "friend bool operator==(const Stack& a, const Stack& b) { return a.items_ == b.items_; }",
        ),
        (
            "Stack<T>::turn",
            [37, 41],
            "Turns a stack around, in linear time.",
            "template <typename T>\nStack<T>& Stack<T>::turn() noexcept {\n  std::reverse(items_.begin(), items_.end());\n  return *this;\n}",
        ),
    ];
    check(Language::Cpp, source, &expected);
}
