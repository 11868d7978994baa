//! BIRD.
