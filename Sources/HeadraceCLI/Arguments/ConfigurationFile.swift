import Headrace
import HeadracePlatform

/// A file with options that apply unless the command line overrides them.
///
/// Each line has the long name of an option without dashes, and its argument. Lines below a heading such as
/// `[example.org]` apply to the URLs of that host and its subdomains.
struct ConfigurationFile: Sendable, Equatable {
    struct Setting: Sendable, Equatable {
        let option: Option
        let value: String
        /// The start of a message about this line: the path of the file and the number of the line.
        let origin: String
    }

    /// The settings below a heading.
    struct Section: Sendable, Equatable {
        /// The host of the heading in lower case; `nil` for the settings above the first heading.
        let host: String?
        var settings: [Setting] = []
    }

    /// The paragraph of the manual page about the file.
    static let notes = """
        Each line is the long name of an option without dashes and, after a blank, its argument, which is not quoted:
            limit-rate 2M
            netrc
            # A comment has a line of its own.
            [example.org]
            header X-Api-Key: 0123456789abcdef
        Lines below a host in brackets apply to the URLs of this host and its subdomains. The command line overrides the
        file; header fields of other names are added to it.
        """

    /// The options of single requests, which may be below a heading.
    static let requestOptions: Set<Option> = [
        .header, .headerEverywhere, .referer, .user, .ifExists, .ifChanged, .onMismatch, .network,
    ]
    /// The options that the file must not contain, because they make sense for a single run only.
    private static let unsupported: Set<Option> = [
        .output, .tee, .inputFile, .method, .data, .dataFile, .checksum, .checksumFile, .mirror, .metalink, .dryRun,
        .title, .group, .state, .files, .paused, .begin, .watch, .background, .config, .noConfig, .version, .help,
    ]

    private(set) var sections = [Section(host: nil)]

    /// Parses the file's content; throws an error with the path and the number of the first invalid line.
    init(parsing text: String, path: String) throws {
        let text = Substring(text.utf8.withoutByteOrderMark)
        for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            let line = line.trimmed
            let origin = "\(path): line \(index + 1): "
            if line.isEmpty || line.hasPrefix("#") { continue }
            if line.hasPrefix("["), line.hasSuffix("]") {
                let name = line.dropFirst().dropLast()
                let isBracketed = name.hasPrefix("[") && name.hasSuffix("]")
                let host = (isBracketed ? name.dropFirst().dropLast() : name).lowercased()
                guard !host.isEmpty, !host.hasSuffix("."), host.count(where: { $0 == ":" }) != 1,
                    !host.contains(where: { $0.isWhitespace || "/@*[]".contains($0) })
                else {
                    throw UsageError(
                        "\(origin)\"\(line)\" is not a host in brackets, without port; subdomains are included"
                    )
                }
                sections.append(Section(host: host))
            } else {
                sections[sections.count - 1].settings.append(try setting(line, origin))
            }
        }
    }

    private func setting(_ line: Substring, _ origin: String) throws -> Setting {
        let name = line.prefix { !$0.isWhitespace }
        let value = line[name.endIndex...].trimmed
        guard let entry = Option.table.first(where: { $0.option.rawValue == name }) else {
            let suggestion = Spelling.nearest(to: name, in: Option.table.map(\.option.rawValue))
            throw UsageError("\(origin)\(name): no such option\(Spelling.hint(suggestion))")
        }
        let isGlobal = sections.count == 1
        if Self.unsupported.contains(entry.option) {
            throw UsageError("\(origin)\(name): this option can only be on the command line")
        } else if isGlobal, entry.option == .user {
            throw UsageError("\(origin)user: a login must be below a heading with its host, such as [example.org]")
        } else if !isGlobal, !Self.requestOptions.contains(entry.option) {
            throw UsageError("\(origin)\(name): this option applies to all downloads; put it above the first heading")
        } else if value.isEmpty != (entry.argument == nil) {
            throw UsageError(origin + name + (value.isEmpty ? ": the argument is missing" : ": takes no argument"))
        } else if entry.option == .user, !value.contains(":") {
            throw UsageError("\(origin)user: the password is missing; write user NAME:PASSWORD")
        }
        return Setting(option: entry.option, value: String(value), origin: origin)
    }

    /// Whether any of the settings is a secret.
    private var hasSecrets: Bool {
        sections.flatMap(\.settings).contains { setting in
            switch setting.option {
            case .user: true
            case .header, .headerEverywhere: HeaderField(parsing: setting.value)?.isCredential == true
            case .proxy: setting.value.contains("@")
            default: false
            }
        }
    }
}

extension ConfigurationFile {
    /// Reads the file that `--config` names, which must exist, or else `config` in the user's configuration folder.
    ///
    /// Returns `nil` with `--no-config`, or if the user has no such file that this process can read.
    init?(_ arguments: ParsedArguments, environment: [String: String]) throws {
        guard !arguments.has(.noConfig) else { return nil }
        let folder = RegistryLocation.folder("XDG_CONFIG_HOME", ".config", environment: environment)
        let given = arguments.value(.config)
        guard let path = given ?? folder?.appending(path: "config").plainPath else { return nil }
        // The home directory may not be readable for a service, or after a change of the user with `su`.
        guard given != nil || Files.isReadable(path) else {
            if Files.exists(path), !arguments.has(.quiet) { Console.error.note("\(path): the file cannot be read") }
            return nil
        }
        let bytes = try Option.config.reading(path) { try Files.read(path) }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw UsageError("\(path): the file is not UTF-8 text")
        }
        try self.init(parsing: text, path: path)
        if hasSecrets, Files.isReadableByOthers(path), !arguments.has(.quiet) {
            Console.error.note("\(path): other users can read the secrets in this file; protect it with chmod 600")
        }
    }
}
