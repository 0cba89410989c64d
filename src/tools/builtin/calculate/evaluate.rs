//! From the text of an expression to its number: precedence climbing, bounded in depth.

use super::number::{Fault, Function, Number};

/// Parentheses, signs and powers within one another.
const DEPTH: usize = 64;

const FUNCTIONS: &[(&str, Function)] = &[
    ("sqrt", Function::Sqrt),
    ("cbrt", Function::Cbrt),
    ("abs", Function::Abs),
    ("round", Function::Round),
    ("floor", Function::Floor),
    ("ceil", Function::Ceil),
    ("exp", Function::Binary(f64::exp)),
    ("ln", Function::Ln),
    ("log10", Function::Log10),
    ("log2", Function::Log2),
    ("sin", Function::Binary(f64::sin)),
    ("cos", Function::Binary(f64::cos)),
    ("tan", Function::Binary(f64::tan)),
    ("asin", Function::Binary(f64::asin)),
    ("acos", Function::Binary(f64::acos)),
    ("atan", Function::Binary(f64::atan)),
    ("factorial", Function::Factorial),
];

/// # Errors
/// What is wrong with the expression, or why it has no result.
pub fn evaluate(expression: &str) -> Result<Number, Fault> {
    let mut reader = Reader { chars: expression.chars().collect(), at: 0, depth: 0 };
    let number = reader.sum()?;
    match reader.peek() {
        Some(_) => Err(reader.unexpected()),
        None => Ok(number),
    }
}

struct Reader {
    chars: Vec<char>,
    at: usize,
    depth: usize,
}

impl Reader {
    fn peek(&mut self) -> Option<char> {
        while self.chars.get(self.at).is_some_and(|char| char.is_whitespace()) {
            self.at += 1;
        }
        self.chars.get(self.at).copied()
    }

    fn takes(&mut self, wanted: &[char]) -> Option<char> {
        let next = self.peek().filter(|char| wanted.contains(char))?;
        self.at += 1;
        Some(next)
    }

    fn unexpected(&mut self) -> Fault {
        match self.peek() {
            Some(char) => Fault::Unexpected(char.to_string(), self.at + 1),
            None => Fault::Unfinished,
        }
    }

    /// Runs `read` one level deeper.
    fn deeper(&mut self, read: impl FnOnce(&mut Self) -> Result<Number, Fault>) -> Result<Number, Fault> {
        if self.depth == DEPTH {
            return Err(Fault::TooDeep);
        }
        self.depth += 1;
        let number = read(self);
        self.depth -= 1;
        number
    }

