package preview

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"math"
	"path"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
)

// Bounds of archives.
const (
	MaxEntries = 10_000   // listed of an archive
	EntryBytes = 32 << 20 // unpacked of one entry

	zipDirectory  = 8 << 20   // bytes of the list of a ZIP file
	unpackedBytes = 512 << 20 // of a compressed tar file, to list it or to reach an entry; of a ZIP file, packed
	archiveTime   = 3 * time.Second
	zstdMemory    = 64 << 20
)

// Archive is the list of an archive.
type Archive struct {
	Format   string         `json:"format" enum:"zip,tar,tar.gz,tar.zst,gz,zst"`
	Entries  []ArchiveEntry `json:"entries"`
	Complete bool           `json:"complete" doc:"True if all entries are listed"`
	Size     int64          `json:"size_bytes" doc:"Unpacked size of the listed entries, as recorded in the archive"`
	Problem  string         `json:"problem,omitempty" doc:"Reason why the list is incomplete"`
}

// ArchiveEntry is a file, a folder or a link in an archive. Nothing is ever unpacked to its path.
type ArchiveEntry struct {
	Path     string     `json:"path" doc:"Path as recorded in the archive"`
	Size     int64      `json:"size_bytes" doc:"Unpacked size; -1 if unknown"`
	Packed   int64      `json:"packed_bytes" doc:"Packed size; -1 if the archive is compressed as a whole"`
	Modified *time.Time `json:"modified,omitempty"`
	Folder   bool       `json:"folder,omitempty"`
	Link     string     `json:"link,omitempty" doc:"Target of the link"`
	Outside  bool       `json:"outside,omitempty" doc:"True if the path or link points outside the folder that the archive is unpacked to"`
}

// ListArchive lists an archive in one of the formats of Archive. name is that of the file.
func ListArchive(ctx context.Context, f File, format, name string) (a Archive, err error) {
	defer recovered(&err, "archive")
	a = Archive{Format: format, Entries: []ArchiveEntry{}}
	if format == "zip" {
		return a, listZip(f, &a)
	}
	if format == "gz" || format == "zst" {
		a.Complete = true
		a.Entries = append(a.Entries, ArchiveEntry{Path: innerName(name), Size: -1, Packed: f.Size})
		return a, nil
	}
	err = walkTar(ctx, f, format, func(h *tar.Header, _ io.Reader) error {
		if len(a.Entries) == MaxEntries {
			return errEnough
		}
		e := ArchiveEntry{
			Path: clean(h.Name), Size: h.Size, Packed: -1, Folder: h.Typeflag == tar.TypeDir,
			Outside: outside(h.Name) || h.Typeflag != tar.TypeReg && h.Typeflag != tar.TypeDir && outside(path.Join(path.Dir(h.Name), h.Linkname)), //nolint:gosec // only shown
		}
		if h.Typeflag == tar.TypeSymlink || h.Typeflag == tar.TypeLink {
			e.Link, e.Size = clean(h.Linkname), 0
			e.Outside = outside(h.Name) || path.IsAbs(h.Linkname) || h.Typeflag == tar.TypeSymlink && outside(path.Join(path.Dir(h.Name), h.Linkname)) || h.Typeflag == tar.TypeLink && outside(h.Linkname) //nolint:gosec // only shown
		}
		e.Modified = modified(h.ModTime)
		a.Entries, a.Size = append(a.Entries, e), sum(a.Size, e.Size)
		return nil
	})
	a.Problem, err = tarProblem(err, len(a.Entries))
	a.Complete = a.Problem == ""
	return a, err
}

// modified is a time that an archive states; nil if it states none, or one that JSON cannot write.
func modified(at time.Time) *time.Time {
	if at = at.UTC(); at.Unix() <= 0 || at.Year() > 9999 {
		return nil
	}
	return &at
}

