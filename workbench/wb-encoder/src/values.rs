//! The numbers of a weight in host memory.

use std::{borrow::Cow, sync::Arc};

use wb_core::fingerprint::FingerprintBuilder;

use crate::{
    kernels::{Bytes, Mat, Packed, Short},
    weights::WeightType,
};

/// Numbers of a weight, row by row: 32-bit floats, or the 16-bit ones of the file that they come from, or 8-bit ones with
/// a scale for each row, which stay what they are until something changes them. Those of a linear layer that does not
/// train may be kept as the kernels read them, and nowhere else. Clones are the same memory until one of them changes.
#[derive(Debug, Clone, Default)]
pub struct Values {
    /// Empty where the numbers are kept in another way.
    floats: Arc<Vec<f32>>,
    other: Option<Other>,
}

#[derive(Debug, Clone)]
enum Other {
    /// Finite numbers of 16 bits.
    Short(Arc<Vec<u16>>, Short),
    /// Numbers of 8 bits.
    Bytes(Arc<Bytes>),
    /// Numbers of a linear layer `[out, in]`, packed as the right side of products, `[in, out]`.
    Packed(Arc<Packed>),
}

impl Values {
    /// Finite 16-bit numbers.
    pub fn of_short(bits: Vec<u16>, kind: Short) -> Self {
        Other::Short(Arc::new(bits), kind).into()
    }

    /// 8-bit numbers.
    pub fn of_bytes(bytes: Bytes) -> Self {
        Other::Bytes(Arc::new(bytes)).into()
    }

    /// Brain floats of a linear layer `[outputs, inputs]`, which multiply inputs that are rounded to brain floats too.
    pub(crate) fn of_bf16_products(bits: &[u16], outputs: usize, inputs: usize) -> Self {
        Other::Packed(Arc::new(Packed::bf16(bits, outputs, inputs))).into()
    }

    /// Number of numbers.
    pub fn len(&self) -> usize {
        match &self.other {
            None => self.floats.len(),
            Some(Other::Short(bits, _)) => bits.len(),
            Some(Other::Bytes(bytes)) => bytes.numbers.len(),
            Some(Other::Packed(packed)) => packed.count(),
        }
    }

    /// True where there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of memory that they take.
    pub fn memory(&self) -> usize {
        match &self.other {
            None => 4 * self.floats.len(),
            Some(Other::Short(bits, _)) => 2 * bits.len(),
            Some(Other::Bytes(bytes)) => bytes.numbers.len() + 4 * bytes.scales.len(),
            Some(Other::Packed(packed)) => packed.memory(),
        }
    }

    /// The type that they are written in: that of their memory, and floats for those of 8 bits.
    pub fn weight_type(&self) -> WeightType {
        let short = match &self.other {
            None | Some(Other::Bytes(_)) => None,
            Some(Other::Short(_, kind)) => Some(*kind),
            Some(Other::Packed(packed)) => packed.short_kind(),
        };
        short.map_or(WeightType::F32, WeightType::from)
    }

