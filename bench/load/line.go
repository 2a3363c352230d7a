package main

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"net"
	"time"
)

// The maximum size of a response; a larger length means that the stream is out of sync.
const largest = 1 << 30

// The read timeout of a connection: if a server hangs, the run ends.
const patience = 60 * time.Second

var seed = maphash.MakeSeed()

// card is one frame of one connection and the expected response.
type card struct {
	frame []byte
	place int
	keep  bool
	seen  bool
	size  int
	hash  uint64
	first []byte
}

// line is one connection. It is used by one goroutine: responses are read, and the next requests are written together.
type line struct {
	options
	conn     net.Conn
	cards    []*card
	sentAt   []time.Time // a ring: the times of the requests in flight
	out      []byte
	in       []byte
	sent     uint64
	number   uint32
	answered uint64

	from, until, ended time.Time
	times              histogram
	bytes, errors      uint64
	firstError         string
	last               []byte
}

func dial(o options, cards []*card) (*line, error) {
	conn, err := net.DialTimeout("tcp", o.address, patience)
	if err != nil {
		return nil, err
	}
	return &line{
		options: o, conn: conn, cards: cards, sentAt: make([]time.Time, o.inFlight), in: make([]byte, 1<<16),
	}, nil
}

func (l *line) run(began time.Time) {
	defer l.conn.Close()
	l.from, l.until = began.Add(l.warmUp), began.Add(l.warmUp+l.duration)
	if err := l.talk(); err != nil {
		l.fail(err.Error())
	}
	l.ended = time.Now()
}

func (l *line) talk() error {
	now := time.Now()
	for i := 0; i < l.inFlight && l.wantsMore(now); i++ {
		l.put(now)
	}
	have := 0
	var quiet time.Time
	for {
		if len(l.out) > 0 {
			if now.Sub(quiet) > time.Second { // setting a deadline costs more than reading a clock
				quiet = now
				if err := l.conn.SetDeadline(now.Add(patience)); err != nil {
					return err
				}
			}
			if _, err := l.conn.Write(l.out); err != nil {
				return err
			}
			l.out = l.out[:0]
		}
		if l.answered == l.sent {
			return nil
		}
		n, err := l.conn.Read(l.in[have:])
		if err != nil {
			return fmt.Errorf("after %d responses: %w", l.answered, err)
		}
		have += n
		now = time.Now()
		have = l.take(have, now)
	}
}

// take handles the complete responses in the first `have` bytes, and returns the number of remaining bytes.
func (l *line) take(have int, now time.Time) int {
	at := 0
	for have-at >= 4 {
		size := int(binary.BigEndian.Uint32(l.in[at:]))
		if size > largest {
			l.fail(fmt.Sprintf("a response has an invalid length: %d bytes", size))
			size = 0
		}
		if have-at < 4+size {
			if 4+size > len(l.in) {
				l.in = append(make([]byte, 0, 2*(4+size)), l.in...)
				l.in = l.in[:cap(l.in)]
			}
			break
		}
		l.answer(l.in[at+4:at+4+size], now)
		at += 4 + size
		if l.wantsMore(now) {
			l.put(now)
		}
	}
	copy(l.in, l.in[at:have])
	return have - at
}

func (l *line) wantsMore(now time.Time) bool {
	if l.once {
		return l.sent < uint64(len(l.cards))
	}
	return l.errors == 0 && now.Before(l.until)
}

// put adds the next request to the write buffer. Correlation IDs count from 0; they come after the length, the key and
// the version.
func (l *line) put(now time.Time) {
	frame := l.cards[l.sent%uint64(len(l.cards))].frame
	binary.BigEndian.PutUint32(frame[8:], uint32(l.sent))
	if l.numbered {
		binary.BigEndian.PutUint32(frame[len(frame)-4:], l.number)
		l.number++
	}
	l.out = append(l.out, frame...)
	l.sentAt[l.sent%uint64(l.inFlight)] = now
	l.sent++
}

func (l *line) answer(answer []byte, now time.Time) {
	card := l.cards[l.answered%uint64(len(l.cards))]
	if len(answer) < 4 || binary.BigEndian.Uint32(answer) != uint32(l.answered) {
		l.fail(fmt.Sprintf("response %d has another correlation ID than its request", l.answered))
	} else if !card.matches(answer[4:], l.checkSize) {
		l.fail(card.difference(answer))
	}
	if card.keep && card.first == nil {
		card.first = append([]byte(nil), answer...)
	}
	if l.once || (!now.Before(l.from) && now.Before(l.until)) {
		l.times.record(uint64(now.Sub(l.sentAt[l.answered%uint64(l.inFlight)])))
		l.bytes += uint64(4 + len(answer))
	}
	l.answered++
	if l.answered == l.sent && !l.wantsMore(now) {
		l.last = append([]byte(nil), answer...)
	}
}

func (c *card) matches(body []byte, sizeOnly bool) bool {
	var hash uint64
	if !sizeOnly {
		hash = maphash.Bytes(seed, body)
	}
	if !c.seen {
		c.seen, c.size, c.hash = true, len(body), hash
	}
	return c.size == len(body) && c.hash == hash
}

func (c *card) difference(answer []byte) string {
	said := fmt.Sprintf("frame %d: the first response had %d bytes, this one has %d", c.place, c.size, len(answer)-4)
	for i := 4; i < min(len(c.first), len(answer)); i++ {
		if c.first[i] != answer[i] {
			end := min(i+40, len(c.first), len(answer))
			return said + fmt.Sprintf("; from byte %d on it has %q instead of %q", i, answer[i:end], c.first[i:end])
		}
	}
	return said
}

func (l *line) fail(why string) {
	l.errors++
	if l.firstError == "" {
		l.firstError = why
	}
}
