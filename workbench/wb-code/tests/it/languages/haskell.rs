//! Haskell.

use wb_code::Language;

use super::{check, outline};

const SOURCE: &str = r#"{-# LANGUAGE GADTs #-}
-- | Stacks of things.
module Data.Stack (Stack, push) where

import Data.List (sort)

-- | A stack.
data Stack a
  = Empty -- ^ nothing
  | Stack { top :: a, rest :: Stack a }
  deriving (Show)

newtype Limit = Limit { unLimit :: Int }

type Pair a = (a, a)

-- | Puts an item on top of the 'Stack', see "Data.List" and @rest@.
--
-- >>> push 1 Empty
-- Stack 1 Empty
--
-- It is /not/ strict.
--
-- @since 1.0
push :: a       -- ^ what to put
     -> Stack a
     -> Stack a
push item Empty = Stack item Empty
-- The common case.
push item stack
  | full stack = grow stack
  | otherwise = Stack item stack
  where
    full _ = False
    limit = 3
    grow s = s
{-# INLINE push #-}

{-| Both
    together.
-}
(+++) :: Stack a -> Stack a -> Stack a
Empty +++ b = b
Stack a r +++ b = Stack a (r +++ b)

x `over` y = x

-- | Two at once.
one, two :: Int
one = 1
two = 2

-- A remark.
undocumented :: Int
undocumented = 3

-- | Things with a size.
class Eq a => Sized a where
  -- | How many there are.
  size :: a -> Int
  -- | Whether there is none.
  isEmpty :: a -> Bool
  isEmpty = (== 0) . size

instance Show a => Sized (Stack a) where
  size Empty = 0
  size (Stack _ r) = 1 + size r

type family Item s where
  Item (Stack a) = a

main :: IO ()
main = do
  let k :: Int
      k = 1
  print k
"#;

#[test]
fn haddock_above_signatures() {
    let expected = [
        (
            "push",
            [25, 36],
            "Puts an item on top of the Stack, see Data.List and rest. It is not strict.",
            "push :: a       -- ^ what to put\n     -> Stack a\n     -> Stack a\npush item Empty = Stack item Empty\n-- The common case.\npush item stack\n  | full stack = grow stack\n  | otherwise = Stack item stack\n  where\n    full _ = False\n    limit = 3\n    grow s = s",
        ),
        (
            "+++",
            [42, 44],
            "Both together.",
            "(+++) :: Stack a -> Stack a -> Stack a\nEmpty +++ b = b\nStack a r +++ b = Stack a (r +++ b)",
        ),
        ("one", [49, 50], "Two at once.", "one, two :: Int\none = 1"),
        ("isEmpty", [62, 63], "Whether there is none.", "isEmpty :: a -> Bool\nisEmpty = (== 0) . size"),
    ];
    check(Language::Haskell, SOURCE, &expected);
}

#[test]
fn functions_are_one_with_their_signatures() {
    let expected = [
        "c Stack 7-11 @8",
        "c Limit 13-13",
        "c Pair 15-15",
        "f push 17-36 @25",
        "f full 34-34",
        "f grow 36-36",
        "f +++ 39-44 @42",
        "f over 46-46",
        "f one 48-50 @49",
        "f two 51-51",
        "f undocumented 53-55 @54",
        "c Sized 57-63 @58",
        "f isEmpty 61-63 @62",
        "c Sized (Stack a) 65-67",
        "f size 66-67",
        "c Item 69-70",
        "f main 72-76",
    ];
    assert_eq!(outline(Language::Haskell, SOURCE), expected);
}
