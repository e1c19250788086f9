//! How late a device in real time answers.

/// An answer that leaves later than this after it is due is late, ns.
const LATE: u64 = 50_000;

/// What a device in real time has served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Served {
    /// Requests.
    pub requests: u64,
    /// Sum of their modelled times, ns.
    pub modelled: u64,
    /// Sum of the times by which their answers left late, ns.
    pub lateness: u64,
    /// Answers that left more than 50 us late.
    pub late: u64,
}

impl Served {
    /// Adds a request that takes `modelled` ns by its model, and whose answer leaves `lateness` ns late.
    pub fn add(&mut self, modelled: u64, lateness: u64) {
        self.requests += 1;
        self.modelled += modelled;
        self.lateness += lateness;
        self.late += u64::from(lateness > LATE);
    }

    /// An answer that was this late when it was due left `more` ns later: its bytes were not there yet.
    pub fn delay(&mut self, lateness: u64, more: u64) {
        self.lateness += more;
        self.late += u64::from(lateness <= LATE && lateness + more > LATE);
    }

    /// Mean time by which answers left late, ns.
    pub fn mean_lateness(&self) -> f64 {
        self.lateness as f64 / self.requests.max(1) as f64
    }

    /// Mean modelled time of a request, ns.
    pub fn mean_modelled(&self) -> f64 {
        self.modelled as f64 / self.requests.max(1) as f64
    }

    /// Answers that left more than 50 us late, percent.
    pub fn late_percent(&self) -> f64 {
        100.0 * self.late as f64 / self.requests.max(1) as f64
    }

    /// Whether times that were measured with it stand for the device: at most 1 % of the answers more than 50 us late, and the mean
    /// lateness at most 5 % of the mean time.
    pub fn is_sound(&self) -> bool {
        self.late * 100 <= self.requests && self.lateness * 20 <= self.modelled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_late_once_also_where_its_bytes_come_later() {
        let mut served = Served::default();
        served.add(0, LATE - 10_000);
        served.delay(LATE - 10_000, 20_000);
        assert_eq!((served.late, served.lateness), (1, LATE + 10_000));
        // Counted already when it was due.
        served.add(0, LATE + 1);
        served.delay(LATE + 1, 20_000);
        served.add(0, 10_000);
        served.delay(10_000, 20_000);
        assert_eq!((served.requests, served.late), (3, 2));
    }
}
