//! An MPI library, loaded at run time: thirteen functions, all data bytes, all on `MPI_COMM_WORLD`.
//!
//! Libraries differ in what a handle is. It travels here as `usize`: a pointer in Open MPI and in the standard ABI, an int in MPICH, which
//! is the low half of the register or of the eight bytes on the stack that a pointer would have (x86-64, aarch64, ppc64le, riscv64:
//! elsewhere it is refused). A function that ignores a status gets one of 128 bytes, since "ignore" differs, and no library has a larger one.
//!
//! | ABI | known by | `MPI_COMM_WORLD` | `MPI_BYTE` | `MPI_THREAD_FUNNELED` |
//! |---|---|---|---|---|
//! | standard (MPI 5.0, chapter 20) | `MPI_Abi_get_version` gives 1 or more | 0x101 | 0x247 | 1024 |
//! | Open MPI | data symbols `ompi_mpi_comm_world` and `ompi_mpi_byte` | their addresses | | 1 |
//! | MPICH, Intel, MVAPICH, Cray | `MPI_Get_library_version` | 0x44000000 | 0x4c00010d | 1 |
#![allow(
    unsafe_code,
    reason = "dlopen, and calls of functions that were found by their names"
)]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;

/// A communicator or a datatype.
type Handle = usize;

/// Most bytes of one call, as counts are ints.
const MOST: usize = 1 << 30;
/// Longest answer of `MPI_Get_library_version` of any library (MPICH: 8192).
const VERSION: usize = 8192;

/// Why there is no library.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// None of these could be loaded.
    #[error(
        "no MPI library: {0}; install one (packages openmpi-bin, mpich), or name it with --mpi-library"
    )]
    None(String),
    /// One was loaded that is none, or of no known kind.
    #[error("{0}: {1}; name another with --mpi-library")]
    Unfit(String, String),
    /// A function failed.
    #[error("{0} failed with code {1}")]
    Call(&'static str, i32),
    /// A message that a count cannot express.
    #[error("a message of {0} bytes is too large; use fewer ranks")]
    TooLarge(usize),
}

/// What kind of library it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Abi {
    /// That of MPI 5.0.
    Standard,
    /// Open MPI's.
    OpenMpi,
    /// MPICH's.
    Mpich,
}

impl Abi {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Abi::Standard => "standard",
            Abi::OpenMpi => "Open MPI",
            Abi::Mpich => "MPICH",
        }
    }

    const fn funneled(self) -> c_int {
        match self {
            Abi::Standard => 1024,
            Abi::OpenMpi | Abi::Mpich => 1,
        }
    }
}

type GetVersion = unsafe extern "C" fn(*mut c_char, *mut c_int) -> c_int;
type AbiVersion = unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int;
type InitThread =
    unsafe extern "C" fn(*mut c_int, *mut *mut *mut c_char, c_int, *mut c_int) -> c_int;
type Finalize = unsafe extern "C" fn() -> c_int;
type Abort = unsafe extern "C" fn(Handle, c_int) -> c_int;
type OfComm = unsafe extern "C" fn(Handle, *mut c_int) -> c_int;
type Barrier = unsafe extern "C" fn(Handle) -> c_int;
type Bcast = unsafe extern "C" fn(*mut c_void, c_int, Handle, c_int, Handle) -> c_int;
type Allgather =
    unsafe extern "C" fn(*const c_void, c_int, Handle, *mut c_void, c_int, Handle, Handle) -> c_int;
type Gatherv = unsafe extern "C" fn(
    *const c_void,
    c_int,
    Handle,
    *mut c_void,
    *const c_int,
    *const c_int,
    Handle,
    c_int,
    Handle,
) -> c_int;
type Send = unsafe extern "C" fn(*const c_void, c_int, Handle, c_int, c_int, Handle) -> c_int;
type Recv =
    unsafe extern "C" fn(*mut c_void, c_int, Handle, c_int, c_int, Handle, *mut c_void) -> c_int;

/// A library that is loaded, never to be unloaded: plugins of Open MPI refer to it until the process ends.
pub struct Library {
    /// The name by which it was found.
    pub name: String,
    /// Its own description, the first line.
    pub version: String,
    /// What kind it is.
    pub abi: Abi,
    world: Handle,
    byte: Handle,
    init_thread: InitThread,
    finalize: Finalize,
    abort: Abort,
    comm_rank: OfComm,
    comm_size: OfComm,
    barrier: Barrier,
    bcast: Bcast,
    allgather: Allgather,
    gatherv: Gatherv,
    send: Send,
    recv: Recv,
}

