//! The texts on which an exported folder is compared with its encoder: prose and code, short and long, odd ones among them.

/// 32 texts.
pub(super) const TEXTS: [&str; 32] = [
    "sort a list of numbers",
    "How do I read a file line by line?",
    "Returns the index of the first element that matches, or -1 if there is none.",
    "convert a string to snake case",
    "open a TCP connection with a timeout",
    "parse JSON into a struct",
    "what is the difference between a process and a thread",
    "remove duplicates from an array while keeping the order",
    "The quick brown fox jumps over the lazy dog.",
    "HTTP 404 not found",
    "a",
    " ",
    "!!! ??? ...",
    "3.14159 2.71828 1e-9 0x7fff",
    "Größe und Straße: Übergänge äußerst schön",
    "文字列を逆順にする関数",
    "naïve café résumé — “quoted” …",
    "🦀 crab, 🚀 rocket",
    "tab\tand\r\nnew line",
    "   leading and trailing spaces   ",
    "SHOUTING_CONSTANT camelCase PascalCase snake_case kebab-case",
    "def add(a, b):\n    return a + b",
    "fn first<T>(items: &[T]) -> Option<&T> {\n    items.first()\n}",
    "public static int max(int a, int b) { return a > b ? a : b; }",
    "for (let i = 0; i < xs.length; i++) { total += xs[i]; }",
    "func (s *Server) Close() error { return s.listener.Close() }",
    "SELECT name, COUNT(*) FROM singer WHERE age > 30 GROUP BY name;",
    "class Stack:\n    def __init__(self):\n        self.items = []\n\n    def push(self, item):\n        self.items.append(item)",
    "#include <stdio.h>\nint main(void) { printf(\"hello\\n\"); return 0; }",
    "$names = array_map(fn($user) => $user->name, $users);",
    "[CLS] [SEP] <s> </s> tokens that look special",
    LONG,
];

/// Longer than most encoders read, so that it is cut.
const LONG: &str = "def merge(left, right):\n    \"\"\"Merges two sorted lists into one sorted list.\"\"\"\n    result = []\n    i = j = 0\n    \
    while i < len(left) and j < len(right):\n        if left[i] <= right[j]:\n            result.append(left[i])\n            i += 1\n        \
    else:\n            result.append(right[j])\n            j += 1\n    result.extend(left[i:])\n    result.extend(right[j:])\n    return result\n\n\n\
    def merge_sort(items):\n    \"\"\"Sorts a list by splitting it in two halves, sorting each, and merging them.\"\"\"\n    \
    if len(items) <= 1:\n        return items\n    middle = len(items) // 2\n    left = merge_sort(items[:middle])\n    \
    right = merge_sort(items[middle:])\n    return merge(left, right)\n\n\nclass LinkedList:\n    \"\"\"A list of nodes, each of which knows the next one.\"\"\"\n\n    \
    def __init__(self, values=()):\n        self.head = None\n        self.length = 0\n        for value in reversed(values):\n            \
    self.head = Node(value, self.head)\n            self.length += 1\n\n    def __len__(self):\n        return self.length\n\n    \
    def __iter__(self):\n        node = self.head\n        while node is not None:\n            yield node.value\n            node = node.next\n\n    \
    def reverse(self):\n        previous = None\n        node = self.head\n        while node is not None:\n            following = node.next\n            \
    node.next = previous\n            previous = node\n            node = following\n        self.head = previous\n\n\n\
    def read_lines(path, encoding='utf-8'):\n    \"\"\"Reads a text file and gives its lines without their ends.\"\"\"\n    \
    with open(path, encoding=encoding) as file:\n        return [line.rstrip('\\n') for line in file]\n\n\n\
    def count_words(text):\n    \"\"\"Counts how often each word stands in a text, without regard to upper and lower case.\"\"\"\n    \
    counts = {}\n    for word in text.lower().split():\n        counts[word] = counts.get(word, 0) + 1\n    return counts\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_32_and_no_two_are_the_same() {
        let mut all = TEXTS.to_vec();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 32);
    }
}
