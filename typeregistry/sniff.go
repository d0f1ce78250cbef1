package typeregistry

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"
)

// HeadBytes is the number of bytes at the start of a file that CheckHead inspects.
const HeadBytes = 4 << 10

// CheckHead returns the problem of a file as a value of t, judged by its first HeadBytes
// bytes, or "". It ignores the name of the file and the media type from the browser. It
// accepts every file for kinds that allow any bytes.
func (t *Type) CheckHead(head []byte) string {
	switch t.Kind {
	case KindImage:
		media := imageType(head)
		if media == "" {
			return "This is not an image (it looks like " + describeFile(head) + "). Choose a PNG, JPEG, GIF, WebP, TIFF, BMP or SVG file."
		}
		if allowed := t.Params.MediaTypes; len(allowed) > 0 && !mediaAllowed(allowed, media) {
			return "Images of type " + media + " are not accepted here. Choose a file of type " + listed(allowed) + "."
		}
	case KindReport:
		if !looksHTML(head) {
			return "This is not an HTML page (it looks like " + describeFile(head) + "). Choose an HTML file."
		}
	case KindTable, KindDataset:
		return checkTable(t, head)
	}
	return ""
}

// signature is the first bytes of files of a type.
type signature struct {
	begin string
	media string
}

func imageSignatures() []signature {
	return []signature{
		{"\x89PNG\r\n\x1a\n", "image/png"}, {"\xff\xd8\xff", "image/jpeg"}, {"GIF87a", "image/gif"}, {"GIF89a", "image/gif"},
		{"BM", "image/bmp"}, {"II*\x00", "image/tiff"}, {"MM\x00*", "image/tiff"}, {"\x76\x2f\x31\x01", "image/x-exr"},
		{"P1", "image/x-portable-bitmap"}, {"P2", "image/x-portable-graymap"}, {"P3", "image/x-portable-pixmap"},
		{"P4", "image/x-portable-bitmap"}, {"P5", "image/x-portable-graymap"}, {"P6", "image/x-portable-pixmap"},
		{"8BPS", "image/vnd.adobe.photoshop"}, {"\x00\x00\x00\x0cjP  ", "image/jp2"}, {"\xff\x0a", "image/jxl"},
	}
}

// imageType returns the media type of an image, or "".
func imageType(head []byte) string {
	for _, s := range imageSignatures() {
		if bytes.HasPrefix(head, []byte(s.begin)) && (len(s.begin) > 2 || plausibleShort(s.media, head)) {
			return s.media
		}
	}
	switch {
	case len(head) >= 12 && string(head[:4]) == "RIFF" && string(head[8:12]) == "WEBP":
		return "image/webp"
	case len(head) >= 12 && string(head[4:8]) == "ftyp":
		if brand := string(head[8:12]); slices.Contains([]string{"avif", "avis"}, brand) {
			return "image/avif"
		} else if slices.Contains([]string{"heic", "heix", "mif1", "msf1"}, brand) {
			return "image/heic"
		}
	case len(head) >= 132 && string(head[128:132]) == "DICM":
		return "application/dicom"
	case looksSVG(head):
		return "image/svg+xml"
	}
	return ""
}

// plausibleShort checks more bytes if a signature has only two bytes.
func plausibleShort(media string, head []byte) bool {
	switch media {
	case "image/bmp": // two reserved words are zero
		return len(head) > 14 && bytes.Equal(head[6:10], []byte{0, 0, 0, 0})
	case "image/jxl":
		return len(head) > 2
	}
	return len(head) > 2 && strings.IndexByte(" \t\r\n#", head[2]) >= 0
}

// text is head without byte order mark and leading space, or "" if it is not text.
func text(head []byte) string {
	if bytes.ContainsFunc(head, binaryRune) {
		return ""
	}
	for i := 0; i < utf8.UTFMax && len(head) > 0 && !utf8.Valid(head); i++ {
		head = head[:len(head)-1] // the last character may be cut
	}
	if !utf8.Valid(head) {
		return ""
	}
	return strings.TrimSpace(strings.TrimPrefix(string(head), "\ufeff"))
}

