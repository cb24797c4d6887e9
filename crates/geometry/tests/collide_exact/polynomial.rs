//! Integer polynomials in one variable: isolation of roots in [0, 1] by Descartes' rule, and the
//! sign of one polynomial at a root of another.

use num_bigint::{BigInt, Sign};
use num_integer::Integer;
use num_traits::{One, Signed, Zero};

/// Coefficients, lowest power first, without leading zeros.
#[derive(Clone, Debug, PartialEq)]
pub struct Poly(pub Vec<BigInt>);

impl Poly {
    pub fn new(mut c: Vec<BigInt>) -> Self {
        while c.last().is_some_and(|x| x.is_zero()) {
            c.pop();
        }
        Poly(c)
    }

    pub fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    pub fn degree(&self) -> usize {
        self.0.len().saturating_sub(1)
    }

    pub fn add(&self, o: &Poly) -> Poly {
        self.zip(o, |a, b| a + b)
    }

    pub fn sub(&self, o: &Poly) -> Poly {
        self.zip(o, |a, b| a - b)
    }

    fn zip(&self, o: &Poly, f: impl Fn(&BigInt, &BigInt) -> BigInt) -> Poly {
        let zero = BigInt::zero();
        let n = self.0.len().max(o.0.len());
        let get = |p: &Poly, i: usize| p.0.get(i).cloned().unwrap_or_else(|| zero.clone());
        Poly::new((0..n).map(|i| f(&get(self, i), &get(o, i))).collect())
    }

    pub fn mul(&self, o: &Poly) -> Poly {
        if self.is_zero() || o.is_zero() {
            return Poly(Vec::new());
        }
        let mut c = vec![BigInt::zero(); self.0.len() + o.0.len() - 1];
        for (i, a) in self.0.iter().enumerate() {
            for (j, b) in o.0.iter().enumerate() {
                c[i + j] += a * b;
            }
        }
        Poly::new(c)
    }

    /// The sign at c/2ᵏ.
    pub fn sign(&self, c: &BigInt, k: usize) -> i32 {
        let mut value = BigInt::zero();
        let n = self.degree();
        for (i, a) in self.0.iter().enumerate().rev() {
            value = value * c + (a << (k * (n - i)));
        }
        sign(&value)
    }

    fn derivative(&self) -> Poly {
        let terms = self.0.iter().enumerate().skip(1);
        Poly::new(terms.map(|(i, a)| a * BigInt::from(i)).collect())
    }

    /// Divides out the common factor of the coefficients.
    fn primitive(self) -> Poly {
        let g = self.0.iter().fold(BigInt::zero(), |g, a| g.gcd(a));
        if g.is_zero() || g.is_one() {
            return self;
        }
        Poly(self.0.into_iter().map(|a| a / &g).collect())
    }

    /// A multiple of the remainder, by a power of the divisor's leading coefficient.
    fn remainder(&self, divisor: &Poly) -> Poly {
        let mut r = self.clone();
        let lead = divisor.0.last().unwrap();
        while !r.is_zero() && r.degree() >= divisor.degree() {
            let shift = r.degree() - divisor.degree();
            let top = r.0.last().unwrap().clone();
            let mut c: Vec<BigInt> = r.0.iter().map(|a| a * lead).collect();
            for (i, d) in divisor.0.iter().enumerate() {
                c[i + shift] -= &top * d;
            }
            r = Poly::new(c);
        }
        r
    }

    pub fn gcd(&self, o: &Poly) -> Poly {
        let (mut a, mut b) = (self.clone().primitive(), o.clone().primitive());
        while !b.is_zero() {
            let r = a.remainder(&b).primitive();
            a = b;
            b = r;
        }
        a
    }

    /// The polynomial with the same roots, each simple.
    fn square_free(&self) -> Poly {
        let g = self.gcd(&self.derivative());
        if g.degree() == 0 {
            return self.clone();
        }
        // Exact division up to a constant, by scaling so that every quotient is integer.
        let mut r = self.clone();
        let lead = g.0.last().unwrap().clone();
        let steps = r.degree() - g.degree() + 1;
        for _ in 0..steps {
            r = Poly(r.0.into_iter().map(|a| a * &lead).collect());
        }
        let mut q = vec![BigInt::zero(); steps];
        for shift in (0..steps).rev() {
            let Some(top) = r.0.get(shift + g.degree()).cloned() else {
                continue;
            };
            let f = top / &lead;
            for (i, d) in g.0.iter().enumerate() {
                let x = &f * d;
                r.0[i + shift] -= x;
            }
            q[shift] = f;
        }
        Poly::new(q).primitive()
    }

    /// Multiples of the Bernstein coefficients on [c/2ᵏ, (c+1)/2ᵏ] by binomials, from the right
    /// end to the left: all of one sign means no root inside.
    fn bernstein(&self, c: &BigInt, k: usize) -> Vec<BigInt> {
        let n = self.degree();
        // Shift by c and scale: a(x) = 2^{kn} p((x + c)/2ᵏ).
        let mut a: Vec<BigInt> = (0..=n).map(|i| &self.0[i] << (k * (n - i))).collect();
        for i in 0..n {
            for j in (i..n).rev() {
                let x = &a[j + 1] * c;
                a[j] += x;
            }
        }
        // (1 + x)ⁿ a(1/(1 + x)) by reversal and a shift by one.
        a.reverse();
        for i in 0..n {
            for j in (i..n).rev() {
                let x = a[j + 1].clone();
                a[j] += x;
            }
        }
        a
    }

