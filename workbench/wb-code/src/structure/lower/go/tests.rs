//! Names in Go, with their places worked out by hand.

use crate::{
    Language,
    structure::{FileStructure, FileSymbols, file::BindingId, lower::lower, tests::places},
};

/// Asks what the remarks of programs say: `//? x 3; y b.go:4 9; z` for names of their line with the places that define
/// them, `//?` for nothing but these.
fn check(texts: &[(&str, &str)]) {
    let mut asked = 0;
    for (path, text) in texts {
        for (line, number) in text.lines().zip(1..) {
            let Some((code, questions)) = line.split_once("//?") else { continue };
            for question in questions.split(';') {
                let mut words = question.split_whitespace();
                let Some(name) = words.next() else { continue };
                assert!(code.contains(name), "{path}:{number} has no {name}");
                let found = places(texts, path, number, name);
                let place =
                    |(of, line): &(String, u32)| if of == path { line.to_string() } else { format!("{of}:{line}") };
                let found: Vec<String> = found.iter().map(place).collect();
                assert_eq!(found, words.collect::<Vec<_>>(), "{name} in {path}:{number}");
                asked += 1;
            }
        }
    }
    assert!(asked > 0);
}

#[test]
fn files_of_a_package_see_each_others_names() {
    check(&[
        ("go.mod", "module m.org\n"),
        (
            "p/a.go",
            r#"package p

import "fmt"

func A() { B(); fmt.Println(c) } //? B p/b.go:5; c p/b.go:3; fmt 3; Println
"#,
        ),
        (
            "p/b.go",
            r"package p

var c = 1

func B() { A(); fmt() } //? A p/a.go:5; fmt
",
        ),
        ("p/a_test.go", "package p\n\nfunc helper() { B() } //? B p/b.go:5\n"),
        (
            "p/x_test.go",
            r#"package p_test

import "m.org/p"

func helper() { p.B(); helper() } //? p 3; B p/b.go:5; helper 5
func t()      { B(); p.c() }      //? B; c
"#,
        ),
        ("p/gen.go", "package main\n\nfunc B() {}\nfunc main() { B() } //? B 3\n"),
    ]);
}

#[test]
fn imports_are_resolved_by_modules_then_by_folders() {
    check(&[
        ("go.mod", "module m.org/a/v2 // here\n\nreplace other.org/dep => ./third/dep\n"),
        ("tools/go.mod", "module m.org/tool\n"),
        ("third/dep/go.mod", "module other.org/dep\n"),
        (
            "main.go",
            r#"package main

import (
	"m.org/a/v2/util"
	u "m.org/a/v2/in-side"
	. "m.org/tool"
	_ "m.org/a/v2"
	"other.org/dep"
	"log"
	"m.org/a/v2/go-kit"
)

func main() {
	util.F() //? util 4; F util/util.go:3
	u.G()    //? u 5; G in-side/i.go:3
	Tool()   //? Tool tools/t.go:3
	dep.D()  //? D third/dep/d.go:3
	log.F()  //? log 9; F
	kit.K()  //? kit 10; K go-kit/k.go:3
	lower()  //? lower
}
"#,
        ),
        ("util/util.go", "package util\n\nfunc F() {}\n"),
        ("in-side/i.go", "package inside\n\nfunc G() {}\n"),
        ("tools/t.go", "package tool\n\nfunc Tool() {}\nfunc lower() {}\n"),
        ("third/dep/d.go", "package dep\n\nfunc D() {}\n"),
        ("log/l.go", "package log\n\nfunc F() {}\n"),
        ("go-kit/k.go", "package kit\n\nfunc K() {}\n"),
    ]);
    check(&[
        (
            "cmd/main.go",
            "package main\n\nimport \"host.org/me/repo/pkg/util\"\n\nfunc main() { util.F() } //? F pkg/util/util.go:3\n",
        ),
        ("pkg/util/util.go", "package util\n\nfunc F() {}\n"),
        ("util/util.go", "package util\n\nfunc F() {}\n"),
    ]);
}

