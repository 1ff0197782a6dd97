/// A command of the tool; later ones are more rows of the table.
struct Verb: Sendable {
    let name: String
    let operands: String
    let summary: String
    let options: [Option.Entry]
    let run: @Sendable (ParsedArguments) async throws(UsageError) -> ExitCode

    static let table: [Verb] = [
        Verb(
            name: "get",
            operands: "URL...",
            summary: "download files",
            options: Option.table,
            run: { arguments async throws(UsageError) in try await get(arguments) }
        )
    ]
}
