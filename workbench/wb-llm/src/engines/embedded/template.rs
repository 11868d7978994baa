//! The chat template of a model: messages to the one text that the model was trained on.
//!
//! Templates are Jinja as Python's `transformers` runs it (blocks trimmed, a few methods of Python's strings and
//! dictionaries). They come with the model's file, so each has a bounded number of steps. The date is not given to
//! them, so that a prompt is the same tomorrow.

use minijinja::{
    Environment, Error, ErrorKind, State, Value, context,
    syntax::SyntaxConfig,
    value::{Serde, ValueKind},
};

use crate::request::{Message, Role};

/// Steps of a template at most; the longest ones in use take a few thousand per message.
const FUEL: u64 = 5_000_000;

/// A compiled template.
#[derive(Debug)]
pub struct Template {
    environment: Environment<'static>,
    bos: String,
    eos: String,
}

impl Template {
    /// Compiles a template and tries it on one message; one that fails is refused.
    pub fn new(source: &str, bos: &str, eos: &str) -> Result<Self, String> {
        let mut environment = Environment::new();
        let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build().map_err(|e| told(&e))?;
        environment.set_syntax(syntax);
        environment.set_fuel(Some(FUEL));
        environment.set_unknown_method_callback(method);
        environment.add_function("raise_exception", |why: String| -> Result<Value, Error> {
            Err(Error::new(ErrorKind::InvalidOperation, why))
        });
        environment.add_filter("tojson", json);
        environment.add_template_owned("chat", source.to_owned()).map_err(|e| told(&e))?;
        let template = Self { environment, bos: bos.into(), eos: eos.into() };
        let text = template.write(&[Message { role: Role::User, content: "wb".into() }])?;
        if !text.contains("wb") {
            return Err("the template leaves out what the user says".into());
        }
        Ok(template)
    }

    /// The text of a conversation, up to where the model's answer begins.
    pub fn write(&self, messages: &[Message]) -> Result<String, String> {
        let template = self.environment.get_template("chat").map_err(|e| told(&e))?;
        template
            .render(context! {
                messages => Value::from(Serde(messages)),
                add_generation_prompt => true,
                bos_token => self.bos.as_str(),
                eos_token => self.eos.as_str(),
                tools => (),
                documents => (),
            })
            .map_err(|e| told(&e))
    }
}

fn told(error: &Error) -> String {
    let place = error.line().map_or(String::new(), |line| format!("line {line}: "));
    format!("{place}{}", error.detail().map_or_else(|| error.kind().to_string(), str::to_owned))
}

/// JSON as Python's `json.dumps` writes it: a space after commas and colons.
fn json(value: &Value) -> Result<String, Error> {
    let value = serde_json::to_value(value).map_err(|e| Error::new(ErrorKind::BadSerialization, e.to_string()))?;
    let mut out = String::new();
    dump(&value, &mut out);
    Ok(out)
}

fn dump(value: &serde_json::Value, out: &mut String) {
    match value {
        serde_json::Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                out.push_str(if i > 0 { ", " } else { "" });
                dump(item, out);
            }
            out.push(']');
        }
        serde_json::Value::Object(items) => {
            out.push('{');
            for (i, (key, item)) in items.iter().enumerate() {
                out.push_str(if i > 0 { ", " } else { "" });
                out.push_str(&serde_json::Value::from(key.as_str()).to_string());
                out.push_str(": ");
                dump(item, out);
            }
            out.push('}');
        }
        other => out.push_str(&other.to_string()),
    }
}

/// Methods of Python's strings and dictionaries that templates call.
fn method(_: &mut State, value: &Value, name: &str, args: &[Value]) -> Result<Value, Error> {
    let unknown = || Error::new(ErrorKind::UnknownMethod, format!("{} has no method {name} here", value.kind()));
    let wrong =
        || Error::new(ErrorKind::InvalidOperation, format!("{name} was called with arguments that it does not take"));
    if let Some(text) = value.as_str() {
        let arg = |i: usize| args.get(i).and_then(Value::as_str).ok_or_else(wrong);
        let set: Option<Vec<char>> = args.first().and_then(Value::as_str).map(|s| s.chars().collect());
        let out = |c: char| set.as_ref().map_or_else(|| c.is_whitespace(), |set| set.contains(&c));
        let any = |f: &dyn Fn(&str) -> bool| -> Result<Value, Error> {
            let first = args.first().ok_or_else(wrong)?;
            match first.as_str() {
                Some(one) => Ok(f(one).into()),
                None => Ok(first.try_iter()?.any(|one| one.as_str().is_some_and(f)).into()),
            }
        };
        return match name {
            "strip" => Ok(text.trim_matches(out).into()),
            "lstrip" => Ok(text.trim_start_matches(out).into()),
            "rstrip" => Ok(text.trim_end_matches(out).into()),
            "startswith" => any(&|one| text.starts_with(one)),
            "endswith" => any(&|one| text.ends_with(one)),
            "replace" => Ok(text.replace(arg(0)?, arg(1)?).into()),
            "upper" => Ok(text.to_uppercase().into()),
            "lower" => Ok(text.to_lowercase().into()),
            "capitalize" => {
                let mut rest = text.chars();
                Ok(rest
                    .next()
                    .map_or(String::new(), |c| c.to_uppercase().chain(rest.flat_map(char::to_lowercase)).collect())
                    .into())
            }
            "find" => Ok(text.find(arg(0)?).map_or(-1, |at| text[..at].chars().count() as i64).into()),
            "split" => split(text, args),
            "splitlines" => Ok(text.lines().map(Value::from).collect()),
            _ => Err(unknown()),
        };
    }
    if value.kind() == ValueKind::Map {
        return match (name, args) {
            ("items", []) => value
                .try_iter()?
                .map(|key| Ok(Value::from(vec![key.clone(), value.get_item(&key)?])))
                .collect::<Result<Vec<_>, Error>>()
                .map(Value::from),
            ("keys", []) => Ok(value.try_iter()?.collect()),
            ("values", []) => {
                value.try_iter()?.map(|key| value.get_item(&key)).collect::<Result<Vec<_>, Error>>().map(Value::from)
            }
            ("get", [key, rest @ ..]) => {
                let found = value.get_item(key)?;
                Ok(if found.is_undefined() { rest.first().cloned().unwrap_or_else(|| ().into()) } else { found })
            }
            _ => Err(unknown()),
        };
    }
    Err(unknown())
}

