import Testing

@testable import HeadraceBenchmarks

@Suite("Lines of the benchmark", .timeLimit(.minutes(1)))
struct LineTests {
    @Test
    func `a line is parsed from its rate, round trip, loss, queue and seed`() throws {
        let line = try Line("200mbit,120ms,0.02%,256k,7")
        #expect(line.rate == 200_000_000)
        #expect(abs(line.roundTrip - 0.12) < 1e-9)
        #expect(abs(line.loss - 0.0002) < 1e-12)
        #expect(line.queue == 262_144)
        #expect(line.seed == 7)
    }

    @Test(arguments: [
        ("1gbit,1ms,0", 131_072), ("200mbit,120ms,0.02%", 3_000_000), ("1.5Mbit,0.5s,0", 131_072),
        ("50mbit,300ms,0,,3", 1_875_000),
    ])
    func `the queue holds what the line carries in a round trip, and at least 128 KiB`(text: String, queue: Int) throws
    {
        #expect(try Line(text).queue == queue)
    }

    @Test(arguments: ["", "fast", "200mbit", "200mbit,120ms", "200,120ms,0", "200mbit,120,0", "200mbit,120ms,100%"])
    func `an incomplete or impossible line is rejected`(text: String) {
        #expect(throws: BenchmarkError.self) { try Line(text) }
    }

    @Test(arguments: [
        "0mbit,1ms,0", "1gbit,-1ms,0", "1gbit,1h,0", "1gbit,1ms,0,0", "1gbit,1ms,0,1k,x", "1gbit,1ms,0,1k,1,1",
    ])
    func `a line with an unusable number is rejected`(text: String) {
        #expect(throws: BenchmarkError.self) { try Line(text) }
    }

    @Test(arguments: Line.all)
    func `a line survives its own text`(line: Line) throws {
        let parsed = try Line(line.text)
        #expect(parsed.description == line.description)
        #expect((parsed.rate, parsed.queue, parsed.seed) == (line.rate, line.queue, line.seed))
        #expect(abs(parsed.roundTrip - line.roundTrip) < 1e-9)
        #expect(abs(parsed.loss - line.loss) < 1e-12)
    }

    @Test
    func `the five lines have readable names`() {
        #expect(
            Line.all.map(\.description) == [
                "400 Mbit/s, 10 ms", "200 Mbit/s, 120 ms, 0.02 % lost", "20 Mbit/s, 60 ms, 0.5 % lost",
                "1 Gbit/s, 1 ms",
                "50 Mbit/s, 300 ms",
            ]
        )
    }

    @Test
    func `the line alone needs the time for its bits and for the round trips of the protocol`() throws {
        let line = try Line("200mbit,120ms,0")
        #expect(abs(line.seconds(for: 30_000_000, roundTrips: 2) - 1.44) < 1e-9)
        let http = LineScene(work: .small, scheme: .http).seconds(on: line)
        let https = LineScene(work: .small, scheme: .https).seconds(on: line)
        #expect(abs(https - http - 0.12) < 1e-9)
    }

    @Test
    func `the files keep a line busy for seconds`() throws {
        let line = try Line("200mbit,120ms,0")
        #expect(
            LineScene(work: .small, scheme: .http).payload(on: line) == .many(count: 600, each: 50_000, parallel: nil)
        )
        #expect(LineScene(work: .large, scheme: .http).payload(on: line) == .single(95 << 20))
        let slow = try Line("1mbit,120ms,0")
        #expect(LineScene(work: .small, scheme: .http).payload(on: slow).totalBytes == 200 * 50_000)
    }

    @Test(
        arguments: [
            (LineMeasurement(rate: 199e6, roundTrip: 0.1207, loss: 0.0003, packets: 100_000), []),
            (LineMeasurement(rate: 150e6, roundTrip: 0.1207, loss: 0.0002, packets: 100_000), ["rate"]),
            (LineMeasurement(rate: 200e6, roundTrip: 0.1, loss: 0.0002, packets: 100_000), ["round trip"]),
            (LineMeasurement(rate: 200e6, roundTrip: 0.13, loss: 0.001, packets: 100_000), ["round trip", "loss"]),
            (LineMeasurement(rate: -1, roundTrip: -1, loss: -1, packets: 100_000), ["rate", "round trip", "loss"]),
        ] as [(LineMeasurement, [String])]
    )
    func `a measurement names the properties that differ from the line`(
        measured: LineMeasurement,
        deviations: [String]
    ) throws {
        #expect(measured.deviations(from: try Line("200mbit,120ms,0.02%")) == deviations)
    }

    @Test
    func `the statistics of a relay are read from its output`() {
        let output =
            "ready\ndown carried=20501 lost=107 dropped=338 latest=6500000\nup carried=15 lost=0 dropped=0 latest=1\n"
        let down = LineStatistics(direction: "down", in: output)
        #expect(down?.carried == 20_501)
        #expect(down?.lost == 107)
        #expect(down?.dropped == 338)
        #expect(down?.latest == 0.0065)
        #expect(LineStatistics(direction: "down", in: "ready\n") == nil)
        #expect(LineStatistics(direction: "down", in: "down carried=many\n") == nil)
    }
}
