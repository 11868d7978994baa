//! Names in Java, with their places worked out by hand.

use crate::structure::tests::{check as check_file, definitions};

/// Asks a file alone: line, name, the lines at which it is defined.
fn check(text: &str, asked: &[(u32, &str, &[u32])]) {
    check_file("A.java", text, asked);
}

fn check_in(texts: &[(&str, &str)], path: &str, asked: &[(u32, &str, &[u32])]) {
    for (line, name, expected) in asked {
        assert_eq!(definitions(texts, path, *line, name), *expected, "{name} in line {line}");
    }
}

#[test]
fn a_local_variable_is_seen_from_its_declaration_to_the_end_of_its_block() {
    let text = "class A {
    int n;
    void m(int p) {
        n = p;
        int n = 1, k = n;
        { int q = n; }
        q = k;
        for (int i = 0, j = i; i < j; i++) { int p2 = j; }
        Runnable r = () -> n++;
    }
}";
    check(
        text,
        &[
            (4, "n", &[2]),
            (4, "p", &[3]),
            (5, "n", &[5]),
            (6, "n", &[5]),
            (7, "q", &[]),
            (7, "k", &[5]),
            (8, "i", &[8]),
            (8, "j", &[8]),
            (9, "n", &[5]),
        ],
    );
}

#[test]
fn variables_types_methods_and_labels_have_names_of_their_own_kinds() {
    let text = "class same {
    same same;
    same same() { return same; }
    void m() {
        same: while (true) { same().same.same(); break same; }
        Other.x();
        Other Other = null;
        Other.y();
    }
}
class Other {
    static void x() {}
    void y() {}
}";
    check(
        text,
        &[
            (2, "same", &[1]),
            (3, "same", &[1]),
            (5, "same", &[3]),
            (6, "Other", &[11]),
            (6, "x", &[12]),
            (8, "Other", &[7]),
            (8, "y", &[13]),
        ],
    );
    let label = "class A {\n void m() {\n a:\n for (;;) {\n int a = 1;\n continue a;\n }\n }\n}";
    check(label, &[(6, "a", &[3])]);
}

#[test]
fn members_are_inherited_unless_they_are_private() {
    let text = "class Outer {
    static int hidden, shown;
    static class Base {
        private int hidden;
        int shown;
        void go() {}
        void go(int times) {}
        class Part {}
    }
    static class Derived extends Base {
        int hidden() { return hidden + shown; }
        @Override void go() { super.go(); go(1); this.hidden(); Outer.this.toString(); }
        Part part;
    }
    interface Greets { default void hi() {} }
    class Both extends Derived implements Greets {
        void m() { Greets.super.hi(); Both.super.go(); shown = 1; }
    }
}";
    check(
        text,
        &[
            (11, "hidden", &[2]),
            (11, "shown", &[5]),
            (12, "go", &[6, 7]),
            (12, "hidden", &[11]),
            (13, "Part", &[8]),
            (17, "Greets", &[15]),
            (17, "hi", &[15]),
            (17, "go", &[7, 12]),
            (17, "shown", &[5]),
        ],
    );
}

#[test]
fn imports_and_packages_are_asked_in_the_order_of_the_language() {
    let texts = [
        ("a/Thing.java", "package a;\npublic class Thing {\n  public static int size;\n  public static class In {}\n}"),
        ("b/Thing.java", "\n\n\n\n\npackage b;\npublic class Thing {\n  public static void make() {}\n}"),
        ("b/Near.java", "\n\n\n\n\n\n\n\n\n\npackage b;\nclass Near {}"),
        ("a/Near.java", "\n\n\n\n\n\n\n\n\n\n\n\n\n\n\npackage a;\npublic class Near {}"),
        ("a/Far.java", "\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\npackage a;\npublic class Far {}"),
        (
            "b/User.java",
            "package b;\nimport a.Thing;\nimport a.*;\nimport static b.Thing.make;\nimport static a.Thing.*;
class User {
    Thing thing = new Thing();
    Near near;
    Far far;
    b.Thing own;
    void m() { make(); int n = size; a.Thing.size++; b.Thing.make(); In in; java.util.List<Far> l; }
}",
        ),
    ];
    check_in(
        &texts,
        "b/User.java",
        &[
            (2, "Thing", &[2]),
            (4, "make", &[8]),
            (5, "Thing", &[2]),
            (7, "Thing", &[2]),
            (8, "Near", &[12]),
            (9, "Far", &[22]),
            (10, "Thing", &[7]),
            (11, "make", &[4, 8]),
            (11, "size", &[3]),
            (11, "In", &[4]),
            (11, "Far", &[22]),
            (11, "List", &[]),
        ],
    );
}

