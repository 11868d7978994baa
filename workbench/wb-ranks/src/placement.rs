//! The place of this process among those that a launcher started, as its variables say.

use wb_core::{Error, Result};

/// Port of rank 0 where `MASTER_PORT` says no other: that of PyTorch.
const PORT: u16 = 29_500;

/// Program or convention that started the processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Launcher {
    /// `torchrun`, or whatever sets its variables: Accelerate, Kubeflow, a script.
    Torch,
    /// An Indexed Job of Kubernetes whose file sets `WORLD_SIZE` and `MASTER_ADDR`.
    Kubernetes,
    /// `mpirun` of Open MPI.
    OpenMpi,
    /// `mpirun` of MPICH, Intel MPI, MVAPICH.
    Hydra,
    /// `srun`.
    Slurm,
}

/// Variables of a launcher.
struct Variables {
    launcher: Launcher,
    rank: &'static str,
    ranks: &'static str,
    local_rank: &'static str,
    /// Number of ranks on this host; of [`Launcher::Slurm`] those of every host.
    on_host: &'static str,
}

/// Launchers, those first that others start: `mpirun` within a job of Slurm has Slurm's variables too.
const LAUNCHERS: [Variables; 5] = [
    Variables {
        launcher: Launcher::Torch,
        rank: "RANK",
        ranks: "WORLD_SIZE",
        local_rank: "LOCAL_RANK",
        on_host: "LOCAL_WORLD_SIZE",
    },
    Variables {
        launcher: Launcher::Kubernetes,
        rank: "JOB_COMPLETION_INDEX",
        ranks: "WORLD_SIZE",
        local_rank: "LOCAL_RANK",
        on_host: "LOCAL_WORLD_SIZE",
    },
    Variables {
        launcher: Launcher::OpenMpi,
        rank: "OMPI_COMM_WORLD_RANK",
        ranks: "OMPI_COMM_WORLD_SIZE",
        local_rank: "OMPI_COMM_WORLD_LOCAL_RANK",
        on_host: "OMPI_COMM_WORLD_LOCAL_SIZE",
    },
    Variables {
        launcher: Launcher::Hydra,
        rank: "PMI_RANK",
        ranks: "PMI_SIZE",
        local_rank: "MPI_LOCALRANKID",
        on_host: "MPI_LOCALNRANKS",
    },
    Variables {
        launcher: Launcher::Slurm,
        rank: "SLURM_PROCID",
        ranks: "SLURM_STEP_NUM_TASKS",
        local_rank: "SLURM_LOCALID",
        on_host: "SLURM_STEP_TASKS_PER_NODE",
    },
];

/// A process among several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// The program that started it.
    pub launcher: Launcher,
    /// Its number, from 0.
    pub rank: usize,
    /// Number of processes.
    pub ranks: usize,
    /// Its number among those of its host, and how many these are, where the launcher tells.
    pub local: Option<(usize, usize)>,
    /// Host of rank 0.
    pub host: String,
    /// Port at which rank 0 listens.
    pub port: u16,
}

