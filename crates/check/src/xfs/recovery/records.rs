//! Records of the log, and the transactions in them.

use std::collections::HashMap;

use ondisk::bytes::{be32, le32};
use ondisk::xfs::log::{
    BLOCK, COMMIT, CONTINUED, CONTINUES, END, FORMAT_LE, LOG, MAGIC, MOST_DATA, OpHead, RecordHead,
    START, TRANSACTION, UNMOUNT, record_checksum, unpack,
};
use ondisk::xfs::log_item::{MOST_REGIONS, TRANSACTION_HEAD, TRANSACTION_MAGIC, regions};

use crate::xfs::phase2::log::{Lost, Position, Reader};

/// Records before the head that may be torn: as many buffers as the kernel writes at a time.
const TORN: usize = 8;

/// An item of a transaction: its regions as they were logged.
#[derive(Debug, Default)]
pub(super) struct Item {
    /// Regions that it has in all; 0: not known yet.
    total: u16,
    regions: Vec<Vec<u8>>,
}

impl Item {
    /// The first region, which says what it is.
    pub(super) fn head(&self) -> Result<&[u8], String> {
        self.region(0)
    }

    /// A region.
    pub(super) fn region(&self, nth: usize) -> Result<&[u8], String> {
        let region = self.regions.get(nth).map(Vec::as_slice);
        region.ok_or_else(|| format!("an item ends before its region {nth}"))
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.regions.len()
    }
}

/// A transaction that was committed.
#[derive(Debug, Default)]
pub(super) struct Transaction {
    /// Number of the record in which it began.
    pub(super) lsn: u64,
    pub(super) items: Vec<Item>,
    /// What there is of its head, which may be cut by the end of a record.
    head: Vec<u8>,
}

impl Transaction {
    /// Takes a region that begins.
    fn begin(&mut self, data: &[u8]) -> Result<(), String> {
        if data.is_empty() {
            return Ok(());
        }
        if self.head.is_empty() {
            if le32(data, 0) != TRANSACTION_MAGIC || data.len() > TRANSACTION_HEAD {
                return Err("a transaction has no head".into());
            }
            self.head = data.to_vec();
            return Ok(());
        }
        let whole = |item: &Item| item.total != 0 && item.regions.len() >= usize::from(item.total);
        if self.items.last().is_none_or(whole) {
            let total = regions(data);
            if total == 0 || total > MOST_REGIONS {
                return Err(format!("an item has {total} regions"));
            }
            self.items.push(Item {
                total,
                regions: Vec::new(),
            });
        }
        if let Some(item) = self.items.last_mut() {
            item.regions.push(data.to_vec());
        }
        Ok(())
    }

    /// Takes more of the last region.
    fn go_on(&mut self, data: &[u8]) -> Result<(), String> {
        if self.head.len() < TRANSACTION_HEAD {
            self.head.extend_from_slice(data);
            return Ok(());
        }
        let last = self
            .items
            .last_mut()
            .and_then(|item| item.regions.last_mut());
        let Some(region) = last else {
            return Err("a region goes on that has not begun".into());
        };
        region.extend_from_slice(data);
        Ok(())
    }
}

/// The records of a log from its tail to its head.
pub(super) struct Records<'a> {
    reader: &'a Reader<'a>,
    /// Where the log stands: torn records are left out.
    pub(super) position: Position,
    /// First block of each, in their order.
    starts: Vec<u64>,
    is_over: &'a dyn Fn() -> bool,
}

/// # Errors
/// The check is to end.
pub(super) fn go_on(is_over: &dyn Fn() -> bool) -> Result<(), String> {
    if is_over() {
        return Err("the check ended".into());
    }
    Ok(())
}

impl<'a> Records<'a> {
    /// Finds the records, and leaves those out that the last write tore.
    pub(super) fn new(
        reader: &'a Reader<'a>,
        v5: bool,
        uuid: [u8; 16],
        mut position: Position,
        is_over: &'a dyn Fn() -> bool,
    ) -> Result<Records<'a>, String> {
        loop {
            let starts = starts(reader, position, uuid, is_over)?;
            let torn = torn(reader, &starts, v5, is_over)?;
            let Some(at) = torn else {
                return Ok(Records {
                    reader,
                    position,
                    starts,
                    is_over,
                });
            };
            if at + TORN < starts.len() || at == 0 {
                return Err(format!(
                    "the checksum of the record at block {} is wrong",
                    starts[at]
                ));
            }
            // Fewer records each time, so this ends.
            position = reader.tail(starts[at]).map_err(|lost| said(&lost))?;
            if !position.dirty {
                return Ok(Records {
                    reader,
                    position,
                    starts: Vec::new(),
                    is_over,
                });
            }
        }
    }

    /// Hands out the transactions that were committed, in order.
    pub(super) fn each(
        &self,
        take: &mut dyn FnMut(&Transaction) -> Result<(), String>,
    ) -> Result<(), String> {
        let mut open: HashMap<u32, Transaction> = HashMap::new();
        for start in &self.starts {
            go_on(self.is_over)?;
            let (head, mut data) = read(self.reader, *start)?;
            let record = RecordHead::read(&head).map_err(|error| error.to_string())?;
            unpack(&head, &mut data);
            operations(record, &data, &mut open, take)?;
        }
        Ok(())
    }
}