// sum adds sizes that a file states, which can be any number.
func sum(a, b int64) int64 {
	if b = max(b, 0); a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// Errors of walks over archives.
var (
	errEnough    = errors.New("enough entries")
	errUnpacked  = errors.New("too much is unpacked")
	errTooLong   = errors.New("the time of an archive is over")
	errEntryRead = errors.New("the entry is read")
)

// tarProblem explains why a walk has ended early.
func tarProblem(err error, listed int) (string, error) {
	switch {
	case err == nil:
		return "", nil
	case errors.Is(err, errEnough):
		return "The archive has more than 10,000 entries. Only the first 10,000 are listed.", nil
	case errors.Is(err, errUnpacked):
		return "The archive unpacks to more than 512 MiB. Only the entries in the first 512 MiB are listed.", nil
	case errors.Is(err, errTooLong):
		return "Listing the archive took longer than 3 seconds. Only its first entries are listed.", nil
	case listed > 0 && damaged(err):
		return "The archive is damaged after the last entry listed.", nil
	case damaged(err):
		return "", bad("The archive is damaged: %s.", err)
	}
	return "", err
}

// damaged reports whether an error is about the content of a compressed file.
func damaged(err error) bool {
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || errors.Is(err, tar.ErrHeader) || errors.Is(err, gzip.ErrHeader) ||
		errors.Is(err, gzip.ErrChecksum) || errors.Is(err, zip.ErrFormat) || errors.Is(err, zip.ErrChecksum) || errors.Is(err, zip.ErrAlgorithm) ||
		strings.HasPrefix(err.Error(), "flate: ") || strings.Contains(err.Error(), "window size") || strings.Contains(err.Error(), "magic number") ||
		strings.HasPrefix(err.Error(), "archive/tar: ") || errors.Is(err, zstd.ErrWindowSizeExceeded) || errors.Is(err, zstd.ErrDecoderSizeExceeded) ||
		isCorrupt(err)
}

func isCorrupt(err error) bool {
	text := err.Error()
	return strings.Contains(text, "corrupt") || strings.Contains(text, "invalid") || strings.Contains(text, "malformed") || strings.Contains(text, "literals")
}

// clean is a name that a page can show.
func clean(name string) string {
	name, _ = cutRunes(strings.ToValidUTF8(strings.ReplaceAll(name, "\x00", ""), "\uFFFD"), 1000)
	return name
}

// outside reports whether a path leads out of the folder that it is relative to.
func outside(name string) bool {
	name = strings.ReplaceAll(name, `\`, "/")
	cleaned := path.Clean(name)
	return path.IsAbs(name) || cleaned == ".." || strings.HasPrefix(cleaned, "../") || len(name) > 1 && name[1] == ':'
}

// innerName is the name of the only file in a .gz or .zst file.
func innerName(name string) string {
	base := path.Base(name)
	for _, ending := range []string{".gz", ".zst"} {
		if inner, ok := strings.CutSuffix(base, ending); ok && inner != "" {
			return inner
		}
	}
	return "content"
}

// limitedAt fails after a number of bytes have been read, so that the list of an archive takes
// bounded memory, and its entries bounded time.
type limitedAt struct {
	r    io.ReaderAt
	left int64
}

func (l *limitedAt) ReadAt(p []byte, at int64) (int, error) {
	if l.left -= int64(len(p)); l.left < 0 {
		return 0, errUnpacked
	}
	return l.r.ReadAt(p, at) //nolint:wrapcheck // io.EOF is compared by readers
}

func openZip(f File) (*zip.Reader, error) {
	limited := &limitedAt{f, zipDirectory}
	r, err := zip.NewReader(limited, f.Size)
	limited.left = unpackedBytes // r reads the entries from it, too
	switch {
	case errors.Is(err, zip.ErrInsecurePath):
		return r, nil
	case errors.Is(err, errUnpacked):
		return nil, bad("The directory of the ZIP file is larger than 8 MiB. Download the file to open it.")
	case err != nil && damaged(err):
		return nil, bad("The file is not a complete ZIP file.")
	}
	return r, err //nolint:wrapcheck // of the store
}

func listZip(f File, a *Archive) error {
	r, err := openZip(f)
	if err != nil {
		return err
	}
	a.Complete = len(r.File) <= MaxEntries
	if !a.Complete {
		a.Problem = "The archive has more than 10,000 entries. Only the first 10,000 are listed."
	}
	for _, z := range r.File[:min(len(r.File), MaxEntries)] {
		e := ArchiveEntry{
			Path: clean(z.Name), Size: entrySize(z.UncompressedSize64), Packed: entrySize(z.CompressedSize64),
			Folder: strings.HasSuffix(z.Name, "/"), Outside: outside(z.Name),
		}
		e.Modified = modified(z.Modified)
		a.Entries, a.Size = append(a.Entries, e), sum(a.Size, e.Size)
	}
	return nil
}

// entrySize is a size that an archive states, which can be any number.
func entrySize(n uint64) int64 { return int64(min(n, 1<<60)) }

// OpenEntry returns one file of an archive. A stored entry of a ZIP file is read by range. Others
// are unpacked in memory; cut reports that an entry is longer than EntryBytes.
func OpenEntry(ctx context.Context, f File, format, name, entry string) (out File, cut bool, err error) {
	defer recovered(&err, "archive")
	switch format {
	case "zip":
		r, err := openZip(f)
		if err != nil {
			return File{}, false, err
		}
		for _, z := range r.File {
			if clean(z.Name) == entry && !strings.HasSuffix(z.Name, "/") {
				return zipEntry(f, z)
			}
		}
	case "gz", "zst":
		if entry != innerName(name) {
			break
		}
		r, done, err := decompressed(ctx, f, format)
		if err != nil {
			return File{}, false, err
		}
		defer done()
		return unpack(r)
	default:
		err = walkTar(ctx, f, format, func(h *tar.Header, r io.Reader) error {
			if clean(h.Name) != entry || h.Typeflag != tar.TypeReg {
				return nil
			}
			if out, cut, err = unpack(r); err != nil {
				return err
			}
			return errEntryRead
		})
		if errors.Is(err, errEntryRead) {
			return out, cut, nil
		}
		if problem, err := tarProblem(err, 1); err != nil || problem != "" {
			return File{}, false, errors.Join(err, bad("%q was not reached. %s", entry, problem))
		}
	}
	return File{}, false, bad("The archive has no file %q.", entry)
}

func zipEntry(f File, z *zip.File) (File, bool, error) {
	at, err := z.DataOffset()
	if err != nil {
		return File{}, false, bad("The entry %q of the ZIP file is damaged.", clean(z.Name))
	}
	if z.Method == zip.Store && z.Flags&1 == 0 {
		size := min(entrySize(z.UncompressedSize64), entrySize(z.CompressedSize64), max(f.Size-at, 0))
		return File{ReaderAt: io.NewSectionReader(f, at, size), Size: size}, false, nil
	}
	if z.Flags&1 != 0 {
		return File{}, false, bad("The entry %q is encrypted.", clean(z.Name))
	}
	r, err := z.Open()
	if err != nil {
		return File{}, false, bad("The entry %q cannot be unpacked: %s.", clean(z.Name), err)
	}
	defer r.Close()
	return unpack(r)
}

// unpack reads the beginning of an entry to memory.
func unpack(r io.Reader) (File, bool, error) {
	var out bytes.Buffer
	_, err := io.Copy(&out, io.LimitReader(r, EntryBytes+1))
	switch {
	case errors.Is(err, errUnpacked):
		err = bad("The content is larger than 512 MiB when unpacked. Download the file to open it.")
	case errors.Is(err, errTooLong):
		err = bad("Unpacking the content took longer than 3 seconds. Download the file to open it.")
	case err != nil && damaged(err):
		err = bad("The entry is damaged: %s.", err)
	}
	cut := out.Len() > EntryBytes
	if cut {
		out.Truncate(EntryBytes)
	}
	return File{ReaderAt: bytes.NewReader(out.Bytes()), Size: int64(out.Len())}, cut, err
}

// bounded ends a stream after a number of bytes or a time.
type bounded struct {
	r     io.Reader
	ctx   context.Context
	left  int64
	until time.Time
}

func (b *bounded) Read(p []byte) (int, error) {
	switch {
	case b.left <= 0:
		return 0, errUnpacked
	case b.ctx.Err() != nil:
		return 0, b.ctx.Err()
	case time.Now().After(b.until):
		return 0, errTooLong
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err //nolint:wrapcheck // io.EOF is compared by readers
}

// packedOf reads a compressed file, at most for archiveTime.
func packedOf(ctx context.Context, f File) io.Reader {
	return &bounded{io.NewSectionReader(f, 0, f.Size), ctx, f.Size + 1, time.Now().Add(archiveTime)}
}

// decompressed is the content of a compressed file.
func decompressed(ctx context.Context, f File, format string) (io.Reader, func(), error) {
	packed := packedOf(ctx, f)
	var r io.Reader
	done := func() {}
	if strings.HasSuffix(format, "zst") {
		z, err := zstd.NewReader(packed, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(zstdMemory), zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, nil, bad("The file is not compressed with Zstandard: %s.", err)
		}
		r, done = z, z.Close
	} else {
		z, err := gzip.NewReader(packed)
		if err != nil {
			return nil, nil, bad("The file is not compressed with gzip: %s.", err)
		}
		r = z
	}
	return &bounded{r, ctx, unpackedBytes, time.Now().Add(archiveTime)}, done, nil
}

// walkTar visits the entries of a tar file. It skips their content by seeking where it can.
func walkTar(ctx context.Context, f File, format string, visit func(*tar.Header, io.Reader) error) error {
	var source io.Reader = io.NewSectionReader(f, 0, f.Size)
	if format != "tar" {
		r, done, err := decompressed(ctx, f, format)
		if err != nil {
			return err
		}
		defer done()
		source = r
	}
	r := tar.NewReader(source)
	until := time.Now().Add(archiveTime)
	for {
		h, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && !errors.Is(err, tar.ErrInsecurePath):
			return err //nolint:wrapcheck // tarProblem distinguishes them
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Now().After(until):
			return errTooLong
		}
		if err := visit(h, r); err != nil {
			return err
		}
	}
}

// beginningOf unpacks the beginning of a stream: enough for the description of an array.
func beginningOf(r io.Reader) (File, error) {
	head, err := io.ReadAll(io.LimitReader(r, 16<<10))
	if err != nil && len(head) == 0 {
		return File{}, bad("The entry is damaged: %s.", err)
	}
	return File{ReaderAt: bytes.NewReader(head), Size: int64(len(head))}, nil
}
