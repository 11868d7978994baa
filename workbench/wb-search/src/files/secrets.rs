//! Keys and passwords, which are not indexed and stand in no answer: told by the names of files, and by what they hold.

/// True for names under which keys and passwords are kept; not for examples of such files.
pub(crate) fn is_secret_name(name: &str) -> bool {
    const ENDS: [&str; 11] =
        [".pem", ".key", ".p12", ".pfx", ".keystore", ".jks", ".kdbx", ".ppk", ".env", ".tfvars", ".tfstate"];
    const NAMES: [&str; 10] = [
        ".netrc",
        ".npmrc",
        ".pypirc",
        ".pgpass",
        ".htpasswd",
        ".dockercfg",
        ".git-credentials",
        "credentials",
        "credentials.json",
        "terraform.tfstate.backup",
    ];
    const KEYS: [&str; 4] = ["id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"];
    let name = name.to_ascii_lowercase();
    if ["example", "sample", "template"].iter().any(|word| name.split(['.', '-', '_']).any(|part| part == *word)) {
        return false;
    }
    let (stem, ending) = name.split_once('.').unwrap_or((&name, ""));
    let is_config = ["yaml", "yml", "json", "toml", "ini", "txt", ""].contains(&ending);
    name.starts_with(".env.")
        || ENDS.iter().any(|end| name.ends_with(end))
        || NAMES.contains(&name.as_str())
        || matches!(stem, "secret" | "secrets") && is_config
        // Keys and their copies, not what code about them is called.
        || KEYS.contains(&stem) && ["", "bak", "old", "orig", "txt"].contains(&ending)
}

/// True for a text with a private key as OpenSSL, OpenSSH and PGP write them, also within code, JSON or comments: a mark that
/// opens it, and soon below it a line of nothing but its digits. Code that names such a mark has none.
pub(crate) fn has_private_key(text: &str) -> bool {
    const MARK: &str = "PRIVATE KEY";
    /// Lines below the mark among which there is one of digits: PGP has some of its own before.
    const LINES: usize = 8;
    let after_marks = text.match_indices(MARK).filter_map(|(at, _)| {
        let opens = text[..at].rfind("-----BEGIN ").is_some_and(|begin| at - begin < 40);
        let rest = &text[at + MARK.len()..];
        opens.then(|| rest.strip_prefix("-----").or_else(|| rest.strip_prefix(" BLOCK-----"))).flatten()
    });
    let is_digits = |line: &str| {
        // Marks of comments, quotes and operators of the code that it stands in.
        let bare = line.trim_matches(|c: char| c.is_whitespace() || "\"'`\\,;+.#*/%-()<>&|:=".contains(c));
        bare.len() >= 38 && bare.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '='))
    };
    for rest in after_marks {
        let lines = rest.split(['\n', '\r']).flat_map(|line| line.split("\\n")).flat_map(|line| line.split("\\r"));
        // The rest of the line with the mark counts, too, where a key is written in one line.
        if lines.filter(|line| !line.is_empty()).take(LINES).any(is_digits) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_key_is_known_by_its_digits() {
        let digits = "MIIEpAIBAAKCAQEAx".repeat(4);
        for key in [
            format!("a\n-----BEGIN RSA PRIVATE KEY-----\n{digits}\n"),
            format!("KEY = \"\"\"-----BEGIN PRIVATE KEY-----\n  {digits}\n"),
            format!("{{\"private_key\": \"-----BEGIN PRIVATE KEY-----\\n{digits}\\n{digits}\\n-----END\"}}"),
            format!("var k = \"-----BEGIN PRIVATE KEY-----\" +\n  \"{digits}\" +\n"),
            format!("k = '-----BEGIN PRIVATE KEY-----\\n' .\n  '{digits}\\n' .\n"),
            format!("# -----BEGIN EC PRIVATE KEY-----\n# {digits}\n"),
            format!("// -----BEGIN OPENSSH PRIVATE KEY-----\n// {digits}\n"),
            format!("-----BEGIN PRIVATE KEY-----\r{digits}\r"),
            format!("-----BEGIN PRIVATE KEY-----\r\n{digits}\r\n"),
            format!("-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: GnuPG v2\nComment: mine\n\n{digits}\n"),
            format!("-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A\n\n{digits}\n"),
        ] {
            assert!(has_private_key(&key), "{key}");
        }
        for none in [
            "if line.startswith('-----BEGIN RSA PRIVATE KEY-----'):\n    return parse(line)\n".to_owned(),
            format!("-----BEGIN PUBLIC KEY-----\n{digits}\n"),
            format!("the mark -----BEGIN PRIVATE KEY----- opens a key\n{}{digits}\n", "and so on\n".repeat(9)),
            "PRIVATE KEY-----".to_owned(),
        ] {
            assert!(!has_private_key(&none), "{none}");
        }
    }

    #[test]
    fn secrets_are_known_by_their_names() {
        for name in [
            ".env",
            ".env.production",
            "prod.env",
            "server.pem",
            "a.ppk",
            "id_rsa",
            "id_rsa.bak",
            "ID_ED25519",
            "credentials",
            "credentials.json",
            "secrets.yaml",
            "secret.yml",
            "secrets",
            "terraform.tfstate",
            "prod.tfvars",
            ".git-credentials",
            ".htpasswd",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in [
            ".env.example",
            "example.env",
            "prod.tfvars.example",
            "secrets.example.yaml",
            "id_rsa.py",
            "id_rsa.pub",
            "environment.py",
            "secrets.rs",
            "secrets.py",
            "credentials.rs",
            "key.rs",
            "tokens.md",
        ] {
            assert!(!is_secret_name(name), "{name}");
        }
    }
}
