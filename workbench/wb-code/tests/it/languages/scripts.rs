//! Python and Ruby.

use wb_code::Language;

use super::check;

#[test]
fn python() {
    let source = r#""""A module."""
import functools


class Stack:
    """A stack."""

    def push(self, item):
        """Put an item on top.

        Uses :class:`list` below, see ``append``.

        Args:
            item: what to put.

        Returns:
            Nothing.
        """

        self.items.append(item)
        return None

    @property
    @functools.lru_cache
    def top(self) -> int:
        r'''The item on top.

        >>> Stack().top
        '''
        return self.items[-1]

    def abstract(self):
        """Only words."""


def outer(n):
    'Make a counter.'
    def inner(x):
        """Count one more.

        Parameters
        ----------
        x : int
        """
        # Add.
        return x + n
    return inner


async def one_line(): "All on one line."; return 1


def plain():
    return """Not a docstring."""


def formatted():
    f"""Not one {either}."""
    return 1
"#;
    let expected = [
        (
            "push",
            [8, 21],
            "Put an item on top. Uses list below, see append.",
            "def push(self, item):\n    self.items.append(item)\n    return None",
        ),
        (
            "top",
            [23, 30],
            "The item on top.",
            "@property\n@functools.lru_cache\ndef top(self) -> int:\n    return self.items[-1]",
        ),
        (
            "outer",
            [36, 47],
            "Make a counter.",
            "def outer(n):\n    def inner(x):\n        \"\"\"Count one more.\n\n        Parameters\n        ----------\n        x : int\n        \"\"\"\n        # Add.\n        return x + n\n    return inner",
        ),
        ("inner", [38, 46], "Count one more.", "def inner(x):\n    # Add.\n    return x + n"),
        ("one_line", [50, 50], "All on one line.", "async def one_line(): return 1"),
    ];
    check(Language::Python, source, &expected);
}

#[test]
fn ruby() {
    let source = r#"# frozen_string_literal: true

# A stack.
class Stack
  # Puts +item+ on top of the {Stack}.
  #
  #   stack.push(1)
  #
  # @param item [Object] what to put
  # @return [self]
  def push(item)
    @items << item
    self
  end

  # Public: The item on top.
  # rubocop:disable Style/Thing
  private def top
    @items.last
  end

  # Stands apart.

  def apart; end

  class << self
    # Makes a stack of the given items,
    # in their order.
    def of(*items)
      items.each_with_object(new) { |item, stack| stack.push(item) }
    end
  end
end

=begin
Turns a list around.
=end
def self.turn(list)
  list.reverse
end
"#;
    let expected = [
        ("push", [11, 14], "Puts item on top of the Stack.", "def push(item)\n  @items << item\n  self\nend"),
        ("top", [18, 20], "The item on top.", "private def top\n  @items.last\nend"),
        (
            "of",
            [29, 31],
            "Makes a stack of the given items, in their order.",
            "def of(*items)\n  items.each_with_object(new) { |item, stack| stack.push(item) }\nend",
        ),
        ("turn", [38, 40], "Turns a list around.", "def self.turn(list)\n  list.reverse\nend"),
    ];
    check(Language::Ruby, source, &expected);
}
