//! Swift.

use wb_code::Language;

use super::{check, outline};

const SOURCE: &str = r#"// License.
import Foundation

/// A stack of things.
@available(iOS 13, *)
public final class Stack<T: Any>: Base, Named where T: Equatable {
    /// How many there are.
    public var size: Int { items.count }

    /// No code of its own.
    private var items: [T] = [] { didSet { print(items) } }

    /// Makes an empty stack.
    ///
    /// - Parameter limit: How many it may hold.
    public init?(limit: Int, _ name: String = "") throws { super.init() }

    deinit { items.removeAll() }

    /// Puts `item` on top of the ``Stack``, see [the book](https://example.org).
    ///
    /// - Parameters:
    ///   - item: What to put.
    /// - Returns: The stack.
    /// - Throws: `Full` if there is no room.
    // swiftlint:disable:next function_body_length
    @discardableResult
    public func push<U>(_ item: U, with more: [U]...) async throws -> Stack? where U: Equatable {
        func grow(by: Int) -> Int { by + 1 }
        return self
    }

    /** The item at a place. */
    subscript(at: Int) -> T { items[at] }

    /// Whether two stacks are equal.
    static func == (a: Stack, b: Stack) -> Bool { a.items == b.items }

    // A remark.
    class func empty() {}
}

extension Stack: Codable where T: Codable {
    func encode() {}
}

struct Point { let x: Int; mutating func move() { x += 1 } }

indirect enum Shape: String {
    case circle(Int), square
    func area() -> Int { 1 }
}

protocol Named: AnyObject {
    associatedtype Name
    /// Declared only.
    func name() -> Name
}

actor Counter { func count() async {} }

#if DEBUG
/// Prints it.
func debug(_ text: String) -> some View { Text(text) }
#endif

@Suite struct Tests {
    /// Looks whether it works.
    @Test("works") func works() {}
}
"#;

#[test]
fn markdown_with_callouts() {
    let expected = [
        ("size", [8, 8], "How many there are.", "public var size: Int { items.count }"),
        (
            "init",
            [16, 16],
            "Makes an empty stack.",
            "public init?(limit: Int, _ name: String = \"\") throws { super.init() }",
        ),
        (
            "push",
            [27, 31],
            "Puts item on top of the Stack, see the book.",
            "@discardableResult\npublic func push<U>(_ item: U, with more: [U]...) async throws -> Stack? where U: Equatable {\n    func grow(by: Int) -> Int { by + 1 }\n    return self\n}",
        ),
        ("subscript", [34, 34], "The item at a place.", "subscript(at: Int) -> T { items[at] }"),
        (
            "==",
            [37, 37],
            "Whether two stacks are equal.",
            "static func == (a: Stack, b: Stack) -> Bool { a.items == b.items }",
        ),
        ("debug", [64, 64], "Prints it.", "func debug(_ text: String) -> some View { Text(text) }"),
        ("works", [69, 69], "Looks whether it works.", "@Test(\"works\") func works() {}"),
    ];
    check(Language::Swift, SOURCE, &expected);
}

#[test]
fn functions_and_types() {
    let expected = [
        "c Stack 4-41 @5",
        "f size 7-8 @8",
        "f init 13-16 @16",
        "f deinit 18-18",
        "f push 20-31 @27",
        "f grow 29-29",
        "f subscript 33-34 @34",
        "f == 36-37 @37",
        "f empty 39-40 @40",
        "c Stack 43-45",
        "f encode 44-44",
        "c Point 47-47",
        "f move 47-47",
        "c Shape 49-52",
        "f area 51-51",
        "c Named 54-58",
        "c Counter 60-60",
        "f count 60-60",
        "f debug 63-64 @64",
        "c Tests 67-70",
        "f works 68-69 @69",
    ];
    assert_eq!(outline(Language::Swift, SOURCE), expected);
}
