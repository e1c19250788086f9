//! What the choice of an executor asks of the machine besides its cache of kernels. The tests of the choice answer
//! otherwise: no one machine lacks everything in turn.

use guest::boot_probe::Prober;
use guest::kernel::{Cache, Host, Kernel};
use guest::machine;

use crate::error::Error;
use crate::needs::Needs;
use crate::target::GuestMachine;

/// A machine.
pub(super) trait HostInfo {
    /// The release of its kernel, and what that kernel lacks of these needs.
    fn host(&self, needs: &Needs) -> (String, Vec<String>);

    /// Whether what runs such guests is installed.
    ///
    /// # Errors
    /// The program that is missing.
    fn present(&self, machine: GuestMachine) -> Result<(), machine::Error>;

    /// Its User-mode Linux kernels, in the order in which they are tried.
    ///
    /// # Errors
    /// The cache cannot be read or written.
    fn uml_kernels(&self, cache: &Cache) -> Result<Vec<Kernel>, Error>;

    /// Why a kernel does not run on it, by a test boot now or in the past; none if it does.
    ///
    /// # Errors
    /// The test boot cannot be made.
    fn fails(&self, cache: &Cache, kernel: &Kernel, say: fn(&str))
    -> Result<Option<String>, Error>;
}

/// The machine that this process runs on.
pub(super) struct ThisMachine;

impl HostInfo for ThisMachine {
    fn host(&self, needs: &Needs) -> (String, Vec<String>) {
        let host = Host::here();
        let lacks = needs.lacking_here(&host);
        (host.release, lacks)
    }

    fn present(&self, machine: GuestMachine) -> Result<(), machine::Error> {
        crate::guest::present(machine)
    }

    fn uml_kernels(&self, cache: &Cache) -> Result<Vec<Kernel>, Error> {
        Ok(cache.uml_kernels()?)
    }

    fn fails(
        &self,
        cache: &Cache,
        kernel: &Kernel,
        say: fn(&str),
    ) -> Result<Option<String>, Error> {
        let answer = Prober::new(cache).answer(kernel, false, &mut |line| say(line));
        let answer = answer.map_err(Error::Guest)?;
        Ok(answer.failure().map(str::to_owned))
    }
}
