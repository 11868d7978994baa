"""Runs the protocol's conformance suite and its Python client against `wb mcp`: scripts/check-mcp.sh calls this.

Every scenario of the suite that is for servers is either run or listed with the reason why it is not; one that is new in the
suite is an error, so that it is decided on.
"""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

WB, ENVIRONMENT = os.path.abspath(sys.argv[1]), Path(sys.argv[2])
NODE = ENVIRONMENT / "node_modules/node/bin/node"

FILES = {
    "src/config.rs": "/// Reads a configuration file.\npub fn read_config(path: &str) -> u32 {\n    parse(path)\n}\n\n"
    "/// Parses a text.\npub fn parse(text: &str) -> u32 {\n    text.len() as u32\n}\n",
    "app/server.py": 'class Server:\n    def listen(self, port):\n        """Waits for connections."""\n'
    "        return self.accept(port)\n\n    def accept(self, port):\n        return port\n",
    "tests/test_server.py": "from app.server import Server\n\n\ndef test_listen():\n    assert Server().listen(80)\n",
}

# The suites, by their names in scripts/mcp/package.json, and versions of the protocol, with the scenarios that are run.
RUN = {
    ("conformance", "2025-11-25"): "server-initialize ping tools-list dns-rebinding-protection",
    ("conformance-next", "2025-11-25"): "server-initialize ping tools-list dns-rebinding-protection",
    ("conformance-next", "2026-07-28"): "server-stateless tools-list caching http-header-validation "
    "server-sse-multiple-streams dns-rebinding-protection",
}

# Scenarios that are not run, by the beginnings of their names.
NOT_RUN = {
    "tools-call-": "calls tools of the suite's own test server",
    "json-schema-2020-12": "lists a tool of the suite's own test server",
    "elicitation-": "calls tools of the suite's own test server",
    "input-required-result-": "calls tools of the suite's own test server",
    "http-custom-header-server-validation": "wants a tool whose arguments stand in headers; there is none",
    "server-sse-polling": "wants streams that are gone on with; every answer is one JSON body",
    "server-session-lifecycle": "wants sessions; every request stands for itself",
    "logging-set-level": "nothing is logged to clients",
    "completion-complete": "there are no prompts or resources to complete",
    "resources-": "there are no resources",
    "sep-2164-resource-not-found": "there are no resources",
    "prompts-": "there are no prompts",
    "tasks-": "an extension that is not offered",
    "sep-2640-": "an extension that is not offered",
}

# Checks of scenarios that are run which a server of five reading tools cannot have.
NOT_TESTABLE = {
    "sep-2549-prompts-list-caching-hints": "there are no prompts",
    "sep-2549-resources-list-caching-hints": "there are no resources",
    "sep-2549-resources-templates-list-caching-hints": "there are no resources",
}


def scenarios(suite, *arguments):
    command = [NODE, ENVIRONMENT / "node_modules" / suite / "dist/index.js", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=180)


def decide_on_all():
    for suite in sorted({suite for suite, _ in RUN}):
        listed = scenarios(suite, "list").stdout.split("Client scenarios")[0]
        names = re.findall(r"^\s+- (\S+)", listed, re.MULTILINE)
        run = " ".join(these for (of, _), these in RUN.items() if of == suite).split()
        left = {}
        for name in sorted(set(names) - set(run)):
            reasons = [why for begin, why in NOT_RUN.items() if name.startswith(begin)]
            # What only the next suite's other version has.
            if not reasons and name not in " ".join(RUN.values()).split():
                sys.exit(f"{suite}: {name} is new: put it into RUN or NOT_RUN of {sys.argv[0]}")
            left.setdefault((reasons or ["run by the other suite"])[0], []).append(name)
        print(f"{suite}: {len(names)} scenarios for servers, {len(set(run))} apply")
        for why, these in left.items():
            print(f"    not run, {why}: {', '.join(these)}")