#[test]
fn methods_belong_to_the_type_of_their_receiver() {
    check(&[
        (
            "t.go",
            r"package p

type T struct{ n int }

type Names []string

func two() (*T, Names) { return nil, nil }
",
        ),
        (
            "m.go",
            r"package p

func (t *T) Inc() *T { t.n++; return t } //? T t.go:3; n t.go:3; t 3
func (t T) Get() int { return t.n }      //? n t.go:3
func (Names) Len() int { return 0 }      //? Names t.go:5
func (_ *T) Free() {}
",
        ),
        (
            "u.go",
            r"package p

func use(t T, p *T) {
	t.Inc().Inc().Get() //? Inc m.go:3; Get m.go:4
	p.Get()             //? Get m.go:4
	x, ns := two()
	x.Inc()     //? Inc m.go:3
	ns.Len()    //? Len m.go:5
	f := T.Get  //? Get m.go:4
	(*T).Inc(p) //? Inc m.go:3
	g := p.Free //? Free m.go:6
	g()         //? g 11
	f(t)
	Inc() //? Inc
}
",
        ),
    ]);
}

#[test]
fn members_of_embedded_types_are_promoted_nearest_first() {
    check(&[
        ("go.mod", "module m\n"),
        (
            "b/b.go",
            r#"package b

type Base struct{ ID int }

func (b *Base) Name() string { return "" }
func (b *Base) Deep()        {}
"#,
        ),
        (
            "a.go",
            r#"package a

import "m/b"

type Mid struct{ *b.Base }

type Side struct{ ID string }

func (s Side) Deep() {}

type Run interface{ Go() }

type Top struct {
	Mid  //? Mid 5
	Side
	Run
}

func f(t *Top) {
	t.ID = ""     //? ID 7
	t.Name()      //? Name b/b.go:5
	t.Deep()      //? Deep 9
	t.Mid.ID = 1  //? Mid 14; ID b/b.go:3
	t.Base.Deep() //? Base 5; Deep b/b.go:6
	t.Go()        //? Go 11
}
"#,
        ),
    ]);
}

#[test]
fn interfaces_have_the_methods_of_those_they_embed() {
    let text = r"package a

type R interface{ Read(n int) E }
type W interface {
	Write()
}
type RW interface {
	R
	W
}
type E struct{ msg string }

type impl struct{}

func (impl) Write() {}

func f(x RW, y interface{ R; Own() }) {
	var w W = impl{}
	w.Write()      //? Write 5
	impl{}.Write() //? Write 15
	x.Read(1).msg  //? Read 3; msg 11
	y.Read(2)      //? Read 3
	y.Own()        //? Own 17
}
";
    check(&[("a.go", text)]);
}

#[test]
fn types_may_be_defined_by_others_and_named_twice() {
    let text = r#"package a

type P struct{ x int }
type Q P
type R = Q
type L []P
type M map[string]*P
type F func(p P) (P, error)
type C = C

func (q *R) Set() {}

func f(q Q, r R, l L, m M, g F, c C) {
	q.x = 1      //? x 3
	r.Set()      //? Set 11
	l[0].x = 1   //? x 3
	m["k"].x = 1 //? x 3
	res, err := g(P{})
	res.x = 2 //? x 3
	c.x = err //? x; err 18
	for _, each := range m {
		each.x = 3 //? x 3
	}
	Q(P{}).Set()    //? Set 11
	(*Q)(nil).Set() //? Set 11
	l[1:2][0].x = 1 //? x 3
}
"#;
    check(&[("a.go", text)]);
}

