"""Makes workbench/wb-llm/tests/golden/schema.json: made-up schemas of the portable keywords, made-up values, and what
the library jsonschema (Draft 2020-12) says of each. Run by hand: python scripts/golden-schema.py, with jsonschema 4."""

import json
import random
from pathlib import Path

from jsonschema import Draft202012Validator

rng = random.Random(7)
SCALARS = [None, True, False, 0, 1, 2, 3, -1, 1.0, 2.5, 3.0, 1e20, 9007199254740993, "", "a", "ab", "äöü", "🦀🦀", "1", "null"]


def schema(depth):
    kind = rng.choice(["object", "array", "string", "integer", "number", "boolean", "null", "enum", "const"][: 9 if depth else 7])
    if depth >= 3:
        kind = rng.choice(["string", "integer", "number", "boolean", "null", "enum", "const"])
    if kind == "enum":
        return {"enum": rng.sample(SCALARS, 3) + ([[1, {"a": 1, "b": 2}]] if rng.random() < 0.3 else [])}
    if kind == "const":
        return {"const": rng.choice(SCALARS + [[1.0], {"a": 1, "b": 2.0}])}
    out = {"type": kind}
    if kind == "object":
        names = rng.sample("abcd", rng.randint(1, 3))
        out["properties"] = {name: schema(depth + 1) for name in names}
        if rng.random() < 0.7:
            out["required"] = rng.sample(names, rng.randint(0, len(names)))
        if rng.random() < 0.6:
            out["additionalProperties"] = False
    if kind == "array":
        if rng.random() < 0.8:
            out["items"] = schema(depth + 1)
        if rng.random() < 0.5:
            out["minItems"] = rng.randint(0, 2)
        if rng.random() < 0.5:
            out["maxItems"] = rng.randint(1, 3)
    if kind == "string":
        if rng.random() < 0.5:
            out["minLength"] = rng.randint(0, 2)
        if rng.random() < 0.5:
            out["maxLength"] = rng.randint(1, 3)
        if rng.random() < 0.2:
            out["enum"] = ["a", "ab", ""]
    if kind == "integer":
        if rng.random() < 0.6:
            out["minimum"] = rng.randint(-1, 2)
        if rng.random() < 0.6:
            out["maximum"] = rng.randint(1, 3)
    return out


def anything(depth=0):
    r = rng.random()
    if depth < 2 and r < 0.15:
        return [anything(depth + 1) for _ in range(rng.randint(0, 3))]
    if depth < 2 and r < 0.3:
        return {name: anything(depth + 1) for name in rng.sample("abcd", rng.randint(0, 3))}
    return rng.choice(SCALARS)


def fitting(s):
    """A value that mostly fits, so that both verdicts are common."""
    if rng.random() < 0.08:
        return anything()
    if "const" in s:
        return s["const"]
    if "enum" in s:
        return rng.choice(s["enum"])
    kind = s["type"]
    if kind == "object":
        out = {name: fitting(inside) for name, inside in s["properties"].items() if name in s.get("required", []) or rng.random() < 0.6}
        if rng.random() < 0.15:
            out["z"] = 1
        return out
    if kind == "array":
        n = rng.randint(s.get("minItems", 0), max(s.get("maxItems", 3), s.get("minItems", 0)))
        return [fitting(s["items"]) if "items" in s else anything(1) for _ in range(n)]
    if kind == "string":
        return rng.choice(["", "a", "ab", "äöü", "🦀🦀", "abcd"])
    if kind == "integer":
        return rng.choice([-1, 0, 1, 2, 3, 1.0, 4, 1e20])
    return {"number": rng.choice([1, 2.5, -3]), "boolean": rng.random() < 0.5, "null": None}[kind]


cases = []
while len(cases) < 1500:
    s = schema(0)
    Draft202012Validator.check_schema(s)
    v = fitting(s)
    cases.append({"schema": s, "value": v, "valid": Draft202012Validator(s).is_valid(v)})
out = Path(__file__).parent.parent / "workbench/wb-llm/tests/golden/schema.json"
out.parent.mkdir(parents=True, exist_ok=True)
out.write_text("[\n" + ",\n".join(json.dumps(c, ensure_ascii=False) for c in cases) + "\n]\n")
print(len(cases), sum(c["valid"] for c in cases))
