package main

import "math/bits"

// The number of buckets per power of two: times have a resolution of 1 in 64.
const parts = 64

// histogram counts durations in nanoseconds without keeping them.
type histogram struct {
	buckets [64 * parts]uint64
	count   uint64
	max     uint64
}

func (h *histogram) record(nanos uint64) {
	h.buckets[bucket(nanos)]++
	h.count++
	h.max = max(h.max, nanos)
}

func (h *histogram) add(other *histogram) {
	for i, n := range other.buckets {
		h.buckets[i] += n
	}
	h.count += other.count
	h.max = max(h.max, other.max)
}

// quantile returns seconds: the upper end of the quantile's bucket.
func (h *histogram) quantile(q float64) float64 {
	left := uint64(q * float64(h.count))
	for i, n := range h.buckets {
		if left < n {
			return float64(min(upper(i), h.max)) / 1e9
		}
		left -= n
	}
	return float64(h.max) / 1e9
}

func bucket(nanos uint64) int {
	if nanos < parts {
		return int(nanos)
	}
	shift := bits.Len64(nanos) - 7 // 64 <= nanos>>shift < 128
	return (shift+1)*parts + int(nanos>>shift) - parts
}

func upper(i int) uint64 {
	if i < parts {
		return uint64(i)
	}
	shift := i/parts - 1
	return (uint64(i%parts+parts)+1)<<shift - 1
}