fn said(lost: &Lost) -> String {
    lost.why().into()
}

/// The head of a record and its data, whole blocks.
fn read(reader: &Reader<'_>, start: u64) -> Result<(Vec<u8>, Vec<u8>), String> {
    let first = reader.read_around(start, 1).map_err(|lost| said(&lost))?;
    let record = RecordHead::read(&first).map_err(|error| error.to_string())?;
    if be32(&first, 0) != MAGIC || record.h_len.get() > MOST_DATA {
        return Err(format!("there is no record at block {start}"));
    }
    let (head_blocks, data_blocks) = (reader.head_blocks(record), data_blocks(record));
    if head_blocks + data_blocks > reader.blocks {
        return Err(format!(
            "the record at block {start} is larger than the log"
        ));
    }
    let mut bytes = reader
        .read_around(start, head_blocks + data_blocks)
        .map_err(|lost| said(&lost))?;
    let data = bytes.split_off(head_blocks as usize * BLOCK);
    Ok((bytes, data))
}

fn data_blocks(record: &RecordHead) -> u64 {
    u64::from(record.h_len.get()).div_ceil(BLOCK as u64)
}

/// The first blocks of the records from the tail to the head.
fn starts(
    reader: &Reader<'_>,
    position: Position,
    uuid: [u8; 16],
    is_over: &dyn Fn() -> bool,
) -> Result<Vec<u64>, String> {
    let (tail, head) = (u64::from(position.tail), u64::from(position.head));
    if tail >= reader.blocks || head > reader.blocks {
        return Err(format!("its tail is block {tail} of {}", reader.blocks));
    }
    let mut left = (head + reader.blocks - tail) % reader.blocks;
    let mut at = tail;
    let mut starts = Vec::new();
    while left > 0 {
        go_on(is_over)?;
        let bytes = reader.read_around(at, 1).map_err(|lost| said(&lost))?;
        let record = RecordHead::read(&bytes).map_err(|error| error.to_string())?;
        if record.h_magicno.get() != MAGIC || record.h_len.get() > MOST_DATA {
            return Err(format!("there is no record at block {at}"));
        }
        if record.h_fmt.get() != FORMAT_LE {
            return Err("it was written by a machine of another byte order".into());
        }
        if record.h_fs_uuid != uuid && record.h_fs_uuid != [0; 16] {
            return Err("it has the UUID of another filesystem".into());
        }
        let blocks = reader.head_blocks(record) + data_blocks(record);
        if blocks > left {
            return Err(format!("the record at block {at} reaches past the head"));
        }
        starts.push(at);
        left -= blocks;
        at = (at + blocks) % reader.blocks;
    }
    Ok(starts)
}

/// The first record whose checksum is wrong, by place in the list. Version 4 has none.
fn torn(
    reader: &Reader<'_>,
    starts: &[u64],
    v5: bool,
    is_over: &dyn Fn() -> bool,
) -> Result<Option<usize>, String> {
    if !v5 {
        return Ok(None);
    }
    for (nth, start) in starts.iter().enumerate() {
        go_on(is_over)?;
        let (head, data) = read(reader, *start)?;
        let record = RecordHead::read(&head).map_err(|error| error.to_string())?;
        let length = (record.h_len.get() as usize).min(data.len());
        let stored = u32::from_le_bytes(record.h_crc);
        if stored != record_checksum(&head, &data[..length]) {
            return Ok(Some(nth));
        }
    }
    Ok(None)
}

/// Takes the operations of a record.
fn operations(
    record: &RecordHead,
    data: &[u8],
    open: &mut HashMap<u32, Transaction>,
    take: &mut dyn FnMut(&Transaction) -> Result<(), String>,
) -> Result<(), String> {
    let data = &data[..data.len().min(record.h_len.get() as usize)];
    let mut at = 0;
    for _ in 0..record.h_num_logops.get() {
        if at >= data.len() {
            break;
        }
        let rest = &data[at..];
        let Ok(operation) = OpHead::read(rest) else {
            return Err("an operation is cut off".into());
        };
        let length = operation.oh_len.get() as usize;
        let Some(body) = rest.get(OpHead::SIZE..OpHead::SIZE.saturating_add(length)) else {
            return Err("an operation reaches past its record".into());
        };
        at += OpHead::SIZE + length;
        if !matches!(operation.oh_clientid, TRANSACTION | LOG) {
            return Err(format!(
                "an operation has the client {:#x}",
                operation.oh_clientid
            ));
        }
        one(operation, body, record.h_lsn.get(), open, take)?;
    }
    Ok(())
}

