//! Data sets that recipes train on or measure on as pairs: CoSQA, CoNaLa, MBXP, HumanEval-X, Java–C#, Python docstrings.

use super::super::{
    conversions::{AsItIs, Conversion, Docstrings},
    entry::{DataSetFolder, Entry, ServedFiles, WantedFile},
};

/// A file with its bytes and its SHA-256.
type Known = (&'static str, u64, &'static str);

fn known(folder: &str, files: &[Known]) -> Vec<WantedFile> {
    let wanted = |(name, bytes, hash): &Known| WantedFile::new(format!("{folder}/{name}")).of(*bytes).sha256(hash);
    files.iter().map(wanted).collect()
}

fn sum(files: &[Known]) -> u64 {
    files.iter().map(|(_, bytes, _)| bytes).sum()
}

/// CoSQA, which is listed with the other benchmarks.
pub(super) fn cosqa() -> Vec<Entry> {
    const SEARCH: [Known; 3] = [
        ("code_idx_map.txt", 2_090_564, "be8a910ca03cb9f1b38a0eba6dc8109eeb8040a40aaba1a467a7b8426d261f3f"),
        ("cosqa-retrieval-dev-500.json", 358_032, "ccdfffee7ae1f1cf1a0406566a61c984f4fbce678c8ea108eedd03d11bff9518"),
        ("cosqa-retrieval-test-500.json", 350_937, "27d3552b2e7dd86cf9f9a0b3c135e6777d4faafa9c29fb1b9b01ece945974ad6"),
    ];
    const LABELED: [Known; 1] =
        [("cosqa-dev.json", 400_120, "247d48d6072f122cdd16b38974d50bc3253d80d42c3ca89790df3a7a28627cad")];
    let mut files = known("data/search", &SEARCH);
    files.extend(known("data/qa", &LABELED));
    files.push(WantedFile::new("data/qa/cosqa-train.json").git("2a6097da0e2c714fd4b43176d6aaa7ae5eb58b89"));
    let origin = ServedFiles::github("Jun-jie-Huang/CoCLR", "14ebcacf9e9bc3e7109102632bc63047876f27d2", files);
    vec![Entry {
        name: "cosqa".into(),
        title: "CoSQA, web queries and Python functions (Huang et al. 2021)".into(),
        used_by: "wb bench cosqa; configs/code-minilm.yaml",
        license: "data C-UDA 1.0, code MIT",
        about: None,
        note: "",
        parts: vec![DataSetFolder::new("cosqa", Conversion::AsItIs(AsItIs), vec![origin])],
    }]
}

pub(super) fn entries() -> Vec<Entry> {
    vec![conala(), mbxp(), humaneval_x(), java_cs(), docstrings()]
}

fn conala() -> Entry {
    let files = ["train", "test"].map(|split| {
        WantedFile::new(format!("data/conala-paired-{split}.json")).called(format!("conala-{split}.json"))
    });
    let origin = ServedFiles::hub("neulab/conala", "fbc749f1c537e5c3834e93b15784302e331debe2", files);
    Entry {
        name: "conala".into(),
        title: "CoNaLa, the curated part (Yin et al. 2018)".into(),
        used_by: "wb bench pairs in configs/code-minilm.yaml, configs/rules-python.yaml and others",
        license: "MIT; questions of Stack Overflow, CC BY-SA",
        about: Some(627_000),
        note: "JSON lines, in spite of the files' names",
        parts: vec![DataSetFolder::new("conala", Conversion::AsItIs(AsItIs), vec![origin])],
    }
}