    /// The numbers as 32-bit floats, exactly; copied where they are not kept so.
    pub fn floats(&self) -> Cow<'_, [f32]> {
        match &self.other {
            None => Cow::Borrowed(&self.floats),
            Some(other) => Cow::Owned(other.floats()),
        }
    }

    /// The numbers to change, as 32-bit floats row by row from now on.
    pub fn floats_mut(&mut self) -> &mut Vec<f32> {
        self.widen();
        Arc::make_mut(&mut self.floats)
    }

    /// Makes 32-bit floats of the numbers, row by row, where they are not that.
    pub(crate) fn widen(&mut self) {
        if let Some(other) = self.other.take() {
            self.floats = Arc::new(other.floats());
        }
    }

    /// True where both are the same memory.
    pub fn shares(&self, with: &Self) -> bool {
        match (&self.other, &with.other) {
            (None, None) => Arc::ptr_eq(&self.floats, &with.floats),
            (Some(Other::Short(a, _)), Some(Other::Short(b, _))) => Arc::ptr_eq(a, b),
            (Some(Other::Bytes(a)), Some(Other::Bytes(b))) => Arc::ptr_eq(a, b),
            (Some(Other::Packed(a)), Some(Other::Packed(b))) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }

    /// The numbers, where they are 32-bit floats row by row.
    pub fn as_floats(&self) -> Option<&[f32]> {
        self.other.is_none().then_some(self.floats.as_slice())
    }

    /// Writes as many of the numbers as `to` has, from the one at `first` on.
    pub fn copy_to(&self, first: usize, to: &mut [f32]) {
        let range = first..first + to.len();
        match &self.other {
            None => to.copy_from_slice(&self.floats[range]),
            Some(Other::Short(bits, kind)) => kind.widen_all(&bits[range], to),
            Some(Other::Bytes(bytes)) => to.copy_from_slice(&bytes.floats()[range]),
            Some(Other::Packed(packed)) => packed.copy_columns_to(first, to),
        }
    }

    /// Bytes of the numbers in the type of [`Values::weight_type`], little-endian.
    pub fn to_bytes(&self) -> Vec<u8> {
        if let Some(Other::Short(bits, _)) = &self.other {
            return bits.iter().flat_map(|bits| bits.to_le_bytes()).collect();
        }
        self.weight_type().to_bytes(&self.floats())
    }

    /// Numbers that [`Values::to_bytes`] wrote in this type.
    pub fn from_bytes(kind: WeightType, bytes: &[u8]) -> Self {
        let short = || bytes.chunks_exact(2).map(|two| u16::from_le_bytes([two[0], two[1]])).collect();
        match kind {
            WeightType::F32 => {
                bytes.chunks_exact(4).map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]])).collect()
            }
            WeightType::F16 => Self::of_short(short(), Short::F16),
            WeightType::Bf16 => Self::of_short(short(), Short::Bf16),
        }
    }

    /// Adds the numbers to a fingerprint as 32-bit floats, however they are kept, and whether they round what they
    /// multiply.
    pub(crate) fn add_to(&self, fingerprint: &mut FingerprintBuilder) {
        if self.packed().is_some_and(|packed| packed.rounds_left()) {
            fingerprint.text("bf16 products");
        }
        match &self.other {
            Some(Other::Short(..)) => fingerprint.floats_by(self.len(), |first, to| self.copy_to(first, to)),
            _ => fingerprint.floats(&self.floats()),
        };
    }

    /// Packs the numbers of a linear layer `[outputs, inputs]` as the kernels read them, in their place, so that they are
    /// kept once: numbers of 16 and 8 bits, and floats that are not to be changed.
    pub(crate) fn pack(&mut self, outputs: usize, inputs: usize, frozen: bool) {
        let packed = match &self.other {
            None if frozen => Packed::new(Mat::new(&self.floats, outputs, inputs).t()),
            Some(Other::Short(bits, kind)) => Packed::short(*kind, bits, outputs, inputs, true),
            Some(Other::Bytes(bytes)) => Packed::bytes(bytes),
            _ => return,
        };
        *self = Other::Packed(Arc::new(packed)).into();
    }

    /// The numbers as [`Values::pack`] has packed them, as long as nothing has changed them.
    pub(crate) fn packed(&self) -> Option<Arc<Packed>> {
        match &self.other {
            Some(Other::Packed(packed)) => Some(packed.clone()),
            _ => None,
        }
    }
}

impl Other {
    fn floats(&self) -> Vec<f32> {
        match self {
            Self::Short(bits, kind) => kind.floats(bits),
            Self::Bytes(bytes) => bytes.floats(),
            Self::Packed(packed) => packed.columns_of_floats(),
        }
    }
}

impl From<Other> for Values {
    fn from(other: Other) -> Self {
        Self { floats: Arc::default(), other: Some(other) }
    }
}

impl FromIterator<f32> for Values {
    fn from_iter<I: IntoIterator<Item = f32>>(floats: I) -> Self {
        Vec::from_iter(floats).into()
    }
}

impl From<Vec<f32>> for Values {
    fn from(floats: Vec<f32>) -> Self {
        Self { floats: Arc::new(floats), other: None }
    }
}

