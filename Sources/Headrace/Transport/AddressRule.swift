/// The rule for the addresses that a request may connect to: that of the configuration and that of the request.
struct AddressRule: Sendable {
    private let isAllowed: (@Sendable (IPAddress) -> Bool)?
    private let requiresPublicAddress: Bool

    init(_ configuration: DownloadConfiguration, _ request: TransportRequest) {
        isAllowed = configuration.allowsAddress
        requiresPublicAddress = request.requiresPublicAddress
    }

    /// Returns whether the request may connect to an address; `nil` is one that is no IP address.
    func allows(_ address: IPAddress?) -> Bool {
        guard isAllowed != nil || requiresPublicAddress else { return true }
        guard let address, address.isPublic || !requiresPublicAddress else { return false }
        return isAllowed?(address) ?? true
    }
}
