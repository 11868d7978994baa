//! Names of symbols; the reading of whole indexes is tested where one is kept, in `wb-search`.

use super::*;

#[test]
fn the_last_name_of_a_symbol() {
    for (symbol, name) in [
        ("scip-python python flask 1 `src.flask.cli`/find().(module)", "module"),
        ("scip-python python flask 1 `src.flask.cli`/NoApp#run().", "run"),
        ("scip-typescript npm zod 4 src/`core.ts`/$replace#[Meta]", "Meta"),
        ("scip-typescript npm zod 4 src/`core.ts`/", "core.ts"),
        ("scip-typescript npm zod 4 src/`core.ts`/A#`<constructor>`().", "<constructor>"),
        ("a b c d `e f`/g(+1).", "g"),
        ("scip-typescript npm zod 4 src/`core.ts`/value0:", ""),
        ("", ""),
    ] {
        assert_eq!(last_name(symbol), name, "{symbol}");
    }
}