def conform(url):
    failed = 0
    for (suite, version), names in RUN.items():
        for name in names.split():
            with tempfile.TemporaryDirectory() as out:
                asked = ["server", "--url", url, "--scenario", name, "--spec-version", version, "-o", out]
                ended = scenarios(suite, *asked)
                files = list(Path(out).rglob("checks.json"))
                checks = json.loads(files[0].read_text()) if files else []
            passed = [check for check in checks if check["status"] == "SUCCESS"]
            wrong, left = [], []
            for check in checks:
                untestable = (check.get("details") or {}).get("untestable") or check["id"] in NOT_TESTABLE
                if check["status"] in ("FAILURE", "WARNING"):
                    (left if untestable else wrong).append(check)
            # A suite that has checked nothing has shown nothing.
            is_well = bool(passed) and not wrong
            failed += not is_well
            words = "passed" if is_well else "FAILED"
            print(f"{words}  {suite} {version} {name}: {len(passed)} checks, {len(left)} cannot be tested")
            for check in left:
                print(f"        {check['id']}: {NOT_TESTABLE.get(check['id']) or 'wants tools of the suite'}")
            for check in wrong:
                print(f"        {check['id']}: {check.get('errorMessage')}")
            if not checks:
                print(f"        {ended.stdout[-500:]}{ended.stderr[-500:]}")
    return failed


async def ask(target, mode):
    """Asks every tool by the client, which holds answers to their schemas."""
    async with Client(target, mode=mode) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert len(tools) <= 5, list(tools)
        assert all(tool.annotations.read_only_hint and tool.output_schema for tool in tools.values())
        calls = [
            ("search", {"question": "wait for connections"}, "app/server.py"),
            ("symbol", {"symbol": "read_config"}, "src/config.rs"),
            ("symbol", {"symbol": "Server.accept", "relation": "callers"}, "app/server.py"),
            ("symbol", {"symbol": "Server.listen", "relation": "tests"}, "tests/test_server.py"),
            ("outline", {"path": "app/server.py"}, "app/server.py"),
            ("impact", {"symbol": "parse"}, "src/config.rs"),
            ("related", {"symbol": "src/config.rs:2"}, "src/config.rs"),
        ]
        for name, arguments, expected in [call for call in calls if call[0] in tools]:
            told = await client.call_tool(name, arguments)
            assert not told.is_error, (name, told)
            places = [one["at"] for one in told.structured_content["answers"]]
            assert places and places[0].startswith(expected), (name, arguments, told.structured_content)
        wrong = await client.call_tool("search", {"question": 5})
        assert wrong.is_error, wrong
        return client.protocol_version, len(tools)


async def clients(url, command):
    for mode in ("legacy", "auto", "2026-07-28"):
        for way, target in (
            ("http", lambda: url),
            ("stdio", lambda: stdio_client(StdioServerParameters(command=command[0], args=command[1:], env=os.environ.copy()))),
        ):
            version, tools = await ask(target(), mode)
            print(f"passed  client of PyPI, {way}, mode {mode}: version {version}, {tools} tools")


def ends(command):
    """Over standard input and output nothing but the protocol is printed, and the end of the input or Ctrl-C ends it."""
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "check", "version": "1"}}
    request = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello})
    for way in ("the end of the input", "Ctrl-C"):
        server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        server.stdin.write(request + "\n")
        server.stdin.flush()
        told = server.stdout.readline()
        assert json.loads(told)["result"]["protocolVersion"] == "2025-11-25", told
        if way == "Ctrl-C":
            server.send_signal(signal.SIGINT)
        else:
            server.stdin.close()
        assert server.wait(timeout=20) == 0, (way, server.stderr.read())
        assert server.stdout.read() == "", way
        print(f"passed  stdio ends with {way}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        project, index = Path(folder) / "project", Path(folder) / "index"
        for path, text in FILES.items():
            (project / path).parent.mkdir(parents=True, exist_ok=True)
            (project / path).write_text(text)
        command = [WB, "mcp", "--project", str(project), "--index", str(index)]
        server = subprocess.Popen([*command, "--http", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True)
        try:
            line = server.stderr.readline()
            url = re.search(r"http://\S+/mcp", line)
            assert url, f"no address: {line}"
            decide_on_all()
            failed = conform(url[0])
            asyncio.run(clients(url[0], command))
            ends(command)
        finally:
            server.send_signal(signal.SIGINT)
            code = server.wait(timeout=20)
        assert code == 0, f"the server ended with {code}"
        if failed:
            sys.exit(f"{failed} scenarios failed")


main()