/// Equal numbers, however they are kept.
impl PartialEq for Values {
    fn eq(&self, other: &Self) -> bool {
        self.floats() == other.floats()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_numbers_stay_until_they_are_changed() {
        // 1.0, -2.5, the smallest subnormal 2⁻²⁴, 0.5, 2.0, -0.0.
        let mut values = Values::of_short(vec![0x3c00, 0xc100, 0x0001, 0x3800, 0x4000, 0x8000], Short::F16);
        let floats = vec![1.0, -2.5, 2f32.powi(-24), 0.5, 2.0, -0.0];
        let check = |values: &Values| {
            assert_eq!((values.weight_type(), values.len(), values.as_floats()), (WeightType::F16, 6, None));
            assert_eq!(values.floats(), floats);
            let back = Values::from_bytes(values.weight_type(), &values.to_bytes());
            assert_eq!((back.weight_type(), back.floats()), (values.weight_type(), values.floats()));
            let mut some = [0.0; 2];
            values.copy_to(3, &mut some);
            assert_eq!(some, [0.5, 2.0]);
        };
        check(&values);
        assert!(values.packed().is_none());
        values.pack(2, 3, false);
        check(&values);
        let packed = values.packed().unwrap();
        values.pack(2, 3, false);
        assert!(Arc::ptr_eq(&packed, &values.clone().packed().unwrap()), "packed once, and kept once");
        values.floats_mut()[1] = 3.0;
        assert_eq!((values.weight_type(), values.floats()[1], values.len()), (WeightType::F32, 3.0, 6));
        values.pack(2, 3, false);
        assert!(values.packed().is_none(), "they may change again");
    }

    #[test]
    fn floats_that_stay_are_packed_and_come_back() {
        let floats: Vec<f32> = (0..70 * 33).map(|at| (at as f32).sin()).collect();
        let mut values = Values::from(floats.clone());
        values.pack(70, 33, true);
        assert!(values.packed().is_some() && values.as_floats().is_none());
        assert_eq!((values.weight_type(), values.len()), (WeightType::F32, 70 * 33));
        assert_eq!(values, Values::from(floats.clone()));
        assert_eq!(*values.floats_mut(), floats);
    }

    #[test]
    fn clones_are_one_memory_until_one_changes() {
        let floats: Vec<f32> = (0..70 * 33).map(|at| at as f32).collect();
        let bits: Vec<u16> = (0..70 * 33).collect();
        for values in
            [Values::from(floats.clone()), Values::of_short(bits, Short::F16), Values::of_bytes(Bytes::of(&floats, 33))]
        {
            let expected = values.floats().into_owned();
            let (mut packed, mut changed) = (values.clone(), values.clone());
            assert!(values.shares(&packed) && values.shares(&changed));
            packed.pack(70, 33, true);
            assert!(packed.shares(&packed.clone()) && !packed.shares(&values));
            changed.floats_mut()[5] = -1.0;
            assert!(!changed.shares(&values));
            assert_eq!((&*values.floats(), &*packed.floats()), (&expected[..], &expected[..]));
            // Any part of what is packed, without the rest.
            for (first, len) in [(0, 33), (40, 0), (5, 100), (33 * 63, 33 * 7), (1000, 1)] {
                let mut some = vec![0.0; len];
                packed.copy_to(first, &mut some);
                assert_eq!(some, expected[first..first + len]);
            }
        }
    }

    #[test]
    fn bytes_are_the_same_numbers_packed_or_not() {
        let floats: Vec<f32> = (0..70 * 33).map(|at| (at as f32).sin()).collect();
        let bytes = Bytes::of(&floats, 33);
        let widened = bytes.floats();
        let mut values = Values::of_bytes(bytes);
        let check = |values: &Values| {
            assert_eq!(
                (values.len(), values.weight_type(), &*values.floats()),
                (70 * 33, WeightType::F32, &widened[..])
            );
            let mut some = [0.0; 40];
            values.copy_to(20, &mut some);
            assert_eq!(some, widened[20..60]);
        };
        check(&values);
        assert_eq!(values.memory(), 70 * 33 + 4 * 70);
        values.pack(70, 33, false);
        check(&values);
        assert!(values.packed().is_some() && values.memory() < 2 * 70 * 33);
    }
}
