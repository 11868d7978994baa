//! What the first questions find out of servers that are not what they seem.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use serde_json::Value;
use wb_llm::{
    Canaries, LlmConfig,
    canaries::{Enforced, Repeats, Seeds},
};

use crate::{
    server::{Act, Asked, FaultServer},
    support::{config, fresh},
};

/// What is found, and what was asked for it.
fn sung(plan: impl Fn(&Asked) -> Act + Send + Sync + 'static) -> (Canaries, Vec<Value>) {
    let bodies = Arc::new(Mutex::new(Vec::new()));
    let seen = bodies.clone();
    let server = FaultServer::start(move |asked| {
        seen.lock().unwrap().push(asked.body.clone());
        plan(asked)
    });
    let config = LlmConfig { canaries: true, ..config(&server.url()) };
    let (_folder, client) = fresh(&config);
    let found = client.canaries().unwrap().clone();
    let bodies = bodies.lock().unwrap().clone();
    (found, bodies)
}

fn constant(body: &Value) -> Option<&str> {
    body["response_format"]["json_schema"]["schema"]["const"].as_str()
}

#[test]
fn a_server_that_repeats_what_it_is_told_does_not_pass_for_one_that_keeps_to_schemas() {
    let (found, bodies) = sung(|asked| Act::Say(asked.prompt()));
    assert_eq!(found.schema, Enforced::Ignored);
    let nonces: Vec<&str> = bodies.iter().filter_map(constant).collect();
    let [nonce] = nonces[..] else { panic!("{nonces:?}") };
    assert!(nonce.len() > 8);
    for body in &bodies {
        assert!(!body["messages"].to_string().contains(nonce), "{body}");
    }
    // Not even one that repeats the whole request, or the schema.
    assert_eq!(sung(|asked| Act::Say(asked.body.to_string())).0.schema, Enforced::Ignored);
    let schema = |asked: &Asked| asked.body["response_format"]["json_schema"]["schema"].to_string();
    assert_eq!(sung(move |asked| Act::Say(schema(asked))).0.schema, Enforced::Ignored);
    let obeys = |asked: &Asked| constant(&asked.body).map_or("well".into(), |nonce| format!(" {nonce:?}\n"));
    assert_eq!(sung(move |asked| Act::Say(obeys(asked))).0.schema, Enforced::Enforced);
    let refuses = |asked: &Asked| match constant(&asked.body) {
        Some(_) => Act::Status(400, "", "{\"error\":{\"message\":\"no grammar here\"}}".into()),
        None => Act::Say("well".into()),
    };
    let Enforced::Refused(what) = sung(refuses).0.schema else { panic!() };
    assert!(what.contains("no grammar here"), "{what}");
}

#[test]
fn whether_seeds_are_followed_is_found_out_at_a_temperature_above_zero() {
    let by_seed = |asked: &Asked| Act::Say(format!("{} {}", asked.prompt(), asked.body["seed"]));
    let (found, bodies) = sung(by_seed);
    assert_eq!((found.repeats, found.seeds), (Repeats::Exact, Seeds::Followed));
    let drawn: Vec<&Value> = bodies.iter().filter(|body| body["temperature"].as_f64().unwrap() > 0.0).collect();
    let seeds: Vec<u64> = drawn.iter().map(|body| body["seed"].as_u64().unwrap()).collect();
    assert_eq!(seeds, [1, 1, 1, 1, 1, 1, 2]);
    assert!(drawn.iter().all(|body| body["messages"] == drawn[0]["messages"]));

    // One that draws anew each time, one that always says the same, and one whose batches change what it says.
    let times = AtomicUsize::new(0);
    let (found, _) = sung(move |_| Act::Say(times.fetch_add(1, SeqCst).to_string()));
    assert_eq!((found.repeats, found.seeds), (Repeats::Never, Seeds::Unknown));
    let (found, _) = sung(|_| Act::Say("always".into()));
    assert_eq!((found.repeats, found.seeds), (Repeats::Exact, Seeds::Ignored));
    let flying = AtomicUsize::new(0);
    let (found, _) = sung(move |asked| {
        flying.fetch_add(1, SeqCst);
        std::thread::sleep(Duration::from_millis(60));
        let others = flying.load(SeqCst) - 1;
        std::thread::sleep(Duration::from_millis(60));
        flying.fetch_sub(1, SeqCst);
        Act::Say(format!("{} {others}", asked.body["seed"]))
    });
    assert_eq!((found.repeats, found.seeds), (Repeats::BatchDependent, Seeds::Followed));
}