#[test]
fn type_parameters_are_what_they_are_given() {
    let text = r"package a

type N interface{ Num() int }
type I struct{ v int }

func (i I) Num() int { return i.v }

type List[T any] struct {
	items []T      //? T 8
	next  *List[T] //? List 8; T 8
}

func (l *List[E]) Push(e E) E    { return l.items[0] } //? E 13; items 9
func (l *List[E]) Rest() *List[E] { return l.next }     //? next 10

func Map[T, U any](ts []T, f func(T) U) []U { var u U; return append([]U{}, u) } //? T 16; U 16
func Max[K N](a, b K) K                     { a.Num(); return b }                //? Num 3
func New[T any]() *List[T]                  { return nil }
func With[T any](by func(x, y T) int) *List[T] { return nil }
func Keys[K comparable, V any](m map[K]V, more ...V) (K, V) { panic(m) }
func Sorted[P interface{ Less(P) bool }](mk func() P) { mk().Less(mk()) } //? Less 21

type Ints = List[I]

func f(l List[I], is []I, a Ints, by func(I, I) int) {
	l.items[0].v = 1                              //? v 4
	l.next.next.items[0].v = 1                    //? next 10; v 4
	l.Push(I{}).v = 1                             //? Push 13; v 4
	l.Rest().Rest().Rest().Rest().Push(I{}).v = 1 //? Push 13; v 4
	Map(is, func(i I) *I { return &i })[0].v = 1  //? v 4
	Max(is[0], is[1]).v = 1                       //? v 4
	New[I]().Push(I{}).v = 1                      //? v 4
	New[*I]().items[0].v = 1                      //? v 4
	With[I](by).Rest().items[0].v = 1             //? v 4
	a.items[0].Num()                              //? Num 6
	m := Map[I, List[I]]
	m(nil, nil)[0].Push(I{}).v = 1 //? v 4
	k, v := Keys(map[I]*List[I]{})
	k.v = 1             //? v 4
	v.Push(I{}).v = 2   //? Push 13
	v.items[0].v = 2    //? items 9
	List[I]{}.Num()     //? Num
	var _ = is[0].Num() //? Num 6
}
";
    check(&[("a.go", text)]);
}

#[test]
fn constants_of_a_block_have_the_type_of_those_before() {
    let text = r#"package a

type K int

func (k K) String() string { return "" }

const (
	A K = iota
	B
	C, D = 1, "s"
)

var (
	x, y = A, z //? z 15
	z    = K(2)
)

func f() {
	B.String() //? B 9; String 5
	y.String() //? String 5
	C.String() //? C 10; String
}
"#;
    check(&[("a.go", text)]);
}

#[test]
fn names_are_seen_from_their_declaration_to_the_end_of_the_block() {
    let text = r"package a

var x = 0

func f(p int) (err error) {
	print(x)               //? x 3
	x := x + 1             //? x 3
	y, x := 1, 2           //? x 7
	if x := y; x > 0 {     //? y 8; x 9
		x := x               //? x 9
		print(x)             //? x 10
	} else if z := x; z > x { //? x 9; z 12
		print(z)             //? z 12
	}
	p, err := 1, g()       //? p 5; err 5; g 33
	for i := 0; i < x; i++ { //? i 16; x 7
		p := p               //? p 5
		print(p, err)        //? p 17; err 5
	}
	{
		x = 3                //? x 7
		var x = x            //? x 7
		print(x)             //? x 22
	}
	goto end               //? end 26
end:
	for x, y := range x {  //? x 7
		break end            //? end 26
	}
	return
}

func g(string string, error error) error { return error } //? string; error
func h(string string, error error) error { return error + string + h } //? h 34

func i(hash hash.Hash) { hash.Sum() } //? hash
";
    check(&[("a.go", text)]);
}

#[test]
fn cases_have_names_of_their_own() {
    let text = r"package a

type A struct{ a int }
type B struct{ b int }

func f(v any, c chan A, d chan<- B) {
	switch x := v.(type) { //? v 6
	case *A: //? A 3
		x.a = 1 //? x 7; a 3
	case B, nil:
		print(x) //? x 7
	default:
		y := x
		print(y) //? y 13
	}
	select {
	case m := <-c: //? c 6
		m.a = 2 //? m 17; a 3
	case m, ok := <-c:
		print(m.a, ok) //? m 19; a 3; ok 19
	case d <- B{b: 1}: //? d 6; b 4
	default:
		m := B{}
		m.b = 3 //? m 23; b 4
	}
	switch n := 1; n { //? n 26
	case n: //? n 26
		z := n
		print(z) //? z 28
	case 2:
		z := B{}
		z.b = 4 //? z 31; b 4
	}
	if b, ok := v.(B); ok {
		b.b = 5 //? b 34
		print(c.b, b.a) //? b; a
	}
}
";
    check(&[("a.go", text)]);
}

