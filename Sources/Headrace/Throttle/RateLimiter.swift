/// Divides limits of bytes per second among connections: one limit for all, one for each group, one for each download.
///
/// Pure: a tree of token buckets, in which tokens, each of them the right to take a byte, flow from the top down to the
/// connections that wait. A connection asks before it takes bytes from its stream:
///
///     while rest > 0 {
///         switch limiter.take(rest, for: connection, at: clock.now()) {
///         case .bytes(let count): rest -= count  // and writes so many
///         case .wait(let time): try await clock.sleep(time)
///         }
///     }
///
/// - Exact: of what flows in, nothing is lost while somebody waits, even one who wakes 200 ms late; what nobody waits for
///   is kept for ``burst`` and no longer, so that no time without traffic is made up for later.
/// - Fair: downloads that wait have equal shares, and so have the connections of each. What one of them, or a limit below,
///   leaves over goes to the others. A group is a limit, not a share.
/// - Prompt: what connections hold goes back with a change of a limit, and nobody waits longer than ``longestWait``.
struct RateLimiter: Sendable {
    /// What a limit is for.
    enum Scope: Sendable, Hashable {
        case all
        case group(String)
        case download(Download.ID)
    }

    /// One connection of a download, from ``connect(_:group:at:)`` to ``disconnect(_:at:)``.
    struct Connection: Sendable, Hashable {
        fileprivate let slot: Int
        fileprivate let number: Int
    }

    /// The answer to who wants to take bytes.
    enum Grant: Sendable, Hashable {
        /// So many may be taken now, which may be fewer than were asked for.
        case bytes(Int)
        /// None; ask again at that time.
        case wait(until: Duration)
    }

    /// The time in which a limit's tokens collect while nobody takes them: 2.4 % of five seconds.
    static let burst = Duration.milliseconds(120)
    /// How far the times are apart, at the least, at which somebody who waits asks again.
    static let shortestWait = Duration.milliseconds(50)
    static let longestWait = Duration.milliseconds(150)
    /// The share of the time that one waiter more adds to all waits, so that many do not wake the machine more often.
    private static let waitPerWaiter = Duration.milliseconds(37)
    /// Tokens flow no more often than this.
    private static let flowInterval = Duration.milliseconds(5)
    /// What flows in at once at the most: a machine that slept does not make up for it.
    private static let longestFlow = Duration.milliseconds(300)
    /// A connection that does not ask for so long gives back what it holds.
    private static let idleTime = Duration.milliseconds(100)

    private var limits: [Scope: Int64] = [:]
    private var nodes = [Node()]
    private var slots: [Scope: Int] = [.all: 0]
    private var freeSlots: [Int] = []
    private var connects = 0
    private var waiters = 0
    private var lastFlow = Duration.zero

    var hasLimits: Bool { !limits.isEmpty }

    /// Bytes per second; nil for no limit.
    func limit(for scope: Scope) -> Int64? { limits[scope] }

    /// Sets or, with nil, removes a limit; fewer than one byte per second are one.
    ///
    /// It holds from the next ``take(_:for:at:)`` on.
    mutating func setLimit(_ bytesPerSecond: Int64?, for scope: Scope, at now: Duration) {
        guard limits[scope] != bytesPerSecond else { return }
        limits[scope] = bytesPerSecond
        guard let slot = slots[scope] else { return }
        flow(at: now)
        for slot in nodes.indices where nodes[slot].isConnection {
            refund(slot)
            // Who still waits will ask again; who has no limit any more never will.
            setWaits(false, slot)
        }
        nodes[slot].setRate(bytesPerSecond)
    }

    /// Adds a connection; the group is that of the download's first one.
    mutating func connect(_ download: Download.ID, group: String? = nil, at now: Duration) -> Connection {
        flow(at: now)
        let parent = slot(of: .download(download), below: group.map { .group($0) } ?? .all)
        connects += 1
        let slot = add(Node(connection: connects), below: parent)
        nodes[slot].lastUse = now
        return Connection(slot: slot, number: connects)
    }

    /// Removes a connection; what it holds goes back to the limits above it.
    mutating func disconnect(_ connection: Connection, at now: Duration) {
        flow(at: now)
        let slot = slot(of: connection)
        refund(slot)
        setWaits(false, slot)
        remove(slot)
    }

    /// Asks for as many bytes as there are to take.
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

    /// When one who waits asks again: all of them at the same times, so that they wake the machine together.
    private func nextTurn(after now: Duration) -> Duration {
        let wait = min(max(Self.shortestWait, Self.waitPerWaiter * waiters), Self.longestWait)
        // The quotient is rounded, and may be one more or less than it should be.
        let turn = wait * (Int(now / wait) + 1)
        if turn <= now { return turn + wait }
        return turn - wait > now ? turn - wait : turn
    }

    // MARK: The flow

    /// Lets the tokens of the time since the last flow run in and down.
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

    /// Finds how much each part of the tree takes in; `rate` is the least one above.
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

    /// Fills a part of the tree with what it takes in at the most, in equal shares until each is full.
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

    /// Takes tokens that nobody waits for.
    private mutating func borrow(_ wanted: Double, for slot: Int) {
        var amount = wanted
        forEachLimit(above: slot) { amount = min(amount, $0.tokens) }
        guard amount > 0 else { return }
        forEachLimit(above: slot) { $0.tokens -= amount }
        nodes[slot].tokens += amount
    }

    /// Gives what a connection holds to the limits above it.
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

    /// The slot of a limit, made where it is missing.
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

    /// Removes a node, and those above it that have no other below.
    private mutating func remove(_ slot: Int) {
        guard let parent = nodes[slot].parent else { return }
        if let scope = nodes[slot].scope { slots[scope] = nil }
        nodes[slot] = Node()
        freeSlots.append(slot)
        nodes[parent].children.removeAll { $0 == slot }
        if nodes[parent].children.isEmpty { remove(parent) }
    }
}

/// A limit, or a connection, which has tokens of its own and no rate.
private struct Node: Sendable {
    var scope: RateLimiter.Scope?
    var connection: Int?
    var parent: Int?
    var children: [Int] = []

    /// Tokens per second; nil without a limit.
    private(set) var rate: Double?
    var tokens = 0.0

    /// Of a connection: whether tokens flow to it.
    var waits = false
    var lastUse = Duration.zero

    /// What the part of the tree below takes in, what its connections hold, and how many equal shares it has.
    var room = 0.0
    var held = 0.0
    var claims = 0.0

    init(scope: RateLimiter.Scope? = nil, connection: Int? = nil) {
        self.scope = scope
        self.connection = connection
    }

    var isConnection: Bool { connection != nil }

    var isGroup: Bool {
        if case .group = scope { true } else { false }
    }

    /// What runs in within a time, which is never less than one.
    static func tokens(_ rate: Double, for time: Duration) -> Double {
        max(1, rate * (time / .seconds(1)))
    }

    mutating func setRate(_ bytesPerSecond: Int64?) {
        let newRate = bytesPerSecond.map { Double(max(1, $0)) }
        tokens = if let rate, let newRate { tokens / rate * newRate } else { 0 }
        rate = newRate
    }

    /// Drops what is more than a burst, together with what the connections below hold.
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
