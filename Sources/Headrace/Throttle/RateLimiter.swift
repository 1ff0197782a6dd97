/// Divides rate limits among connections: one limit for all downloads, one for each group, and one for each download.
///
/// A pure value: a tree of token buckets, in which tokens, each worth one byte, flow from the root down to the waiting
/// connections. A connection requests bytes before it reads them from its stream:
///
///     while rest > 0 {
///         switch limiter.take(rest, for: connection, at: clock.now()) {
///         case .bytes(let count): rest -= count  // and writes them
///         case .wait(let time): try await clock.sleep(time)
///         }
///     }
///
/// - Exact: no token is lost while a connection waits, even if the connection wakes up 200 ms late. While no
///   connection waits, tokens accumulate for at most ``burst``, so that idle time is not made up for.
/// - Fair: waiting downloads have equal shares, and so do the connections of each download. If a download or connection
///   does not use all of its share, the rest is divided among the others. A group is a limit, not a share.
/// - Prompt: when a limit changes, connections return their tokens. Each waiting connection requests bytes again within
///   ``longestWait``, and so notices the change.
struct RateLimiter: Sendable {
    /// The downloads to which a limit applies.
    enum Scope: Sendable, Hashable {
        case all
        case group(String)
        case download(DownloadID)
    }

    /// One connection of a download, from ``connect(_:group:at:)`` to ``disconnect(_:at:)``.
    struct Connection: Sendable, Hashable {
        fileprivate let slot: Int
        fileprivate let number: Int
    }

    /// The result of a request for bytes.
    enum Grant: Sendable, Hashable {
        /// This number of bytes may be read now; possibly fewer than requested.
        case bytes(Int)
        /// No bytes may be read now; request again at this time.
        case wait(until: Duration)
    }

    /// The maximum time for which unused tokens accumulate; the average rate over five seconds thus exceeds the limit
    /// by 2.4 % at most.
    static let burst = Duration.milliseconds(120)
    /// The minimum interval between requests of a waiting connection.
    static let shortestWait = Duration.milliseconds(50)
    static let longestWait = Duration.milliseconds(150)
    /// The time that each waiting connection adds to the interval between requests, so that many connections do not
    /// wake the machine more often than a few.
    private static let waitPerWaiter = Duration.milliseconds(37)
    /// The minimum interval between two distributions of tokens.
    private static let flowInterval = Duration.milliseconds(5)
    /// The maximum time for which tokens are added at once, so that a machine that wakes from sleep does not catch up.
    private static let longestFlow = Duration.milliseconds(300)
    /// The time after which a connection that requests no bytes returns its tokens.
    private static let idleTime = Duration.milliseconds(100)

    private var limits: [Scope: Int64] = [:]
    private var nodes = [Node()]
    private var slots: [Scope: Int] = [.all: 0]
    private var freeSlots: [Int] = []
    private var connects = 0
    private var waiters = 0
    private var lastFlow = Duration.zero

    var hasLimits: Bool { !limits.isEmpty }

    /// Returns the limit in bytes per second; `nil` if there is none.
    func limit(for scope: Scope) -> Int64? { limits[scope] }

    /// Sets a limit, or removes it if `nil`; less than one byte per second counts as one.
    ///
    /// The limit applies from the next ``take(_:for:at:)``.
    mutating func setLimit(_ bytesPerSecond: Int64?, for scope: Scope, at now: Duration) {
        guard limits[scope] != bytesPerSecond else { return }
        limits[scope] = bytesPerSecond
        guard let slot = slots[scope] else { return }
        flow(at: now)
        for slot in nodes.indices where nodes[slot].isConnection {
            refund(slot)
            // A waiting connection requests bytes again; a connection without a limit never does.
            setWaits(false, slot)
        }
        nodes[slot].setRate(bytesPerSecond)
    }

    /// Adds a connection of a download; `group` is ignored if the download already has a connection.
    mutating func connect(_ download: DownloadID, group: String? = nil, at now: Duration) -> Connection {
        flow(at: now)
        let parent = slot(of: .download(download), below: group.map { .group($0) } ?? .all)
        connects += 1
        let slot = add(Node(connection: connects), below: parent)
        nodes[slot].lastUse = now
        return Connection(slot: slot, number: connects)
    }

