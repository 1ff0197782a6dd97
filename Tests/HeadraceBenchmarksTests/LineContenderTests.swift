import Testing

@testable import HeadraceBenchmarks

@Suite("Programs on the lines of the benchmark", .timeLimit(.minutes(1)))
struct LineContenderTests {
    static let many = Job(
        payload: .many(count: 2, each: 50_000, parallel: nil),
        connections: .automatic,
        url: "http://h/1",
        file: "/out/1",
        directory: "/out",
        list: "/list",
        curlConfiguration: "/list.curl",
        authority: nil
    )

    static func contender(_ peer: Peer) -> Contender {
        Contender(name: peer.name, executable: "/bin/\(peer.name)", version: "1", isSubject: false, plan: peer.plan)
    }

    @Test(arguments: LinesOptions.programs, LineScene.Work.allCases)
    func `each program runs first with its defaults, and no two runs are the same`(
        program: String,
        work: LineScene.Work
    ) {
        let variants = LineVariant.all(of: program, for: work)
        #expect(variants.first?.isDefault != false)
        #expect(variants.dropFirst().allSatisfy { !$0.isDefault && !$0.label.isEmpty })
    }

    @Test
    func `the defaults of curl and aria2 name no number of files`() {
        for peer in [Peer.curl, .aria2, .wget2] {
            let variants = LineVariant.all(of: peer.name, for: .small)
            let words = variants.compactMap { variant in
                LineContender(contender: Self.contender(peer), variant: variant).command(for: Self.many)?.arguments
            }
            #expect(words.count == 2)
            #expect(words.first?.contains { $0.contains("16") } == false)
            #expect(words.last?.contains { $0.contains("16") } == true)
        }
    }

    @Test
    func `tried options follow the verb of headrace`() {
        let subject = Contender(name: "headrace", executable: "/headrace", version: "1", isSubject: true) { _ in
            .run(["get", "-q"])
        }
        let contender = LineContender(contender: subject, variant: LineVariant(), arguments: ["-j", "8"])
        #expect(contender.command(for: Self.many)?.arguments == ["get", "-j", "8", "-q"])
        #expect(contender.name == "headrace -j 8")
        #expect(!contender.isDefault)
    }

    @Test
    func `options select lines, scenes and programs`() throws {
        let words = "--line 1gbit,1ms,0 --line 50mbit,5ms,1% --scene small-h2 --peers headrace,curl --runs 1"
        let options = try #require(try LinesOptions.read(words.split(separator: " ").map(String.init)))
        #expect(options.lines.map(\.description) == ["1 Gbit/s, 1 ms", "50 Mbit/s, 5 ms, 1 % lost"])
        #expect(options.scenes.map(\.name) == ["small-h2"])
        #expect(options.programs == ["headrace", "curl"])
        #expect(throws: BenchmarkError.self) { try LinesOptions.read(["--scene", "small"]) }
        #expect(throws: BenchmarkError.self) { try LinesOptions.read(["--peers", "lynx"]) }
    }
}
