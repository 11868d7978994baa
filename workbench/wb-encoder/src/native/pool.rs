//! Buffers that are kept: fresh memory costs a page fault every 4 KiB.

use std::sync::{Mutex, PoisonError};

/// Values that threads take, use and give back.
#[derive(Debug, Default)]
pub struct BufferPool<T>(Mutex<Vec<T>>);

impl<T: Default> BufferPool<T> {
    /// One that was given back, or a new one.
    pub fn take(&self) -> T {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    /// The number of those that lie here.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Gives one back.
    pub fn give(&self, value: T) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(value);
    }
}

/// A buffer of `len` numbers; what stands in it is left over from before.
pub fn sized(buffer: &mut Vec<f32>, len: usize) -> &mut [f32] {
    if buffer.len() < len {
        buffer.resize(len, 0.0);
    }
    &mut buffer[..len]
}