    /// Removes a connection and returns its tokens to the limits that apply to it.
    mutating func disconnect(_ connection: Connection, at now: Duration) {
        flow(at: now)
        let slot = slot(of: connection)
        refund(slot)
        setWaits(false, slot)
        remove(slot)
    }

    /// Requests up to `wanted` bytes for a connection; returns the number granted, or the time of the next request.
    mutating func take(_ wanted: Int, for connection: Connection, at now: Duration) -> Grant {
        let slot = slot(of: connection)
        guard isLimited(slot) else {
            setWaits(false, slot)
            return .bytes(wanted)
        }
        if now - lastFlow >= Self.flowInterval { flow(at: now) }
        nodes[slot].lastUse = now
        let wanted = max(0, wanted)
        borrow(Double(wanted) - nodes[slot].tokens, for: slot)
        let granted = min(wanted, max(0, Int(clamping: nodes[slot].tokens)))
        guard granted > 0 || wanted == 0 else {
            setWaits(true, slot)
            return .wait(until: nextTurn(after: now))
        }
        setWaits(false, slot)
        nodes[slot].tokens -= Double(granted)
        return .bytes(granted)
    }

    /// Returns the next time at which all waiting connections request bytes together, so that the machine wakes only
    /// once.
    private func nextTurn(after now: Duration) -> Duration {
        let wait = min(max(Self.shortestWait, Self.waitPerWaiter * waiters), Self.longestWait)
        // The quotient is rounded and may be off by one.
        let turn = wait * (Int(now / wait) + 1)
        if turn <= now { return turn + wait }
        return turn - wait > now ? turn - wait : turn
    }

    // MARK: The flow

    /// Adds to each limit the tokens for the time since the last call, and distributes tokens to waiting connections.
    private mutating func flow(at now: Duration) {
        let elapsed = min(now - lastFlow, Self.longestFlow) / .seconds(1)
        lastFlow = max(now, lastFlow)
        for slot in nodes.indices {
            if let rate = nodes[slot].rate { nodes[slot].tokens += max(0, elapsed) * rate }
            let isIdle = !nodes[slot].waits && now - nodes[slot].lastUse > Self.idleTime
            if nodes[slot].isConnection, isIdle { refund(slot) }
        }
        measure(0, rate: .infinity)
        distribute(nodes[0].room, into: 0)
        for slot in nodes.indices { nodes[slot].trimToBurst() }
    }

    /// Computes `room`, `held` and `claims` of each node in a subtree; `rate` is the lowest of the limits above it.
    private mutating func measure(_ slot: Int, rate: Double) {
        let rate = min(rate, nodes[slot].rate ?? .infinity)
        guard !nodes[slot].isConnection else {
            let isFilled = !nodes[slot].waits || rate == .infinity
            nodes[slot].room = isFilled ? 0 : max(0, Node.tokens(rate, for: Self.longestFlow) - nodes[slot].tokens)
            nodes[slot].held = max(0, nodes[slot].tokens)
            return
        }
        var (room, held, claims) = (0.0, 0.0, 0.0)
        for child in nodes[slot].children {
            measure(child, rate: rate)
            held += nodes[child].held
            guard nodes[child].room > 0 else { continue }
            room += nodes[child].room
            claims += nodes[child].isGroup ? nodes[child].claims : 1
        }
        nodes[slot].room = nodes[slot].rate == nil ? room : min(room, max(0, nodes[slot].tokens))
        nodes[slot].held = held
        nodes[slot].claims = claims
    }

    /// Distributes tokens in a subtree in equal shares, up to the demand of each child.
    private mutating func distribute(_ amount: Double, into slot: Int) {
        nodes[slot].held += amount
        guard !nodes[slot].isConnection else { return nodes[slot].tokens += amount }
        if nodes[slot].rate != nil { nodes[slot].tokens -= amount }
        func claims(_ child: Int) -> Double { nodes[child].isGroup ? nodes[child].claims : 1 }
        let children = nodes[slot].children.filter { nodes[$0].room > 0 }
            .sorted { nodes[$0].room / claims($0) < nodes[$1].room / claims($1) }
        var (rest, restClaims) = (amount, nodes[slot].claims)
        for child in children {
            let share = min(nodes[child].room, rest / restClaims * claims(child))
            rest -= share
            restClaims -= claims(child)
            distribute(share, into: child)
        }
    }

