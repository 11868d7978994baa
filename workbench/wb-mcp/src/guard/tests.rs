//! The matrix of hosts, origins and tokens.

use super::*;

const TOKEN: &str = "0123456789abcdef";

fn access(address: &str, token: Option<&str>, hosts: &[&str]) -> HttpAccess {
    let hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
    HttpAccess { address: address.parse().unwrap(), hosts, token: token.map(str::to_owned) }
}

fn refusal(access: &HttpAccess, headers: &[(&'static str, &str)]) -> Option<u16> {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.append(*name, value.parse().unwrap());
    }
    access.refusal(&map).map(|status| status.as_u16())
}

#[test]
fn hosts_and_origins_are_this_server() {
    let own = access("127.0.0.1:8722", None, &["box.lan"]);
    for (headers, expected) in [
        (&[("host", "127.0.0.1:8722")][..], None),
        (&[("host", "localhost:8722")], None),
        (&[("host", "LOCALHOST:8722")], None),
        (&[("host", "[::1]:8722")], None),
        (&[("host", "box.lan:8722")], None),
        // Another port of this machine leads here by a tunnel.
        (&[("host", "localhost:9000")], None),
        (&[], Some(403)),
        (&[("host", "")], Some(403)),
        (&[("host", "evil.example:8722")], Some(403)),
        (&[("host", "localhost.evil.example")], Some(403)),
        (&[("host", "192.168.0.7:8722")], Some(403)),
        (&[("host", "user@localhost:8722")], Some(403)),
        (&[("host", "localhost:")], Some(403)),
        (&[("host", "localhost:8722"), ("host", "evil.example")], Some(403)),
        (&[("host", "localhost:8722"), ("origin", "http://localhost:8722")], None),
        (&[("host", "localhost:8722"), ("origin", "http://localhost:3000")], Some(403)),
        (&[("host", "localhost:8722"), ("origin", "https://localhost:8722")], Some(403)),
        (&[("host", "localhost:8722"), ("origin", "http://127.0.0.1:8722")], Some(403)),
        (&[("host", "localhost:8722"), ("origin", "http://evil.example")], Some(403)),
        (&[("host", "localhost:8722"), ("origin", "null")], Some(403)),
        (&[("host", "localhost:8722"), ("origin", "")], Some(403)),
        (
            &[("host", "localhost:8722"), ("origin", "http://localhost:8722"), ("origin", "http://evil.example")],
            Some(403),
        ),
    ] {
        assert_eq!(refusal(&own, headers), expected, "{headers:?}");
    }
}

#[test]
fn a_token_is_asked_for_where_there_is_one() {
    let open = access("0.0.0.0:8722", Some(TOKEN), &[]);
    let bearer = format!("Bearer {TOKEN}");
    let wrong = format!("Bearer {}", TOKEN.replace('f', "e"));
    for (headers, expected) in [
        (&[("host", "192.168.0.7:8722"), ("authorization", bearer.as_str())][..], None),
        (&[("host", "192.168.0.7:8722"), ("authorization", &bearer.replace("Bearer", "bearer"))], None),
        (&[("host", "192.168.0.7:8722")], Some(401)),
        (&[("host", "192.168.0.7:8722"), ("authorization", &wrong)], Some(401)),
        (&[("host", "192.168.0.7:8722"), ("authorization", "Bearer ")], Some(401)),
        (&[("host", "192.168.0.7:8722"), ("authorization", TOKEN)], Some(401)),
        (&[("host", "192.168.0.7:8722"), ("authorization", &bearer[..20])], Some(401)),
        (&[("host", "192.168.0.7:8722"), ("authorization", &bearer), ("authorization", &wrong)], Some(401)),
        // A name that leads to an address of this network is still a name.
        (&[("host", "evil.example"), ("authorization", &bearer)], Some(403)),
    ] {
        assert_eq!(refusal(&open, headers), expected, "{headers:?}");
    }
}

#[test]
fn others_are_served_with_a_token_alone() {
    assert!(access("127.0.0.1:0", None, &[]).checked().is_ok());
    assert!(access("[::1]:0", None, &[]).checked().is_ok());
    assert!(access("0.0.0.0:0", Some(TOKEN), &[]).checked().is_ok());
    let refused = access("0.0.0.0:8722", None, &[]).checked().unwrap_err();
    assert!(refused.hint().unwrap().contains("--token-file"), "{refused}");
}

#[test]
fn tokens_are_long_and_printable() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    let read = |text: &str| {
        fs::write(&file, text).unwrap();
        read_token(&file).map_err(|error| error.to_string())
    };
    assert_eq!(read(&format!("{TOKEN}\n")).unwrap(), TOKEN);
    for text in ["", "short", "with a space in the middle", "0123456789\n0123456789", "0123456789abcde\u{e9}"] {
        assert!(read(text).unwrap_err().contains("16 printable"), "{text}");
    }
}