    fn sum(&mut self) -> Result<Number, Fault> {
        let mut left = self.product()?;
        while let Some(sign) = self.takes(&['+', '-', '−']) {
            let right = self.product()?;
            left = if sign == '+' { left.plus(&right)? } else { left.minus(&right)? };
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<Number, Fault> {
        let mut left = self.signed()?;
        while let Some(sign) = self.takes(&['*', '/', '%', '×', '·', '÷', ':']) {
            let right = self.signed()?;
            left = match sign {
                '/' | '÷' | ':' => left.over(&right)?,
                '%' => left.remainder(&right)?,
                _ => left.times(&right)?,
            };
        }
        Ok(left)
    }

    /// A sign binds less than a power: -2^2 is -4.
    fn signed(&mut self) -> Result<Number, Fault> {
        match self.takes(&['+', '-', '−']) {
            Some('+') => self.deeper(Self::signed),
            Some(_) => Ok(self.deeper(Self::signed)?.negated()),
            None => self.power(),
        }
    }

    /// Powers are read from the right: 2^3^2 is 2^9.
    fn power(&mut self) -> Result<Number, Fault> {
        let base = self.operand()?;
        let doubled = self.peek() == Some('*') && self.chars.get(self.at + 1) == Some(&'*');
        if doubled {
            self.at += 2;
        } else if self.takes(&['^']).is_none() {
            return Ok(base);
        }
        let exponent = self.deeper(Self::signed)?;
        base.power(&exponent)
    }

    fn operand(&mut self) -> Result<Number, Fault> {
        let mut number = match self.peek() {
            Some('(') => {
                self.at += 1;
                let inner = self.deeper(Self::sum)?;
                self.closed()?;
                inner
            }
            Some('0'..='9' | '.') => self.number()?,
            Some('π') => {
                self.at += 1;
                Number::pi()
            }
            Some('√') => {
                self.at += 1;
                self.deeper(Self::operand)?.through(Function::Sqrt)?
            }
            Some(char) if char.is_alphabetic() => self.named()?,
            _ => return Err(self.unexpected()),
        };
        while self.takes(&['!']).is_some() {
            number = number.through(Function::Factorial)?;
        }
        Ok(number)
    }

    fn closed(&mut self) -> Result<(), Fault> {
        self.takes(&[')']).map(|_| ()).ok_or_else(|| self.unexpected())
    }

    fn number(&mut self) -> Result<Number, Fault> {
        let begin = self.at;
        while self.chars.get(self.at).is_some_and(|char| char.is_ascii_digit() || matches!(char, '.' | '_')) {
            self.at += 1;
        }
        // 2e3 is a number; 2e is 2 and a name, which is refused where it stands.
        let sign = usize::from(matches!(self.chars.get(self.at + 1), Some('+' | '-')));
        if matches!(self.chars.get(self.at), Some('e' | 'E'))
            && self.chars.get(self.at + 1 + sign).is_some_and(char::is_ascii_digit)
        {
            self.at += 1 + sign;
            while self.chars.get(self.at).is_some_and(char::is_ascii_digit) {
                self.at += 1;
            }
        }
        let text: String = self.chars[begin..self.at].iter().filter(|char| **char != '_').collect();
        Number::parse(&text).map_err(|fault| match fault {
            Fault::Unexpected(text, _) => Fault::Unexpected(text, begin + 1),
            other => other,
        })
    }

    fn named(&mut self) -> Result<Number, Fault> {
        let begin = self.at;
        while self.chars.get(self.at).is_some_and(|char| char.is_alphanumeric() || *char == '_') {
            self.at += 1;
        }
        let name: String = self.chars[begin..self.at].iter().collect::<String>().to_lowercase();
        match name.as_str() {
            "pi" => return Ok(Number::pi()),
            "e" => return Ok(Number::e()),
            "min" => return self.extreme("min", |a, b| a.is_less(b)),
            "max" => return self.extreme("max", |a, b| b.is_less(a)),
            _ => {}
        }
        let Some((name, function)) = FUNCTIONS.iter().find(|(known, _)| *known == name) else {
            let known: Vec<&str> = FUNCTIONS.iter().map(|(name, _)| *name).chain(["min", "max", "pi", "e"]).collect();
            return Err(Fault::Unknown(name.chars().take(40).collect(), known.join(", ")));
        };
        let arguments = self.arguments()?;
        match arguments.as_slice() {
            [one] => one.through(*function),
            _ => Err(Fault::Arguments(name, "one number")),
        }
    }

    /// Of several numbers the one that `wins` against all others.
    fn extreme(&mut self, name: &'static str, wins: fn(&Number, &Number) -> bool) -> Result<Number, Fault> {
        let numbers = self.arguments()?;
        numbers
            .into_iter()
            .reduce(|best, next| if wins(&next, &best) { next } else { best })
            .ok_or(Fault::Arguments(name, "numbers with commas between them"))
    }

    fn arguments(&mut self) -> Result<Vec<Number>, Fault> {
        if self.takes(&['(']).is_none() {
            return Err(self.unexpected());
        }
        if self.takes(&[')']).is_some() {
            return Ok(Vec::new());
        }
        let mut arguments = vec![self.deeper(Self::sum)?];
        while self.takes(&[',', ';']).is_some() {
            arguments.push(self.deeper(Self::sum)?);
        }
        self.closed()?;
        Ok(arguments)
    }
}
