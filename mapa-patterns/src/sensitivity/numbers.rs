//! Numbers as verdicts print them.

/// A number with three significant digits; whole digits are kept up to 1e7, and at most six
/// decimals.
pub(super) fn short(value: f64) -> String {
    if value != 0.0 && !(1e-4..1e7).contains(&value.abs()) {
        return format!("{value:.2e}");
    }
    let decimals = if value == 0.0 {
        0.0
    } else {
        (2.0 - value.abs().log10().floor()).clamp(0.0, 6.0)
    };
    let text = format!("{value:.*}", decimals as usize);
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// A share in whole percents; below ten with one decimal, so that 2.6 % is not printed as 3 %.
pub(super) fn percent(share: f64) -> String {
    let value = 100.0 * share;
    if value.abs() < 10.0 {
        format!("{value:.1} %")
    } else {
        format!("{value:.0} %")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let read = [0.0, 374.0, 84_936.0, 0.020_321, 1.5, 3.2e-9, 4.4e12, 1e-4].map(short);
        assert_eq!(
            read,
            [
                "0", "374", "84936", "0.0203", "1.5", "3.20e-9", "4.40e12", "0.0001"
            ]
        );
        assert_eq!(
            [0.268, 0.0299, -0.05].map(percent),
            ["27 %", "3.0 %", "-5.0 %"]
        );
    }
}
