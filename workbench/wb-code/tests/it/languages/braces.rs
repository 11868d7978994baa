//! Java, JavaScript, TypeScript and PHP.

use wb_code::Language;

use super::check;

#[test]
fn java() {
    let source = r#"/* License. */
package a.b;

/** A stack. */
public class Stack<T> {
    /**
     * Makes a stack of at most {@code limit} items.
     *
     * <p>See {@link java.util.Deque the interface} or {@link #push(Object)}.
     *
     * <pre>{@code
     * new Stack<>(3);
     * }</pre>
     *
     * @param limit how many &lt; 100
     */
    public Stack(int limit) {
        this.limit = limit;
    }

    /** Puts an item on top. */
    @Override
    @SuppressWarnings("unchecked")
    public void push(T item) {
        items.add(item);
    }

    /** Nothing here. */
    abstract T pop();

    /* No Javadoc. */
    T peek() { return null; }

    interface Visitor {
        /**
         * @return only a tag
         */
        default int visit() { return 1; }
    }
}
"#;
    let expected = [
        (
            "Stack",
            [17, 19],
            "Makes a stack of at most limit items. See the interface or push(Object).",
            "public Stack(int limit) {\n    this.limit = limit;\n}",
        ),
        (
            "push",
            [22, 26],
            "Puts an item on top.",
            "@Override\n@SuppressWarnings(\"unchecked\")\npublic void push(T item) {\n    items.add(item);\n}",
        ),
        ("visit", [38, 38], "", "default int visit() { return 1; }"),
    ];
    check(Language::Java, source, &expected);
}

#[test]
fn javascript() {
    let source = r#"'use strict';

/**
 * Add two numbers. See [the docs](https://example.org).
 *
 * ```js
 * add(1, 2);
 * ```
 *
 * @param {number} a One.
 * @returns {number}
 */
export function add(a, b) {
  return a + b;
}

/**
 * Multiply.
 */
export const multiply = (a, b) => {
  return a * b;
};

class Stack {
  /** Put an item on top. */
  push(item) {
    this.items.push(item);
  }

  /** The item on top. */
  top = () => this.items.at(-1);
}

/**
 * Parse a {@link Query|query string}.
 * @api public
 */
exports.parse = function parse(text) {
  return {
    /** Render it again. */
    render: function () {
      return text;
    },
  };
};

/** Not a function. */
const limit = 3;

/** Stands apart. */

function apart() {}
"#;
    let expected = [
        ("add", [13, 15], "Add two numbers. See the docs.", "export function add(a, b) {\n  return a + b;\n}"),
        ("multiply", [20, 22], "Multiply.", "export const multiply = (a, b) => {\n  return a * b;\n};"),
        ("push", [26, 28], "Put an item on top.", "push(item) {\n  this.items.push(item);\n}"),
        ("top", [31, 31], "The item on top.", "top = () => this.items.at(-1)"),
        (
            "exports.parse",
            [38, 45],
            "Parse a query string.",
            "exports.parse = function parse(text) {\n  return {\n    /** Render it again. */\n    render: function () {\n      return text;\n    },\n  };\n};",
        ),
        ("render", [41, 43], "Render it again.", "render: function () {\n  return text;\n}"),
    ];
    check(Language::JavaScript, source, &expected);
}

#[test]
fn typescript() {
    let source = r#"import { A } from './a';

/** A list, `T[]`. */
export type List<T> = T[];

/**
 * The first item that **fits**.
 * @typeParam T - kind
 */
export async function first<T>(list: T[], fits: (item: T) => boolean): Promise<T | undefined> {
  return list.find(fits);
}

export abstract class Store {
  /** Opens it. */
  abstract open(): void;

  /**
   * Closes the store and
   * forgets all keys.
   */
  @once()
  public close(): void {
    this.keys.clear();
  }

  /** Looks a key up. */
  private readonly look = (key: string): string => this.keys.get(key)!;
}
"#;
    let expected = [
        (
            "first",
            [10, 12],
            "The first item that fits.",
            "export async function first<T>(list: T[], fits: (item: T) => boolean): Promise<T | undefined> {\n  return list.find(fits);\n}",
        ),
        (
            "close",
            [22, 25],
            "Closes the store and forgets all keys.",
            "@once()\npublic close(): void {\n  this.keys.clear();\n}",
        ),
        ("look", [28, 28], "Looks a key up.", "private readonly look = (key: string): string => this.keys.get(key)!"),
    ];
    check(Language::TypeScript, source, &expected);
    let with_jsx =
        "/** A button that counts. */\nexport const Button = (props: Props) => <button {...props}>go</button>;\n";
    let expected = [(
        "Button",
        [2, 2],
        "A button that counts.",
        "export const Button = (props: Props) => <button {...props}>go</button>;",
    )];
    check(Language::TypeScript, with_jsx, &expected);
}

#[test]
fn php() {
    let source = r#"<?php
namespace A\B;

/**
 * A stack.
 */
class Stack
{
    /**
     * Puts an item on top.
     *
     * Grows {@see Stack::$items} as needed.
     *
     * @param mixed $item What to put
     * @return $this
     */
    public function push($item)
    {
        $this->items[] = $item;

        return $this;
    }

    /** @var array */
    private $items = [];

    /**
     * {@inheritdoc}
     */
    #[\ReturnTypeWillChange]
    public static function of(array $items): self { return new self($items); }
}

/** Turns a list around. */
function turn(array $list): array
{
    return array_reverse($list);
}
"#;
    let expected = [
        (
            "push",
            [17, 22],
            "Puts an item on top. Grows Stack::$items as needed.",
            "public function push($item)\n{\n    $this->items[] = $item;\n\n    return $this;\n}",
        ),
        (
            "of",
            [30, 31],
            "",
            "#[\\ReturnTypeWillChange]\npublic static function of(array $items): self { return new self($items); }",
        ),
        (
            "turn",
            [35, 38],
            "Turns a list around.",
            "function turn(array $list): array\n{\n    return array_reverse($list);\n}",
        ),
    ];
    check(Language::Php, source, &expected);
}
