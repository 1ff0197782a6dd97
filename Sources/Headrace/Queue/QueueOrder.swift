/// The order of the queue as the user sees it; every download can be moved to every position.
///
/// Each download has an integer label, and labels ascend in queue order: a moved download gets a label between those of
/// its neighbors. If the neighbors leave no label between them, all downloads get new labels. The downloads are stored
/// in blocks, so that an insertion or removal moves only the downloads of one block.
struct QueueOrder: Sendable {
    typealias Label = Int64

    private static let gap: Label = 1 << 32
    private static let maxBlock = 512

    /// A download and its label, stored together so that a search stays within the block.
    private struct Item {
        var id: DownloadID
        var label: Label
    }

    private var labels: [DownloadID: Label] = [:]
    /// The blocks in order; none of them is empty.
    private var blocks: [[Item]] = []

    var ids: [DownloadID] { blocks.flatMap { $0.map(\.id) } }

    func label(of id: DownloadID) -> Label? { labels[id] }

    /// Returns the downloads sorted in queue order.
    func sorted(_ ids: some Sequence<DownloadID>) -> [DownloadID] {
        ids.sorted { labels[$0, default: 0] < labels[$1, default: 0] }
    }

    /// Adds a download at the end; returns `true` if all downloads were relabeled.
    ///
    /// `label` is the download's label in an earlier run. It is reused if it is greater than all labels in the queue;
    /// otherwise, the download gets a new label.
    mutating func append(_ id: DownloadID, label: Label? = nil) -> Bool {
        guard let label, labels[id] == nil, blocks.last?.last.map({ $0.label < label }) ?? true else {
            return insert(id, at: .last)
        }
        insert(Item(id: id, label: label), at: end)
        return false
    }

    /// Gives all downloads new, evenly spaced labels.
    mutating func relabel() {
        var label: Label = 0
        for block in blocks.indices {
            for offset in blocks[block].indices {
                blocks[block][offset].label = label
                labels[blocks[block][offset].id] = label
                label += Self.gap
            }
        }
    }

    /// Adds or moves a download; returns `true` if all downloads were relabeled.
    ///
    /// Inserts the download at the end if `queuePosition` is relative to a download that is not in the queue.
    mutating func insert(_ id: DownloadID, at queuePosition: QueuePosition) -> Bool {
        remove(id)
        let position = position(of: queuePosition)
        let label = label(before: position)
        insert(Item(id: id, label: label ?? 0), at: position)
        guard label == nil else { return false }
        relabel()
        return true
    }

    mutating func remove(_ id: DownloadID) {
        guard let position = position(of: id) else { return }
        blocks[position.block].remove(at: position.offset)
        if blocks[position.block].isEmpty { blocks.remove(at: position.block) }
        labels[id] = nil
    }

    // MARK: Positions

    /// The index of an item, or an insertion point; at the end of a block, the offset equals the count of items.
    private struct Position {
        var block: Int
        var offset: Int
    }

    private var end: Position {
        guard let last = blocks.last else { return Position(block: 0, offset: 0) }
        return Position(block: blocks.count - 1, offset: last.count)
    }

    private func position(of queuePosition: QueuePosition) -> Position {
        switch queuePosition {
        case .first: return Position(block: 0, offset: 0)
        case .last: return end
        case .before(let other): return position(of: other) ?? end
        case .after(let other):
            return position(of: other).map { Position(block: $0.block, offset: $0.offset + 1) } ?? end
        case .index(let index):
            var rest = max(0, index)
            for (block, ids) in blocks.enumerated() {
                if rest <= ids.count { return Position(block: block, offset: rest) }
                rest -= ids.count
            }
            return end
        }
    }

    private func position(of id: DownloadID) -> Position? {
        guard let label = labels[id] else { return nil }
        // The last block, and in it the last item, whose label is at most the download's label.
        let block = blocks.partitionIndex { $0[0].label > label } - 1
        let offset = blocks[block].partitionIndex { $0.label > label } - 1
        return Position(block: block, offset: offset)
    }

    // MARK: Labels

    /// Returns a label for an item inserted at a position, or `nil` if the adjacent labels leave none.
    private func label(before position: Position) -> Label? {
        let next = item(at: position)?.label
        let previous = item(before: position)?.label
        switch (previous, next) {
        case (nil, nil): return 0
        case (let previous?, nil):
            let (label, overflow) = previous.addingReportingOverflow(Self.gap)
            return overflow ? nil : label
        case (nil, let next?):
            let (label, overflow) = next.subtractingReportingOverflow(Self.gap)
            return overflow ? nil : label
        case (let previous?, let next?):
            // The mean, rounded down; the sum might overflow.
            let label = (previous & next) + ((previous ^ next) >> 1)
            return label > previous ? label : nil
        }
    }

    private func item(at position: Position) -> Item? {
        guard position.block < blocks.count else { return nil }
        let block = blocks[position.block]
        if position.offset < block.count { return block[position.offset] }
        return position.block + 1 < blocks.count ? blocks[position.block + 1][0] : nil
    }

    private func item(before position: Position) -> Item? {
        if position.offset > 0 { return blocks[position.block][position.offset - 1] }
        return position.block > 0 ? blocks[position.block - 1].last : nil
    }

    private mutating func insert(_ item: Item, at position: Position) {
        labels[item.id] = item.label
        guard position.block < blocks.count else { return blocks.append([item]) }
        blocks[position.block].insert(item, at: position.offset)
        let block = blocks[position.block]
        guard block.count > Self.maxBlock else { return }
        // Blocks at the end of the queue stay full, since most downloads are added there.
        let isLast = position.block == blocks.count - 1 && position.offset == block.count - 1
        let cut = isLast ? block.count - 1 : block.count / 2
        blocks.replaceSubrange(position.block...position.block, with: [Array(block[..<cut]), Array(block[cut...])])
    }
}

extension RandomAccessCollection where Index == Int {
    /// Returns the index of the first element for which `isInSecondPart` is `true`, or the end index if there is none.
    ///
    /// All elements after the first such element must fulfill `isInSecondPart` too.
    fileprivate func partitionIndex(where isInSecondPart: (Element) -> Bool) -> Int {
        var (low, high) = (startIndex, endIndex)
        while low < high {
            let middle = low + (high - low) / 2
            if isInSecondPart(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
