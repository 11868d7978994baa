//! Bytes as `data:` addresses (base64, RFC 4648 §4), so that a page needs no second file.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// `data:image/png;base64,…`.
pub fn png(bytes: &[u8]) -> String {
    let mut text = String::from("data:image/png;base64,");
    push_base64(&mut text, bytes);
    text
}

fn push_base64(text: &mut String, bytes: &[u8]) {
    text.reserve(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let group = chunk.iter().fold(0u32, |group, byte| group << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let sextet = (group >> (18 - 6 * place)) & 63;
            text.push(if place <= chunk.len() { ALPHABET[sextet as usize] as char } else { '=' });
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn base64_of_rfc_4648() {
        let rows = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ];
        for (plain, encoded) in rows {
            let mut text = String::new();
            super::push_base64(&mut text, plain.as_bytes());
            assert_eq!(text, encoded);
        }
    }
}
