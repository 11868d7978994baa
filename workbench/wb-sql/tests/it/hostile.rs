//! Statements that mean harm: refused or cut in time, with nothing changed and nobody hurt.
