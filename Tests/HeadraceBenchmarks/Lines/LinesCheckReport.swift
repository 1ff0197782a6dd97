/// The report of `lines --check`: the lines as they should be, and as measured.
struct LinesCheckReport: VerbReport {
    struct Result {
        let line: Line
        let measured: LineMeasurement
    }

    let results: [Result]

    var violations: [String] {
        results.flatMap { result in
            result.measured.deviations(from: result.line).map { "\(result.line.description): wrong \($0)" }
        }
    }

    var text: String {
        var table = Table(columns: ["line", "Mbit/s", "measured", "ms", "measured", "% lost", "measured", "packets"])
        for result in results {
            let (line, measured) = (result.line, result.measured)
            table.add([
                line.description,
                Format.decimal(Double(line.rate) / 1e6, places: 1), Format.decimal(measured.rate / 1e6, places: 1),
                Format.decimal(line.roundTrip * 1e3, places: 2), Format.decimal(measured.roundTrip * 1e3, places: 2),
                Format.decimal(line.loss * 100, places: 3), Format.decimal(measured.loss * 100, places: 3),
                "\(measured.packets)",
            ])
        }
        return table.lines.joined(separator: "\n")
    }

    var members: [(String, JSON)] {
        let results = results.map { result in
            JSON.object([
                ("line", .string(result.line.text)),
                ("bitsPerSecond", .number(result.measured.rate)),
                ("roundTrip", .number(result.measured.roundTrip)),
                ("loss", .number(result.measured.loss)),
                ("packets", .integer(result.measured.packets)),
            ])
        }
        return [("results", .array(results))]
    }
}
