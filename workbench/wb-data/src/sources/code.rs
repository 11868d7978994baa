//! Documented functions of a source tree, as `wb-code` finds them.

use wb_code::TreeConfig;
use wb_core::{Progress, fingerprint::Fingerprint};

use super::{
    gather::Gather,
    source::{PairSource, SourceRead},
};
use crate::Result;

impl PairSource for TreeConfig {
    fn name(&self) -> String {
        match &self.path {
            Some(path) => format!("code {path}"),
            None => "code of Cargo's registry sources".into(),
        }
    }

    fn kind_and_dataset(&self) -> (&'static str, &str) {
        ("code", &self.dataset)
    }

    fn validate(&self, key: &str) -> wb_core::Result<()> {
        Self::validate(self, key)
    }

    fn fingerprint(&self) -> Result<Fingerprint> {
        wb_code::tree_fingerprint(self)
    }

    fn gather(&self, mut gather: Gather<'_>, progress: &mut dyn FnMut(Progress)) -> Result<SourceRead> {
        let read = wb_code::read_tree(self, progress)?;
        for (reason, count) in read.skipped.into_iter().chain(read.rejected) {
            gather.leave_out(reason, count);
        }
        read.pairs.into_iter().try_for_each(|pair| gather.give(pair))?;
        gather.finish(self.name(), read.fingerprint)
    }
}