    /// All roots in [0, 1], each once. Not for the zero polynomial.
    pub fn roots(&self) -> Vec<Root> {
        assert!(!self.is_zero());
        let mut found = Vec::new();
        if self.degree() == 0 {
            return found;
        }
        // Cheap and usual: no root at all.
        let all = self.bernstein(&BigInt::zero(), 0);
        if variations(&all) == 0 && !all[0].is_zero() && !all.last().unwrap().is_zero() {
            return found;
        }
        let poly = self.square_free();
        for end in [BigInt::zero(), BigInt::one()] {
            if poly.sign(&end, 0) == 0 {
                found.push(Root::exact(&poly, end, 0));
            }
        }
        let mut stack = vec![(BigInt::zero(), 0usize)];
        while let Some((c, k)) = stack.pop() {
            match variations(&poly.bernstein(&c, k)) {
                0 => {}
                1 => found.push(Root {
                    sign_left: 0,
                    poly: poly.clone(),
                    c,
                    k,
                    exact: false,
                }),
                _ => {
                    let middle = &c * 2 + 1;
                    if poly.sign(&middle, k + 1) == 0 {
                        found.push(Root::exact(&poly, middle.clone(), k + 1));
                    }
                    stack.push((c * 2, k + 1));
                    stack.push((middle, k + 1));
                }
            }
        }
        found
    }
}

fn sign(x: &BigInt) -> i32 {
    match x.sign() {
        Sign::Minus => -1,
        Sign::NoSign => 0,
        Sign::Plus => 1,
    }
}

fn variations(c: &[BigInt]) -> usize {
    let signs: Vec<i32> = c.iter().map(sign).filter(|s| *s != 0).collect();
    signs.windows(2).filter(|w| w[0] != w[1]).count()
}

/// A root of a square-free polynomial: c/2ᵏ exactly, or the only root strictly inside
/// (c/2ᵏ, (c+1)/2ᵏ).
#[derive(Clone, Debug)]
pub struct Root {
    poly: Poly,
    c: BigInt,
    k: usize,
    exact: bool,
    /// Sign of the polynomial just right of the left end; 0 until it is needed.
    sign_left: i32,
}

impl Root {
    fn exact(poly: &Poly, c: BigInt, k: usize) -> Root {
        Root {
            poly: poly.clone(),
            c,
            k,
            exact: true,
            sign_left: 0,
        }
    }

    /// Time 0, as a root of t.
    pub fn zero() -> Root {
        Root::exact(
            &Poly(vec![BigInt::zero(), BigInt::one()]),
            BigInt::zero(),
            0,
        )
    }

    fn refine(&mut self) {
        if self.exact {
            return;
        }
        if self.sign_left == 0 {
            // The coefficients run from the right end to the left.
            let b = self.poly.bernstein(&self.c, self.k);
            self.sign_left = b.iter().rev().map(sign).find(|s| *s != 0).unwrap();
        }
        let middle = &self.c * 2 + 1;
        self.k += 1;
        match self.poly.sign(&middle, self.k) {
            0 => {
                self.c = middle;
                self.exact = true;
            }
            s if s == self.sign_left => self.c = middle,
            _ => self.c = &self.c * 2,
        }
    }

    /// The sign of `g` at the root, exactly.
    pub fn sign_of(&mut self, g: &Poly) -> i32 {
        if g.is_zero() {
            return 0;
        }
        loop {
            if self.exact {
                return g.sign(&self.c, self.k);
            }
            let b = g.bernstein(&self.c, self.k);
            let s = sign(&b[0]);
            if s != 0 && b.iter().all(|x| sign(x) == s) {
                return s;
            }
            if self.k > 40 && self.k.is_multiple_of(8) {
                let common = self.poly.gcd(g);
                if common.degree() > 0 && variations(&common.bernstein(&self.c, self.k)) == 1 {
                    return 0;
                }
            }
            self.refine();
        }
    }

    /// Whether the root is smaller than m 2ᵉ.
    pub fn is_before(&mut self, m: i64, e: i32) -> bool {
        // Compares c/2ᵏ with m 2ᵉ.
        let below = |c: &BigInt, k: usize| {
            let (mut left, mut right) = (c.clone(), BigInt::from(m) << k);
            if e >= 0 {
                right <<= e as usize;
            } else {
                left <<= (-e) as usize;
            }
            left.cmp(&right)
        };
        for _ in 0..200 {
            if self.exact {
                return below(&self.c, self.k).is_lt();
            }
            if below(&self.c, self.k).is_ge() {
                return false;
            }
            if below(&(&self.c + 1), self.k).is_le() {
                return true;
            }
            self.refine();
        }
        false
    }

    pub fn value(&mut self) -> f64 {
        while !self.exact && self.k < 60 {
            self.refine();
        }
        let c: BigInt = if self.exact {
            &self.c * 2
        } else {
            &self.c * 2 + 1
        };
        assert!(!c.is_negative());
        super::to_f64(&c, &BigInt::one(), -(self.k as i32) - 1)
    }
}
