//! A worker process of its own, for the tests of this crate; the `wb` command starts itself instead.

fn main() -> wb_sql::execute::Result<()> {
    wb_sql::execute::serve(std::io::stdin(), std::io::stdout())
}
