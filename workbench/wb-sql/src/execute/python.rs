//! Values as Python writes them, and texts as it splits them: the published evaluators sort and cut by it.

use super::CellValue;

/// `str(value) + str(type(value))`, by which the test suite sorts the values of a row.
pub(super) fn sort_key(value: &CellValue) -> String {
    match value {
        CellValue::Null => "None<class 'NoneType'>".to_owned(),
        CellValue::Int(number) => format!("{number}<class 'int'>"),
        CellValue::Real(number) => format!("{}<class 'float'>", float(*number)),
        CellValue::Text(text) => format!("{text}<class 'str'>"),
        CellValue::Blob(bytes) => format!("{}<class 'bytes'>", blob(bytes)),
    }
}

/// `repr` of a float: the shortest digits that read back, with an exponent below 1e-4 and from 1e16 on.
pub fn float(number: f64) -> String {
    if !number.is_finite() {
        return if number.is_nan() { "nan".into() } else { if number > 0.0 { "inf" } else { "-inf" }.into() };
    }
    let scientific = format!("{number:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if number != 0.0 && !(-4..16).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{digits}e{sign}{:02}", exponent.abs());
    }
    let plain = format!("{number}");
    if plain.contains('.') { plain } else { plain + ".0" }
}

/// `repr` of bytes.
fn blob(bytes: &[u8]) -> String {
    let quote = if bytes.contains(&b'\'') && !bytes.contains(&b'"') { '"' } else { '\'' };
    let mut text = format!("b{quote}");
    for &byte in bytes {
        match byte {
            b'\\' => text.push_str("\\\\"),
            b'\t' => text.push_str("\\t"),
            b'\n' => text.push_str("\\n"),
            b'\r' => text.push_str("\\r"),
            _ if char::from(byte) == quote => {
                text.push('\\');
                text.push(quote);
            }
            b' '..=b'~' => text.push(char::from(byte)),
            _ => text.push_str(&format!("\\x{byte:02x}")),
        }
    }
    text.push(quote);
    text
}

/// `bytes.decode(errors="ignore")`: what is not UTF-8 is left out.
pub(super) fn decode(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.utf8_chunks().map(|chunk| chunk.valid()).collect(),
    }
}

/// `str.isspace` of one character: Unicode's white space, and the four separators of ASCII.
pub(super) fn is_space(character: char) -> bool {
    character.is_whitespace() || ('\x1c'..='\x1f').contains(&character)
}

/// `\w` of Python's regular expressions.
pub(super) fn is_word(character: char) -> bool {
    character == '_' || character.is_alphanumeric()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_written_as_python_writes_them() {
        let rows = [
            (1.0, "1.0"),
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (0.1, "0.1"),
            (1e16, "1e+16"),
            (9_999_999_999_999_998.0, "9999999999999998.0"),
            (1e-4, "0.0001"),
            (1.5e-5, "1.5e-05"),
            (123_456_789_012_345.67, "123456789012345.67"),
            (5e-324, "5e-324"),
            (1.797_693_134_862_315_7e308, "1.7976931348623157e+308"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
        ];
        for (number, text) in rows {
            assert_eq!(float(number), text);
        }
    }

    #[test]
    fn bytes_are_written_as_python_writes_them() {
        assert_eq!(blob(b"a'b"), "b\"a'b\"");
        assert_eq!(blob(b"a'\"b\\\x00\xff\n"), "b'a\\'\"b\\\\\\x00\\xff\\n'");
    }

    #[test]
    fn bytes_that_are_no_text_are_left_out() {
        assert_eq!(decode(b"a\xffb"), "ab");
        assert_eq!(decode(b"\xe2\x82z\xed\xa0\x80\xf0\x9f\x98\x80\xc3"), "z\u{1f600}");
    }
}