    /// Moves unused tokens from the limits above a connection to that connection.
    private mutating func borrow(_ wanted: Double, for slot: Int) {
        var amount = wanted
        forEachLimit(above: slot) { amount = min(amount, $0.tokens) }
        guard amount > 0 else { return }
        forEachLimit(above: slot) { $0.tokens -= amount }
        nodes[slot].tokens += amount
    }

    /// Returns the tokens of a connection to the limits above it.
    private mutating func refund(_ slot: Int) {
        let amount = nodes[slot].tokens
        nodes[slot].tokens = 0
        forEachLimit(above: slot) { $0.tokens += amount }
    }

    // MARK: The tree

    private mutating func forEachLimit(above slot: Int, _ body: (inout Node) -> Void) {
        var next = nodes[slot].parent
        while let slot = next {
            if nodes[slot].rate != nil { body(&nodes[slot]) }
            next = nodes[slot].parent
        }
    }

    private func isLimited(_ slot: Int) -> Bool {
        nodes[slot].rate != nil || nodes[slot].parent.map(isLimited) == true
    }

    private func slot(of connection: Connection) -> Int {
        precondition(nodes[connection.slot].connection == connection.number, "The connection was disconnected")
        return connection.slot
    }

    private mutating func setWaits(_ waits: Bool, _ slot: Int) {
        if nodes[slot].waits != waits { waiters += waits ? 1 : -1 }
        nodes[slot].waits = waits
    }

    /// Returns the index of a limit's node in ``nodes``; adds the node if it is missing.
    private mutating func slot(of scope: Scope, below parent: Scope) -> Int {
        if let slot = slots[scope] { return slot }
        var node = Node(scope: scope)
        node.setRate(limits[scope])
        let slot = add(node, below: slot(of: parent, below: .all))
        slots[scope] = slot
        return slot
    }

    private mutating func add(_ node: Node, below parent: Int) -> Int {
        let slot = freeSlots.popLast() ?? nodes.count
        if slot == nodes.count { nodes.append(node) } else { nodes[slot] = node }
        nodes[slot].parent = parent
        nodes[parent].children.append(slot)
        return slot
    }

    /// Removes a node, and those of its ancestors that have no other children.
    private mutating func remove(_ slot: Int) {
        guard let parent = nodes[slot].parent else { return }
        if let scope = nodes[slot].scope { slots[scope] = nil }
        nodes[slot] = Node()
        freeSlots.append(slot)
        nodes[parent].children.removeAll { $0 == slot }
        if nodes[parent].children.isEmpty { remove(parent) }
    }
}

/// A node of the tree: a scope, with a rate if it is limited, or a connection, which has tokens but never a rate.
private struct Node: Sendable {
    var scope: RateLimiter.Scope?
    var connection: Int?
    var parent: Int?
    var children: [Int] = []

    /// Tokens per second; `nil` if there is no limit.
    private(set) var rate: Double?
    var tokens = 0.0

    /// Whether the connection waits for tokens; only waiting connections get tokens when these are distributed.
    var waits = false
    var lastUse = Duration.zero

    /// The demand of the subtree: the number of tokens that its waiting connections may still get within its limits.
    var room = 0.0
    /// The number of tokens that the connections of the subtree hold.
    var held = 0.0
    /// The number of equal shares into which the node's tokens are divided; a group gets that many shares from its
    /// parent.
    var claims = 0.0

    init(scope: RateLimiter.Scope? = nil, connection: Int? = nil) {
        self.scope = scope
        self.connection = connection
    }

    var isConnection: Bool { connection != nil }

    var isGroup: Bool {
        if case .group = scope { true } else { false }
    }

    /// Returns the number of tokens that a rate yields in a time; at least one.
    static func tokens(_ rate: Double, for time: Duration) -> Double { max(1, rate * (time / .seconds(1))) }

    mutating func setRate(_ bytesPerSecond: Int64?) {
        let newRate = bytesPerSecond.map { Double(max(1, $0)) }
        tokens = if let rate, let newRate { tokens / rate * newRate } else { 0 }
        rate = newRate
    }

    /// Discards tokens of this node until it and the connections below it together have at most the tokens of
    /// ``RateLimiter/burst``.
    mutating func trimToBurst() {
        guard let rate else { return }
        tokens = min(tokens, max(0, Self.tokens(rate, for: RateLimiter.burst) - held))
    }
}

extension Int {
    fileprivate init(clamping number: Double) {
        self = number < 0x1p62 ? Int(number) : .max
    }
}
