import HeadracePlatform

/// The parser under test, named by an environment variable, so that one program serves all parsers.
private let property: ParserProperty = {
    guard let name = getenv("HEADRACE_FUZZ"), let property = ParserProperty(rawValue: String(cString: name)) else {
        let names = ParserProperty.allCases.map(\.rawValue).joined(separator: ", ")
        fatalError("HEADRACE_FUZZ has to be one of \(names)")
    }
    return property
}()

/// Called by libFuzzer with each input; ends the process if a property does not hold.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    if let violation = property.violation(of: Array(UnsafeBufferPointer(start: start, count: count))) {
        fatalError(violation)
    }
    return 0
}
