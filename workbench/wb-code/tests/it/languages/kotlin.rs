//! Kotlin.

use wb_code::Language;

use super::{check, outline};

const SOURCE: &str = r#"/* License. */
@file:JvmName("Stacks")

package stacks

/** A stack of things. */
@Serializable
data class Stack<T : Any>(val limit: Int, private val name: String = "") : Base(limit), Named by other {
    private val items = mutableListOf<T>()

    /** How many there are. */
    val size: Int
        get() = items.size

    /** No code of its own. */
    var full: Boolean = false
        private set

    /**
     * Puts [item] on top of the stack, see [the book](https://example.org).
     *
     * ```
     * stack.push(1)
     * ```
     *
     * @param item what to put
     * @return the stack
     */
    @Suppress("unused")
    suspend fun <U : T> push(item: U, vararg more: U): Stack<T> where U : Comparable<U> {
        fun grow(by: Int): Int = by + 1
        items.add(item)
        return this
    }

    /** Makes one of a list. */
    constructor(items: List<T>) : this(items.size) {
        println(items)
    }

    // A remark.
    operator fun plus(other: Stack<T>) = this

    /** Declared only. */
    abstract fun peek(): T

    companion object {
        /** An empty one. */
        fun empty() = Stack<Int>(0)
    }

    companion object Named {
        const val LIMIT = 3
    }
}

/** The second item, if any. */
fun <T> List<T>.second(): T? = getOrNull(1)

fun interface Visitor {
    fun visit(it: String)
}

sealed interface Shape

object Circle : Shape {
    override fun toString() = "circle"
}

enum class Color(val rgb: Int) {
    RED(1) {
        override fun mixed() = this
    };

    abstract fun mixed(): Color
}

class StackTest {
    /** Looks whether it works. */
    @Test
    fun `it works`() {}
}
"#;

#[test]
fn kdoc() {
    let expected = [
        ("size", [12, 13], "How many there are.", "val size: Int\n    get() = items.size"),
        (
            "push",
            [29, 34],
            "Puts item on top of the stack, see the book.",
            "@Suppress(\"unused\")\nsuspend fun <U : T> push(item: U, vararg more: U): Stack<T> where U : Comparable<U> {\n    fun grow(by: Int): Int = by + 1\n    items.add(item)\n    return this\n}",
        ),
        (
            "constructor",
            [37, 39],
            "Makes one of a list.",
            "constructor(items: List<T>) : this(items.size) {\n    println(items)\n}",
        ),
        ("empty", [49, 49], "An empty one.", "fun empty() = Stack<Int>(0)"),
        ("second", [58, 58], "The second item, if any.", "fun <T> List<T>.second(): T? = getOrNull(1)"),
        ("`it works`", [80, 81], "Looks whether it works.", "@Test\nfun `it works`() {}"),
    ];
    check(Language::Kotlin, SOURCE, &expected);
}

#[test]
fn functions_and_types() {
    let expected = [
        "c Stack 6-55 @7",
        "f size 11-13 @12",
        "f push 19-34 @29",
        "f grow 31-31",
        "f constructor 36-39 @37",
        "f plus 41-42 @42",
        "f empty 48-49 @49",
        "c Named 52-54",
        "f second 57-58 @58",
        "c Visitor 60-62",
        "c Shape 64-64",
        "c Circle 66-68",
        "f toString 67-67",
        "c Color 70-76",
        "f mixed 72-72",
        "c StackTest 78-82",
        "f `it works` 79-81 @80",
    ];
    assert_eq!(outline(Language::Kotlin, SOURCE), expected);
}
