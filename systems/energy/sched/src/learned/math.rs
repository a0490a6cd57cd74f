//! Functions that give the same bits on every machine, compiler and number of threads.
//!
//! The libraries of systems differ in the last bits of `exp` and `tanh`, and a trained net is the
//! sum of millions of such bits. These use additions, multiplications and one division, in a fixed
//! order, which IEEE 754 defines to the bit. They have no branch, so that loops over them use the
//! processor's vectors, of any width.

/// 2 to the power of 23, times 1.5. A number near 0 that is added to this is rounded to a whole one.
const ROUND: f32 = 12_582_912.0;
/// The natural logarithm of 2, in two parts: the first has so few bits that its products with whole
/// numbers below 1,000 are exact.
const LN_2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];

/// A number as `scale * (1 + rest) = exp(x)`, where the scale is a power of 2. The Taylor series of
/// degree 7 is exact to 32 bits, as its argument is at most half of ln 2.
#[inline(always)]
fn parts(x: f32) -> (f32, f32) {
    let rounded = x * std::f32::consts::LOG2_E + ROUND;
    let power = rounded - ROUND;
    let r = x - power * LN_2[0] - power * LN_2[1];
    let series = 1.0 / 5040.0;
    let series = series * r + 1.0 / 720.0;
    let series = series * r + 1.0 / 120.0;
    let series = series * r + 1.0 / 24.0;
    let series = series * r + 1.0 / 6.0;
    let series = series * r + 0.5;
    let rest = series * r * r + r;
    // The low bits of the rounded number are the power; 127 is the bias of the exponent.
    let bits = rounded.to_bits().wrapping_sub(ROUND.to_bits());
    let scale = f32::from_bits(bits.wrapping_add(127) << 23);
    (scale, rest)
}

/// The exponential function, with a relative error of at most 2e-7. Arguments are taken as at least
/// -87 and at most 88, so that the result is neither 0 nor infinite.
#[inline(always)]
#[must_use]
pub fn exp(x: f32) -> f32 {
    let (scale, rest) = parts(x.clamp(-87.0, 88.0));
    scale * rest + scale
}

/// The hyperbolic tangent, with a relative error of at most 4e-7.
#[inline(always)]
#[must_use]
pub fn tanh(x: f32) -> f32 {
    // From 9.02 on the nearest number is 1.
    let (scale, rest) = parts((2.0 * x).clamp(-20.0, 20.0));
    // exp(2x) - 1, exact near 0 too, where the scale is 1.
    let less_one = scale * rest + (scale - 1.0);
    less_one / (less_one + 2.0)
}
