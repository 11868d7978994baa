//! Attempts as pods of Kubernetes, by indexed Jobs of one pod a shard.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use wb_core::{Error, config};
use wb_shards::OpenPlan;

use super::watched::until_ended;
use crate::output;

/// The file of the Job that ships.
const FILE: &str = "launchers/kubernetes/job.yaml";
/// The Job, as it ships.
const JOB: &str = include_str!("../../../../../launchers/kubernetes/job.yaml");
/// Name of the container that is given a shard.
const CONTAINER: &str = "shard";

/// Indexed Jobs of one pod a shard, which `kubectl` creates.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct IndexedJobs {
    /// The image with `wb` in it; null for the one that `job` names.
    pub image: Option<String>,
    /// A Job in YAML with the resources, volumes and secrets of the cluster; null for `launchers/kubernetes/job.yaml`, as
    /// it ships. Its name, its completions and what its container `shard` runs are set.
    #[serde(deserialize_with = "wb_core::paths::typed")]
    pub job: Option<PathBuf>,
    /// Pods at a time; null for as many as `job` says.
    pub at_once: Option<u32>,
    /// The namespace; null for that of kubectl's context.
    pub namespace: Option<String>,
    /// Number of shards that a stage is cut into; null for shards of 262,144 rows, or fewer than a thousand.
    pub shards: Option<u64>,
}

impl IndexedJobs {
    /// Refuses a Job without an image of its own; `key` is the config path.
    pub(super) fn validate(&self, key: &str) -> Result<(), Error> {
        if self.image.is_some() || self.job.is_some() {
            return Ok(());
        }
        Err(Error::value(format!("{key}.image"), "is missing, the image with `wb` in it").with_hint(
            "launchers/kubernetes/README.md makes one: run_on={kubernetes: {image: registry.example/wb:0.1.0}}",
        ))
    }

    /// Creates a Job for the shards of a plan, and waits until it has ended, whatever its end. Pods of shards that are done
    /// end at once.
    pub(super) fn work(&self, plan: &OpenPlan, tell: &mut dyn FnMut(&str) -> Result<()>) -> Result<()> {
        let job = self.filled(&plan.place(), &plan.plan().stage, plan.plan().shards())?;
        let name = self.kubectl(&["create", "-f", "-", "-o", "name"], Some(&job))?.trim().to_owned();
        output::note(format!("created {name}"));
        until_ended(&|| self.is_under_way(&name), &mut || tell(&name))
    }

    /// The Job for a plan.
    fn filled(&self, place: &str, stage: &str, shards: u32) -> Result<Value> {
        let mut job: Value = match &self.job {
            Some(path) => config::load(path, &[])?,
            None => config::from_text(JOB, Path::new(FILE))?,
        };
        let named = self.job.as_deref().unwrap_or(Path::new(FILE));
        let wrong = |what: &str| Error::file(named, what).with_hint(format!("{FILE} is one that fits"));
        if job["apiVersion"] != "batch/v1" || job["kind"] != "Job" {
            return Err(wrong("is no Job, expected apiVersion: batch/v1 and kind: Job").into());
        }
        let metadata = job["metadata"].as_object_mut().ok_or_else(|| wrong("has no metadata"))?;
        metadata.remove("name");
        metadata.insert("generateName".to_owned(), json!(format!("wb-{stage}-")));
        let spec = job["spec"].as_object_mut().ok_or_else(|| wrong("has no spec"))?;
        spec.insert("completionMode".to_owned(), json!("Indexed"));
        spec.insert("completions".to_owned(), json!(shards));
        if let Some(at_once) = self.at_once {
            spec.insert("parallelism".to_owned(), json!(at_once));
        }
        let containers = job.pointer_mut("/spec/template/spec/containers").and_then(Value::as_array_mut);
        let container = containers.into_iter().flatten().find(|container| container["name"] == CONTAINER);
        let container = container.and_then(Value::as_object_mut);
        let container = container.ok_or_else(|| wrong("has no container that is called `shard`"))?;
        if let Some(image) = &self.image {
            container.insert("image".to_owned(), json!(image));
        }
        // Its options, such as the scratch folder, behind the plan.
        let given = container.get("args").and_then(Value::as_array).cloned().unwrap_or_default();
        let args: Vec<Value> =
            ["shards", "run", place].into_iter().map(Value::from).chain(given.into_iter().skip(3)).collect();
        container.insert("args".to_owned(), Value::from(args));
        Ok(job)
    }

