//! The window of the local allocator, and the truncate log.

use ondisk::ocfs2::dinode::BODY;

use super::super::case::Value::{Clusters, Set};
use super::super::case::{At, Case, End, edit, fields};

const WINDOW: At = At::System("local_alloc:0000");
const LOG: At = At::System("truncate_log:0000");
/// `i_used`, `i_total`, `la_bm_off` and `la_size`.
const USED: usize = 0xb8;
const TOTAL: usize = 0xbc;
const START: usize = BODY;
const SIZE: usize = BODY + 4;

pub(super) static CASES: &[Case] = &[
    fields(
        "lalloc-size",
        "LALLOC_SIZE",
        "the window's bitmap is larger than its inode",
        &[
            edit(WINDOW, TOTAL, 4, Set(8)),
            edit(WINDOW, SIZE, 2, Set(60_000)),
        ],
    )
    .also(&["LALLOC_CLEAR"]),
    fields(
        "lalloc-nz-used",
        "LALLOC_NZ_USED",
        "there is no window and bits of it are in use",
        &[edit(WINDOW, USED, 4, Set(5))],
    ),
    fields(
        "lalloc-nz-bm",
        "LALLOC_NZ_BM",
        "there is no window and it has a first cluster",
        &[edit(WINDOW, START, 4, Set(5))],
    ),
    fields(
        "lalloc-bm-overrun",
        "LALLOC_BM_OVERRUN",
        "the window begins after the end of the volume",
        &[
            edit(WINDOW, TOTAL, 4, Set(8)),
            edit(WINDOW, START, 4, Clusters(9)),
        ],
    )
    .also(&["LALLOC_BM_STRADDLE", "LALLOC_CLEAR"]),
    fields(
        "lalloc-bm-size",
        "LALLOC_BM_SIZE",
        "the window has more bits than its bitmap",
        &[
            edit(WINDOW, TOTAL, 4, Set(100)),
            edit(WINDOW, START, 4, Set(40_000)),
            edit(WINDOW, SIZE, 2, Set(8)),
        ],
    )
    .also(&["LALLOC_CLEAR"]),
    fields(
        "lalloc-bm-straddle",
        "LALLOC_BM_STRADDLE",
        "the window ends after the end of the volume",
        &[
            edit(WINDOW, TOTAL, 4, Set(8)),
            edit(WINDOW, START, 4, Clusters(0_u64.wrapping_sub(4))),
        ],
    )
    .also(&["LALLOC_CLEAR"]),
    fields(
        "lalloc-used-overrun",
        "LALLOC_USED_OVERRUN",
        "more bits of the window are in use than it has",
        &[
            edit(WINDOW, TOTAL, 4, Set(8)),
            edit(WINDOW, START, 4, Set(40_000)),
            edit(WINDOW, USED, 4, Set(9)),
        ],
    )
    .also(&["LALLOC_CLEAR"]),
    fields(
        "dealloc-count",
        "DEALLOC_COUNT",
        "the log has more records than its inode can hold",
        &[edit(LOG, BODY, 2, Set(9000))],
    ),
    fields(
        "dealloc-used",
        "DEALLOC_USED",
        "more records of the log are in use than there are",
        &[edit(LOG, BODY + 2, 2, Set(500))],
    ),
    fields(
        "truncate-rec-start-range",
        "TRUNCATE_REC_START_RANGE",
        "a record begins after the end of the volume",
        &[
            edit(LOG, BODY + 2, 2, Set(1)),
            edit(LOG, BODY + 8, 4, Clusters(5)),
            edit(LOG, BODY + 12, 4, Set(1)),
        ],
    )
    .also(&["TRUNCATE_REC_RANGE"])
    .ends(End::Exit(1)),
    fields(
        "truncate-rec-wrap",
        "TRUNCATE_REC_WRAP",
        "a record's end does not fit 32 bits",
        &[
            edit(LOG, BODY + 2, 2, Set(1)),
            edit(LOG, BODY + 8, 4, Set(40_000)),
            edit(LOG, BODY + 12, 4, Set(0xffff_ffff)),
        ],
    )
    .ends(End::Exit(1)),
    fields(
        "truncate-rec-range",
        "TRUNCATE_REC_RANGE",
        "a record ends after the end of the volume",
        &[
            edit(LOG, BODY + 2, 2, Set(1)),
            edit(LOG, BODY + 8, 4, Clusters(0_u64.wrapping_sub(2))),
            edit(LOG, BODY + 12, 4, Set(9)),
        ],
    )
    .ends(End::Exit(1)),
];
