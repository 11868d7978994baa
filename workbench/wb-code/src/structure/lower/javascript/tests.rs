//! Names in JavaScript and TypeScript, with their places worked out by hand.

use crate::structure::tests::{check, places as places_of};

#[test]
fn blocks_are_scopes_for_let_and_functions_for_var() {
    let text = "let a = 1;
function f(p, { q: renamed = 2, ...others }) {
  if (p) { let a = 3; var hoisted = a; }
  hoisted; a; renamed; others;
}
for (const item of [a]) item;
inner: for (;;) break inner;
try { f(); } catch (error) { error; }
";
    check(
        "a.js",
        text,
        &[
            (3, "a", &[3]),
            (4, "hoisted", &[3]),
            (4, "a", &[1]),
            (4, "renamed", &[2]),
            (4, "others", &[2]),
            (6, "item", &[6]),
            (7, "inner", &[7]),
            (8, "error", &[8]),
        ],
    );
}

#[test]
fn objects_and_classes_have_their_members() {
    let text = "class Base { run() {} static make() { return new this(); } }
class Task extends Base {
  constructor(owner) { super(); this.owner = owner; }
  get twice() { return this; }
}
const task = new Task({ name: 1 });
task.run(); task.owner.name; task.twice.run();
Task.make().run();
function Old() { this.size = 1; }
Old.prototype.grow = function () { return this.size; };
new Old().grow(); new Old().size;
const table = { go() { return this.wheel; }, wheel: { spokes: 8 } };
table.go().spokes; table['wheel'].spokes; task.nothing;
";
    check(
        "a.js",
        text,
        &[
            (7, "run", &[1]),
            (7, "name", &[6]),
            (8, "run", &[1]),
            (10, "size", &[9]),
            (11, "grow", &[10]),
            (11, "size", &[9]),
            (13, "spokes", &[12]),
            (13, "nothing", &[]),
        ],
    );
}

#[test]
fn modules_of_both_kinds_lead_to_each_other() {
    let files = [
        ("lib/a.js", "export function one() {}\nexport default class Two { go() {} }\n"),
        ("lib/index.js", "export * from './a.js';\nexport { default as Second } from './a';\n"),
        ("old.js", "const { one } = require('./lib/a');\nmodule.exports = { one, three: 3 };\n"),
        (
            "main.js",
            "import { one, Second } from './lib';\nimport old from './old';\none();\nnew Second().go();\nold.three; old.one;\nasync function f() { const all = await import('./lib/a.js'); all.one(); }\n",
        ),
    ];
    let places = |line, name| places_of(&files, "main.js", line, name);
    let at = |path: &str, line| (path.to_owned(), line);
    assert_eq!(places(3, "one"), [at("main.js", 1), at("lib/a.js", 1)]);
    assert_eq!(places(4, "go"), [at("lib/a.js", 2)]);
    assert_eq!(places(5, "three"), [at("old.js", 2)]);
    assert_eq!(places(5, "one"), [at("old.js", 2), at("old.js", 1), at("lib/a.js", 1)]);
    assert_eq!(places(6, "one"), [at("lib/a.js", 1)]);
}

#[test]
fn types_say_what_variables_have() {
    let text = "interface Named { name: string; }
interface Item extends Named { next: Item; list: Item[]; byKey: Map<string, Item>; }
type Pair<A, B = A> = { left: A; right: B };
class Holder<T> { constructor(private held: T) {} get(): T { return this.held; } }
declare function load(): Promise<Item>;
function f(item: Item, pair: Pair<Item>, holder: Holder<Item>) {
  item.next.name; item.list[0].name; pair.right.next; holder.get().next;
  item.list.forEach(each => each.name);
  for (const one of item.list) one.name;
}
async function g() { (await load()).name; }
enum Color { Red }
namespace Deep.Inner { export const x: Named = { name: '' }; }
Color.Red; Deep.Inner.x.name;
function id<X>(x: X): X { return x; }
id<Item>(null).next;
";
    check(
        "a.ts",
        text,
        &[
            (7, "name", &[1]),
            (7, "right", &[3]),
            (7, "next", &[2]),
            (7, "get", &[4]),
            (8, "name", &[1]),
            (9, "name", &[1]),
            (11, "name", &[1]),
            (14, "Red", &[12]),
            (14, "name", &[1]),
            (16, "next", &[2]),
        ],
    );
}

#[test]
fn settings_say_where_modules_are() {
    let files = [
        (
            "tsconfig.json",
            "{ // remark\n  \"compilerOptions\": { \"baseUrl\": \"src\", \"paths\": { \"@/*\": [\"app/*\"], }, } }",
        ),
        ("src/app/x.ts", "export const x = 1;\n"),
        ("packages/p/package.json", "{ \"name\": \"@me/p\", \"main\": \"lib.js\" }"),
        ("packages/p/lib.ts", "export const p = 2;\n"),
        (
            "src/main.ts",
            "import { x } from '@/x';\nimport { x as y } from 'app/x';\nimport { p } from '@me/p';\nx; y; p;\n",
        ),
    ];
    let places = |name| places_of(&files, "src/main.ts", 4, name);
    let at = |path: &str, line| (path.to_owned(), line);
    assert_eq!(places("x"), [at("src/main.ts", 1), at("src/app/x.ts", 1)]);
    assert_eq!(places("y"), [at("src/main.ts", 2), at("src/app/x.ts", 1)]);
    assert_eq!(places("p"), [at("src/main.ts", 3), at("packages/p/lib.ts", 1)]);
}

#[test]
fn a_function_expression_knows_its_own_name_unless_a_variable_has_it() {
    let text = "a.range = function range() {
  var range = 1;
  return range;
};
const f = function own(n) { return own(n - 1); };
";
    check("a.js", text, &[(3, "range", &[2]), (5, "own", &[5])]);
}