#[test]
fn loops_give_keys_and_elements() {
    let text = r#"package a

import "iter"

type K struct{ k int }
type V struct{ v int }
type Set map[K]bool

func (s Set) All() func(yield func(K, V) bool)  { return nil }
func (s Set) Seq() iter.Seq2[K, *V]             { return nil }

func f(m map[K][]V, c chan V, s Set, vs ...*V) {
	for key, all := range m {
		key.k = 1 //? key 13; k 5
		for i, one := range all { //? all 13
			one.v = i //? v 6
		}
	}
	for one := range c {
		one.v = 1 //? v 6
	}
	for key := range s {
		key.k = 1 //? k 5
	}
	for _, one := range vs {
		one.v = 1 //? v 6
	}
	for key, one := range s.All() {
		key.k = one.v //? k 5; v 6
	}
	for key, one := range s.Seq() {
		key.k = one.v //? k 5; v 6
	}
	var key K
	for key = range m { //? key 34
	}
	for range 3 {
	}
	(<-c).v = m[key][0].v //? v 6
	m[key][0].v = 1 //? v 6
}
"#;
    check(&[("a.go", text)]);
}

#[test]
fn keys_of_literals_are_fields_or_indices() {
    check(&[
        ("go.mod", "module m\n"),
        ("o/o.go", "package o\n\ntype Opt struct{ Name string }\ntype Table map[string]int\n"),
        (
            "a.go",
            r#"package a

import "m/o"
import "net/http"

type P struct {
	name string
	in   struct{ deep int }
}
type Ps []P
type Index map[string]P

const Addr = ""

func f(name string, key int) {
	_ = P{name: key}                         //? name 7
	_ = []P{{name: ""}, P{name: ""}}         //? name 7
	_ = map[P]*P{{name: ""}: nil}            //? name 7
	_ = map[int]*P{1: {name: ""}}            //? name 7
	_ = [...]string{key: ""}                 //? key 15
	_ = Index{name: {}}                      //? name 15
	_ = Ps{key: {name: ""}}                  //? key 15; name 7
	_ = o.Opt{Name: name}                    //? Name o/o.go:3; name 15
	_ = o.Table{name: 1}                     //? name 15
	_ = struct{ one int }{one: key}          //? one 25
	_ = &P{in: struct{ deep int }{deep: 1}}  //? in 8; deep 26
	_ = http.Server{Addr: Addr}              //? Addr
	_ = [][]P{{{name: ""}}}                  //? name 7
	x := []struct{ a, b P }{{a: P{}}}        //? a 29
	x[0].b.name = ""                         //? b 29; name 7
}
"#,
        ),
    ]);
}

#[test]
fn functions_give_what_they_declare() {
    let text = r#"package a

type T struct{ t int }

func two() (a T, err error) { a.t = 1; return } //? a 5; t 3
func fn() func() *T { return nil }

func f(cb func(T) T, hs map[string]func() T) {
	v, err := two()
	v.t = 1    //? t 3
	print(err) //? err 9
	fn()().t = 2 //? fn 6; t 3
	cb(v).t = 3  //? cb 8; t 3
	mk := func(n int) (x *T) {
		x = &T{n} //? x 14; n 14
		return
	}
	mk(1).t = 4          //? mk 14; t 3
	func() { v.t = 5 }() //? v 9; t 3
	hs["a"]().t = 6      //? t 3
	go func(w T) { w.t = 7 }(v) //? w 21; t 3; v 9
	var a, b = two()
	a.t = b     //? t 3; b 22
	hs[key](1).t = 8 //? hs 8; key 27; t 3
}

var key string

func init() {}
func init() { init(); _ = _ } //? init
"#;
    check(&[("a.go", text)]);
}

