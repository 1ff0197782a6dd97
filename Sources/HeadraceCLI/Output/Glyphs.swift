/// The characters for progress lines.
enum Glyphs: Sendable, Equatable {
    case ascii
    case unicode

    /// Chooses Unicode if the first nonempty one of `LC_ALL`, `LC_CTYPE` and `LANG` specifies UTF-8, otherwise ASCII.
    init(_ environment: (String) -> String?) {
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap(environment).first { !$0.isEmpty } ?? ""
        let encoding = locale.split(separator: ".").last?.prefix { $0 != "@" }.lowercased()
        self = encoding == "utf-8" || encoding == "utf8" ? .unicode : .ascii
    }

    /// Returns a progress bar in brackets, `width` columns wide; no column is filled if the fraction is unknown.
    func bar(_ fraction: Double?, width: Int) -> String {
        let inner = width - 2
        let fraction = min(1, max(0, fraction ?? 0))
        var filled: String
        switch self {
        case .ascii:
            filled = String(repeating: "#", count: Int(Format.wholeNumber(fraction * Double(inner))))
            filled += String(repeating: "-", count: inner - filled.count)
        case .unicode:
            let eighths = Int(Format.wholeNumber(fraction * Double(inner * 8)))
            filled = String(repeating: "█", count: eighths / 8)
            if eighths % 8 > 0 { filled.append(Self.blocks[eighths % 8 - 1]) }
            filled += String(repeating: " ", count: inner - filled.count)
        }
        return "[" + filled + "]"
    }

    /// Returns the line; in ASCII, each ellipsis is replaced by `~`.
    func fit(_ line: String) -> String {
        self == .unicode ? line : line.replacing("…", with: "~")
    }

    private static let blocks: [Character] = ["▏", "▎", "▍", "▌", "▋", "▊", "▉"]
}