impl Placement {
    /// Reads the variables of this process.
    ///
    /// # Errors
    ///
    /// If no launcher has set any, or they contradict each other, or do not say where rank 0 is.
    pub fn of_environment() -> Result<Self> {
        Self::of(&|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
    }

    /// Reads variables that `get` gives.
    pub(crate) fn of(get: &dyn Fn(&str) -> Option<String>) -> Result<Self> {
        let Some(names) = LAUNCHERS.iter().find(|names| get(names.rank).is_some() && get(names.ranks).is_some()) else {
            let looked: Vec<&str> = LAUNCHERS.iter().map(|names| names.rank).collect();
            let message =
                format!("no launcher has said which rank this process is: none of {} is set", looked.join(", "));
            return Err(Error::value("--distributed", message).with_hint(
                "mpirun -np 2 wb train ... --distributed; or set RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT",
            ));
        };
        let number = |name: &str| {
            let Some(text) = get(name) else { return Ok(None) };
            let message = || Error::value(name, format!("got `{text}`, expected a whole number"));
            text.parse::<usize>().map(Some).map_err(|_| message())
        };
        let (rank, ranks) = (number(names.rank)?.unwrap_or(0), number(names.ranks)?.unwrap_or(1));
        if rank >= ranks {
            let message = format!("got {rank}, expected less than the {ranks} of {}", names.ranks);
            return Err(Error::value(names.rank, message));
        }
        let on_host = match (names.launcher, get(names.on_host)) {
            (Launcher::Slurm, Some(list)) => tasks_of_node(&list, number("SLURM_NODEID")?.unwrap_or(0)),
            _ => number(names.on_host)?,
        };
        let local = number(names.local_rank)?.zip(on_host);
        let is_one_host = on_host == Some(ranks);
        let of_slurm = || get("SLURM_STEP_NODELIST").filter(|_| names.launcher == Launcher::Slurm);
        let host = get("MASTER_ADDR")
            .or_else(|| is_one_host.then(|| "127.0.0.1".to_owned()))
            .or_else(|| of_slurm().map(|list| first_host(&list)))
            .ok_or_else(|| {
                let message = "is not set, and the launcher does not tell the host of rank 0";
                Error::value("MASTER_ADDR", message).with_hint("MASTER_ADDR=HOST MASTER_PORT=29500 for every rank")
            })?;
        let port =
            match get("MASTER_PORT") {
                None => port_of_job(get("SLURM_JOB_ID")),
                Some(text) => text.parse().ok().filter(|port| *port > 0).ok_or_else(|| {
                    Error::value("MASTER_PORT", format!("got `{text}`, expected a port from 1 to 65535"))
                })?,
            };
        // `torchrun` listens at its port itself.
        let port = if get("TORCHELASTIC_RUN_ID").is_some() { port.checked_add(1).unwrap_or(port - 1) } else { port };
        Ok(Self { launcher: names.launcher, rank, ranks, local, host, port })
    }

    /// Place of rank 0, for messages.
    pub fn address(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }
}

/// A port of its own for a job of Slurm, so that two jobs on one host do not meet.
fn port_of_job(job: Option<String>) -> u16 {
    job.and_then(|job| job.parse::<u64>().ok()).map_or(PORT, |job| PORT + (job % 1000) as u16)
}

/// Tasks of a node by its number, out of a list as Slurm writes it: `4(x2),3` is 4, 4 and 3.
fn tasks_of_node(list: &str, node: usize) -> Option<usize> {
    let each = |part: &str| -> Option<(usize, usize)> {
        let (tasks, times) =
            part.split_once("(x").map_or((part, "1"), |(tasks, times)| (tasks, times.trim_end_matches(')')));
        Some((tasks.parse().ok()?, times.parse().ok()?))
    };
    let mut before = 0;
    for part in list.split(',') {
        let (tasks, times) = each(part)?;
        before += times;
        if node < before {
            return Some(tasks);
        }
    }
    None
}

/// The first host of a list as Slurm writes it: `node[07-12,20],other` begins with `node07`.
fn first_host(list: &str) -> String {
    let (mut host, mut rest) = (String::new(), list);
    while let Some(at) = rest.find([',', '[']) {
        host += &rest[..at];
        if rest[at..].starts_with(',') {
            return host;
        }
        let inside = &rest[at + 1..];
        let end = inside.find(']').unwrap_or(inside.len());
        host += inside[..end].split([',', '-']).next().unwrap_or_default();
        rest = inside.get(end + 1..).unwrap_or_default();
    }
    host + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(variables: &[(&str, &str)]) -> Result<Placement> {
        Placement::of(&|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn each_launcher_says_who_a_process_is() {
        let torch = [("RANK", "3"), ("WORLD_SIZE", "4"), ("MASTER_ADDR", "n1"), ("MASTER_PORT", "4000")];
        let found = placed(&torch).unwrap();
        assert_eq!((found.launcher, found.rank, found.ranks, found.local), (Launcher::Torch, 3, 4, None));
        assert_eq!(found.address(), "n1:4000");
        let elastic: Vec<_> = torch.into_iter().chain([("TORCHELASTIC_RUN_ID", "none")]).collect();
        assert_eq!(placed(&elastic).unwrap().address(), "n1:4001");
        let pod = [("JOB_COMPLETION_INDEX", "2"), ("WORLD_SIZE", "4"), ("MASTER_ADDR", "wb-train-0.wb-train")];
        let found = placed(&pod).unwrap();
        assert_eq!((found.launcher, found.rank, found.ranks), (Launcher::Kubernetes, 2, 4));
        assert_eq!(found.address(), "wb-train-0.wb-train:29500");
        let hydra = [("PMI_RANK", "1"), ("PMI_SIZE", "2"), ("MPI_LOCALRANKID", "1"), ("MPI_LOCALNRANKS", "2")];
        let found = placed(&hydra).unwrap();
        assert_eq!((found.launcher, found.rank, found.local), (Launcher::Hydra, 1, Some((1, 2))));
        assert_eq!(found.address(), "127.0.0.1:29500");
        let open = [("OMPI_COMM_WORLD_RANK", "0"), ("OMPI_COMM_WORLD_SIZE", "2"), ("OMPI_COMM_WORLD_LOCAL_SIZE", "1")];
        let error = placed(&open).unwrap_err();
        assert!(error.to_string().starts_with("MASTER_ADDR: is not set"), "{error}");
        let slurm = [
            ("SLURM_PROCID", "5"),
            ("SLURM_STEP_NUM_TASKS", "8"),
            ("SLURM_LOCALID", "1"),
            ("SLURM_STEP_TASKS_PER_NODE", "5,3"),
            ("SLURM_NODEID", "1"),
            ("SLURM_STEP_NODELIST", "node[07-08]"),
            ("SLURM_JOB_ID", "41017"),
        ];
        let found = placed(&slurm).unwrap();
        assert_eq!((found.launcher, found.rank, found.local), (Launcher::Slurm, 5, Some((1, 3))));
        assert_eq!(found.address(), "node07:29517");
        // `mpirun` within a job: the batch step's own variables say rank 0 to every process.
        let both: Vec<_> = slurm.iter().chain(&hydra).copied().collect();
        assert_eq!(placed(&both).unwrap().launcher, Launcher::Hydra);
        // In a batch script without `srun` there is no step, and no rank.
        assert!(placed(&[("SLURM_PROCID", "0"), ("SLURM_NTASKS", "4")]).is_err());
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (variables, expected) in [
            (vec![], "--distributed: no launcher has said which rank"),
            (vec![("RANK", "2"), ("WORLD_SIZE", "2")], "RANK: got 2, expected less than the 2 of WORLD_SIZE"),
            (vec![("RANK", "x"), ("WORLD_SIZE", "2")], "RANK: got `x`, expected a whole number"),
            (
                vec![("RANK", "0"), ("WORLD_SIZE", "2"), ("MASTER_ADDR", "h"), ("MASTER_PORT", "99999")],
                "MASTER_PORT: got `99999`, expected a port",
            ),
        ] {
            let error = placed(&variables).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn tasks_of_each_node() {
        for (list, node, tasks) in
            [("2", 0, Some(2)), ("4(x2),3", 1, Some(4)), ("4(x2),3", 2, Some(3)), ("4(x2),3", 3, None), ("x", 0, None)]
        {
            assert_eq!(tasks_of_node(list, node), tasks, "{list} {node}");
        }
    }

    #[test]
    fn the_first_host_of_a_list() {
        for (list, first) in [
            ("n1", "n1"),
            ("n1,n2", "n1"),
            ("n[3-9]", "n3"),
            ("n[012,020],m", "n012"),
            ("a[1-2]-ib,b", "a1-ib"),
            ("r[1]c[2-4]", "r1c2"),
        ] {
            assert_eq!(first_host(list), first);
        }
    }
}
