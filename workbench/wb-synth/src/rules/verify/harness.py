import copy, io, json, math, signal, sys, types

class TooLong(BaseException):
    pass

def alarm(*_):
    raise TooLong()

def shape(value, depth=0):
    kind = type(value).__name__
    if depth > 6:
        return kind
    if isinstance(value, float):
        return "float:nan" if math.isnan(value) else "float:" + value.hex()
    if value is None or isinstance(value, (bool, int, str, bytes, complex, range)):
        return kind + ":" + repr(value)[:20000]
    if isinstance(value, (list, tuple)):
        return [kind] + [shape(part, depth + 1) for part in value[:2000]]
    if isinstance(value, (set, frozenset)):
        return [kind] + sorted(json.dumps(shape(part, depth + 1)) for part in value)
    if isinstance(value, dict):
        return [kind] + [[shape(key, depth + 1), shape(part, depth + 1)] for key, part in list(value.items())[:2000]]
    if isinstance(value, (types.GeneratorType, map, filter, zip, enumerate, reversed)):
        parts = []
        for part in value:
            parts.append(shape(part, depth + 1))
            if len(parts) == 200:
                break
        return ["iterator"] + parts
    return kind

def load(code):
    space = {"__name__": "snippet"}
    exec(compile(code, "snippet", "exec"), space)
    return space

def timed(space, name, arguments, out):
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    try:
        result = ["value", shape(space[name](*arguments))]
    except (MemoryError, RecursionError):
        return None
    except Exception as error:
        result = ["error", type(error).__name__]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return result + [[shape(argument) for argument in arguments], out.getvalue()[:20000]]

def call(space, name, arguments):
    out = io.StringIO()
    real, sys.stdout = sys.stdout, out
    # The alarm may ring while another error is handled, so it is caught out here; it rings once.
    try:
        return timed(space, name, copy.deepcopy(arguments), out)
    except (TooLong, MemoryError, RecursionError):
        return None
    finally:
        sys.stdout = real

def main():
    request = json.load(sys.stdin)
    signal.signal(signal.SIGALRM, alarm)
    reply = {"equal": 0, "differ": 0, "values": 0, "stuck": 0, "load": ""}
    try:
        left, right = load(request["left"]), load(request["right"])
    except BaseException as error:
        reply["load"] = type(error).__name__
        print(json.dumps(reply))
        return
    this, that = request["names"]
    for arguments in request["arguments"]:
        one, other = call(left, this, arguments), call(right, that, arguments)
        if one is None or other is None:
            reply["stuck"] += 1
            if reply["stuck"] == 2:
                break
            continue
        if "NameError" in one[1:2] and "NameError" in other[1:2]:
            continue
        reply["equal" if one == other else "differ"] += 1
        reply["values"] += one[0] == "value" or other[0] == "value"
    print(json.dumps(reply))

main()
