//! Stations that serve in the order of arrival.

use super::{PlantedLoad, Spread};

/// Servers with one queue.
pub(super) struct Station {
    free_us: Vec<f64>,
}

impl Station {
    pub(super) fn new(servers: usize) -> Self {
        Self { free_us: vec![0.0; servers.max(1)] }
    }

    /// When the next server is free.
    pub(super) fn free_us(&self) -> f64 {
        self.free_us.iter().copied().fold(f64::MAX, f64::min)
    }

    /// When service that takes so long ends.
    pub(super) fn serve(&mut self, now: f64, service: f64) -> f64 {
        let mut first = 0;
        for (index, free) in self.free_us.iter().enumerate() {
            if *free < self.free_us[first] {
                first = index;
            }
        }
        let end = now.max(self.free_us[first]) + service;
        self.free_us[first] = end;
        end
    }
}

/// A limit on CPU time: what was used up in a period is given back in the next one.
pub(super) struct Quota {
    /// CPU time for each period, µs; `None`: any.
    share_us: Option<f64>,
    used_us: f64,
    /// When the period ends, and when the last one that was used up did.
    ends_us: f64,
    resumed_us: f64,
    stopped_us: f64,
}

/// Period of a limit on CPU time, µs: shorter than the usual 100 ms of the kernel, so that a measurement has many.
const PERIOD_US: f64 = 2000.0;

impl Quota {
    pub(super) fn new(cpus: Option<f64>) -> Self {
        let share_us = cpus.map(|cpus| cpus * PERIOD_US);
        Self { share_us, used_us: 0.0, ends_us: PERIOD_US, resumed_us: 0.0, stopped_us: 0.0 }
    }

    /// When work that takes so much CPU time may begin.
    pub(super) fn passes(&mut self, now: f64, work_us: f64) -> f64 {
        let Some(share_us) = self.share_us else { return now };
        let now = now.max(self.resumed_us);
        if now >= self.ends_us {
            self.ends_us = ((now / PERIOD_US).floor() + 1.0) * PERIOD_US;
            self.used_us = 0.0;
        }
        let mut begin = now;
        if self.used_us >= share_us {
            begin = self.ends_us;
            self.stopped_us += begin - now;
            (self.resumed_us, self.ends_us) = (begin, begin + PERIOD_US);
            self.used_us = 0.0;
        }
        self.used_us += work_us;
        begin
    }

    /// Time for which it stopped the tester, µs.
    pub(super) fn stopped_us(&self) -> f64 {
        self.stopped_us
    }
}

/// Links, each with two directions.
pub(super) struct Links {
    out: Vec<Station>,
    back: Vec<Station>,
    used: Vec<usize>,
    /// Time that I/Os spent on each link, µs.
    spent: Vec<f64>,
    /// Rate of the last link over that of the others.
    slowest: f64,
    one_path: bool,
    even_paths: bool,
}

impl Links {
    pub(super) fn new(paths: usize, slowest: f64, load: &PlantedLoad) -> Self {
        let stations = || (0..paths.max(1)).map(|_| Station::new(1)).collect();
        Self {
            out: stations(),
            back: stations(),
            used: vec![0; paths.max(1)],
            spent: vec![0.0; paths.max(1)],
            slowest,
            one_path: load.one_path,
            even_paths: load.even_paths,
        }
    }

    /// The path of the I/O with this number.
    pub(super) fn choose(&mut self, number: usize, spread: Spread) -> usize {
        let paths = self.out.len();
        let path = match spread {
            _ if self.one_path => 0,
            _ if self.even_paths => number % paths,
            Spread::First => 0,
            Spread::Every(ios) => number / (ios as usize).max(1) % paths,
        };
        self.used[path] += 1;
        path
    }

    pub(super) fn send(&mut self, path: usize, now: f64, service: f64) -> f64 {
        let service = service / self.rate(path);
        let end = self.out[path].serve(now, service);
        self.spent[path] += end - now;
        end
    }

    pub(super) fn receive(&mut self, path: usize, now: f64, service: f64) -> f64 {
        let service = service / self.rate(path);
        let end = self.back[path].serve(now, service);
        self.spent[path] += end - now;
        end
    }

    /// Rate of a link over that of the others.
    fn rate(&self, path: usize) -> f64 {
        if path > 0 && path + 1 == self.out.len() { self.slowest } else { 1.0 }
    }

    /// Mean time on the slowest link over that on the fastest; 1 where not all were used.
    pub(super) fn delays(&self) -> f64 {
        let mean = |(spent, used): (&f64, &usize)| spent / (*used as f64).max(1.0);
        let means: Vec<f64> = self.spent.iter().zip(&self.used).map(mean).collect();
        let (longest, shortest) =
            (means.iter().copied().fold(0.0, f64::max), means.iter().copied().fold(f64::MAX, f64::min));
        if shortest > 0.0 { longest / shortest } else { 1.0 }
    }

    /// I/Os of the busiest path over the mean of all.
    pub(super) fn share(&self) -> f64 {
        let most = self.used.iter().max().copied().unwrap_or(0) as f64;
        let all: usize = self.used.iter().sum();
        most * self.used.len() as f64 / (all as f64).max(1.0)
    }
}
