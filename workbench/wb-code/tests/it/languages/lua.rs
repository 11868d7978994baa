//! Lua.

use wb_code::Language;

use super::{check, outline};

const SOURCE: &str = r#"#!/usr/bin/env lua
-- License.

local M = {}

--- Puts an item on top.
-- Grows the table as needed.
-- @param item what to put
-- @return the stack
function M.push(item, ...)
  local function grow(by)
    return by + 1
  end
  return M
end

---The item on top of `M`.
---@param self Stack
---@return any
function M:top() end

-- Says how many there are.
-- luacheck: ignore 212
M.size = function(self) return #self end

--[[
  Turns a list
  around.
]]
local function turn(list)
  return list
end

--[==[-- Empties it. ]==]
local clear = function() end

----------------
-- Stands apart.

function apart() end

local a, b = function() end, 1 -- not about the next function
function M.next() end

M.handlers = {
  -- Called when it opens.
  on_open = function(file) return file end,
  ["on close"] = function() end,
}

return M
"#;

#[test]
fn comments_directly_above() {
    let expected = [
        (
            "M.push",
            [10, 15],
            "Puts an item on top. Grows the table as needed.",
            "function M.push(item, ...)\n  local function grow(by)\n    return by + 1\n  end\n  return M\nend",
        ),
        ("M:top", [20, 20], "The item on top of M.", "function M:top() end"),
        ("M.size", [24, 24], "Says how many there are.", "M.size = function(self) return #self end"),
        ("turn", [30, 32], "Turns a list around.", "local function turn(list)\n  return list\nend"),
        ("clear", [35, 35], "Empties it.", "local clear = function() end"),
        ("on_open", [47, 47], "Called when it opens.", "on_open = function(file) return file end"),
    ];
    check(Language::Lua, SOURCE, &expected);
}

#[test]
fn functions() {
    let expected = [
        "f M.push 6-15 @10",
        "f grow 11-13",
        "f M:top 17-20 @20",
        "f M.size 22-24 @24",
        "f turn 26-32 @30",
        "f clear 34-35 @35",
        "f apart 40-40",
        "f M.next 43-43",
        "f on_open 46-47 @47",
        "f \"on close\" 48-48",
    ];
    assert_eq!(outline(Language::Lua, SOURCE), expected);
}