fn mbxp() -> Entry {
    const FILES: [Known; 13] = [
        ("mbpp_release_v1.jsonl", 936_808, "2ea7949f20ed5ecaacf4c9970d29430ec3f13772f4dd379665b1234f14b0ec3e"),
        ("mbjp_release_v1.2.jsonl", 2_420_406, "139a0fcdff2f4c6d456c546c82f43a1f389dfe3125f5f2c3f6a12f478483dffd"),
        ("mbjsp_release_v1.2.jsonl", 1_425_621, "9e443a1911bcedd8b5193f43d3217666fbf669cd00d54265941a8eb17e396f5a"),
        ("mbtsp_release_v1.2.jsonl", 1_545_093, "7c4fbf66cd8189d5f3f6a78ce201782571d083a1d89ee3730c0235317d44d769"),
        ("mbkp_release_v1.2.jsonl", 1_675_599, "54969bac04fddaad74f78b7aa591348d3f010af2b2325f3db0e5a4f9b9154367"),
        ("mbphp_release_v1.2.jsonl", 1_413_807, "aec706039e49bc1bd1c9aaf4cf4815a34777b8387bdc59c1b274312071f3a605"),
        ("mbrbp_release_v1.2.jsonl", 1_140_233, "fe8c043b7d56f5d122c6aaf24e1dcb78816175a0687a73c03873043a6349b85d"),
        ("mbcpp_release_v1.2.jsonl", 1_304_509, "34a842515927e230eb2bd6e409a44c80a852b0afcbe1172786bd08cfef8b85b0"),
        ("mbcsp_release_v1.2.jsonl", 2_170_855, "e11db33a6c5582a5c8d548ef75a23f0307540a765f889dcd2b7d13e99ea538e4"),
        ("mbgp_release_v1.1.jsonl", 1_674_633, "90f519222a4c45bdbed8309076433d2f573c6f37329a848581fa789839b67da8"),
        ("mbplp_release_v1.jsonl", 1_199_031, "1293f40e442bda81f1d39ab3769ab8136dfc823f7b41420294c1a1d3bf1d2b2f"),
        ("mbscp_release_v1.jsonl", 1_458_469, "e690daa347855a0da4fcd0652894b1db4e6a561c24e9824c40c629158ed94bec"),
        ("mbswp_release_v1.jsonl", 1_258_497, "b390ee15df6170386e5f5771f227ef4df3ea7eb994b09d39ecec888e77daefc9"),
    ];
    let commit = "e09974f990eeaf0c0e8f2b5eaff4be66effb2c86";
    let origin = ServedFiles::github("amazon-science/mxeval", commit, known("data/mbxp", &FILES));
    Entry {
        name: "mbxp".into(),
        title: "MBXP, programming problems in 13 languages (Athiwaratkun et al. 2022)".into(),
        used_by: "wb bench pairs in configs/code-minilm.yaml, configs/rules-python.yaml and others",
        license: "CC BY 4.0",
        about: Some(sum(&FILES)),
        note: "Go, Perl, Scala and Swift have no solutions",
        parts: vec![DataSetFolder::new("mbxp", Conversion::AsItIs(AsItIs), vec![origin])],
    }
}

fn humaneval_x() -> Entry {
    const FILES: [(&str, u64, &str); 6] = [
        ("python", 53_055, "5752fb122efddb0e9b47c77907ae6ce9a15aac4dea14e44c46032c831e6b987a"),
        ("java", 55_950, "276f36db2eb7aeb864f36a19a2f4e1bb2460fb6e22ff100f0b5bedabe3799967"),
        ("cpp", 50_995, "dcf2e280a1e91bbc3c5f90edb41397e8a9ac1ccc9f5d2b70082f0b0fbfb6dbb0"),
        ("go", 56_743, "09126ef64ac68f87296c5f3781186aedc5dec799b114d9df99d6de4a715a7830"),
        ("js", 52_009, "fe5d467f2c1a027b3f6f18d3729aca01f6458c1de2e2d1292a019c5aa9bed424"),
        ("rust", 46_660, "ae5cabbbfc8fe25244a608b04f09ac3b324c645ac969dfc033756c12f0f9924c"),
    ];
    let files = FILES.map(|(language, bytes, hash)| {
        let folder = format!("codegeex/benchmark/humaneval-x/{language}/data");
        WantedFile::new(format!("{folder}/humaneval_{language}.jsonl.gz")).of(bytes).sha256(hash)
    });
    let origin = ServedFiles::github("zai-org/CodeGeeX", "2838420b7b4492cf3d16bce5320e26e65960c9e2", files);
    Entry {
        name: "humaneval_x".into(),
        title: "HumanEval-X, 164 problems in six languages (Zheng et al. 2023)".into(),
        used_by: "configs/code-minilm.yaml",
        license: "Apache-2.0",
        about: Some(sum(&FILES)),
        note: "the repository was THUDM/CodeGeeX before; the files were seen under that name",
        parts: vec![DataSetFolder::new("humaneval_x", Conversion::AsItIs(AsItIs), vec![origin])],
    }
}