/// An object of the loader.
struct Loaded(*mut c_void);

impl Loaded {
    fn open(name: &str) -> Result<Loaded, String> {
        let path = CString::new(name).map_err(|_| format!("{name:?} is no name"))?;
        // The loader would wait for a FIFO. A name without a slash is looked for in the linker's folders.
        if name.contains('/') {
            input::open_regular(Path::new(name)).map_err(|why| format!("{name}: {why}"))?;
        }
        // Open MPI's plugins look for its symbols, so they are made global (open-mpi/ompi#3705).
        // SAFETY: a zero-terminated name. Loading runs initialisers of the library, which its user has asked for.
        let found = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
        if !found.is_null() {
            return Ok(Loaded(found));
        }
        // SAFETY: dlerror gives null or a zero-terminated text that is valid until the next call of the loader by this thread.
        let why = unsafe {
            let text = libc::dlerror();
            if text.is_null() {
                return Err(format!("{name}: cannot be loaded"));
            }
            CStr::from_ptr(text).to_string_lossy().into_owned()
        };
        Err(why)
    }

    fn address(&self, symbol: &CStr) -> Option<*mut c_void> {
        // SAFETY: an object of the loader that is never closed, and a zero-terminated name.
        let found = unsafe { libc::dlsym(self.0, symbol.as_ptr()) };
        (!found.is_null()).then_some(found)
    }
}

/// A function of the library, as a type with its signature.
macro_rules! function {
    ($loaded:expr, $name:literal as $type:ty) => {
        $loaded.address($name).map(|found| {
            // SAFETY: the MPI standard gives this name this signature; a handle is at most the size of a pointer, and is passed as one.
            unsafe { std::mem::transmute::<*mut c_void, $type>(found) }
        })
    };
}

impl Library {
    /// Loads the first of these that is an MPI library.
    ///
    /// # Errors
    /// None can be loaded; the first that can is of no known kind.
    pub fn load(names: &[String]) -> Result<Library, Error> {
        if !cfg!(any(
            target_arch = "x86_64",
            target_arch = "aarch64",
            all(target_arch = "powerpc64", target_endian = "little"),
            target_arch = "riscv64"
        )) {
            let why = "handles of MPI are not known for this processor's calls".to_owned();
            return Err(Error::None(why));
        }
        let mut reasons = Vec::new();
        for name in names {
            match Loaded::open(name) {
                Ok(loaded) => return Library::of(name, &loaded),
                Err(why) => reasons.push(why),
            }
        }
        Err(Error::None(reasons.join("; ")))
    }

    fn of(name: &str, loaded: &Loaded) -> Result<Library, Error> {
        let unfit = |why: &str| Error::Unfit(name.to_owned(), why.to_owned());
        let lacks = || unfit("it lacks functions of MPI");
        let version = function!(loaded, c"MPI_Get_library_version" as GetVersion);
        let version = text_of(version.ok_or_else(lacks)?);
        let abi_version = function!(loaded, c"MPI_Abi_get_version" as AbiVersion);
        let (abi, world, byte) = if abi_version.is_some_and(is_standard) {
            (Abi::Standard, 0x101, 0x247)
        } else if let (Some(world), Some(byte)) = (
            loaded.address(c"ompi_mpi_comm_world"),
            loaded.address(c"ompi_mpi_byte"),
        ) {
            (Abi::OpenMpi, world as usize, byte as usize)
        } else if ["MPICH", "Intel", "MVAPICH", "CRAY", "Cray"]
            .iter()
            .any(|word| version.contains(word))
        {
            (Abi::Mpich, 0x4400_0000, 0x4c00_010d)
        } else {
            return Err(unfit(&format!("its kind is not known ({version})")));
        };
        let init_thread = function!(loaded, c"MPI_Init_thread" as InitThread);
        Ok(Library {
            name: name.to_owned(),
            version,
            abi,
            world,
            byte,
            init_thread: init_thread.ok_or_else(lacks)?,
            finalize: function!(loaded, c"MPI_Finalize" as Finalize).ok_or_else(lacks)?,
            abort: function!(loaded, c"MPI_Abort" as Abort).ok_or_else(lacks)?,
            comm_rank: function!(loaded, c"MPI_Comm_rank" as OfComm).ok_or_else(lacks)?,
            comm_size: function!(loaded, c"MPI_Comm_size" as OfComm).ok_or_else(lacks)?,
            barrier: function!(loaded, c"MPI_Barrier" as Barrier).ok_or_else(lacks)?,
            bcast: function!(loaded, c"MPI_Bcast" as Bcast).ok_or_else(lacks)?,
            allgather: function!(loaded, c"MPI_Allgather" as Allgather).ok_or_else(lacks)?,
            gatherv: function!(loaded, c"MPI_Gatherv" as Gatherv).ok_or_else(lacks)?,
            send: function!(loaded, c"MPI_Send" as Send).ok_or_else(lacks)?,
            recv: function!(loaded, c"MPI_Recv" as Recv).ok_or_else(lacks)?,
        })
    }

