//! `wb encode`: texts into vectors in a file.

use anyhow::Result;
use wb_core::{Encoder as _, EncoderRef};
use wb_pipeline::{
    encode::{EncodeTask, TextInput},
    encoder::{self, Opening},
};

use super::End;
use crate::{
    args, interrupt,
    output::{self, Bars},
};

/// `wb encode`
pub fn encode(arguments: args::Encode) -> Result<End> {
    let args::Encode { encoder, input, in_format, field, side, out, dim, max_tokens, dtype, device, places } =
        arguments;
    let input = TextInput { path: input, format: in_format, field };
    let task = EncodeTask { input, side: side.into(), dim, out };
    interrupt::listen()?;
    // Everything typed is checked before weights are read.
    task.check()?;
    let (encoder, _) =
        encoder::open(&EncoderRef::from(encoder.as_str()), &places.runs, Opening { max_tokens, dtype, device })?;
    let settings = encoder.settings();
    let prompt = match settings.prompts.of(task.side) {
        "" => "without a prompt".to_owned(),
        prompt => format!("after the prompt {prompt:?}"),
    };
    let (name, most) = (encoder.name(), settings.max_tokens.of(task.side));
    output::note(format!("{name}: {} of at most {most} tokens, {prompt}", task.side.plural()));

    let mut bars = Bars::new();
    let encoded = task.encode(&encoder, &mut |now| bars.report(now))?;
    bars.finish();
    if encoded.resumed > 0 {
        output::note(format!("went on after {} texts that were encoded before", encoded.resumed));
    }
    let each =
        if encoded.vectors == encoded.texts { "one a text".to_owned() } else { format!("of {} texts", encoded.texts) };
    output::line(format!("{}: {} vectors of {} numbers, {each}", task.out.display(), encoded.vectors, encoded.dim));
    for file in &encoded.beside {
        output::line(format!("{}", file.display()));
    }
    Ok(End::Done)
}
