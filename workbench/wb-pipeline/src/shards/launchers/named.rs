//! A starter of attempts as it is written: its name alone, or a map of its name and its settings.

use std::{borrow::Cow, fmt};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer,
    de::{self, MapAccess, Visitor},
};

use super::{IndexedJobs, LocalProcesses, RayTasks, RunOn, SlurmArrays};

/// The names.
const NAMES: [&str; 4] = ["local", "slurm", "ray", "kubernetes"];

impl<'de> Deserialize<'de> for RunOn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NameOrMap)
    }
}

impl JsonSchema for RunOn {
    fn schema_name() -> Cow<'static, str> {
        "RunOn".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let told = |mut of: Schema, what: &str| {
            of.insert("description".to_owned(), what.into());
            of
        };
        let local = told(generator.subschema_for::<LocalProcesses>(), "Processes of this machine.");
        let slurm =
            told(generator.subschema_for::<SlurmArrays>(), "Job arrays of Slurm, on whose login node `wb` runs.");
        let ray = told(generator.subschema_for::<RayTasks>(), "Tasks of a Ray cluster.");
        let kubernetes = told(generator.subschema_for::<IndexedJobs>(), "Pods of Kubernetes.");
        json_schema!({
            "description": "A starter of attempts; one with all of its settings at their defaults may be written as its name alone.",
            "anyOf": [
                { "type": "string", "enum": NAMES },
                {
                    "type": "object",
                    "properties": {
                        "local": local,
                        "slurm": slurm,
                        "ray": ray,
                        "kubernetes": kubernetes,
                    },
                    "minProperties": 1,
                    "maxProperties": 1,
                    "additionalProperties": false,
                },
            ],
        })
    }
}

struct NameOrMap;

impl<'de> Visitor<'de> for NameOrMap {
    type Value = RunOn;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "one of {}, or a map of one of them and its settings", NAMES.join(", "))
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<RunOn, E> {
        Ok(match name {
            "local" => RunOn::Local(LocalProcesses::default()),
            "slurm" => RunOn::Slurm(SlurmArrays::default()),
            "ray" => RunOn::Ray(RayTasks::default()),
            "kubernetes" => RunOn::Kubernetes(IndexedJobs::default()),
            other => return Err(E::unknown_variant(other, &NAMES)),
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RunOn, A::Error> {
        use de::Error as _;
        let Some(name) = map.next_key::<String>()? else {
            return Err(A::Error::invalid_length(0, &self));
        };
        let run_on = match name.as_str() {
            "local" => RunOn::Local(map.next_value()?),
            "slurm" => RunOn::Slurm(map.next_value()?),
            "ray" => RunOn::Ray(map.next_value()?),
            "kubernetes" => RunOn::Kubernetes(map.next_value()?),
            other => return Err(A::Error::unknown_variant(other, &NAMES)),
        };
        match map.next_key::<String>()? {
            None => Ok(run_on),
            Some(second) => Err(A::Error::custom(format!("`{second}` beside `{name}`, expected one of them"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_alone_has_the_defaults() {
        let read = |text: &str| serde_json::from_str::<RunOn>(text).map_err(|error| error.to_string());
        assert_eq!(read("\"slurm\""), Ok(RunOn::Slurm(SlurmArrays::default())));
        assert_eq!(read("{\"ray\": {\"gpus\": 1}}"), Ok(RunOn::Ray(RayTasks { gpus: 1.0, ..RayTasks::default() })));
        for (text, told) in [
            ("\"slurms\"", "unknown variant `slurms`"),
            ("{\"local\": {}, \"ray\": {}}", "`ray` beside `local`"),
            ("{\"local\": {\"process\": 1}}", "unknown field `process`"),
            ("3", "expected one of local, slurm, ray, kubernetes, or a map"),
        ] {
            assert!(read(text).unwrap_err().contains(told), "{text}: {:?}", read(text));
        }
        let typed = |overrides: &[&str]| {
            let overrides: Vec<String> = overrides.iter().map(|&given| given.to_owned()).collect();
            RunOn::of_overrides(&overrides).map_err(|error| error.in_one_line())
        };
        let options = vec!["--partition=gpu".to_owned()];
        let arrays = SlurmArrays { at_once: Some(4), options, ..SlurmArrays::default() };
        assert_eq!(
            typed(&["run_on.slurm.at_once=4", "run_on.slurm.options=[--partition=gpu]"]),
            Ok(RunOn::Slurm(arrays))
        );
        for (overrides, told) in [
            (&["run_on=slurms"][..], "unknown variant `slurms`"),
            (&["run_on=kubernetes"], "run_on.kubernetes.image: is missing"),
            (&["train.epochs=1"], "unknown field `train`"),
            (&["run_on=null"], "run_on: is missing"),
        ] {
            assert!(typed(overrides).is_err_and(|error| error.contains(told)), "{overrides:?}: {:?}", typed(overrides));
        }
        let all = NAMES.map(|name| read(&format!("\"{name}\"")));
        for one in all.into_iter().flatten() {
            assert_eq!(read(&serde_json::to_string(&one).unwrap()), Ok(one));
        }
    }
}