    /// True while a Job has neither completed nor failed. Kubernetes clears Jobs away a while after their end.
    fn is_under_way(&self, name: &str) -> Result<bool> {
        let state = match self.kubectl(&["get", name, "-o", "json"], None) {
            Ok(state) => state,
            Err(error) if format!("{error:#}").contains("NotFound") => return Ok(false),
            Err(error) => return Err(error),
        };
        let state: Value = serde_json::from_str(&state).context("kubectl gives no JSON")?;
        Ok(end(&state).inspect(|told| output::note(format!("{name} {told}"))).is_none())
    }

    /// Output of kubectl, which is given a document to read.
    fn kubectl(&self, words: &[&str], document: Option<&Value>) -> Result<String> {
        let mut command = Command::new("kubectl");
        command.args(words).args(self.namespace.iter().map(|namespace| format!("--namespace={namespace}")));
        let stdin = if document.is_some() { Stdio::piped() } else { Stdio::null() };
        let started = command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = started.map_err(|error| {
            Error::failed("cannot start kubectl")
                .with_cause(error)
                .with_hint("kubectl, with a context for the cluster, has to be where wb runs")
        })?;
        if let (Some(document), Some(mut stdin)) = (document, child.stdin.take()) {
            // One that ends without having read it says why.
            let _ = stdin.write_all(document.to_string().as_bytes());
        }
        let output = child.wait_with_output().context("cannot wait for kubectl")?;
        if !output.status.success() {
            let words = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(Error::failed(format!("kubectl refused: {words}")).into());
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

/// The end of a Job in words; none while it is under way.
fn end(job: &Value) -> Option<String> {
    let conditions = job["status"]["conditions"].as_array().into_iter().flatten();
    let mut ended = conditions.filter(|condition| condition["status"] == "True");
    ended.find_map(|condition| match condition["type"].as_str()? {
        "Complete" => Some("is complete".to_owned()),
        "Failed" => Some(format!("failed: {}", condition["message"].as_str().unwrap_or("without a word"))),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_filled_with_the_plan() {
        let jobs = IndexedJobs { image: Some("here/wb:1".into()), at_once: Some(3), ..IndexedJobs::default() };
        let job = jobs.filled("/shared/encode-0123", "encode", 7).unwrap();
        let spec = &job["spec"];
        assert_eq!(
            (&spec["completions"], &spec["parallelism"], &spec["maxFailedIndexes"]),
            (&json!(7), &json!(3), &json!(0))
        );
        assert_eq!(job["metadata"], json!({"generateName": "wb-encode-"}));
        let container = &spec["template"]["spec"]["containers"][0];
        assert_eq!(container["image"], "here/wb:1");
        assert_eq!(container["args"], json!(["shards", "run", "/shared/encode-0123", "--scratch", "/scratch"]));

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("job.yaml");
        let jobs = IndexedJobs { job: Some(path.clone()), ..IndexedJobs::default() };
        jobs.validate("run_on.kubernetes").unwrap();
        for (text, told) in [
            ("apiVersion: v1\nkind: Pod\n", "is no Job"),
            ("apiVersion: batch/v1\nkind: Job\nmetadata: {}\n", "has no spec"),
            (
                "apiVersion: batch/v1\nkind: Job\nmetadata: {}\nspec: { template: { spec: { containers: [{ name: other }] } } }\n",
                "no container",
            ),
        ] {
            std::fs::write(&path, text).unwrap();
            let error = jobs.filled("/shared/x", "encode", 1).unwrap_err();
            assert!(error.to_string().contains(told), "{error}");
        }
        let error = IndexedJobs::default().validate("run_on.kubernetes").unwrap_err();
        assert_eq!(error.to_string(), "run_on.kubernetes.image: is missing, the image with `wb` in it");
    }

    #[test]
    fn a_job_ends_when_a_condition_says_so() {
        let state = |kind: &str, status: &str| {
            json!({"status": {"conditions": [
            {"type": "Suspended", "status": "False"}, {"type": kind, "status": status, "message": "Job has failed indexes"}]}})
        };
        assert_eq!(end(&json!({"status": {}})), None);
        assert_eq!(end(&state("Complete", "False")), None);
        assert_eq!(end(&state("FailureTarget", "True")), None);
        assert_eq!(end(&state("Complete", "True")).unwrap(), "is complete");
        assert_eq!(end(&state("Failed", "True")).unwrap(), "failed: Job has failed indexes");
    }
}
