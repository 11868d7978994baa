const vm = require("vm");
let text = "";
process.stdin.on("data", (part) => { text += part; });
process.stdin.on("end", () => {
  const request = JSON.parse(text);
  const reply = { equal: 0, differ: 0, values: 0, stuck: 0, load: "" };
  const shape = (value, depth) => {
    if (depth > 6) return typeof value;
    if (value === undefined) return "undefined";
    if (typeof value === "number") return Object.is(value, -0) ? "-0" : String(value);
    if (typeof value === "bigint") return String(value) + "n";
    if (typeof value === "function") return "function";
    if (value === null || typeof value !== "object") return JSON.stringify(value) + typeof value;
    const name = Object.prototype.toString.call(value);
    if (Array.isArray(value)) return [name, ...value.slice(0, 2000).map((part) => shape(part, depth + 1))];
    if (name === "[object Map]" || name === "[object Set]") return [name, ...[...value].slice(0, 2000).map((part) => shape(part, depth + 1))];
    return [name, ...Object.keys(value).slice(0, 2000).map((key) => [key, shape(value[key], depth + 1)])];
  };
  const load = (code, name) => {
    const space = vm.createContext(Object.create(null), { codeGeneration: { strings: false, wasm: false } });
    vm.runInContext(code + "\nglobalThis.__wanted = " + name + ";", space, { timeout: 2000 });
    return space;
  };
  const call = (space, list) => {
    space.__given = JSON.stringify(list);
    try {
      vm.runInContext("var __arguments = JSON.parse(__given); var __result = __wanted(...__arguments);", space, { timeout: 500 });
      return ["value", shape(space.__result, 0), shape(space.__arguments, 0)];
    } catch (error) {
      const name = error && error.name;
      if (error && error.code === "ERR_SCRIPT_EXECUTION_TIMEOUT") return null;
      if (name === "RangeError") return null;
      return ["error", String(name), shape(space.__arguments, 0)];
    }
  };
  let sides;
  try {
    sides = [load(request.left, request.names[0]), load(request.right, request.names[1])];
  } catch (error) {
    reply.load = String(error && error.name);
    console.log(JSON.stringify(reply));
    return;
  }
  for (const list of request.arguments) {
    const one = call(sides[0], list);
    const other = call(sides[1], list);
    if (one === null || other === null) {
      reply.stuck += 1;
      if (reply.stuck === 2) break;
      continue;
    }
    if (one[1] === "ReferenceError" && other[1] === "ReferenceError") continue;
    if (JSON.stringify(one) === JSON.stringify(other)) reply.equal += 1;
    else reply.differ += 1;
    if (one[0] === "value" || other[0] === "value") reply.values += 1;
  }
  console.log(JSON.stringify(reply));
});
