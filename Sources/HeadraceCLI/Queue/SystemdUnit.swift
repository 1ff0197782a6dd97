import Headrace

/// A systemd unit that runs this tool (systemd.service(5)).
struct SystemdUnit: Sendable, Equatable {
    let executable: String
    let arguments: [String]

    var text: String {
        """
        [Unit]
        Description=Headrace download queue

        [Service]
        Type=exec
        ExecStart=\(([Self.quoted(executable)] + arguments.map { Self.quoted($0, variables: true) }).joined(separator: " "))
        # These statuses report failed downloads or a signal, not a failure of the service.
        SuccessExitStatus=1 3 4 6 7 129 130 131 143
        Restart=on-failure
        RestartSec=10
        RestartPreventExitStatus=2

        [Install]
        WantedBy=default.target

        """
    }

    /// Quotes the text as one word; escapes `%`, and also `$` if `variables` is set, for arguments of the executable.
    static func quoted(_ text: String, variables: Bool = false) -> String {
        var quoted = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "%": quoted += "%%"
            case "$" where variables: quoted += "$$"
            case "\"", "\\": quoted += "\\\(scalar)"
            case "\n": quoted += "\\n"
            case _ where scalar.value < 0x20: quoted += "\\x" + UInt8(scalar.value).hexadecimal
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        let isPlain = text.utf8.allSatisfy { byte in
            byte >= 0x80 || Character(Unicode.Scalar(byte)).isLetter || Character(Unicode.Scalar(byte)).isNumber
                || "/._-=:,+@%$".utf8.contains(byte)
        }
        return isPlain && !text.isEmpty ? quoted : "\"\(quoted)\""
    }
}
