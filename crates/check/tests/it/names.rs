//! Damage to directories, indexes and link counts, beside Debian's e2fsck: the same exit code, and the same codes.
//!
//! Each case changes one thing in a sound image. e2fsck asks some of its questions two or three times, so what is compared is
//! which codes are raised, not how often.
mod cases;
mod contents;
mod entries;
mod images;
mod index;
mod inodes;
mod links;
mod random;
mod reading;