// binaryRune reports whether r never occurs in text: control characters except whitespace and escape.
func binaryRune(r rune) bool {
	return r < ' ' && !strings.ContainsRune("\t\n\v\f\r\x1b", r) || r == 0x7f
}

func looksSVG(head []byte) bool {
	s := strings.ToLower(text(head))
	return strings.HasPrefix(s, "<svg") || (strings.HasPrefix(s, "<?xml") || strings.HasPrefix(s, "<!--") || strings.HasPrefix(s, "<!doctype svg")) && strings.Contains(s, "<svg")
}

func looksHTML(head []byte) bool {
	s := strings.ToLower(text(head))
	return strings.HasPrefix(s, "<") && !strings.HasPrefix(s, "<svg") && (!strings.HasPrefix(s, "<?xml") || strings.Contains(s, "<html"))
}

// tableSignatures are the signatures of binary table formats.
func tableSignatures() []signature {
	return []signature{
		{"PAR1", "parquet"}, {"ARROW1", "arrow"}, {"ORC", "orc"}, {"Obj\x01", "avro"}, {"FEA1", "feather"},
		{"\x89HDF\r\n\x1a\n", "hdf5"}, {"SQLite format 3\x00", "sqlite"}, {"PK\x03\x04", "xlsx"}, {"\x1f\x8b", "gzip"},
		{"\x28\xb5\x2f\xfd", "zstd"}, {"BZh", "bzip2"}, {"\x93NUMPY", "npy"},
	}
}

// rowFormats are the text formats, which may be compressed.
func rowFormats() []string { return []string{"csv", "tsv", "json", "jsonl", "ndjson"} }

// checkTable checks that a file can contain rows: in the format of t, or in any known
// format. A dataset without a format may be any file, such as an archive of images.
func checkTable(t *Type, head []byte) string {
	format := strings.ToLower(t.Params.Format)
	if t.Kind == KindDataset && format == "" {
		return ""
	}
	found := ""
	for _, s := range tableSignatures() {
		if bytes.HasPrefix(head, []byte(s.begin)) {
			found = s.media
		}
	}
	packed := slices.Contains([]string{"gzip", "zstd", "bzip2"}, found)
	isText := found == "" && (len(head) == 0 || text(head) != "") && !strings.HasPrefix(string(head), "#!") && !looksHTML(head)
	switch {
	case slices.Contains(rowFormats(), format):
		if isText || packed {
			return ""
		}
		return "This is not a " + strings.ToUpper(format) + " file (it looks like " + describeFile(head) + "). Choose a " + strings.ToUpper(format) + " file."
	case format == "parquet" && found != "parquet":
		return "This is not a Parquet file (it looks like " + describeFile(head) + "). Choose a Parquet file."
	case format == "" && found == "" && !isText:
		return "This is not a table (it looks like " + describeFile(head) + "). Choose a CSV, JSON lines or Parquet file."
	}
	return ""
}

// describeFile names the type of a file by its first bytes.
func describeFile(head []byte) string {
	known := []signature{
		{"MZ", "a Windows program"}, {"\x7fELF", "a program"}, {"\xcf\xfa\xed\xfe", "a program"}, {"\xca\xfe\xba\xbe", "a program"},
		{"#!", "a script"}, {"PK\x03\x04", "a ZIP archive"}, {"%PDF-", "a PDF document"}, {"\x1f\x8b", "a gzip archive"},
		{"PAR1", "a Parquet file"}, {"\x80\x04", "a Python pickle"},
	}
	for _, s := range known {
		if bytes.HasPrefix(head, []byte(s.begin)) {
			return s.media
		}
	}
	switch {
	case len(head) == 0:
		return "an empty file"
	case imageType(head) != "":
		return "an image of type " + imageType(head)
	case looksHTML(head):
		return "an HTML page"
	case text(head) != "":
		return "a text file"
	}
	return "a binary file"
}
