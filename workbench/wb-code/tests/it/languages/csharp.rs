//! C#.

use wb_code::Language;

use super::{check, outline};

const SOURCE: &str = r#"using System;

namespace Stacks;

/// <summary>A stack of things.</summary>
[Serializable]
public sealed class Stack<T> : IStack<T> where T : class
{
    private readonly List<T> _items = new();

    /// <summary>Makes an empty stack.</summary>
    /// <param name="limit">How many it may hold.</param>
    public Stack(int limit) => _limit = limit;

    /// <summary>
    /// Puts <paramref name="item"/> on top of the <see cref="Stack{T}"/>,
    /// or throws a <see cref="T:System.InvalidOperationException"/>.
    /// </summary>
    /// <remarks>Takes <c>O(1)</c> &amp; no lock.</remarks>
    /// <example><code>stack.Push(1);</code></example>
    /// <returns>Never <see langword="null"/>.</returns>
    [Obsolete("Use Add.")]
    public async Task<T> Push(T item)
    {
        void Grow(int by) { _limit += by; }
        Grow(1);
        return item;
    }

    /// <summary>How many there are.</summary>
    public int Count => _items.Count;

    /// <summary>No code of its own.</summary>
    public int Limit { get; set; }

    /** <summary>The item at a place.</summary> */
    public T this[int at] { get { return _items[at]; } }

    /// <summary>Both together.</summary>
    public static Stack<T> operator +(Stack<T> a, Stack<T> b) => a;

    // A remark.
    public void Remarked() { }

    enum Kind { Full, Empty }
}

public interface IStack<T>
{
    /// <summary>Declared only.</summary>
    T Peek();
}

public record Point(int X, int Y);

[TestFixture]
public class Tests
{
    /// <summary>Looks whether it works.</summary>
    [Fact]
    public void Works() { }
}
"#;

#[test]
fn xml_documentation() {
    let expected = [
        ("Stack", [13, 13], "Makes an empty stack.", "public Stack(int limit) => _limit = limit;"),
        (
            "Push",
            [22, 28],
            "Puts item on top of the Stack<T>, or throws a System.InvalidOperationException. Takes O(1) & no lock.",
            "[Obsolete(\"Use Add.\")]\npublic async Task<T> Push(T item)\n{\n    void Grow(int by) { _limit += by; }\n    Grow(1);\n    return item;\n}",
        ),
        ("Count", [31, 31], "How many there are.", "public int Count => _items.Count;"),
        ("this", [37, 37], "The item at a place.", "public T this[int at] { get { return _items[at]; } }"),
        ("+", [40, 40], "Both together.", "public static Stack<T> operator +(Stack<T> a, Stack<T> b) => a;"),
        ("Works", [60, 61], "Looks whether it works.", "[Fact]\npublic void Works() { }"),
    ];
    check(Language::CSharp, SOURCE, &expected);
}

#[test]
fn functions_and_types() {
    let expected = [
        "c Stack 5-46 @6",
        "f Stack 11-13 @13",
        "f Push 15-28 @22",
        "f Grow 25-25",
        "f Count 30-31 @31",
        "f this 36-37 @37",
        "f + 39-40 @40",
        "f Remarked 42-43 @43",
        "c Kind 45-45",
        "c IStack 48-52",
        "c Point 54-54",
        "c Tests 56-62",
        "f Works 59-61 @60",
    ];
    assert_eq!(outline(Language::CSharp, SOURCE), expected);
}
