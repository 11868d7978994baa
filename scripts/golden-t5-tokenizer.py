#!/usr/bin/env python3
"""Make a tokenizer.json as T5's is, with SentencePiece's table of characters, and its ids by Python's tokenizers.

    python scripts/golden-t5-tokenizer.py

Needs tokenizers. Run by hand after golden-t5.py, whose pieces it takes; its output is committed.

Into workbench/wb-encoder/tests/golden/:
  t5-tokenizer.json   normalizer Precompiled, then white space and Metaspace as files of 2020 to 2023 have them, `</s>` at the end,
                      `<extra_id_N>` as added tokens
  t5-tokenizer-ids.json   texts, their ids, and the ids of text.lower()

The table is made here: a double array (Yata et al. 2007) in the layout of Darts-clone over UTF-8 bytes, whose values are places
in a text of entries that end in a zero byte. It has a few dozen of NFKC's and SentencePiece's rules for white space.
"""

import base64
import json
import pathlib
import struct
import unicodedata

from tokenizers import Tokenizer

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "workbench/wb-encoder/tests/golden"

# SentencePiece's nmt_nfkc: white space is a space, control and zero-width characters are nothing, then NFKC.
RULES = {character: " " for character in "\t\n\r\u00a0\u2003\u3000\u2028"}
RULES |= {character: "" for character in "\u0007\u200b\u00ad\ufeff"}
COMPATIBLE = "ﬁﬂ½№™℃Ⅳⅷﷺ①Å" + "".join(map(chr, range(0xFF01, 0xFF5F))) + "ｶﾞ".replace("ﾞ", "")
RULES |= {character: unicodedata.normalize("NFKC", character) for character in COMPATIBLE}
RULES |= {c: unicodedata.normalize("NFKC", c) for c in ("e\u0301", "u\u0308", "O\u0308", "n\u0303")}

TEXTS = [
    "",
    " ",
    "Sort a LIST of numbers",
    "def add(a, b):\n    return a + b",
    "tab\tand\r\nnewline \u00a0 \u3000 wide",
    "ﬁrst ﬂow ＦＵＬＬ Ｗｉｄｔｈ №①½ ™ ℃ ⅣⅷÅ",
    "cafe\u0301 u\u0308ber O\u0308l man\u0303ana",
    "zero\u200bwidth soft\u00adhyphen \ufeffmark bell\u0007",
    "parseHTTPResponse2(TEXT) __INIT__",
    "Grüße, JÜRGEN! STRASSE Straße İstanbul",
    "文字列を逆順にする関数 ｶﾞ ﷺ 🦀👩\u200d👩\u200d👧",
    "a </s> in the text, <pad> and <extra_id_0> too",
    "ΑΒΓ ΣΑΣ",
    "   leading and trailing   ",
    "word " * 40,
]


def double_array(entries):
    """Units of a double array for {bytes: value}."""
    trie = {}
    for key, value in sorted(entries.items()):
        node = trie
        for byte in key:
            node = node.setdefault(byte, {})
        node[None] = value
    units, used = [0] * 256, {0}

    def place(node, at, label):
        labels = sorted(0 if byte is None else byte for byte in node)
        offset = 1
        while True:
            target = at ^ offset
            slots = [target ^ byte for byte in labels]
            if not used.intersection(slots) and (offset < 1 << 21):
                break
            offset += 1
        used.update(slots)
        while len(units) <= max(slots) | 255:
            units.append(0)
        units[at] = label | (offset << 10) | (1 << 8 if None in node else 0)
        for byte, child in node.items():
            if byte is None:
                units[target] = child | 1 << 31
            else:
                place(child, target ^ byte, byte)

    place(trie, 0, 0)
    return units


def charsmap():
    entries, text = {}, b""
    for source, target in RULES.items():
        entries[source.encode()] = len(text)
        text += target.encode() + b"\0"
    units = double_array(entries)
    return struct.pack("<I", 4 * len(units)) + struct.pack(f"<{len(units)}I", *units) + text


def main():
    layout = json.loads((GOLDEN / "tiny-t5/tokenizer.json").read_text())
    layout["normalizer"] = {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(charsmap()).decode()}
    metaspace = {"type": "Metaspace", "replacement": "▁", "add_prefix_space": True}
    layout["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, metaspace]}
    layout["decoder"] = metaspace
    first = len(layout["model"]["vocab"])
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    extra = [{"id": first + at, "content": f"<extra_id_{3 - at}>", **flags} for at in range(4)]
    layout["added_tokens"] += extra
    layout["truncation"] = {"max_length": 8, "strategy": "LongestFirst", "stride": 0, "direction": "Right"}
    # Files of that time: fill and length of their own, which decide nothing.
    layout["padding"] = {"strategy": {"Fixed": 8}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0, "pad_type_id": 0, "pad_token": "<pad>"}
    text = json.dumps(layout, ensure_ascii=False, indent=1) + "\n"
    (GOLDEN / "t5-tokenizer.json").write_text(text)

    tokenizer = Tokenizer.from_str(text)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    for source, target in RULES.items():
        found = tokenizer.normalizer.normalize_str(source)
        assert found == target, (source, found, target)
    ids = lambda text: tokenizer.encode(text).ids
    everything = {"texts": TEXTS, "ids": [ids(text) for text in TEXTS], "lower": [ids(text.lower()) for text in TEXTS]}
    (GOLDEN / "t5-tokenizer-ids.json").write_text(json.dumps(everything, ensure_ascii=False) + "\n")
    print(len(RULES), "rules,", len(charsmap()), "bytes; ids of", TEXTS[5], ids(TEXTS[5]))


if __name__ == "__main__":
    main()
