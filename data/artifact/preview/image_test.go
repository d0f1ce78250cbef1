package preview

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/apperr"
)

// photo is a JPEG image whose left half is white, with an EXIF orientation.
func photo(t testing.TB, width, height, orientation int) []byte {
	t.Helper()
	img := image.NewGray(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width / 2 {
			img.SetGray(x, y, color.Gray{255})
		}
	}
	var b bytes.Buffer
	require.NoError(t, jpeg.Encode(&b, img, nil))
	exif := append([]byte("Exif\x00\x00MM\x00\x2a\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00"), byte(orientation), 0, 0)
	segment := append([]byte{0xff, 0xe1, 0, byte(len(exif) + 2)}, exif...)
	return append(append([]byte{0xff, 0xd8}, segment...), b.Bytes()[2:]...)
}

func TestImages(t *testing.T) {
	t.Parallel()
	require.Equal(t, ImageSize{600, 400, 6}, ReadImage(fileOf(photo(t, 600, 400, 6))))
	require.Equal(t, ImageSize{}, ReadImage(fileOf([]byte("hello"))))
	require.Equal(t, ImageSize{Width: 100, Height: 50}, ReadImage(fileOf([]byte("RIFF\x00\x00\x00\x00WEBPVP8X\x00\x00\x00\x00\x00\x00\x00\x00\x63\x00\x00\x31\x00\x00"))))
	white := map[int]image.Point{1: {5, 80}, 2: {250, 80}, 3: {250, 80}, 4: {5, 80}, 5: {80, 5}, 6: {80, 5}, 7: {80, 250}, 8: {80, 250}}
	for orientation, at := range white {
		data, err := Thumbnail(fileOf(photo(t, 600, 400, orientation)))
		require.NoError(t, err)
		img, err := png.Decode(bytes.NewReader(data))
		require.NoError(t, err)
		want := image.Pt(256, 170)
		if orientation >= 5 {
			want = image.Pt(170, 256)
		}
		require.Equal(t, want, img.Bounds().Size(), orientation)
		r, _, _, _ := img.At(at.X, at.Y).RGBA()
		require.Greater(t, r, uint32(0xf000), "orientation %d", orientation)
	}
	for name, data := range map[string][]byte{"empty": {}, "text": []byte("hello"), "cut": photo(t, 600, 400, 1)[:900]} {
		_, err := Thumbnail(fileOf(data))
		require.True(t, apperr.Is(err, apperr.Invalid), "%s: %v", name, err)
	}
	var large bytes.Buffer
	require.NoError(t, png.Encode(&large, image.NewGray(image.Rect(0, 0, 5000, 4000))))
	_, err := Thumbnail(fileOf(large.Bytes()))
	require.ErrorContains(t, err, "16 megapixels")
}

func FuzzImage(f *testing.F) {
	f.Add(photo(f, 30, 20, 6))
	f.Add([]byte("RIFF\x00\x00\x00\x00WEBPVP8L\x00\x00\x00\x00\x00\x00\x00\x00\x63\x00\x00\x31\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		ReadImage(fileOf(data))
		if _, err := Thumbnail(fileOf(data)); err != nil {
			require.True(t, apperr.Is(err, apperr.Invalid), "%v", err)
		}
	})
}
