//! A decimal and whether it is exact. Operations are bounded by the digits that they would make, before they make them.

use std::fmt;

use bigdecimal::{BigDecimal, FromPrimitive, One, RoundingMode, Signed, ToPrimitive, Zero};

/// Digits of any number on the way.
const DIGITS: u64 = 1_000;
/// Digits that are kept where there would be no end to them.
const PRECISION: u64 = 60;
/// Digits that are shown of a rounded result; functions are worked out in binary, and good for fewer.
const SHOWN: u64 = 28;
const SHOWN_OF_BINARY: u64 = 15;
/// 449! is the last that has at most a thousand digits.
const FACTORIAL_LIMIT: u64 = 449;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Exactness {
    Binary,
    Rounded,
    Exact,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Number {
    value: BigDecimal,
    exactness: Exactness,
}

/// Why there is no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("division by zero")]
    DivisionByZero,
    #[error("a number on the way has more than {DIGITS} digits")]
    TooLarge,
    #[error("{0}")]
    Undefined(&'static str),
    #[error("{0:?} was not expected there (at character {1})")]
    Unexpected(String, usize),
    #[error("the expression ends too early")]
    Unfinished,
    #[error("there is nothing named {0:?}; there are {1}")]
    Unknown(String, String),
    #[error("{0} takes {1}")]
    Arguments(&'static str, &'static str),
    #[error("parentheses and signs are nested too deep")]
    TooDeep,
}

impl Number {
    fn exact(value: BigDecimal) -> Result<Self, Fault> {
        Self { value, exactness: Exactness::Exact }.within()
    }

    /// # Errors
    /// When it is no number, or too large a one.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        // An exponent of many digits is refused by its text: the number itself would be the harm.
        let (_, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        if exponent.trim_start_matches(['+', '-']).len() > 4 {
            return Err(Fault::TooLarge);
        }
        text.parse().map_err(|_| Fault::Unexpected(text.chars().take(40).collect(), 1)).and_then(Self::exact)
    }

    pub fn pi() -> Self {
        Self::binary(std::f64::consts::PI)
            .unwrap_or_else(|_| Self { value: Zero::zero(), exactness: Exactness::Binary })
    }

    pub fn e() -> Self {
        Self::binary(std::f64::consts::E).unwrap_or_else(|_| Self { value: Zero::zero(), exactness: Exactness::Binary })
    }

    fn binary(value: f64) -> Result<Self, Fault> {
        let value =
            BigDecimal::from_f64(value).ok_or(Fault::Undefined("the result is no number, or too large a one"))?;
        Self { value: value.with_prec(17), exactness: Exactness::Binary }.within()
    }

    /// Bounded in what stands before the point and in zeros behind it. Digits behind the point that are too many are rounded.
    fn within(self) -> Result<Self, Fault> {
        if self.value.is_zero() {
            return Ok(self);
        }
        let value = self.value.normalized();
        if value.order_of_magnitude().unsigned_abs() >= DIGITS {
            return Err(Fault::TooLarge);
        }
        if value.digits() <= DIGITS {
            return Ok(Self { value, ..self });
        }
        Ok(Self { value: rounded(&value), exactness: self.exactness.min(Exactness::Rounded) })
    }

    fn joined(value: BigDecimal, a: &Self, b: &Self) -> Result<Self, Fault> {
        let exactness = a.exactness.min(b.exactness);
        let value = if exactness == Exactness::Exact { value } else { rounded(&value) };
        Self { value, exactness }.within()
    }

    pub fn negated(self) -> Self {
        Self { value: -self.value, ..self }
    }

    pub fn plus(&self, other: &Self) -> Result<Self, Fault> {
        Self::joined(&self.value + &other.value, self, other)
    }

    pub fn minus(&self, other: &Self) -> Result<Self, Fault> {
        Self::joined(&self.value - &other.value, self, other)
    }

    pub fn times(&self, other: &Self) -> Result<Self, Fault> {
        Self::joined(&self.value * &other.value, self, other)
    }

    pub fn over(&self, other: &Self) -> Result<Self, Fault> {
        if other.value.is_zero() {
            return Err(Fault::DivisionByZero);
        }
        let value = &self.value / &other.value;
        if &value * &other.value == self.value {
            return Self::joined(value, self, other);
        }
        let exactness = self.exactness.min(other.exactness).min(Exactness::Rounded);
        Self { value: rounded(&value), exactness }.within()
    }

    pub fn remainder(&self, other: &Self) -> Result<Self, Fault> {
        if other.value.is_zero() {
            return Err(Fault::DivisionByZero);
        }
        Self::joined(&self.value % &other.value, self, other)
    }

    pub fn power(&self, exponent: &Self) -> Result<Self, Fault> {
        if exponent.value.is_integer() {
            return self.whole_power(exponent);
        }
        if self.value.is_negative() {
            return Err(Fault::Undefined("a negative number has no real root like that"));
        }
        Self::binary(self.float()?.powf(exponent.float()?))
    }

    fn whole_power(&self, exponent: &Self) -> Result<Self, Fault> {
        if self.value.is_zero() && !exponent.value.is_positive() {
            let why = "zero to the power of zero, or of less, is not defined";
            return Err(if exponent.value.is_zero() { Fault::Undefined(why) } else { Fault::DivisionByZero });
        }
        if self.value.is_zero() || self.value.is_one() {
            return Ok(self.clone());
        }
        let times = exponent.value.to_i64().ok_or(Fault::TooLarge)?;
        let base = self.value.normalized();
        // The order of the result, before anything is multiplied.
        let order = base.to_f64().map(|base| base.abs().log10()).filter(|order| order.is_finite());
        let order = order.unwrap_or(base.order_of_magnitude() as f64) * times as f64;
        if order.abs() >= DIGITS as f64 {
            return Err(Fault::TooLarge);
        }
        let is_exact =
            self.exactness == Exactness::Exact && base.digits().saturating_mul(times.unsigned_abs()) <= DIGITS;
        let exactness = if is_exact { Exactness::Exact } else { self.exactness.min(Exactness::Rounded) };
        let kept = |value: BigDecimal| if is_exact { value } else { rounded(&value) };
        let (mut value, mut square, mut left) = (BigDecimal::one(), base, times.unsigned_abs());
        while left > 0 {
            if left % 2 == 1 {
                value = kept(value * &square);
            }
            left /= 2;
            // The last square would be thrown away, and may be a large one.
            if left > 0 {
                square = kept(square.square());
            }
        }
        let power = Self { value, exactness }.within()?;
        if times < 0 { Self::exact(BigDecimal::one())?.over(&power) } else { Ok(power) }
    }

    /// One of the functions of one argument.
    pub fn through(&self, function: Function) -> Result<Self, Fault> {
        let value = &self.value;
        let whole = |mode| Self { value: value.with_scale_round(0, mode), exactness: self.exactness }.within();
        match function {
            Function::Abs => Ok(Self { value: value.abs(), exactness: self.exactness }),
            Function::Round => whole(RoundingMode::HalfUp),
            Function::Floor => whole(RoundingMode::Floor),
            Function::Ceil => whole(RoundingMode::Ceiling),
            Function::Factorial => self.factorial(),
            Function::Sqrt if value.is_negative() => Err(Fault::Undefined("a negative number has no real square root")),
            Function::Sqrt => {
                let root = value.sqrt().ok_or(Fault::Undefined("there is no such root"))?;
                self.rooted(&root, &root * &root)
            }
            Function::Cbrt => {
                let root = value.cbrt();
                self.rooted(&root, &root * &root * &root)
            }
            Function::Ln | Function::Log10 | Function::Log2 if !value.is_positive() => {
                Err(Fault::Undefined("a logarithm is of numbers above zero only"))
            }
            Function::Binary(of) => Self::binary(of(self.float()?)),
            Function::Ln => Self::binary(self.float()?.ln()),
            Function::Log10 => Self::binary(self.float()?.log10()),
            Function::Log2 => Self::binary(self.float()?.log2()),
        }
    }

    fn rooted(&self, root: &BigDecimal, back: BigDecimal) -> Result<Self, Fault> {
        let exactness = if back == self.value { self.exactness } else { self.exactness.min(Exactness::Rounded) };
        Self { value: rounded(root), exactness }.within()
    }

    fn factorial(&self) -> Result<Self, Fault> {
        let n = self.value.to_u64().filter(|_| self.value.is_integer() && !self.value.is_negative());
        let n = n.ok_or(Fault::Undefined("a factorial is of whole numbers from zero on"))?;
        if n > FACTORIAL_LIMIT {
            return Err(Fault::TooLarge);
        }
        Self::exact((1..=n).map(BigDecimal::from).fold(BigDecimal::one(), |product, next| product * next))
    }

    fn float(&self) -> Result<f64, Fault> {
        self.value.to_f64().filter(|value| value.is_finite()).ok_or(Fault::TooLarge)
    }

    pub fn is_less(&self, other: &Self) -> bool {
        self.value < other.value
    }
}

/// What takes one number.
#[derive(Debug, Clone, Copy)]
pub enum Function {
    Abs,
    Round,
    Floor,
    Ceil,
    Factorial,
    Sqrt,
    Cbrt,
    Ln,
    Log10,
    Log2,
    Binary(fn(f64) -> f64),
}

fn rounded(value: &BigDecimal) -> BigDecimal {
    if value.is_zero() { value.clone() } else { value.with_prec(PRECISION) }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = match self.exactness {
            Exactness::Exact => self.value.normalized(),
            Exactness::Rounded => self.value.with_prec(SHOWN).normalized(),
            Exactness::Binary => self.value.with_prec(SHOWN_OF_BINARY).normalized(),
        };
        if self.exactness != Exactness::Exact {
            f.write_str("≈ ")?;
        }
        // A thousand zeros help nobody.
        let places = shown.fractional_digit_count();
        let spread = places.unsigned_abs().max(shown.digits());
        if self.exactness != Exactness::Exact && spread > 40 {
            shown.write_scientific_notation(f)
        } else {
            shown.write_plain_string(f)
        }
    }
}
