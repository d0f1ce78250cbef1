package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"connectrpc.com/connect"

	"github.com/flowforge/flowforge/data/channel"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

const (
	pieceSize = 8 << 20                // that a writer gathers at most before it sends
	pieceWait = time.Second            // that fewer bytes wait for more
	pieceLook = 100 * time.Millisecond // between two looks at what is written
)

// pieces brings what the command writes into one output to the store bit by bit, for
// readers on other machines. Readers can do without: what was not sent they get from
// the whole.
type pieces struct {
	a      *attempt
	output string
	file   *os.File
	sent   int64
	index  int32
	last   time.Time
	failed bool
}

// sending are the outputs of an attempt that are sent while they are written.
type sending struct {
	list []*pieces
	stop context.CancelFunc
	loop sync.WaitGroup
}

// sendPieces begins to send the outputs that others read, where those share no disk with
// this runner.
func (a *attempt) sendPieces() *sending {
	s := &sending{}
	if a.s.config.Pod == nil {
		return s
	}
	var ctx context.Context
	ctx, s.stop = context.WithCancel(a.ctx)
	for _, o := range a.spec.Outputs {
		if o.Storage != channel.HintStreaming {
			continue
		}
		p := &pieces{a: a, output: o.Name, last: time.Now()}
		s.list = append(s.list, p)
		s.loop.Go(func() {
			for more := true; more; more = waited(ctx, pieceLook) {
				p.send(ctx, false)
			}
		})
	}
	return s
}

// finish sends the rest when the command has ended well.
func (s *sending) finish(ctx context.Context, well bool) {
	if s.stop == nil {
		return
	}
	s.stop()
	s.loop.Wait()
	for _, p := range s.list {
		if well {
			p.send(ctx, true)
		}
		if p.file != nil {
			_ = p.file.Close()
		}
	}
}

// send sends what is worth it now; with all, everything.
func (p *pieces) send(ctx context.Context, all bool) {
	if p.file == nil {
		if p.file = openOutput(p.a.paths.outputs, p.output); p.file == nil {
			return
		}
	}
	for ctx.Err() == nil && !p.failed {
		info, err := p.file.Stat()
		if err != nil {
			return
		}
		left := info.Size() - p.sent
		if left <= 0 || left < pieceSize && !all && time.Since(p.last) < pieceWait {
			return
		}
		if err := p.next(ctx, min(left, pieceSize)); err != nil && ctx.Err() == nil {
			p.failed = true
			p.a.system(levelWarn, fmt.Sprintf("The output %s is not sent while it is written any more, its readers get the rest at its end: %s.", p.output, err))
		}
	}
}

// next sends the next size bytes.
func (p *pieces) next(ctx context.Context, size int64) error {
	path := filepath.Join(p.a.paths.base, "piece-"+p.output)
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer os.Remove(path)
	hash := sha256.New()
	n, err := io.Copy(io.MultiWriter(file, hash), io.NewSectionReader(p.file, p.sent, size))
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err == nil && n != size {
		err = io.ErrUnexpectedEOF // it was cut off meanwhile
	}
	if err != nil {
		return err
	}
	sha := hex.EncodeToString(hash.Sum(nil))
	s := p.a.s
	if err := s.server.upload(ctx, p.a.spec.Token, outgoing{sha: sha, path: path, size: size}, func() {}); err != nil {
		return err
	}
	err = s.server.persistently(ctx, func() {}, func() error {
		req := connect.NewRequest(&flowforgev1.AppendStreamRequest{TaskId: p.a.spec.TaskId, Output: p.output, Index: p.index, Sha256: sha, Size: size})
		req.Header().Set("Authorization", "Bearer "+p.a.spec.Token)
		_, err := s.server.tasks.AppendStream(ctx, req)
		return rpcError("send a piece", err)
	})
	if err != nil {
		return err
	}
	p.sent += size
	p.index++
	p.last = time.Now()
	return nil
}
