/// A command to run: an absolute path, arguments and additional environment variables.
struct Command: Sendable, Equatable {
    let executable: String
    var arguments: [String] = []
    var environment: [String: String] = [:]

    /// The command as a shell line, with the workspace's path shortened to `$W`.
    func description(in workspace: Workspace) -> String {
        let words = environment.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" } + [executable] + arguments
        return words.map { Self.quoted($0.replacing(workspace.root, with: "$W")) }.joined(separator: " ")
    }

    private static func quoted(_ word: String) -> String {
        let plain = !word.isEmpty && word.allSatisfy { $0.isLetter || $0.isNumber || "-_=./:$,@+%".contains($0) }
        return plain ? word : "'" + word.replacing("'", with: "'\\''") + "'"
    }
}
