// Load sends Kafka request frames repeatedly and measures the responses.
//
// Frames (each with its length, as on the wire) are read from standard input and distributed to the connections: of C
// connections, number c gets frames c, c+C, c+2C, …; with fewer frames than connections, each gets all. A connection
// cycles through its frames with a fixed number in flight, and checks every response: order, correlation ID, and the
// same body (or, with -check size, the same size) as the first response to that frame. The first responses are returned
// to the caller, which decodes them: so every response is fully checked at the cost of one hash.
//
// The result is one JSON object on standard output. It uses one thread and no allocation per request, for low overhead.
package main

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"
)

type options struct {
	address     string
	connections int
	inFlight    int
	warmUp      time.Duration
	duration    time.Duration
	once        bool
	checkSize   bool
	numbered    bool
	samples     int
}

type report struct {
	Requests     uint64   `json:"requests"` // responses during the measured time
	Seconds      float64  `json:"seconds"`
	Rate         float64  `json:"rate"`
	P50          float64  `json:"p50"` // seconds, like all times here
	P99          float64  `json:"p99"`
	Max          float64  `json:"max"`
	Bytes        uint64   `json:"bytes"`
	SmallestBody int      `json:"smallest_body"`
	LargestBody  int      `json:"largest_body"`
	CPUSeconds   float64  `json:"cpu_seconds"` // of this process, including warm-up
	Sent         []uint64 `json:"sent"`        // by each connection, including warm-up; all got responses
	Errors       uint64   `json:"errors"`
	FirstError   string   `json:"first_error"`
	First        [][]byte `json:"first"` // the first responses to the first frames, without length
	Last         [][]byte `json:"last"`  // the last response of each connection
}

func main() {
	var o options
	flag.StringVar(&o.address, "address", "", "host:port of the server")
	flag.IntVar(&o.connections, "connections", 1, "connections")
	flag.IntVar(&o.inFlight, "in-flight", 1, "requests in flight on each connection")
	flag.DurationVar(&o.warmUp, "warm-up", time.Second, "time before measuring begins")
	flag.DurationVar(&o.duration, "duration", 3*time.Second, "measured time")
	flag.BoolVar(&o.once, "once", false, "send every frame exactly once, and measure all of it")
	flag.BoolVar(&o.numbered, "numbered", false, "write a new number over the last four bytes of every request")
	flag.IntVar(&o.samples, "samples", 16, "number of first responses to return")
	check := flag.String("check", "body", "what must be equal to the first response to a frame: body or size")
	threads := flag.Int("threads", 1, "threads that run Go code")
	flag.Parse()
	o.checkSize = *check == "size"
	runtime.GOMAXPROCS(*threads)

	made, err := load(o)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := json.NewEncoder(os.Stdout).Encode(made); err != nil {
		os.Exit(1)
	}
}

func load(o options) (*report, error) {
	frames, err := readFrames(os.Stdin)
	if err != nil {
		return nil, err
	}
	lines := make([]*line, o.connections)
	for c := range lines {
		if lines[c], err = dial(o, deal(frames, c, o)); err != nil {
			return nil, err
		}
		lines[c].number = uint32(c) << 24
	}
	began := time.Now()
	var all sync.WaitGroup
	for _, each := range lines {
		all.Add(1)
		go func() {
			defer all.Done()
			each.run(began)
		}()
	}
	all.Wait()
	return summary(o, lines, began), nil
}

func readFrames(in io.Reader) ([][]byte, error) {
	data, err := io.ReadAll(in)
	if err != nil {
		return nil, err
	}
	var frames [][]byte
	for len(data) > 0 {
		if len(data) < 4 || len(data)-4 < int(binary.BigEndian.Uint32(data)) {
			return nil, errors.New("the last frame on standard input is truncated")
		}
		size := 4 + int(binary.BigEndian.Uint32(data))
		if size < 12 {
			return nil, errors.New("a frame on standard input has no header")
		}
		frames = append(frames, data[:size:size])
		data = data[size:]
	}
	if len(frames) == 0 {
		return nil, errors.New("no frames on standard input")
	}
	return frames, nil
}

// deal returns the frames of connection c, with their positions in the input. Frames are copied, because the correlation
// ID is written into them.
func deal(frames [][]byte, c int, o options) []*card {
	step := o.connections
	if len(frames) < step && !o.once {
		c, step = 0, 1
	}
	var hand []*card
	for i := c; i < len(frames); i += step {
		hand = append(hand, &card{frame: append([]byte(nil), frames[i]...), place: i, keep: i < o.samples})
	}
	return hand
}

func summary(o options, lines []*line, began time.Time) *report {
	made := &report{First: make([][]byte, 0), Last: make([][]byte, 0)}
	var times histogram
	var ended time.Time
	byPlace := map[int][]byte{}
	for _, each := range lines {
		times.add(&each.times)
		made.Bytes += each.bytes
		made.Errors += each.errors
		made.Sent = append(made.Sent, each.answered)
		made.Last = append(made.Last, each.last)
		if made.FirstError == "" {
			made.FirstError = each.firstError
		}
		if each.ended.After(ended) {
			ended = each.ended
		}
		for _, card := range each.cards {
			if card.first != nil {
				byPlace[card.place] = card.first
			}
			if card.seen && (made.SmallestBody == 0 || card.size < made.SmallestBody) {
				made.SmallestBody = card.size
			}
			made.LargestBody = max(made.LargestBody, card.size)
		}
	}
	for place := 0; place < o.samples; place++ {
		if first, there := byPlace[place]; there {
			made.First = append(made.First, first)
		}
	}
	made.Seconds = o.duration.Seconds()
	if o.once {
		made.Seconds = ended.Sub(began).Seconds()
	}
	made.Requests = times.count
	made.Rate = float64(times.count) / made.Seconds
	made.P50, made.P99, made.Max = times.quantile(0.50), times.quantile(0.99), float64(times.max)/1e9
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) == nil {
		made.CPUSeconds = time.Duration(used.Utime.Nano() + used.Stime.Nano()).Seconds()
	}
	return made
}
