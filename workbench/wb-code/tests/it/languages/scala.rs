//! Scala, with braces and with indentation.

use wb_code::Language;

use super::{check, outline};

const BRACES: &str = r#"/* License. */
package stacks

/** A stack of things. */
@deprecated("x", "1")
final case class Stack[T <: Any](limit: Int)(implicit ord: Ord[T]) extends Base(limit) with Named { self =>
  /** Puts `item` on top, see [[scala.Option]] and [[Stack the type]].
    *
    * '''Grows''' as needed:
    *
    * {{{
    * stack.push(1)
    * }}}
    *
    * @param item what to put
    * @tparam U its type
    */
  @tailrec
  def push[U >: T](item: U, more: U*)(implicit e: E): Stack[U] = {
    def grow(by: Int): Int = by + 1
    self
  }

  /** Both together. */
  def +(other: Stack[T]): Stack[T] = this

  /** Declared only. */
  def peek: T

  // A remark.
  private[this] val size = 3

  type Item = T
}

object Stack {
  /** Turns a number into a stack. */
  implicit def ofInt(size: Int): Stack[Nothing] = new Stack(size)

  implicit class Rich(val text: String) extends AnyVal { def second = text(1) }
}

trait Named { def name: String }

package object all { def none = None }
"#;

const INDENTED: &str = r#"given intOrd: Ord[Int] with
  /** Compares two numbers. */
  def compare(a: Int, b: Int) = a - b

given Ord[String] with
  def compare(a: String, b: String) = 0

given limit: Int = 1

/** The second character. */
extension (text: String) def second: Char = text(1)

extension [T](list: List[T])
  /** The third item. */
  def third: T = list(2)
  def fourth: T = list(3)

enum Color(val rgb: Int):
  case Red extends Color(1)

  /** Mixes it.
   *
   *  Twice.
   */
  def mixed(other: Color): Int =
    val sum = rgb + other.rgb
    sum / 2

  /** Its name. */
  def name = toString
end Color
"#;

#[test]
fn scaladoc() {
    let expected = [
        (
            "push",
            [18, 22],
            "Puts item on top, see scala.Option and the type. Grows as needed:",
            "@tailrec\ndef push[U >: T](item: U, more: U*)(implicit e: E): Stack[U] = {\n  def grow(by: Int): Int = by + 1\n  self\n}",
        ),
        ("+", [25, 25], "Both together.", "def +(other: Stack[T]): Stack[T] = this"),
        (
            "ofInt",
            [38, 38],
            "Turns a number into a stack.",
            "implicit def ofInt(size: Int): Stack[Nothing] = new Stack(size)",
        ),
    ];
    check(Language::Scala, BRACES, &expected);
    let expected = [
        ("compare", [3, 3], "Compares two numbers.", "def compare(a: Int, b: Int) = a - b"),
        ("second", [11, 11], "The second character.", "extension (text: String) def second: Char = text(1)"),
        ("third", [15, 15], "The third item.", "def third: T = list(2)"),
        (
            "mixed",
            [25, 27],
            "Mixes it. Twice.",
            "def mixed(other: Color): Int =\n  val sum = rgb + other.rgb\n  sum / 2",
        ),
        ("name", [30, 30], "Its name.", "def name = toString"),
    ];
    check(Language::Scala, INDENTED, &expected);
}

#[test]
fn functions_and_types() {
    let expected = [
        "c Stack 4-34 @5",
        "f push 7-22 @18",
        "f grow 20-20",
        "f + 24-25 @25",
        "c Stack 36-41",
        "f ofInt 37-38 @38",
        "c Rich 40-40",
        "f second 40-40",
        "c Named 43-43",
        "c all 45-45",
        "f none 45-45",
    ];
    assert_eq!(outline(Language::Scala, BRACES), expected);
    let expected = [
        "c intOrd 1-3",
        "f compare 2-3 @3",
        "c Ord[String] 5-6",
        "f compare 6-6",
        "f second 10-11 @11",
        "f third 14-15 @15",
        "f fourth 16-16",
        "c Color 18-31",
        "f mixed 21-27 @25",
        "f name 29-30 @30",
    ];
    assert_eq!(outline(Language::Scala, INDENTED), expected);
}

#[test]
fn the_comment_below_an_indented_body_is_that_of_the_next() {
    let kinds = [wb_code::ChunkKind::Function];
    let chunks = wb_code::chunks(INDENTED, Language::Scala, &kinds).unwrap();
    let name = chunks.iter().find(|chunk| chunk.name == "name").unwrap();
    assert_eq!((name.comment.as_str(), name.lines), ("Its name.", [30, 30]));
}
