//! Names of Spider's two protocols.

use crate::{Compat, execute::JudgeOptions};

/// Names of the protocols of exact match and of execution, which is another one where some id has several databases.
pub fn protocols(options: JudgeOptions, is_suite: bool) -> [String; 2] {
    let compat = compat_name(options.compat);
    let kind = if is_suite { "ts" } else { "ex" };
    let plug = if options.plug_value { "+plug-value" } else { "" };
    // Strict always keeps it, so that its name need not say so.
    let keep = if options.keep_distinct && options.compat == Compat::Official { "+keep-distinct" } else { "" };
    [format!("spider-em-{compat}"), format!("spider-{kind}-{compat}{plug}{keep}")]
}

/// Name on the command line.
pub fn compat_name(compat: Compat) -> &'static str {
    match compat {
        Compat::Official => "official",
        Compat::Strict => "strict",
    }
}
