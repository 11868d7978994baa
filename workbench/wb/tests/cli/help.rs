//! Help texts and completions.

use crate::sandbox::Sandbox;

const COMMANDS: &str = "run init check data train mine-negatives bench text2sql ab compare report index search def refs callers calls tests-for \
     related impact map outline mcp agents encode shards export ls doctor";

#[test]
fn every_command_shows_an_example_of_itself() {
    let sandbox = Sandbox::new();
    for name in COMMANDS.split(' ').chain(["completions"]) {
        let (out, _) = sandbox.succeeds(&[name, "--help"]);
        let (_, examples) = out.split_once("Example").unwrap_or_else(|| panic!("{name}: no example\n{out}"));
        assert!(examples.contains(&format!("  wb {name}")), "{name}: {examples}");
    }
}

#[test]
fn the_first_help_names_every_command_and_where_to_start() {
    let sandbox = Sandbox::new();
    insta::assert_snapshot!(sandbox.wb(&["--help"]), @"
    exit 0
    out: A workbench for code embeddings: pairs out of code, a bi-encoder trained, measured under named protocols, a report
    out:
    out: Usage: wb [OPTIONS] <COMMAND>
    out:
    out: Commands:
    out:   run             Runs every section of a YAML in order: data, training, benchmarks, report. What is done already is not
    out:                   done again
    out:   init            Asks which code or data, which device and how long, and writes a commented YAML that fits
    out:   check           Reads a YAML and says what is wrong with it, or what it would do, without doing it
    out:   synth           Makes training pairs: with a language model (`synth:`), by rules (`rules:`), out of snippets
    out:                   (`snippets:`)
    out:   data            Makes the pairs of a YAML's `data:` section; `wb data get` fetches data sets of others
    out:   train           Trains the encoder of a YAML; goes on from the last checkpoint of a run that was stopped
    out:   mine-negatives  Finds hard negatives for the training pairs of a YAML, and says how many of them may be answers
    out:   bench           Measures an encoder, a run or BM25 under every protocol that the data can give; judges predicted SQL
    out:   text2sql        Text-to-SQL without and with retrieved examples, by rules or by a language model
    out:   ab              Asks one corpus of snippets the same queries twice: as code, and as what a language model said of it
    out:   compare         Two runs, or two files of `wb bench --json`: differences, paired intervals, a verdict
    out:   report          Makes the HTML page and PNGs of a run
    out:   index           Indexes the code of a project, or brings its index up to date
    out:   search          Finds functions, types and sections of a project by words or names
    out:   def             Says where a name is defined: nearest first, then what that is another name of
    out:   refs            Lists the places that use a definition, the sure ones first
    out:   callers         Lists the functions that call a function, and those that call these
    out:   calls           Lists what a function calls, and where that is defined
    out:   tests-for       Lists the tests that reach a symbol or a file, or are named after it
    out:   related         Lists what belongs with a place or a symbol: used by it, using it, testing it, beside it, like it
    out:   impact          Lists whom a change affects, tests first
    out:   map             Shows the most used definitions of a project, as many as a budget of tokens holds
    out:   outline         Lists functions and types of a file or a folder by the lines that define them
    out:   mcp             Answers agents about a project: a server of the Model Context Protocol, which only reads
    out:   agents          Puts the MCP server `wb mcp` into the configurations of agents, or takes it out
    out:   encode          Turns texts into vectors: a file, a folder or a pipe, to NumPy, Parquet or JSON lines
    out:   shards          Cuts a stage into shards, for as many machines as there are; the result is that of one, byte for byte
    out:   export          Writes an encoder for other tools: a sentence-transformers folder, or adapters for PEFT
    out:   ls              Runs with their scores, or what there is to choose from
    out:   doctor          Shows what this build and machine can do; tests a device before it is trusted
    out:   completions     Prints a completion script for a shell
    out:   help            Print this message or the help of the given subcommand(s)
    out:
    out: Options:
    out:   -h, --help     Print help
    out:   -V, --version  Print version
    out:
    out: Downloads:
    out:       --locked  Refuses names of models and data whose commit is not in RUNS/hub.lock yet
    out:       --yes     Fetches more than 1 GB without asking
    out:
    out: Start here:
    out:   wb run configs/quickstart.yaml      pairs, training, benchmark and report in one go
    out:   wb check configs/quickstart.yaml    what it would do, and what is wrong with the file
    out:   wb ls                               runs and their scores
    ");
    let output = sandbox.run(&[]);
    assert_eq!(output.status.code(), Some(2), "nothing asked is an error");
    assert!(String::from_utf8_lossy(&output.stderr).contains("Start here"));
}

#[test]
fn help_of_a_training_names_overrides_and_places() {
    insta::assert_snapshot!(Sandbox::new().wb(&["train", "--help"]), @"
    exit 0
    out: Trains the encoder of a YAML; goes on from the last checkpoint of a run that was stopped
    out:
    out: Usage: wb train [OPTIONS] [CONFIG] [KEY=VALUE]...
    out:
    out: Arguments:
    out:   [CONFIG]        The experiment's YAML file; without one, the recipes in configs are listed
    out:   [KEY=VALUE]...  Values to set in it, as key.path=value; the value is YAML
    out:
    out: Options:
    out:       --device <DEVICE>  Device to compute on: auto, cpu, cuda, cuda:N, metal, vulkan, wgpu. The same as device=...
    out:       --runs <DIR>       The folder of runs [default: runs]
    out:       --datasets <DIR>   The folder of prepared data sets [default: datasets/prepared]
    out:       --reports <DIR>    The folder of reports [default: reports]
    out:       --resume <RUN>     Goes on with this run (an id, a part of one, or `latest`) and with no other: refused, with what
    out:                          differs, where the config, the data or the build is not what it began with. Without it, the run
    out:                          with the same config and data is gone on with, or a new one begun
    out:       --distributed      Trains with all processes that mpirun, srun or torchrun's variables make ranks, of which this
    out:                          is one; rank 0 does all that is not computing
    out:   -h, --help             Print help
    out:
    out: Downloads:
    out:       --locked  Refuses names of models and data whose commit is not in RUNS/hub.lock yet
    out:       --yes     Fetches more than 1 GB without asking
    out:
    out: Examples:
    out:   wb train                                                # the recipes in configs, and what they cost
    out:   wb train configs/minilm-lora.yaml
    out:   wb train configs/minilm-lora.yaml train.optimizer.adamw.learning_rate=1e-4 name=faster
    out:   wb train runs/RUN/config.yaml --resume RUN              # with the run's own config
    out:   srun -N 4 wb train configs/minilm-lora.yaml --distributed   # by four machines
    ");
}

#[test]
fn shells_get_completions() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish"] {
        let (out, _) = sandbox.succeeds(&["completions", shell]);
        for name in COMMANDS.split(' ') {
            assert!(out.contains(name), "{shell}: no {name}");
        }
    }
    insta::assert_snapshot!(sandbox.wb(&["completions", "basic"]), @r"
    exit 2
    err: error: invalid value 'basic' for '<SHELL>'
    err:   [possible values: bash, elvish, fish, powershell, zsh]
    err:
    err:   tip: a similar value exists: 'bash'
    err:
    err: For more information, try '--help'.
    ");
}

#[test]
fn mistyped_commands_and_options_are_named() {
    let sandbox = Sandbox::new();
    insta::assert_snapshot!(sandbox.wb(&["trian", "tiny.yaml"]), @"
    exit 2
    err: error: unrecognized subcommand 'trian'
    err:
    err:   tip: a similar subcommand exists: 'train'
    err:
    err: Usage: wb [OPTIONS] <COMMAND>
    err:
    err: For more information, try '--help'.
    ");
    insta::assert_snapshot!(sandbox.wb(&["bench", "pairs", "--encodr", "latest"]), @r"
    exit 2
    err: error: unexpected argument '--encodr' found
    err:
    err:   tip: a similar argument exists: '--encoder'
    err:
    err: Usage: wb bench --encoder <DIR|ID|RUN> <NAMES>...
    err:
    err: For more information, try '--help'.
    ");
    insta::assert_snapshot!(sandbox.wb(&["run"]), @r"
    exit 2
    err: error: wb run: no file is named, and there is no recipe in configs to choose from
    err:   hint: `wb run FILE` names one; recipes are in configs of the folder that wb was built in; `wb init` begins a file of your own
    ");
}
