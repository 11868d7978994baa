//! numpy's legacy random stream, bit for bit: what `np.random.seed(0)` and `np.random.shuffle` do.
//!
//! The 1-of-1,000 protocol of CodeSearchNet groups its functions with this stream, so another order is another number.
//! The generator is MT19937 (Matsumoto and Nishimura, 1998) seeded with `init_genrand`; a draw from `0..=max` masks
//! 32-bit outputs to the next power of two and throws away those above `max`; a shuffle is Fisher–Yates from the top;
//! a standard normal is the polar Box–Muller method, which makes two and keeps one for the next call.

const N: usize = 624;
const M: usize = 397;

/// The stream after `np.random.seed(seed)`.
pub struct NumpyRandom {
    state: [u32; N],
    next: usize,
    kept_normal: Option<f64>,
}

impl NumpyRandom {
    /// `np.random.seed(seed)` for an integer below 2³²: `init_genrand`.
    pub fn seed(seed: u32) -> Self {
        let mut state = [0u32; N];
        state[0] = seed;
        for i in 1..N {
            let before = state[i - 1];
            state[i] = 1_812_433_253u32.wrapping_mul(before ^ (before >> 30)).wrapping_add(i as u32);
        }
        Self { state, next: N, kept_normal: None }
    }

    /// The next 32 bits.
    pub fn next_u32(&mut self) -> u32 {
        if self.next == N {
            self.refill();
        }
        let mut y = self.state[self.next];
        self.next += 1;
        y ^= y >> 11;
        y ^= (y << 7) & 0x9d2c_5680;
        y ^= (y << 15) & 0xefc6_0000;
        y ^ (y >> 18)
    }

    /// A number in `[0, 1)` with 53 bits.
    pub fn next_f64(&mut self) -> f64 {
        let high = f64::from(self.next_u32() >> 5);
        let low = f64::from(self.next_u32() >> 6);
        (high * 67_108_864.0 + low) / 9_007_199_254_740_992.0
    }

    /// A number in `0..=max`: `random_interval` for a `max` below 2³².
    pub fn interval(&mut self, max: u32) -> u32 {
        if max == 0 {
            return 0;
        }
        let mask = u32::MAX >> max.leading_zeros();
        loop {
            let value = self.next_u32() & mask;
            if value <= max {
                return value;
            }
        }
    }

    /// `np.random.shuffle`, in place.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            let j = self.interval(i as u32) as usize;
            items.swap(i, j);
        }
    }

    /// `np.random.permutation(n)`, which `np.random.choice(n, replace=False)` is made of.
    pub fn permutation(&mut self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        self.shuffle(&mut order);
        order
    }

    /// `np.random.randn()`.
    pub fn normal(&mut self) -> f64 {
        if let Some(kept) = self.kept_normal.take() {
            return kept;
        }
        loop {
            let x = 2.0 * self.next_f64() - 1.0;
            let y = 2.0 * self.next_f64() - 1.0;
            let square = x * x + y * y;
            if square < 1.0 && square != 0.0 {
                let factor = (-2.0 * square.ln() / square).sqrt();
                self.kept_normal = Some(factor * x);
                return factor * y;
            }
        }
    }

    fn refill(&mut self) {
        for i in 0..N {
            let y = (self.state[i] & 0x8000_0000) | (self.state[(i + 1) % N] & 0x7fff_ffff);
            let odd = if y & 1 == 1 { 0x9908_b0df } else { 0 };
            self.state[i] = self.state[(i + M) % N] ^ (y >> 1) ^ odd;
        }
        self.next = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shuffled(n: u32) -> Vec<u32> {
        let mut order: Vec<u32> = (0..n).collect();
        NumpyRandom::seed(0).shuffle(&mut order);
        order
    }

    /// Fingerprints of whole orders, made with numpy by `scripts/golden-numpy-random.py`:
    /// 64-bit FNV-1a over the order as little-endian 32-bit numbers.
    fn check(n: u32, first: [u32; 6], fnv: u64) {
        let order = shuffled(n);
        assert_eq!(order[..6], first, "n = {n}");
        let bytes = order.iter().flat_map(|x| x.to_le_bytes());
        let hash = bytes.fold(0xcbf2_9ce4_8422_2325u64, |h, byte| (h ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
        assert_eq!(hash, fnv, "n = {n}: got {hash:#018x}");
    }

    #[test]
    fn shuffles_as_numpy_does() {
        // n = 7 .. 22,176; the comments are the first 16 hex digits of sha256 over the same bytes.
        check(7, [6, 2, 1, 3, 0, 5], 0x04db_9006_3d97_6f42); // c7580cc15e6c3f5d
        check(10, [2, 8, 4, 9, 1, 6], 0xfd94_f262_dcdf_63d4); // 3d6e44c1aacf8a2b
        check(1000, [993, 859, 298, 553, 672, 971], 0x6b45_a68d_3930_c79d); // 0170dcea75cad468
        check(1261, [5, 432, 52, 989, 186, 18], 0x5be2_fc5e_bec4_d769); // db439c3d0a3fc780
        check(3291, [196, 1632, 1013, 702, 2411, 2948], 0xe6f1_c5e5_8368_4466); // 07f3ffbd545fc354
        check(8122, [380, 3641, 273, 1029, 684, 2899], 0x59b3_1c2b_eb1b_ddec); // 594e872bac0226fd
        check(10955, [3989, 9197, 9825, 5814, 2994, 7054], 0x5c2e_00df_dc27_d578); // a0f12144b1c040d8
        check(14918, [6883, 11093, 14118, 577, 6046, 7723], 0x9aa7_618b_8023_d958); // 7c193bb128a4260f
        check(22176, [5265, 12737, 2862, 154, 17248, 2238], 0x824c_47d3_ad70_e41d); // 902dc4501a246bdd
    }

    #[test]
    fn draws_normals_as_numpy_does() {
        let mut random = NumpyRandom::seed(0);
        let drawn: Vec<f64> = (0..5).map(|_| random.normal()).collect();
        let expected =
            [1.764052345967664, 0.4001572083672233, 0.9787379841057392, 2.240893199201458, 1.8675579901499675];
        for (got, want) in drawn.iter().zip(expected) {
            assert!((got - want).abs() < 1e-15, "{got} {want}");
        }
    }

    #[test]
    fn a_choice_after_a_shuffle_moves_the_stream() {
        let mut random = NumpyRandom::seed(0);
        random.shuffle(&mut [0u8; 1400]);
        let chosen = &random.permutation(1000)[..5];
        assert_eq!(chosen, [86, 655, 226, 664, 798]);
        assert!((random.normal() - -0.7554627263656334).abs() < 1e-15);
        assert!((random.normal() - -1.2012015190173893).abs() < 1e-15);
    }
}
