//! How many connections each client has, so that one alone cannot have all of them.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

type Counts = Arc<Mutex<HashMap<IpAddr, usize>>>;

/// Connections by address.
#[derive(Debug)]
pub(super) struct Clients {
    most: usize,
    counts: Counts,
}

/// A connection that is counted until this is dropped.
#[derive(Debug)]
pub(super) struct Counted {
    client: IpAddr,
    counts: Counts,
}

impl Clients {
    /// At most `most` connections of one address.
    pub(super) fn new(most: usize) -> Clients {
        Clients {
            most,
            counts: Counts::default(),
        }
    }

    /// Counts a connection; `None` when the client has as many as it may.
    pub(super) fn enter(&self, client: IpAddr) -> Option<Counted> {
        let client = network(client);
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(client).or_default();
        if *count >= self.most {
            return None;
        }
        *count += 1;
        Some(Counted {
            client,
            counts: Arc::clone(&self.counts),
        })
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&self.client) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.client);
            }
        }
    }
}

/// A host of IPv6 has a network of 64 bits to itself, and as many addresses as it likes.
fn network(client: IpAddr) -> IpAddr {
    match client.to_canonical() {
        IpAddr::V6(address) => {
            let network = address.to_bits() >> 64 << 64;
            IpAddr::V6(network.into())
        }
        v4 @ IpAddr::V4(_) => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_client_does_not_get_all() {
        let clients = Clients::new(2);
        let enter = |address: &str| clients.enter(address.parse().unwrap());
        let held = [enter("192.0.2.1"), enter("::ffff:192.0.2.1")];
        assert!(held.iter().all(Option::is_some) && enter("192.0.2.1").is_none());
        assert!(enter("192.0.2.2").is_some());
        let of_one_network = [enter("2001:db8::1"), enter("2001:db8::2")];
        assert!(of_one_network.iter().all(Option::is_some));
        assert!(enter("2001:db8::3").is_none() && enter("2001:db8:0:1::1").is_some());
        drop(held);
        assert!(enter("192.0.2.1").is_some());
    }
}
