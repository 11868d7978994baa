//! Work that a scheduler was given, watched until it has ended.

use std::{thread, time::Duration};

use anyhow::Result;

/// Time between two looks.
const LOOK: Duration = Duration::from_secs(2);
/// Looks at a scheduler that does not answer, after which it is given up.
const UNANSWERED: usize = 150;

/// Looks until nothing is under way any more, whatever its end, and tells each time that something is.
pub(super) fn until_ended(is_under_way: &dyn Fn() -> Result<bool>, tell: &mut dyn FnMut() -> Result<()>) -> Result<()> {
    let mut unanswered = 0;
    while unanswered < UNANSWERED {
        thread::sleep(LOOK);
        match is_under_way() {
            Ok(false) => return Ok(()),
            Ok(true) => {
                unanswered = 0;
                tell()?;
            }
            // A controller that is begun again answers a moment later.
            Err(_) => unanswered += 1,
        }
    }
    is_under_way().map(|_| ())
}