fn java_cs() -> Entry {
    const FILES: [Known; 6] = [
        ("train.java-cs.txt.java", 1_859_625, "397c44e7a0ad250849231a3beeb255ea54078e1cb62cf13359893d474025cb90"),
        ("train.java-cs.txt.cs", 2_384_756, "80013b5b5c7e973df52adec4944b895eaaee0944f09ab6179084631a15d36b7a"),
        ("valid.java-cs.txt.java", 95_626, "5cf92447fd81e126c7d791527f71d16dbcb91d3aa4aafda5c7d9d5c30d75a204"),
        ("valid.java-cs.txt.cs", 123_304, "513c430d61901a90895b22fb235c532dbdc26b84db9d825e1d04a5856a97aec1"),
        ("test.java-cs.txt.java", 177_375, "8e4c9db2467622c119366a89aa0ca798b5f72c11433e3ac3080df21e0e4e06f6"),
        ("test.java-cs.txt.cs", 228_990, "7a863a53cba15473d44ef2f7c99096370a204d4c1a54cc3d81c59d4a305756af"),
    ];
    let files = known("Code-Code/code-to-code-trans/data", &FILES);
    let origin = ServedFiles::github("microsoft/CodeXGLUE", "ac74a62802a0dd159b3258c78a2df8ad36cdf2b9", files);
    Entry {
        name: "java_cs".into(),
        title: "Java–C# translations of CodeXGLUE (Lu et al. 2021)".into(),
        used_by: "configs/code-minilm.yaml",
        license: "data C-UDA 1.0, code MIT",
        about: Some(sum(&FILES)),
        note: "",
        parts: vec![DataSetFolder::new("java_cs", Conversion::AsItIs(AsItIs), vec![origin])],
    }
}

/// Files of which git's name alone is known, and its bytes where the file could be seen.
const DOCSTRING_FILES: [(&str, &str, Option<u64>, &str); 9] = [
    ("declbodies", "train.gz", None, "db9f63d2e9735bca6a36442a868b4035d4c267ab"),
    ("declbodies", "valid", Some(1_460_711), "534b905335071d4e155d96cf3230b78cb505f648"),
    ("declbodies", "test", Some(1_468_057), "7b278a32a2941b8541bf881c5cea90919b2fc9b5"),
    ("descriptions", "train", None, "abb4416fcf501a22db947f19cc76b81c9a9fbf24"),
    ("descriptions", "valid", Some(589_537), "fa109f6e22a0e1879467b324da2f7ad6c8b75c0b"),
    ("descriptions", "test", Some(572_474), "8f49c8f047af03142700069f44b59400075c5586"),
    ("metadata", "train", None, "b0f66b131c1eea4551bf61b6f936551969ba01be"),
    ("metadata", "valid", Some(122_378), "1da05189f174815d68d9c11ef7460b2c9e610fa4"),
    ("metadata", "test", Some(123_933), "3446c1f82bad7db367b5bdc85a7ab8acc749ac29"),
];

fn docstrings() -> Entry {
    let files = DOCSTRING_FILES.map(|(kind, split, bytes, git)| {
        let wanted =
            WantedFile::new(format!("parallel-corpus/data_ps.{kind}.{split}")).called(format!("{kind}.{split}"));
        let wanted = wanted.git(git);
        bytes.map_or(wanted.clone(), |bytes| wanted.of(bytes))
    });
    let commit = "385207e41898dece913cafb8a5b31144014db29d";
    let origin = ServedFiles::github("EdinburghNLP/code-docstring-corpus", commit, files);
    Entry {
        name: "code_docstring_corpus".into(),
        title: "code-docstring-corpus, Python functions (Miceli Barone and Sennrich 2017)".into(),
        used_by: "configs/code-minilm.yaml, minilm-lora.yaml, docstrings-python.yaml and others",
        license: "for research in machine learning and language only; each function under its repository's license",
        about: None,
        note: "all 113,000 functions of the main corpus; recipes that name the folder train on all three splits",
        parts: vec![DataSetFolder::new("code_docstring_corpus", Conversion::Docstrings(Docstrings), vec![origin])],
    }
}
