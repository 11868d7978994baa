//! Zig.

use wb_code::Language;

use super::{check, outline};

const SOURCE: &str = r#"//! Stacks.

const std = @import("std");

/// A stack of things.
pub fn Stack(comptime T: type) type {
    return struct {
        items: []T,

        /// Puts `item` on top, see [the book](https://example.org).
        ///
        /// Asserts that there is room.
        pub fn push(self: *@This(), item: T) !void {
            try self.grow(1);
        }
    };
}

/// A point.
pub const Point = packed struct {
    x: i32 = 1,

    // A remark.
    fn move(self: *Point) void {
        self.x += 1;
    }

    const Kind = union(enum) { near: u8, far };
};

pub const Full = error{ NoRoom, NoMemory };

const limit: u32 = 3; // not about the next function
inline fn next() u8 {
    return 1;
}

/// Declared only.
extern "c" fn open(path: [*:0]const u8) c_int;

//// No documentation.
pub export fn four() void {}

test "puts an item on top" {
    try std.testing.expect(true);
}

test Point {}
"#;

#[test]
fn doc_comments() {
    let expected = [
        (
            "Stack",
            [6, 17],
            "A stack of things.",
            "pub fn Stack(comptime T: type) type {\n    return struct {\n        items: []T,\n\n        /// Puts `item` on top, see [the book](https://example.org).\n        ///\n        /// Asserts that there is room.\n        pub fn push(self: *@This(), item: T) !void {\n            try self.grow(1);\n        }\n    };\n}",
        ),
        (
            "push",
            [13, 15],
            "Puts item on top, see the book. Asserts that there is room.",
            "pub fn push(self: *@This(), item: T) !void {\n    try self.grow(1);\n}",
        ),
    ];
    check(Language::Zig, SOURCE, &expected);
}

#[test]
fn functions_and_containers() {
    let expected = [
        "f Stack 5-17 @6",
        "f push 10-15 @13",
        "c Point 19-29 @20",
        "f move 23-26 @24",
        "c Kind 28-28",
        "c Full 31-31",
        "f next 34-36",
        "f four 41-42 @42",
        "f puts an item on top 44-46",
        "f Point 48-48",
    ];
    assert_eq!(outline(Language::Zig, SOURCE), expected);
}
