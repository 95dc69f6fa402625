//! What performance costs: the price of the targets over what they reached.

use assay_record::{Price, RunHeader};
use serde::Serialize;

/// A price over a rate.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cost {
    /// Of 1000 I/Os per second.
    pub per_1000_iops: f64,
    /// Of one MiB/s (2^20 bytes per second).
    pub per_mib_per_s: f64,
    /// In which currency.
    pub currency: String,
}

impl Cost {
    /// Of these rates at a price; `None` where nothing was reached.
    pub fn of(price: &Price, iops: f64, mib_per_s: f64) -> Option<Self> {
        (iops > 0.0 && mib_per_s > 0.0).then(|| Self {
            per_1000_iops: price.amount / (iops / 1000.0),
            per_mib_per_s: price.amount / mib_per_s,
            currency: price.currency.clone(),
        })
    }
}

/// Returns the price of the targets of a run, where one is known.
pub fn price(header: &RunHeader) -> Option<&Price> {
    header.setting.price.as_ref()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_is_divided_by_what_it_bought() {
        let price: Price = "5500EUR".parse().unwrap();
        let cost = Cost::of(&price, 2750.0, 110.0).unwrap();
        assert_eq!((cost.per_1000_iops, cost.per_mib_per_s, cost.currency.as_str()), (2000.0, 50.0, "EUR"));
        assert_eq!(Cost::of(&price, 0.0, 1.0), None);
        for wrong in ["", "EUR", "0EUR", "-5EUR", "5500", "1e9EUR", "5.5.0EUR", "10 EUR!"] {
            assert!(wrong.parse::<Price>().is_err(), "{wrong}");
        }
        assert_eq!("1299.90 USD".parse::<Price>().unwrap().amount, 1299.9);
    }
}