fn one(
    operation: &OpHead,
    body: &[u8],
    lsn: u64,
    open: &mut HashMap<u32, Transaction>,
    take: &mut dyn FnMut(&Transaction) -> Result<(), String>,
) -> Result<(), String> {
    let tid = operation.oh_tid.get();
    let flags = operation.oh_flags & !END;
    let Some(transaction) = open.get_mut(&tid) else {
        // Operations of a transaction that began before the tail are passed over.
        if operation.oh_flags & START != 0 {
            open.insert(
                tid,
                Transaction {
                    lsn,
                    ..Transaction::default()
                },
            );
        }
        return Ok(());
    };
    let flags = if flags & CONTINUES != 0 {
        flags & !CONTINUED
    } else {
        flags
    };
    match flags {
        0 | CONTINUED => transaction.begin(body),
        CONTINUES => transaction.go_on(body),
        COMMIT => match open.remove(&tid) {
            Some(transaction) => take(&transaction),
            None => Ok(()),
        },
        UNMOUNT => {
            open.remove(&tid);
            Ok(())
        }
        other => Err(format!("an operation has the flags {other:#x}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation(tid: u32, flags: u8, body: &[u8]) -> Vec<u8> {
        let mut bytes = tid.to_be_bytes().to_vec();
        bytes.extend((body.len() as u32).to_be_bytes());
        bytes.extend([TRANSACTION, flags, 0, 0]);
        bytes.extend(body);
        bytes
    }

    fn head(data: &[u8], operations: u32) -> RecordHead {
        let mut bytes = vec![0; RecordHead::SIZE];
        bytes[12..16].copy_from_slice(&(data.len() as u32).to_be_bytes());
        bytes[16..24].copy_from_slice(&77_u64.to_be_bytes());
        bytes[40..44].copy_from_slice(&operations.to_be_bytes());
        *RecordHead::read(&bytes).unwrap()
    }

    /// What the transactions of these records have: number, and the regions of each item.
    fn taken(records: &[&[Vec<u8>]]) -> Result<Vec<(u64, Vec<usize>)>, String> {
        let mut open = HashMap::new();
        let mut list = Vec::new();
        for record in records {
            let data: Vec<u8> = record.concat();
            let count = record.len() as u32;
            operations(&head(&data, count), &data, &mut open, &mut |transaction| {
                let items = transaction.items.iter();
                list.push((transaction.lsn, items.map(Item::count).collect()));
                Ok(())
            })?;
        }
        Ok(list)
    }

    fn transaction_head() -> Vec<u8> {
        let mut head = TRANSACTION_MAGIC.to_le_bytes().to_vec();
        head.resize(TRANSACTION_HEAD, 0);
        head
    }

    #[test]
    fn transactions_are_put_together_from_operations() {
        let item = [0x3c, 0x12, 2, 0];
        let whole = [
            operation(1, START, b""),
            operation(1, 0, &transaction_head()),
            operation(1, 0, &item),
            operation(1, CONTINUED, b"abcd"),
            operation(9, 0, b"of one that began before the tail"),
        ];
        let rest = [
            operation(1, CONTINUES | END, b"efgh"),
            operation(1, 0, &[0x3f, 0x12, 1, 0]),
            operation(1, COMMIT, b""),
        ];
        let open = taken(&[&whole]).unwrap();
        assert!(open.is_empty());
        assert_eq!(taken(&[&whole, &rest]).unwrap(), [(77, vec![2, 1])]);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let no_head = [operation(1, START, b""), operation(1, 0, b"none")];
        assert!(taken(&[&no_head]).unwrap_err().contains("no head"));
        let begun = [
            operation(1, START, b""),
            operation(1, 0, &transaction_head()),
        ];
        let none = [operation(1, 0, &[0x3c, 0x12, 0, 0])];
        assert!(taken(&[&begun, &none]).unwrap_err().contains("0 regions"));
        let early = [operation(1, CONTINUES, b"x")];
        assert!(taken(&[&begun, &early]).is_err());
        let mut cut = operation(1, START, b"");
        cut[7] = 200;
        assert!(taken(&[&[cut]]).unwrap_err().contains("past its record"));
        let mut client = operation(1, START, b"");
        client[8] = 1;
        assert!(taken(&[&[client]]).unwrap_err().contains("client"));
    }
}
