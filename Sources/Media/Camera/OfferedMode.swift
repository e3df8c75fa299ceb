// SPDX-License-Identifier: Apache-2.0

/// A rate as a fraction, as drivers report it.
struct FrameRate: Sendable, Hashable {
    var numerator: Int
    var denominator: Int

    /// Reads `30000/1001` or `30`; nil for anything that is no rate.
    init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map { Int($0) }
        guard (1...2).contains(parts.count), let numerator = parts[0], numerator >= 0,
            let denominator = parts.count == 2 ? parts[1] : 1, denominator > 0
        else { return nil }
        self.numerator = numerator
        self.denominator = denominator
    }

    /// Frames a second.
    var value: Double { Double(self.numerator) / Double(self.denominator) }
}

/// What a device offers of one coding: sizes and rates, each one, several, or from one to another.
struct OfferedMode: Sendable, Hashable {
    /// The numbers that a side can have.
    enum Side: Sendable, Hashable {
        case values([Int])
        case range(ClosedRange<Int>, step: Int)

        /// The smallest number that is not below what is wanted, else the largest there is.
        func nearest(_ wanted: Int) -> Int {
            switch self {
            case .values(let values): return values.filter { $0 >= wanted }.min() ?? values.max() ?? 0
            case .range(let range, let step):
                guard wanted > range.lowerBound else { return range.lowerBound }
                guard wanted <= range.upperBound else { return range.upperBound }
                let above = (wanted - range.lowerBound + step - 1) / step * step
                let value = range.lowerBound + above
                return value <= range.upperBound ? value : value - step
            }
        }
    }

    /// The rates that there can be.
    enum Rates: Sendable, Hashable {
        case values([FrameRate])
        case range(FrameRate, FrameRate)
    }

    var coding: VideoCoding
    var width: Side
    var height: Side
    var rates: Rates

    /// The longest side that is believed; beyond it the arithmetic of areas is not safe.
    private static let largestSide = 32_768
    /// Most offers that are read of one device.
    private static let maximumOffers = 1024

    /// The rates to choose among for what is wanted.
    func rates(near wanted: Int) -> [FrameRate] {
        switch self.rates {
        case .values(let rates): return rates
        case .range(let lowest, let highest):
            if Double(wanted) <= lowest.value { return [lowest] }
            if Double(wanted) >= highest.value { return [highest] }
            return FrameRate("\(wanted)").map { [$0] } ?? []
        }
    }

    /// What can be used of a device's caps in GStreamer's notation; what is not understood is passed over.
    static func all(in caps: String) -> [OfferedMode] {
        caps.split(separator: ";").prefix(Self.maximumOffers).compactMap { structure in
            let fields = Self.fields(structure)
            guard let type = fields.first, let coding = VideoCoding(rawValue: Self.mediaType(type)) else { return nil }
            var values: [Substring: Substring] = [:]
            for field in fields.dropFirst() {
                let parts = field.split(separator: "=", maxSplits: 1)
                if parts.count == 2 { values[Self.trimmed(parts[0])] = Self.withoutType(Self.trimmed(parts[1])) }
            }
            guard let width = values["width"].flatMap({ Side($0, largest: Self.largestSide) }),
                let height = values["height"].flatMap({ Side($0, largest: Self.largestSide) }),
                let rates = values["framerate"].flatMap({ Rates($0) })
            else { return nil }
            return OfferedMode(coding: coding, width: width, height: height, rates: rates)
        }
    }

    /// The media type; empty for one whose frames are not in ordinary memory.
    private static func mediaType(_ text: Substring) -> String {
        let parts = Self.trimmed(text).split(separator: "(", maxSplits: 1)
        if parts.count > 1, !parts[1].hasPrefix("memory:SystemMemory") { return "" }
        return parts.first.map(String.init) ?? ""
    }

    /// The parts between commas that stand in no brackets.
    private static func fields(_ text: Substring) -> [Substring] {
        var fields: [Substring] = []
        var (start, depth) = (text.startIndex, 0)
        for index in text.indices {
            switch text[index] {
            case "{", "[", "(": depth += 1
            case "}", "]", ")": depth -= 1
            case "," where depth == 0:
                fields.append(text[start..<index])
                start = text.index(after: index)
            default: break
            }
        }
        return fields + [text[start...]]
    }

    private static func withoutType(_ text: Substring) -> Substring {
        guard text.hasPrefix("("), let end = text.firstIndex(of: ")") else { return text }
        return Self.trimmed(text[text.index(after: end)...])
    }

    fileprivate static func trimmed(_ text: Substring) -> Substring {
        var text = text.drop { $0.isWhitespace }
        while text.last?.isWhitespace == true { text = text.dropLast() }
        return text
    }

    /// What stands between brackets, parted at commas; nil if the text does not begin with the bracket.
    fileprivate static func list(_ text: Substring, _ open: Character, _ close: Character) -> [Substring]? {
        guard text.first == open, text.last == close, text.count >= 2 else { return nil }
        return text.dropFirst().dropLast().split(separator: ",").map { Self.trimmed($0) }
    }
}

extension OfferedMode.Side {
    fileprivate init?(_ text: Substring, largest: Int) {
        func number(_ text: Substring) -> Int? {
            Int(text).flatMap { (1...largest).contains($0) ? $0 : nil }
        }
        if let list = OfferedMode.list(text, "{", "}") {
            let values = list.compactMap(number)
            guard !values.isEmpty else { return nil }
            self = .values(values)
        } else if let bounds = OfferedMode.list(text, "[", "]") {
            guard (2...3).contains(bounds.count), let lowest = number(bounds[0]), let wide = Int(bounds[1]) else {
                return nil
            }
            let highest = min(wide, largest)
            let step = bounds.count == 3 ? number(bounds[2]) : 1
            guard highest >= lowest, let step else { return nil }
            self = .range(lowest...highest, step: step)
        } else {
            guard let value = number(text) else { return nil }
            self = .values([value])
        }
    }
}

extension OfferedMode.Rates {
    fileprivate init?(_ text: Substring) {
        if let list = OfferedMode.list(text, "{", "}") {
            let rates = list.compactMap { FrameRate($0) }.filter { $0.numerator > 0 }
            guard !rates.isEmpty else { return nil }
            self = .values(rates)
        } else if let bounds = OfferedMode.list(text, "[", "]") {
            guard bounds.count == 2, let lowest = FrameRate(bounds[0]), let highest = FrameRate(bounds[1]),
                lowest.value <= highest.value, highest.numerator > 0
            else { return nil }
            self = .range(lowest, highest)
        } else {
            guard let rate = FrameRate(text), rate.numerator > 0 else { return nil }
            self = .values([rate])
        }
    }
}