#[test]
fn type_arguments_are_what_the_parameters_of_types_and_methods_stand_for() {
    let text = "class Box<T extends Item> {
    T content;
    T get() { return content; }
    <R> R as(R other) { content.weigh(); return other; }
    static <E> E first(Box<? extends E> box, E... rest) { return rest[0]; }
}
class Item { void weigh() {} }
class Apple extends Item { int seeds; Box<Apple> next; }
class Crate extends Box<Apple> {}
class Use {
    Box<Apple> box; Box<?> any; Crate crate;
    void m() {
        box.get().seeds++;
        box.get().next.get().next.content.seeds++;
        box.as(new Use()).box.content.seeds++;
        any.get().weigh();
        crate.get().seeds++;
        Box.first(crate).seeds++;
        var pair = new Box<Apple>();
        pair.content.seeds++;
    }
}";
    let seeds = [13, 14, 15, 17, 18, 20].map(|line| (line, "seeds", [8]));
    for (line, name, expected) in seeds {
        check(text, &[(line, name, &expected)]);
    }
    check(text, &[(2, "T", &[1]), (4, "R", &[4]), (4, "weigh", &[7]), (15, "box", &[11]), (16, "weigh", &[7])]);
}

#[test]
fn arrays_and_loops_give_their_elements() {
    let text = "class A {
    A[] many[];
    int size;
    A[] all(A... rest) { return rest; }
    void m() {
        many[0][1].size++;
        for (A[] row : many) for (var one : row) one.size++;
        all()[0].size++;
        var made = new A[2][3];
        made[1][2].size++;
        var listed = new A[] { this };
        listed[0].size++;
        many.size++;
    }
}";
    for line in [6, 7, 8, 10, 12] {
        check(text, &[(line, "size", &[3])]);
    }
    check(text, &[(7, "one", &[7]), (7, "row", &[7]), (13, "size", &[])]);
}

#[test]
fn records_enums_and_annotations_have_their_members() {
    let text = "record Point(int x, Point next) {
    Point { if (x < 0) throw new Error(); }
    int far() { return next().x() + next.x; }
}
enum Color implements Paints {
    RED(1) { public void paint() { mix(); } },
    BLUE(2);
    final int code;
    Color(int c) { this.code = c; }
    void mix() { for (Color one : values()) one.code++; valueOf(\"RED\").paint(); }
}
interface Paints { int LIMIT = 3; void paint(); }
@interface Note { int level() default Paints.LIMIT; Color[] colors(); }
@Note(level = Paints.LIMIT, colors = { Color.RED })
class Use {
    int of(Color color) {
        return switch (color) { case RED -> LIMIT; case BLUE -> { yield Color.BLUE.code; } };
    }
    static final int LIMIT = 1, RED = 2;
}";
    check(
        text,
        &[
            (2, "x", &[1]),
            (3, "next", &[1]),
            (3, "x", &[1]),
            (6, "mix", &[10]),
            (9, "code", &[8]),
            (9, "c", &[9]),
            (10, "code", &[8]),
            (10, "values", &[5]),
            (10, "paint", &[12]),
            (13, "LIMIT", &[12]),
            (14, "Note", &[13]),
            (14, "level", &[13]),
            (14, "RED", &[6]),
            (17, "RED", &[6]),
            (17, "LIMIT", &[19]),
            (17, "BLUE", &[7]),
            (17, "code", &[8]),
        ],
    );
}

#[test]
fn variables_of_patterns_are_seen_where_the_pattern_has_matched() {
    let text = "class A {
    A p; int n;
    record Pair(A left, A right) {}
    boolean m(Object o) {
        if (!(o instanceof A p)) return p == null;
        p.n++;
        return o instanceof Pair q && q.left().n > 0;
    }
    void k(Object o) {
        if (o instanceof A p && p.n > 0) { p.n++; } else { p.n--; }
        p = null;
        switch (o) {
            case Pair(var l, A p) when p.n > 0 -> l.n++;
            case A a -> a.n++;
            default -> p.n++;
        }
        while (!(o instanceof A found)) { o = null; }
        found.n++;
    }
}";
    check(
        text,
        &[
            (5, "p", &[2]),
            (6, "p", &[5]),
            (7, "q", &[7]),
            (7, "left", &[3]),
            (10, "p", &[10]),
            (11, "p", &[2]),
            (13, "p", &[13]),
            (13, "l", &[13]),
            (13, "n", &[2]),
            (14, "a", &[14]),
            (14, "n", &[2]),
            (15, "p", &[2]),
            (18, "found", &[17]),
        ],
    );
}