    /// `MPI_Init_thread`: threads beside the one that calls MPI are allowed.
    ///
    /// # Errors
    /// What the library answers.
    pub fn init(&self) -> Result<(), Error> {
        let mut provided = 0;
        // SAFETY: null for argc and argv is allowed since MPI-2; `provided` is a writable int.
        let code = unsafe {
            (self.init_thread)(
                std::ptr::null_mut(),
                std::ptr::null_mut(),
                self.abi.funneled(),
                &raw mut provided,
            )
        };
        good("MPI_Init_thread", code)
    }

    /// `MPI_Finalize`.
    ///
    /// # Errors
    /// What the library answers.
    pub fn finalize(&self) -> Result<(), Error> {
        // SAFETY: MPI was initialised by this thread, and nothing is called after it.
        good("MPI_Finalize", unsafe { (self.finalize)() })
    }

    /// `MPI_Abort`: ends all ranks. A library that returns from it leaves that to the caller.
    pub fn abort(&self, code: i32) {
        // SAFETY: MPI was initialised by this thread.
        let _ = unsafe { (self.abort)(self.world, code) };
    }

    /// The caller's rank, and the number of ranks.
    ///
    /// # Errors
    /// What the library answers.
    pub fn rank_and_size(&self) -> Result<(u32, u32), Error> {
        let (mut rank, mut size) = (0, 0);
        // SAFETY: MPI was initialised by this thread, and both are writable ints.
        unsafe {
            good("MPI_Comm_rank", (self.comm_rank)(self.world, &raw mut rank))?;
            good("MPI_Comm_size", (self.comm_size)(self.world, &raw mut size))?;
        }
        let number = |n: c_int| u32::try_from(n).unwrap_or_default();
        Ok((number(rank), number(size)))
    }

    /// `MPI_Barrier`.
    ///
    /// # Errors
    /// What the library answers.
    pub fn barrier(&self) -> Result<(), Error> {
        // SAFETY: MPI was initialised by this thread.
        good("MPI_Barrier", unsafe { (self.barrier)(self.world) })
    }

    /// `MPI_Bcast` from rank 0; all ranks have a buffer of the same length.
    ///
    /// # Errors
    /// What the library answers.
    pub fn broadcast(&self, bytes: &mut [u8]) -> Result<(), Error> {
        for chunk in bytes.chunks_mut(MOST) {
            let (at, count) = (chunk.as_mut_ptr().cast(), chunk.len() as c_int);
            // SAFETY: the chunk has `count` bytes, which the library reads at rank 0 and writes elsewhere before it returns.
            let code = unsafe { (self.bcast)(at, count, self.byte, 0, self.world) };
            good("MPI_Bcast", code)?;
        }
        Ok(())
    }

    /// `MPI_Allgather` of one number of each rank.
    ///
    /// # Errors
    /// What the library answers.
    pub fn all(&self, mine: u64, size: u32) -> Result<Vec<u64>, Error> {
        let mut all = vec![0_u64; size as usize];
        let one = size_of::<u64>() as c_int;
        // SAFETY: eight bytes are read of `mine`, and eight for each rank written to `all`, which has as many.
        let code = unsafe {
            (self.allgather)(
                (&raw const mine).cast(),
                one,
                self.byte,
                all.as_mut_ptr().cast(),
                one,
                self.byte,
                self.world,
            )
        };
        good("MPI_Allgather", code)?;
        Ok(all)
    }

