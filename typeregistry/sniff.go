package typeregistry

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"
)

// HeadBytes is how much of the begin of a file a look at its content takes.
const HeadBytes = 4 << 10

// CheckHead returns what is wrong with a file as a value of t, by its first
// HeadBytes bytes (fewer when it has fewer); "" when nothing is. What a file is
// called and what a browser says of it count for nothing here. Kinds that take
// any bytes are never wrong.
func (t *Type) CheckHead(head []byte) string {
	switch t.Kind {
	case KindImage:
		media := imageType(head)
		if media == "" {
			return "The file is no picture: its first bytes are those of " + describeFile(head) + ". Choose a PNG, JPEG, GIF, WebP, TIFF, BMP or SVG file."
		}
		if allowed := t.Params.MediaTypes; len(allowed) > 0 && !mediaAllowed(allowed, media) {
			return "The file is a picture of the type " + media + ", which is not taken here. Choose a file of " + listed(allowed) + "."
		}
	case KindReport:
		if !looksHTML(head) {
			return "The file is no page of HTML: its first bytes are those of " + describeFile(head) + ". Choose an HTML file."
		}
	case KindTable, KindDataset:
		return checkTable(t, head)
	}
	return ""
}

// signature is how the files of a type begin.
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

// imageType returns the media type of a picture, "" for what is none.
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

// plausibleShort looks further where a signature has two bytes only.
func plausibleShort(media string, head []byte) bool {
	switch media {
	case "image/bmp": // two reserved words are zero
		return len(head) > 14 && bytes.Equal(head[6:10], []byte{0, 0, 0, 0})
	case "image/jxl":
		return len(head) > 2
	}
	return len(head) > 2 && strings.IndexByte(" \t\r\n#", head[2]) >= 0
}

// text is head without byte order mark and leading space; "" when it is no text.
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

// binaryRune reports whether no text has r: control characters but space and escape.
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

// tableSignatures are the table formats that are no text.
func tableSignatures() []signature {
	return []signature{
		{"PAR1", "parquet"}, {"ARROW1", "arrow"}, {"ORC", "orc"}, {"Obj\x01", "avro"}, {"FEA1", "feather"},
		{"\x89HDF\r\n\x1a\n", "hdf5"}, {"SQLite format 3\x00", "sqlite"}, {"PK\x03\x04", "xlsx"}, {"\x1f\x8b", "gzip"},
		{"\x28\xb5\x2f\xfd", "zstd"}, {"BZh", "bzip2"}, {"\x93NUMPY", "npy"},
	}
}

// rowFormats are the formats whose files are text, perhaps packed.
func rowFormats() []string { return []string{"csv", "tsv", "json", "jsonl", "ndjson"} }

// checkTable asks that a file can be rows: of the format that t names, else of any
// that is known. A dataset without a format may be anything, such as an archive of
// pictures.
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
		return "The file is no " + strings.ToUpper(format) + ": its first bytes are those of " + describeFile(head) + ". Choose a " + strings.ToUpper(format) + " file."
	case format == "parquet" && found != "parquet":
		return "The file is no Parquet: its first bytes are those of " + describeFile(head) + ". Choose a Parquet file."
	case format == "" && found == "" && !isText:
		return "The file is no table: its first bytes are those of " + describeFile(head) + ". Choose a CSV, JSON lines or Parquet file."
	}
	return ""
}

// describeFile names a file by its first bytes, for people who chose the wrong one.
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
		return "a picture (" + imageType(head) + ")"
	case looksHTML(head):
		return "a page of HTML"
	case text(head) != "":
		return "a text"
	}
	return "something else"
}
