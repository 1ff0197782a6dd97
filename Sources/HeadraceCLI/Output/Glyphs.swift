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
        let (full, empty, parts) = self == .ascii ? ("#", "-", []) : ("█", " ", Self.blocks)
        // A column is filled in steps: one for each partly filled block, and one for the full one.
        let steps = parts.count + 1
        let done = Int(Format.wholeNumber(min(1, max(0, fraction ?? 0)) * Double(inner * steps)))
        var filled = String(repeating: full, count: done / steps)
        if done % steps > 0 { filled.append(parts[done % steps - 1]) }
        return "[" + filled + String(repeating: empty, count: inner - filled.count) + "]"
    }

    /// Returns the line; in ASCII, each ellipsis is replaced by `~`.
    func fit(_ line: String) -> String {
        self == .unicode ? line : line.replacing("…", with: "~")
    }

    private static let blocks: [Character] = ["▏", "▎", "▍", "▌", "▋", "▊", "▉"]
}
