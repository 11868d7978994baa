//! Elixir.

use wb_code::Language;

use super::{check, outline};

const SOURCE: &str = r##"# License.
defmodule Data.Stack do
  @moduledoc """
  Stacks of things.
  """
  use GenServer, restart: :temporary

  @limit 3

  @doc """
  Puts `item` on top of the stack, see `List`.

  Grows as needed.

  ## Examples

      iex> push([], 1)
      [1]

  """
  @doc since: "1.0"
  @spec push(list, term) :: list
  def push(stack, item \\ nil)
  # The common case.
  def push([], item), do: [item]

  def push(stack, item) when is_list(stack) do
    grow(stack)
    [item | stack]
  end

  @doc "All but the top, an \"empty\" list where there is none."
  @impl true
  defdelegate pop(stack), to: List

  @doc ~S'Raw \n text.'
  defp grow(stack), do: stack

  @doc false
  def hidden(x), do: x

  def grow(stack, by), do: stack ++ by

  @doc ~S"""
  Runs a block.
  """
  defmacro run(do: block) do
    quote do
      def inner(x), do: unquote(block)
    end
  end

  defguard is_stack(x) when is_list(x)

  def a <~> b, do: {a, b}

  @doc "Declared only."
  @callback size(list) :: integer

  defimpl String.Chars, for: Stack do
    def to_string(_), do: "stack"
  end
end

defprotocol Sized do
  @doc "How many there are."
  def size(x)
end

defmodule StackTest do
  test "puts an item on top", %{stack: stack} do
    assert push(stack, 1) == [1]
  end
end
"##;

#[test]
fn attributes_are_documentation() {
    let expected = [
        (
            "push",
            [21, 30],
            "Puts item on top of the stack, see List. Grows as needed.",
            "@doc since: \"1.0\"\n@spec push(list, term) :: list\ndef push(stack, item \\\\ nil)\n# The common case.\ndef push([], item), do: [item]\n\ndef push(stack, item) when is_list(stack) do\n  grow(stack)\n  [item | stack]\nend",
        ),
        ("grow", [37, 37], "Raw \\n text.", "defp grow(stack), do: stack"),
        (
            "run",
            [47, 51],
            "Runs a block.",
            "defmacro run(do: block) do\n  quote do\n    def inner(x), do: unquote(block)\n  end\nend",
        ),
    ];
    check(Language::Elixir, SOURCE, &expected);
}

#[test]
fn functions_are_one_with_their_clauses() {
    let expected = [
        "c Data.Stack 1-63 @2",
        "f push 10-30 @23",
        "f grow 36-37 @37",
        "f hidden 39-40 @40",
        "f grow 42-42",
        "f run 44-51 @47",
        "f inner 49-49",
        "f is_stack 53-53",
        "f <~> 55-55",
        "c String.Chars, for: Stack 60-62",
        "f to_string 61-61",
        "c Sized 65-68",
        "c StackTest 70-74",
        "f puts an item on top 71-73",
    ];
    assert_eq!(outline(Language::Elixir, SOURCE), expected);
}

#[test]
fn documentation_goes_with_the_comments() {
    let source = "defmodule A do\n  @moduledoc \"A.\"\n  # b\n  @doc \"\"\"\n  F.\n  \"\"\"\n  @limit 3\n  def f(x), do: x # c\nend\n";
    let stripped = wb_code::strip_comments(source, Language::Elixir).unwrap();
    assert_eq!(stripped, "defmodule A do\n  @limit 3\n  def f(x), do: x\nend\n");
}