#[test]
fn classes_within_code_and_lambdas_see_what_is_around_them() {
    let text = "class A {
    int n;
    class Inner { int n, m; void k() { A.this.n++; n++; } }
    Runnable r = new Runnable() {
        int own;
        public void run() { own = n; this.own++; }
    };
    void go(A a) {
        class Local extends A { int extra; }
        Local local = new Local();
        local.extra = local.n;
        a.new Inner().m++;
        try (Res res = new Res(); Res two = res) { two.close(); } catch (Error | RuntimeException e) { e.x(); }
        java.util.function.Function<A, A> f = (A x) -> x.r == null ? x : a;
        Res::new; A::go; this::go;
        ((A) f).go(null);
    }
}
class Res { void close() {} }";
    check(
        text,
        &[
            (3, "A", &[1]),
            (3, "n", &[2]),
            (6, "own", &[5]),
            (6, "n", &[2]),
            (10, "Local", &[9]),
            (11, "extra", &[9]),
            (11, "n", &[2]),
            (12, "Inner", &[3]),
            (12, "m", &[3]),
            (13, "Res", &[19]),
            (13, "res", &[13]),
            (13, "close", &[19]),
            (13, "e", &[13]),
            (14, "x", &[14]),
            (14, "r", &[4]),
            (14, "a", &[8]),
            (15, "Res", &[19]),
            (15, "go", &[8]),
            (16, "go", &[8]),
        ],
    );
}

#[test]
fn a_file_with_methods_of_its_own_is_a_class_without_a_name() {
    let text = "void main() { print(text); new Part().use(); }
String text = \"\";
void print(String s) { this.text = s; }
class Part { void use() { print(text); } }";
    check(text, &[(1, "print", &[3]), (1, "text", &[2]), (1, "use", &[4]), (3, "text", &[2]), (4, "print", &[3])]);
}

#[test]
fn broken_and_deep_sources_are_written_down_as_far_as_they_go() {
    let nested = format!("class A {{ int x = {}1{}; }}", "(".repeat(5000), ")".repeat(5000));
    let chained = format!("class A {{ A f() {{ return this{}; }} }}", ".f()".repeat(5000));
    let branches = format!("class A {{ void f() {{ {} }} }}", "if (a) b(); else ".repeat(5000));
    let types = format!("class A {{ {}A{} x; }}", "A<".repeat(5000), ">".repeat(5000));
    let classes = "class A { ".repeat(3000);
    for text in [&nested, &chained, &branches, &types, &classes] {
        definitions(&[("A.java", text)], "A.java", 1, "A");
    }
    let broken = "class A {\n int x;\n void f() { x = ; y(; }\n void g( { case -> }\n @ <T import x;\n}\n";
    check(broken, &[(3, "x", &[2])]);
}
