// Package sobol computes Sobol's sequence, whose points cover the unit cube evenly. It is pure.
//
// The direction numbers are those of Joe and Kuo, "Constructing Sobol sequences with better
// two-dimensional projections", SIAM J. Sci. Comput. 30, 2635-2654 (2008), file
// new-joe-kuo-6.21201. The order of the points is that of Antonov and Saleev (Gray code).
package sobol

import (
	"math/bits"
	"math/rand/v2"
)

// MaxDimensions is the number of dimensions in the table.
const MaxDimensions = 21

const digits = 32

// primitive is a primitive polynomial of degree len(m) with the coefficients a, and the initial
// direction numbers.
type primitive struct {
	a uint32
	m []uint32
}

// table contains the rows of the file from the second dimension on.
func table() []primitive {
	return []primitive{
		{0, []uint32{1}},
		{1, []uint32{1, 3}},
		{1, []uint32{1, 3, 1}},
		{2, []uint32{1, 1, 1}},
		{1, []uint32{1, 1, 3, 3}},
		{4, []uint32{1, 3, 5, 13}},
		{2, []uint32{1, 1, 5, 5, 17}},
		{4, []uint32{1, 1, 5, 5, 5}},
		{7, []uint32{1, 1, 7, 11, 19}},
		{11, []uint32{1, 1, 5, 1, 1}},
		{13, []uint32{1, 1, 1, 3, 11}},
		{14, []uint32{1, 3, 5, 5, 31}},
		{1, []uint32{1, 3, 3, 9, 7, 49}},
		{13, []uint32{1, 1, 1, 15, 21, 21}},
		{16, []uint32{1, 3, 1, 13, 27, 49}},
		{19, []uint32{1, 1, 1, 15, 7, 5}},
		{22, []uint32{1, 3, 1, 15, 13, 25}},
		{25, []uint32{1, 1, 5, 5, 19, 61}},
		{1, []uint32{1, 3, 7, 11, 23, 15, 103}},
		{4, []uint32{1, 3, 7, 13, 13, 15, 69}},
	}
}

// Sequence is a sequence of points of some dimensions.
type Sequence struct {
	directions [][digits]uint32
	shift      []uint32
}

// New returns the sequence in dimensions, at most MaxDimensions. Seed 0 is Sobol's own; another one
// shifts all points by the same random digits, which keeps how evenly they cover the cube.
func New(dimensions int, seed int64) Sequence {
	s := Sequence{directions: make([][digits]uint32, dimensions), shift: make([]uint32, dimensions)}
	polynomials := table()
	for d := range dimensions {
		if d == 0 {
			for k := range digits {
				s.directions[0][k] = 1 << (digits - 1 - k)
			}
			continue
		}
		s.directions[d] = polynomials[d-1].directions()
	}
	if seed != 0 {
		random := rand.New(rand.NewPCG(uint64(seed), 0x5eed)) //nolint:gosec // values of a search, not secrets
		for d := range s.shift {
			s.shift[d] = random.Uint32()
		}
	}
	return s
}

// directions returns v_k = m_k / 2^k as fractions of 2³².
func (p primitive) directions() (v [digits]uint32) {
	degree := len(p.m)
	for k := range digits {
		if k < degree {
			v[k] = p.m[k] << (digits - 1 - k)
			continue
		}
		v[k] = v[k-degree] ^ v[k-degree]>>degree
		for j := 1; j < degree; j++ {
			if p.a>>(degree-1-j)&1 == 1 {
				v[k] ^= v[k-j]
			}
		}
	}
	return v
}

// Point returns point i, from 0. Its coordinates are at least 0 and below 1.
func (s Sequence) Point(i uint32) []float64 {
	out := make([]float64, len(s.directions))
	gray := i ^ i>>1
	for d := range out {
		x := s.shift[d]
		for g := gray; g != 0; g &= g - 1 {
			x ^= s.directions[d][bits.TrailingZeros32(g)]
		}
		out[d] = float64(x) / (1 << digits)
	}
	return out
}
