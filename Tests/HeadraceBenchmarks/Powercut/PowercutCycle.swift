import HeadracePlatform

/// Interrupts a download by a power cut, checks the remaining files, and completes the download.
struct PowercutCycle {
    let number: Int
    let powercut: Powercut

    private var path: String { powercut.path(number) }
    private var directory: String { powercut.directory(number) }

    func run(_ report: inout PowercutReport) throws {
        defer { FileSystem.remove(directory) }
        let isFinished = try cut(&report)
        let claim = try lookAtRecord(&report)
        if FileSystem.exists(path) {
            try checkFile("after the cut", &report)
            // Without a record, another run cannot recognise the file and would download a second one.
            guard claim != nil else { return try checkLeftovers(&report) }
        } else if isFinished {
            report.wrongFiles += 1
            report.complain("the finished file is missing")
        }
        try goOn(from: claim, &report)
        try checkFile("at the end", &report)
        try checkLeftovers(&report)
    }

    /// Starts a download and cuts the power at a random moment; `true` if the tool had already succeeded.
    private func cut(_ report: inout PowercutReport) throws -> Bool {
        try powercut.boot(2 * number)
        try FileSystem.makeDirectory(directory)
        try syncParent()
        var random = SplitMix(seed: powercut.options.seed &+ UInt64(number) &* 104_729)
        let end = MonotonicTime.now + Double.random(in: PowercutOptions.cutWindow, using: &random)
        let tool = try powercut.startTool(number, isPaced: true)
        let exit = try powercut.wait(for: tool, until: end)
        let isFinished = exit.map { $0.failure == nil } ?? false
        if let failure = exit?.failure { report.complain("before the cut: \(failure): \(complaint)") }
        if isFinished { report.finishedBefore += 1 }
        try powercut.cutPower(of: exit == nil ? tool : nil, number)
        try powercut.boot(2 * number + 1)
        return isFinished
    }

    /// Syncs the cycle's directory, which is not part of the test and must survive the cut.
    private func syncParent() throws {
        for path in [directory, directory + "/.."] {
            let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            guard descriptor >= 0, fsync(descriptor) == 0 else { throw BenchmarkError.system("cannot sync \(path)") }
            close(descriptor)
        }
    }

    /// Checks the claims of the resume record; `nil` if there is none.
    private func lookAtRecord(_ report: inout PowercutReport) throws -> DurableClaim? {
        let suffix = ".part.record"
        let names = try FileSystem.names(in: directory)
        guard let name = names.first(where: { $0.hasSuffix(suffix) }) else { return nil }
        let claim = DurableClaim(recordAt: directory + "/" + name)
        switch claim {
        case .damaged(let reason):
            report.damagedRecords += 1
            report.complain("the record is damaged: \(reason)")
        case .ranges(let ranges):
            if !ranges.isEmpty { report.claims += 1 }
            let partial = directory + "/" + name.dropLast(".record".count)
            // The last record is written before the rename, so it may describe the final file.
            let holder = FileSystem.exists(partial) ? partial : path
            let content = VersionedContent(file: number, version: 1)
            for range in ranges {
                report.claimedBytes += range.count
                guard let wrong = try ContentCheck.firstDifference(in: holder, range, from: content) else { continue }
                report.falseClaims += 1
                report.complain("bytes \(range) are called durable, and byte \(wrong) is wrong")
            }
        }
        return claim
    }

    /// Runs the tool to completion, which must use the claimed bytes.
    private func goOn(from claim: DurableClaim?, _ report: inout PowercutReport) throws {
        let hadFile = FileSystem.exists(path)
        let tool = try powercut.startTool(number, isPaced: false)
        let exit = try powercut.wait(for: tool)
        if let failure = exit?.failure { report.complain("after the cut: \(failure): \(complaint)") }
        let events = ToolEvents(log: powercut.log)
        if !events.resumes.isEmpty { report.resumes += 1 }
        let claimed = claim?.prefix ?? 0
        // A complete partial file needs no request and emits no event, but discarding bytes always emits one.
        let isForgotten = events.resumes.first.map { $0 < claimed } ?? !events.restarts.isEmpty
        guard claimed > 0, !hadFile, isForgotten else { return }
        report.forgottenClaims += 1
        let reason = events.restarts.first?.reason ?? "resumed at \(events.resumes.first ?? 0)"
        report.complain("\(claimed) durable bytes were not used: \(reason)")
    }

    private func checkFile(_ moment: String, _ report: inout PowercutReport) throws {
        let complaint = try ContentCheck.complaint(
            about: path,
            file: number,
            size: powercut.options.size,
            versions: 1...1
        )
        guard let complaint else { return }
        report.wrongFiles += 1
        report.complain("the file \(moment): \(complaint)")
    }

    private func checkLeftovers(_ report: inout PowercutReport) throws {
        let others = try FileSystem.names(in: directory).filter { directory + "/" + $0 != path }
        guard !others.isEmpty else { return }
        report.leftovers += others.count
        report.complain("unexpected files: \(others.joined(separator: ", "))")
    }

    private var complaint: String {
        ToolEvents(log: powercut.log).failure ?? FileSystem.text(of: powercut.log)
    }
}
