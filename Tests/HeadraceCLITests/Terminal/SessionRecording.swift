/// A terminal session as an animated SVG: the frames lie below each other and move past a window.
struct SessionRecording {
    private static let secondsPerFrame = 0.1
    /// The duration of the last frame.
    private static let secondsAtEnd = 3.0
    private static let lineHeight = 20
    private static let characterWidth = 8.4
    private static let margin = 12

    let columns: Int
    /// The lines of each frame; frames are a tenth of a second apart.
    let frames: [[String]]

    var svg: String {
        let height = (frames.map(\.count).max() ?? 0) * Self.lineHeight + 2 * Self.margin
        let width = Int(Double(columns) * Self.characterWidth) + 2 * Self.margin
        let moving = Double(frames.count) * Self.secondsPerFrame
        let share = Int(100 * moving / (moving + Self.secondsAtEnd))
        let end = (frames.count - 1) * height
        let strip = frames.enumerated().map { index, lines in
            lines.enumerated().map { row, line in
                let y = index * height + Self.margin + row * Self.lineHeight + 14
                return "<text x=\"\(Self.margin)\" y=\"\(y)\">\(line.escaped)</text>"
            }.joined(separator: "\n")
        }.joined(separator: "\n")
        return """
            <svg xmlns="http://www.w3.org/2000/svg" width="\(width)" height="\(height)" viewBox="0 0 \(width) \(height)">
            <style>
            text { font: 14px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #d8dee9; white-space: pre; }
            g { transform: translateY(-\(frames.count / 2 * height)px); \
            animation: strip \(moving + Self.secondsAtEnd)s infinite steps(\(max(1, frames.count - 1))); }
            @keyframes strip { 0% { transform: translateY(0); } \
            \(share)%, 100% { transform: translateY(-\(end)px); } }
            @media (prefers-reduced-motion) { g { animation: none; } }
            </style>
            <rect width="100%" height="100%" rx="8" fill="#1d2129"/>
            <g>
            \(strip)
            </g>
            </svg>

            """
    }
}

extension String {
    fileprivate var escaped: String {
        replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
    }
}
