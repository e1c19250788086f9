//! Superblock copies, headers of allocation groups, free lists.

use super::super::PASSES;
use super::problems;
use crate::frame::problem::{Class, Problem, Severity};

problems! {
    HEADERS:
    SB_CRC = 0x0200 1 "XFS-SB-CRC" Error Metadata "sb of each AG: its checksum is wrong";
    SB_COPY_GEOMETRY = 0x0201 1 "XFS-SB-COPY-GEOMETRY" Error Metadata "sb of each AG: its geometry is not the primary's: sizes, counts, log start and blocks, sector, inode size, realtime geometry, alignment bits";
    SB_TAIL = 0x0202 1 "XFS-SB-TAIL" Error Metadata "sb of each AG: bytes after the last field that the version has are not zero";
    SB_FLAGS = 0x0203 1 "XFS-SB-FLAGS" Error Metadata "sb of each AG: flags byte is not zero";
    SB_COPY_UQUOTA = 0x0204 1 "XFS-SB-COPY-UQUOTA" Error Metadata "secondary sb: a secondary (in-progress byte 1) names a user quota inode";
    SB_COPY_GQUOTA = 0x0205 1 "XFS-SB-COPY-GQUOTA" Error Metadata "secondary sb: a secondary (in-progress byte 1) names a group quota inode";
    SB_COPY_PQUOTA = 0x0206 1 "XFS-SB-COPY-PQUOTA" Error Metadata "secondary sb: a secondary (in-progress byte 1) names a project quota inode";
    SB_COPY_QFLAGS = 0x0207 1 "XFS-SB-COPY-QFLAGS" Error Metadata "secondary sb: a secondary (in-progress byte 1) has quota flags";
    SB_INOALIGN_UNUSED = 0x0208 1 "XFS-SB-INOALIGN-UNUSED" Error Metadata "sb of each AG: inode alignment without the bit for it";
    SB_SUNIT_UNUSED = 0x0209 1 "XFS-SB-SUNIT-UNUSED" Error Metadata "sb of each AG: stripe unit or width without the bit";
    SB_SECTOR_UNUSED = 0x020a 1 "XFS-SB-SECTOR-UNUSED" Error Metadata "sb of each AG: sector fields other than 512 without the bit";
    SB_COPY_COMPAT = 0x020b 1 "XFS-SB-COPY-COMPAT" Error Metadata "secondary sb: compat bits differ from the primary's";
    SB_COPY_INCOMPAT = 0x020c 1 "XFS-SB-COPY-INCOMPAT" Error Metadata "secondary sb: incompat bits differ (the needs-repair bit is left out)";
    SB_COPY_ROCOMPAT = 0x020d 1 "XFS-SB-COPY-ROCOMPAT" Error Metadata "secondary sb: ro-compat bits differ";
    SB_COPY_LOGINCOMPAT = 0x020e 1 "XFS-SB-COPY-LOGINCOMPAT" Optional Cosmetic "secondary sb: log-incompat bits differ: logged only under -n, exit unaffected";
    SB_NEEDSREPAIR = 0x020f 1 "XFS-SB-NEEDSREPAIR" Error Metadata "sb 0: needs-repair bit is set in the primary";
    AGF_CRC = 0x0210 1 "XFS-AGF-CRC" Error Metadata "AGF: its checksum is wrong";
    AGF_MAGIC = 0x0211 1 "XFS-AGF-MAGIC" Error Metadata "AGF: its magic number is wrong";
    AGF_VERSION = 0x0212 1 "XFS-AGF-VERSION" Error Metadata "AGF: version is not 1";
    AGF_SEQNO = 0x0213 1 "XFS-AGF-SEQNO" Error Metadata "AGF: it names another AG";
    AGF_LENGTH = 0x0214 1 "XFS-AGF-LENGTH" Error Metadata "AGF: length; the last AG has the rest of the device";
    AGF_FLFIRST = 0x0215 1 "XFS-AGF-FLFIRST" Error Metadata "AGF: first index of the free list beyond its end";
    AGF_FLLAST = 0x0216 1 "XFS-AGF-FLLAST" Error Metadata "AGF: last index of the free list is beyond its end";
    AGF_UUID = 0x0217 1 "XFS-AGF-UUID" Error Metadata "AGF: UUID is not the filesystem's (meta UUID if that feature is on)";
    AGI_CRC = 0x0218 1 "XFS-AGI-CRC" Error Metadata "AGI: its checksum is wrong";
    AGI_MAGIC = 0x0219 1 "XFS-AGI-MAGIC" Error Metadata "AGI: its magic number is wrong";
    AGI_VERSION = 0x021a 1 "XFS-AGI-VERSION" Error Metadata "AGI: version is not 1";
    AGI_SEQNO = 0x021b 1 "XFS-AGI-SEQNO" Error Metadata "AGI: it names another AG";
    AGI_LENGTH = 0x021c 1 "XFS-AGI-LENGTH" Error Metadata "AGI: its length is wrong";
    AGI_UUID = 0x021d 1 "XFS-AGI-UUID" Error Metadata "AGI: it has another UUID";
    AG_READ = 0x021f 1 "XFS-AG-READ" Stop Metadata "AG: header sector cannot be had at all";
    AGFL_READ = 0x0220 1 "XFS-AGFL-READ" Stop Metadata "AGFL: sector cannot be read";
    AGFL_CRC = 0x0221 1 "XFS-AGFL-CRC" Error Metadata "AGFL: its checksum is wrong";
    AGFL_INDEX = 0x0222 1 "XFS-AGFL-INDEX" Error Metadata "AGFL: list cannot be walked, because first or last is out of range";
    AGFL_COUNT = 0x0223 1 "XFS-AGFL-COUNT" Error Accounting "AGFL: entries between first and last are not as many as the count says";
    AGFL_BLOCK = 0x0224 1 "XFS-AGFL-BLOCK" Error Metadata "AGFL: an entry is no block of the AG's usable part";
    SB_COPY_BAD = 0x0225 1 "XFS-SB-COPY-BAD" Error Metadata "sb of each AG: fails its own checks; the note says which";
}