#[test]
fn builtins_give_their_type_unless_they_are_hidden() {
    let text = r#"package a

type T struct{ t int }

func f(ts []*T) {
	make([]T, 2)[0].t = 2    //? t 3
	append(ts, nil)[0].t = 3 //? append; t 3
	m := make(map[string]T)
	m[""].t = 4 //? t 3
	var any interface{} = ts
	any.([]T)[0].t = 5    //? any 10; t 3
	min(ts[0], ts[1]).t = 6 //? t 3
	false := true
	print(false, true) //? false 13; true
	len := func() T { return T{} }
	len().t = 7  //? len 15; t 3
	new(nil).u = 8 //? new 22; u 20
	new(T).t = 1   //? t
}
type U struct{ u int }

func new(u *U) *U { return u }
"#;
    check(&[("a.go", text)]);
    check(&[("a.go", "package a\n\ntype T struct{ t int }\n\nfunc f() { new(T).t = 1 } //? new; t 3\n")]);
}

#[test]
fn methods_are_named_by_their_type() {
    let text = r"package a

type T struct{ f int }

func (t *T) M(p int) {
	v := func() { w := 1 }
}
func F[P any]() { type I interface{ N() } }
";
    let structure = lower(Language::Go, text).unwrap();
    let symbols = FileSymbols::of(&structure);
    let path = |name: &str| {
        let at = structure.bindings.iter().position(|binding| binding.name == name).unwrap();
        symbols.path(BindingId(at as u32)).join(".")
    };
    let expected = ["T", "T.f", "T.M", "T.M.p", "T.M.v", "T.M.v.w", "F", "F.P", "F.I", "F.I.N"];
    assert_eq!(["T", "f", "M", "p", "v", "w", "F", "P", "I", "N"].map(path), expected);
    // What was written comes back as it was.
    let bytes = structure.to_bytes().unwrap();
    assert_eq!(FileStructure::from_bytes(&bytes).unwrap().to_bytes().unwrap(), bytes);
}

#[test]
fn sources_that_are_cut_or_nested_deeply_are_read_all_the_same() {
    let text = r#"package a

import . "m"

type (
	A[T ~[]E, E any] struct { B; f func(T) (E, error) `x` }
	B interface{ m(int) | ~string }
)

func (a *A[_, E]) f(b, c E, d ...int) (r chan<- E) {
L:
	for k, v := range map[B]A[int]{{1}: {f: nil}} {
		select { case x, ok := <-r: goto L; default: }
		switch y := v.(type) { case []B: y[k] = F[int](y)[1:2] }
	}
}
"#;
    for end in (0..=text.len()).filter(|end| text.is_char_boundary(*end)) {
        assert!(lower(Language::Go, &text[..end]).is_some(), "{end}");
        assert!(lower(Language::Go, &text[end..]).is_some(), "{end}");
    }
    let many = 20_000;
    let inner = |open: &str, close: &str| format!("{}x{}", open.repeat(many), close.repeat(many));
    for inside in [
        inner("(", ")"),
        inner("f(", ")"),
        inner("-", ""),
        inner("[]T{", "}"),
        inner("a.", ".b"),
        inner("x + ", ""),
        inner("func() { ", " }"),
        inner("[]", "{}"),
        inner("a[", "]"),
        inner("func(", ") {}"),
    ] {
        let structure = lower(Language::Go, &format!("package a\n\nvar x = 1\nvar y = {inside}\n"));
        let names = structure.map_or(0, |structure| structure.references.len() + structure.bindings.len());
        assert!(names > 1, "{}", &inside[..20]);
    }
    let (stars, open, close) = ("*".repeat(many), "if x {".repeat(many), "}".repeat(many));
    assert!(lower(Language::Go, &format!("package a\n\nfunc f(x {stars}T) {{ {open}x{close} }}\n")).is_some());
}
