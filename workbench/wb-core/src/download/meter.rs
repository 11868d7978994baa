//! Progress of a download of several files: megabytes, rate, time left.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use super::Observer;
use crate::{
    Progress,
    quantities::{bytes, duration},
};

/// Reports are at least so far apart.
const PAUSE: Duration = Duration::from_millis(100);
/// The rate is that of about so long.
const WINDOW: Duration = Duration::from_secs(5);

/// The account of a download.
pub struct Meter<'a> {
    observer: &'a dyn Observer,
    file: String,
    done: u64,
    total: u64,
    reported: Option<Instant>,
    /// Times with the bytes that were there then, oldest first.
    recent: VecDeque<(Instant, u64)>,
}

impl<'a> Meter<'a> {
    /// Begins with a total of bytes; 0 where that is not known.
    pub fn new(observer: &'a dyn Observer, total: u64) -> Self {
        let recent = [(Instant::now(), 0)].into();
        Self { observer, file: String::new(), done: 0, total, reported: None, recent }
    }

    /// The next file.
    pub fn file(&mut self, name: &str) {
        name.clone_into(&mut self.file);
    }

    /// The size of all, where it comes to be known.
    pub fn expect(&mut self, total: u64) {
        self.total = total;
    }

    /// Bytes that came.
    pub fn add(&mut self, count: u64) {
        self.done += count;
        self.report();
    }

    /// Bytes that were there already, or (negative) have to come again: they tell nothing of the rate.
    pub fn shift(&mut self, count: i64) {
        self.done = self.done.saturating_add_signed(count);
        self.recent.iter_mut().for_each(|(_, done)| *done = done.saturating_add_signed(count));
    }

    fn report(&mut self) {
        let now = Instant::now();
        if self.reported.is_some_and(|last| now - last < PAUSE) && self.done < self.total {
            return;
        }
        self.reported = Some(now);
        self.recent.push_back((now, self.done));
        while self.recent.len() > 2 && now - self.recent[0].0 > WINDOW {
            self.recent.pop_front();
        }
        let note = told(&self.file, self.done, self.total, self.rate(now));
        let megabytes = |count: u64| count.div_ceil(1_000_000);
        self.observer.progress(Progress {
            done: megabytes(self.done),
            total: megabytes(self.total),
            ..Progress::new("fetching (MB)", 0, 0).note(note)
        });
    }

    /// Bytes a second.
    fn rate(&self, now: Instant) -> f64 {
        let Some((since, before)) = self.recent.front() else { return 0.0 };
        let seconds = (now - *since).as_secs_f64();
        if seconds < 0.05 { 0.0 } else { self.done.saturating_sub(*before) as f64 / seconds }
    }
}

/// `model.safetensors: 12.3 MB of 90.9 MB, 4.5 MB/s, 18 s left`
fn told(file: &str, done: u64, total: u64, rate: f64) -> String {
    let mut told = match total {
        0 => format!("{file}: {}", bytes(done)),
        _ => format!("{file}: {} of {}", bytes(done), bytes(total)),
    };
    if rate >= 1.0 {
        told += &format!(", {}/s", bytes(rate as u64));
        let left = total.saturating_sub(done) as f64 / rate;
        if left >= 1.0 {
            told += &format!(", {} left", duration(left));
        }
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn size_rate_and_time_left_are_told() {
        assert_eq!(told("a.bin", 12_300_000, 90_900_000, 4.5e6), "a.bin: 12.3 MB of 90.9 MB, 4.5 MB/s, 17 s left");
        assert_eq!(told("a.bin", 0, 3_000_000_000, 1e6), "a.bin: 0 B of 3 GB, 1 MB/s, 50 min 0 s left");
        assert_eq!(told("a.bin", 500, 0, 0.0), "a.bin: 500 B");
    }
}
