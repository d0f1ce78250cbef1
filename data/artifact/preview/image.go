package preview

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/png"
	"io"
)

// Bounds of images.
const (
	ThumbnailSide = 256 // pixels of the longer side

	imageHead      = 256 << 10 // bytes that are searched for the orientation
	thumbnailBytes = 32 << 20
	thumbnailSize  = 16_000_000 // pixels of the image
	thumbnailTaps  = 4          // samples of each pixel along each axis
)

// ImageSize is the size of an image in pixels and how it is turned. All are 0 where they are
// unknown.
type ImageSize struct {
	Width, Height int
	Orientation   int // of EXIF, 1 to 8
}

// Turned reports whether browsers exchange width and height.
func (s ImageSize) Turned() bool { return s.Orientation >= 5 }

// ReadImage reads the size of an image.
func ReadImage(f File) ImageSize {
	head := make([]byte, min(imageHead, f.Size))
	n, _ := f.ReadAt(head, 0)
	head = head[:n]
	if s, ok := webpSize(head); ok {
		return s
	}
	config, _, err := image.DecodeConfig(io.NewSectionReader(f, 0, f.Size))
	if err != nil {
		return ImageSize{}
	}
	return ImageSize{config.Width, config.Height, orientationOf(head)}
}

// webpSize reads the size of a WebP image.
func webpSize(p []byte) (ImageSize, bool) {
	if len(p) < 30 || string(p[:4]) != "RIFF" || string(p[8:12]) != "WEBP" {
		return ImageSize{}, false
	}
	switch string(p[12:16]) {
	case "VP8 ":
		return ImageSize{Width: int(binary.LittleEndian.Uint16(p[26:]) & 0x3fff), Height: int(binary.LittleEndian.Uint16(p[28:]) & 0x3fff)}, true
	case "VP8L":
		bits := binary.LittleEndian.Uint32(p[21:])
		return ImageSize{Width: int(bits&0x3fff) + 1, Height: int(bits>>14&0x3fff) + 1}, true
	case "VP8X":
		wide := func(at int) int { return int(p[at]) | int(p[at+1])<<8 | int(p[at+2])<<16 }
		return ImageSize{Width: wide(24) + 1, Height: wide(27) + 1}, true
	}
	return ImageSize{}, false
}

// orientationOf reads the EXIF orientation of a JPEG image, 0 without one.
func orientationOf(p []byte) int {
	if len(p) < 4 || p[0] != 0xff || p[1] != 0xd8 {
		return 0
	}
	for at := 2; at+4 <= len(p) && p[at] == 0xff && p[at+1] != 0xda; {
		size := int(binary.BigEndian.Uint16(p[at+2:]))
		end := at + 2 + size
		if size < 2 || end > len(p) {
			return 0
		}
		if exif, ok := bytes.CutPrefix(p[at+4:end], []byte("Exif\x00\x00")); p[at+1] == 0xe1 && ok {
			return exifOrientation(exif)
		}
		at = end
	}
	return 0
}

func exifOrientation(p []byte) int {
	var order binary.ByteOrder = binary.LittleEndian
	if len(p) < 8 {
		return 0
	}
	if string(p[:2]) == "MM" {
		order = binary.BigEndian
	}
	at := int64(order.Uint32(p[4:]))
	if at+2 > int64(len(p)) {
		return 0
	}
	count := int64(order.Uint16(p[at:]))
	for i := range count {
		entry := at + 2 + 12*i
		if entry+12 > int64(len(p)) {
			return 0
		}
		if order.Uint16(p[entry:]) == 0x0112 {
			if v := int(order.Uint16(p[entry+8:])); v >= 1 && v <= 8 {
				return v
			}
			return 0
		}
	}
	return 0
}

// Thumbnail draws a PNG, JPEG or GIF image with at most ThumbnailSide pixels on each side, as PNG.
func Thumbnail(f File) (out []byte, err error) {
	defer recovered(&err, "image")
	size := ReadImage(f)
	switch {
	case size.Width < 1 || size.Height < 1:
		return nil, bad("The file is not a PNG, JPEG or GIF image.")
	case f.Size > thumbnailBytes || int64(size.Width)*int64(size.Height) > thumbnailSize:
		return nil, bad("The image is larger than 32 MiB or 16 megapixels.")
	}
	img, _, err := image.Decode(io.NewSectionReader(f, 0, f.Size))
	if err != nil {
		return nil, bad("The image is damaged: %s.", err)
	}
	var b bytes.Buffer
	if err := png.Encode(&b, turned(shrunk(img), size.Orientation)); err != nil {
		return nil, err //nolint:wrapcheck // memory does not fail
	}
	return b.Bytes(), nil
}

// shrunk scales an image down; each pixel is the mean of a few.
func shrunk(img image.Image) *image.NRGBA {
	from := img.Bounds()
	side := max(from.Dx(), from.Dy())
	width, height := from.Dx(), from.Dy()
	if side > ThumbnailSide {
		width, height = max(width*ThumbnailSide/side, 1), max(height*ThumbnailSide/side, 1)
	}
	out := image.NewNRGBA(image.Rect(0, 0, width, height))
	taps := min(thumbnailTaps, (side+ThumbnailSide-1)/ThumbnailSide)
	for y := range height {
		for x := range width {
			var r, g, b, a uint32
			for i := range taps {
				for j := range taps {
					px := from.Min.X + (x*taps+i)*from.Dx()/(width*taps)
					py := from.Min.Y + (y*taps+j)*from.Dy()/(height*taps)
					cr, cg, cb, ca := img.At(px, py).RGBA()
					r, g, b, a = r+cr, g+cg, b+cb, a+ca
				}
			}
			n := uint32(taps * taps)                                                                //nolint:gosec // at most 16
			out.Set(x, y, color.RGBA64{uint16(r / n), uint16(g / n), uint16(b / n), uint16(a / n)}) //nolint:gosec // means of 16 bits
		}
	}
	return out
}

// turned applies an EXIF orientation.
func turned(img *image.NRGBA, orientation int) *image.NRGBA {
	if orientation < 2 {
		return img
	}
	w, h := img.Rect.Dx(), img.Rect.Dy()
	out := image.NewNRGBA(image.Rect(0, 0, w, h))
	if orientation >= 5 {
		out = image.NewNRGBA(image.Rect(0, 0, h, w))
	}
	for y := range h {
		for x := range w {
			tx, ty := x, y
			switch orientation {
			case 2:
				tx = w - 1 - x
			case 3:
				tx, ty = w-1-x, h-1-y
			case 4:
				ty = h - 1 - y
			case 5:
				tx, ty = y, x
			case 6:
				tx, ty = h-1-y, x
			case 7:
				tx, ty = h-1-y, w-1-x
			case 8:
				tx, ty = y, w-1-x
			}
			out.SetNRGBA(tx, ty, img.NRGBAAt(x, y))
		}
	}
	return out
}
