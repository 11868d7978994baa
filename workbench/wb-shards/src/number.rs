//! The number of a shard, as schedulers hand it to the processes that they start.

use wb_core::Error;

use crate::Result;

/// Variables with the number, in the order in which they are asked: the own one, Slurm's arrays, Kubernetes' indexed Jobs.
const NUMBERS: [&str; 3] = ["WB_SHARD", "SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX"];
/// A number to add: arrays of Slurm have an end, beyond which further ones begin at 0 again.
const OFFSET: &str = "WB_SHARD_OFFSET";

/// The number that the environment says, asked variable by variable; none where it says none.
///
/// # Errors
///
/// If a variable is no number.
pub fn shard_of_environment(get: &dyn Fn(&str) -> Option<String>) -> Result<Option<u32>> {
    let number = |name: &str| -> Result<Option<u32>> {
        let Some(text) = get(name).filter(|text| !text.is_empty()) else { return Ok(None) };
        let parsed = text.trim().parse();
        parsed
            .map(Some)
            .map_err(|_| Error::value(name, format!("got `{text}`, expected the number of a shard, from 0")))
    };
    for name in NUMBERS {
        if let Some(shard) = number(name)? {
            let offset = number(OFFSET)?.unwrap_or(0);
            let sum = shard.checked_add(offset);
            return sum.map(Some).ok_or_else(|| Error::value(OFFSET, format!("{shard} + {offset} is no shard")));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Result<Option<u32>> {
        shard_of_environment(&|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn schedulers_say_the_number() {
        assert_eq!(of(&[]).unwrap(), None);
        assert_eq!(of(&[("SLURM_ARRAY_TASK_ID", "7")]).unwrap(), Some(7));
        assert_eq!(of(&[("SLURM_ARRAY_TASK_ID", "7"), ("WB_SHARD_OFFSET", "1000")]).unwrap(), Some(1007));
        assert_eq!(of(&[("JOB_COMPLETION_INDEX", "0"), ("WB_SHARD", "3")]).unwrap(), Some(3));
        assert_eq!(of(&[("WB_SHARD_OFFSET", "5")]).unwrap(), None, "an offset is no number");
        let told = |variables: &[(&str, &str)]| of(variables).unwrap_err().to_string();
        assert!(told(&[("WB_SHARD", "x")]).starts_with("WB_SHARD: got `x`"));
        assert!(told(&[("WB_SHARD", "1"), ("WB_SHARD_OFFSET", "4294967295")]).contains("is no shard"));
    }
}
