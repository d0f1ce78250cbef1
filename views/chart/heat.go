package chart

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/color"
	"image/png"
	"math"
	"strconv"
)

// Heat is a grid of numbers as an image with a scale of colours.
type Heat struct {
	Image, Scale      string // data URLs of PNG images
	Width, Height     int    // shown, in pixels
	Low, Middle, High string // numbers at the scale
	Caption           string // what one cell is
	Label             string // the image in words
}

// heatSide is the length of the longer side of a heat map, in pixels.
const heatSide = 512

// heatLeast is the least length of the other side.
const heatLeast = 32

// heatStops are colours from low to high with even steps in lightness, which also readers who
// confuse red and green distinguish (viridis).
func heatStops() [][3]float64 {
	return [][3]float64{{68, 1, 84}, {72, 40, 120}, {62, 74, 137}, {49, 104, 142}, {38, 130, 142}, {31, 158, 137}, {53, 183, 121}, {110, 206, 88}, {181, 222, 43}, {253, 231, 37}}
}

// NewHeat draws cells that stand for a number of rows and columns. Cells without a number are
// transparent.
func NewHeat(cells [][]float64, rows, columns int64, low, high float64) Heat {
	palette := color.Palette{color.RGBA{}}
	for i := range 255 {
		palette = append(palette, heatColor(float64(i)/254))
	}
	down, across := len(cells), 0
	if down > 0 {
		across = len(cells[0])
	}
	img := image.NewPaletted(image.Rect(0, 0, max(across, 1), max(down, 1)), palette)
	for y, line := range cells {
		for x, v := range line {
			if !math.IsNaN(v) {
				img.SetColorIndex(x, y, heatIndex(v, low, high))
			}
		}
	}
	scale := image.NewPaletted(image.Rect(0, 0, 255, 1), palette)
	for i := range 255 {
		scale.SetColorIndex(i, 0, uint8(i+1))
	}
	h := Heat{Image: pngURL(img), Scale: pngURL(scale), Low: heatNumber(low), Middle: heatNumber(low/2 + high/2), High: heatNumber(high)}
	side := max(rows, columns, 1)
	factor := float64(heatSide) / float64(side)
	h.Width, h.Height = max(int(float64(columns)*factor), heatLeast), max(int(float64(rows)*factor), heatLeast)
	h.Label = "Heat map of " + strconv.FormatInt(rows, 10) + " by " + strconv.FormatInt(columns, 10) + " values, from " + h.Low + " to " + h.High
	return h
}

func heatIndex(v, low, high float64) uint8 {
	if high <= low {
		return 128
	}
	share := (v/2 - low/2) / (high/2 - low/2)
	return uint8(1 + math.Round(254*min(max(share, 0), 1)))
}

func heatColor(share float64) color.RGBA {
	stops := heatStops()
	at := share * float64(len(stops)-1)
	i := min(int(at), len(stops)-2)
	part := at - float64(i)
	mix := func(k int) uint8 {
		return uint8(math.Round(stops[i][k]*(1-part) + stops[i+1][k]*part))
	}
	return color.RGBA{mix(0), mix(1), mix(2), 255}
}

func heatNumber(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }

func pngURL(img image.Image) string {
	var out bytes.Buffer
	_ = png.Encode(&out, img) // memory does not fail
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(out.Bytes())
}