fn split(text: &str, args: &[Value]) -> Result<Value, Error> {
    let most = match args.get(1) {
        None => usize::MAX,
        Some(n) => i64::try_from(n.clone())?.try_into().map_or(usize::MAX, |n: usize| n.saturating_add(1)),
    };
    Ok(match args.first().and_then(Value::as_str) {
        Some("") => return Err(Error::new(ErrorKind::InvalidOperation, "split by nothing")),
        Some(by) => text.splitn(most, by).map(Value::from).collect(),
        None => text.split_whitespace().map(Value::from).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(source: &str, contents: &[(Role, &str)]) -> Result<String, String> {
        let messages: Vec<Message> =
            contents.iter().map(|(role, content)| Message { role: *role, content: (*content).into() }).collect();
        Template::new(source, "<s>", "</s>")?.write(&messages)
    }

    #[test]
    fn what_templates_in_use_are_made_of() {
        // Expected texts are those of Jinja 3.1 with trimmed blocks.
        let llama2 = "{% if messages[0]['role'] == 'system' %}{% set system = messages[0]['content'] %}{% set rest = messages[1:] %}\
            {% else %}{% set rest = messages %}{% set system = false %}{% endif %}{% for m in rest %}{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}\
            {{ raise_exception('roles must alternate') }}{% endif %}{% if loop.index0 == 0 and system != false %}{% set content = '<<SYS>>\\n' + system + '\\n<</SYS>>\\n\\n' + m['content'] %}\
            {% else %}{% set content = m['content'] %}{% endif %}{% if m['role'] == 'user' %}{{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}\
            {% elif m['role'] == 'assistant' %}{{ ' ' + content.strip() + ' ' + eos_token }}{% endif %}{% endfor %}";
        let chat = [(Role::System, "Be brief."), (Role::User, " hi "), (Role::Assistant, "yes"), (Role::User, "so?\n")];
        assert_eq!(
            written(llama2, &chat).unwrap(),
            "<s>[INST] <<SYS>>\nBe brief.\n<</SYS>>\n\n hi [/INST] yes </s><s>[INST] so? [/INST]"
        );
        let refused = written(llama2, &[(Role::User, "a"), (Role::User, "b")]).unwrap_err();
        assert!(refused.contains("roles must alternate"), "{refused}");
        let qwen3 = "{%- set ns = namespace(last=messages|length - 1) %}{%- for m in messages[::-1] %}{%- set i = (messages|length - 1) - loop.index0 %}\
            {%- if m.role == 'user' and m.content is string and not(m.content.startswith('<a>') and m.content.endswith('</a>')) %}{%- set ns.last = i %}{%- break %}{%- endif %}{%- endfor %}\
            {%- for m in messages %}{{- '<' + m.role + '>' + m.content.split('</think>')[-1].lstrip('\\n') + '\\n' }}{%- endfor %}{{ ns.last }}{{ {'a': [1, 'é']} | tojson }}";
        assert_eq!(
            written(qwen3, &[(Role::User, "x"), (Role::Assistant, "<think>\n</think>\n\ny")]).unwrap(),
            "<user>x\n<assistant>y\n0{\"a\": [1, \"é\"]}"
        );
    }

    #[test]
    fn blocks_are_trimmed_and_what_fails_is_refused() {
        assert_eq!(
            written(
                "{% for m in messages %}\n  {% if true %}\n{{ m.content }}\n  {% endif %}\n{% endfor %}\n",
                &[(Role::User, "a")]
            )
            .unwrap(),
            "a\n"
        );
        for (source, says) in [
            ("{% for m in messages %}", "line 1"),
            ("{{ messages[0].content.encode() }}", "encode"),
            ("{{ nobody.there.wb }}", "undefined"),
            ("nothing is said", "leaves out"),
            (
                "{% for a in range(3000) %}{% for b in range(3000) %}{% for c in range(3000) %}{% endfor %}{% endfor %}{% endfor %}wb",
                "fuel",
            ),
        ] {
            let error = Template::new(source, "", "").unwrap_err();
            assert!(error.contains(says), "{source}: {error}");
        }
    }
}