    /// `MPI_Gatherv` to rank 0 of as many bytes of each rank as `lengths` says; elsewhere the result is empty.
    ///
    /// # Errors
    /// What the library answers; more than 1 GiB in all.
    pub fn gather(&self, mine: &[u8], lengths: &[u64], rank: u32) -> Result<Vec<Vec<u8>>, Error> {
        let total: u64 = lengths.iter().sum();
        if total > MOST as u64 {
            return Err(Error::TooLarge(total as usize));
        }
        let counts: Vec<c_int> = lengths.iter().map(|length| *length as c_int).collect();
        let mut begin = 0;
        let places = counts.iter().map(|count| {
            begin += count;
            begin - count
        });
        let places: Vec<c_int> = places.collect();
        let mut all = vec![0_u8; if rank == 0 { total as usize } else { 0 }];
        // SAFETY: `mine` has as many bytes as this rank's length says, which all ranks have agreed on. At rank 0 the library writes
        // `counts[r]` bytes at `places[r]` of `all`, which is as long as their sum; elsewhere it writes nothing.
        let code = unsafe {
            (self.gatherv)(
                mine.as_ptr().cast(),
                mine.len() as c_int,
                self.byte,
                all.as_mut_ptr().cast(),
                counts.as_ptr(),
                places.as_ptr(),
                self.byte,
                0,
                self.world,
            )
        };
        good("MPI_Gatherv", code)?;
        if rank != 0 {
            return Ok(Vec::new());
        }
        let mut rest = all.as_slice();
        let each = lengths.iter().map(|length| {
            let (one, after) = rest.split_at(*length as usize);
            rest = after;
            one.to_vec()
        });
        Ok(each.collect())
    }

    /// `MPI_Send` of one number.
    ///
    /// # Errors
    /// What the library answers.
    pub fn send(&self, to: u32, value: u64) -> Result<(), Error> {
        let one = size_of::<u64>() as c_int;
        let at = (&raw const value).cast();
        // SAFETY: eight bytes of `value` are read before it returns.
        let code = unsafe { (self.send)(at, one, self.byte, to as c_int, 0, self.world) };
        good("MPI_Send", code)
    }

    /// `MPI_Recv` of one number.
    ///
    /// # Errors
    /// What the library answers.
    pub fn receive(&self, from: u32) -> Result<u64, Error> {
        let mut value = 0_u64;
        let mut status = [0_u64; 16];
        let one = size_of::<u64>() as c_int;
        let (at, status) = ((&raw mut value).cast(), status.as_mut_ptr().cast());
        // SAFETY: eight bytes are written to `value`, and a status to 128 bytes: the largest of any library has 40.
        let code = unsafe { (self.recv)(at, one, self.byte, from as c_int, 0, self.world, status) };
        good("MPI_Recv", code)?;
        Ok(value)
    }
}

fn good(function: &'static str, code: c_int) -> Result<(), Error> {
    // MPI_SUCCESS is 0 in every library.
    if code == 0 {
        return Ok(());
    }
    Err(Error::Call(function, code))
}

/// The first line of the library's description.
fn text_of(function: GetVersion) -> String {
    let mut text = vec![0_u8; VERSION + 1];
    let mut length = 0;
    // SAFETY: it may be called before MPI_Init; it writes at most MPI_MAX_LIBRARY_VERSION_STRING bytes, which is 256 (Open MPI) or 8192.
    let code = unsafe { function(text.as_mut_ptr().cast(), &raw mut length) };
    if code != 0 {
        return "a library without a version".to_owned();
    }
    let text = CStr::from_bytes_until_nul(&text).unwrap_or_default();
    let text = text.to_string_lossy();
    let line = text.lines().next().unwrap_or_default();
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether the library has the ABI of the standard. MPICH's own has the function, too, and answers -1.
fn is_standard(function: AbiVersion) -> bool {
    let (mut major, mut minor) = (-1, -1);
    // SAFETY: it may be called before MPI_Init, and both are writable ints.
    let code = unsafe { function(&raw mut major, &raw mut minor) };
    code == 0 && major >= 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_library_is_refused_with_what_the_loader_says() {
        let message = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            let error = Library::load(&names).err().map(|error| error.to_string());
            error.unwrap_or_default()
        };
        let none = message(&["libnothing-of-the-kind.so.3", "/dev/null"]);
        assert!(none.contains("libnothing-of-the-kind.so.3"), "{none}");
        assert!(none.contains("--mpi-library"), "{none}");
        // The C library is a library, and has no function of MPI.
        let other = message(&["libc.so.6"]);
        assert!(other.contains("lacks functions of MPI"), "{other}");
    }
}
