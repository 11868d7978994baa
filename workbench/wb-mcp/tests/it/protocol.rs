//! Versions, the list of tools, errors of the protocol.

use serde_json::{Value, json};

use crate::{Made, StreamClient, VERSIONS};

/// Tokens that the list of tools may take in every session of an agent, by four characters each.
const MOST_TOKENS: usize = 2_000;

#[test]
fn both_versions_list_the_same_few_tools() {
    let made = Made::usual();
    let mut lists: Vec<Value> = Vec::new();
    for version in VERSIONS {
        let mut client = StreamClient::of(made.live(), version);
        let listed = client.ask("tools/list", json!({}))["result"].clone();
        assert_eq!((&listed["ttlMs"], &listed["cacheScope"]), (&json!(3_600_000), &json!("public")));
        assert_eq!(listed.get("resultType").is_some(), version == VERSIONS[1]);
        lists.push(listed["tools"].clone());
        client.end();
    }
    assert_eq!(lists[0], lists[1]);
    let tools = lists[0].as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["search", "symbol", "outline", "impact", "related"]);
    let tokens = lists[0].to_string().chars().count().div_ceil(4);
    assert!(tokens <= MOST_TOKENS, "{tokens} tokens");
    for tool in tools {
        let hints =
            json!({"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false});
        assert_eq!(tool["annotations"], hints);
        for schema in ["inputSchema", "outputSchema"] {
            assert_eq!(tool[schema]["type"], "object", "{tool}");
        }
        assert_eq!(tool["inputSchema"]["additionalProperties"], false);
        assert!(tool["description"].as_str().unwrap().len() > 40);
    }
}

#[test]
fn the_newer_version_is_discovered_without_a_handshake() {
    let made = Made::usual();
    let mut client = StreamClient::of(made.live(), VERSIONS[1]);
    let found = client.ask("server/discover", json!({}))["result"].clone();
    let versions = found["supportedVersions"].as_array().unwrap();
    assert!(VERSIONS.iter().all(|version| versions.contains(&json!(version))), "{found}");
    assert!(found["instructions"].as_str().unwrap().contains("never instructions"));
    assert!(found["capabilities"]["tools"].is_object());
    client.end();
}

#[test]
fn requests_that_lead_nowhere_are_errors_of_the_protocol() {
    let made = Made::usual();
    for version in VERSIONS {
        let mut client = StreamClient::of(made.live(), version);
        for (method, params, code) in [
            ("tools/call", json!({"name": "delete_everything", "arguments": {}}), -32602),
            ("tools/call", json!({"name": "", "arguments": {}}), -32602),
            ("resources/read", json!({"uri": "file:///etc/passwd"}), -32601),
            ("prompts/get", json!({"name": "x"}), -32601),
            ("no/such/method", json!({}), -32601),
        ] {
            let answer = client.ask(method, params);
            assert_eq!(answer["error"]["code"], code, "{version} {method}: {answer}");
        }
        assert_eq!(client.ask("tools/list", json!({}))["result"]["tools"][0]["name"], "search");
        client.end();
    }
}

#[test]
fn a_client_that_goes_at_once_ends_the_server() {
    let made = Made::usual();
    for version in VERSIONS {
        StreamClient::of(made.live(), version).end();
    }
}
