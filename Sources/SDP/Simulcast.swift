// SPDX-License-Identifier: Apache-2.0

/// The layers of one camera that an m-line offers at once (simulcast, RFC 8853), best first.
public struct Simulcast: Sendable, Hashable {
    /// The known properties of one layer.
    struct Layer: Sendable, Hashable {
        /// Its `rid` (RFC 8851), or the number of its source where the description groups sources (`ssrc-group:SIM`).
        var name: String
        /// The restrictions of its `a=rid`, without `pt`; empty if there are none.
        var restrictions: [String] = []
        /// The payload types that it may have; empty if the description does not say.
        var payloadTypes: [UInt8] = []
        /// Whether the peer does not send it at first.
        var isPaused = false
    }

    /// The layers' names, best first, at least one; untrusted, each a token.
    public var layers: [String] { self.ranked.map(\.name) }
    /// The header extension in which packets name their layer (RFC 8852), 1 to 14; nil if the peer offers none.
    public private(set) var extensionID: UInt8?

    private var ranked: [Layer]
    /// The direction after the number of the extension in the answer, `/recvonly` or nothing.
    private var extensionDirection = ""
    /// Whether layers have a `rid`; otherwise an answer cannot choose one, and the description names their sources.
    public let hasNames: Bool
    private let payloadType: UInt8

    /// The most layers that are looked at.
    private static let mostLayers = 16
    static let extensionURI = "urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id"

    /// The layers that an m-line offers for a payload type; nil if it is one layer alone.
    init?(_ media: MediaDescription, payloadType: UInt8) {
        var layers = Self.named(media, payloadType)
        self.hasNames = !layers.isEmpty
        if !self.hasNames { layers = Self.grouped(media) }
        guard !layers.isEmpty else { return nil }
        self.payloadType = payloadType
        self.ranked = Self.rank(layers)
        guard self.hasNames, let found = media.extensions(Self.extensionURI).first(where: { $0.direction.sends }) else {
            return
        }
        self.extensionID = found.id
        if found.direction == .sendonly { self.extensionDirection = "/recvonly" }
    }

    /// The layer that a source has by the description; nil if only its packets can show it.
    public func layer(ofSource ssrc: UInt32) -> String? {
        self.hasNames ? nil : self.layers.first { $0 == "\(ssrc)" }
    }

    /// Lines of an answer that requests the best layer, and no other (RFC 8853 section 5.3.2).
    var answer: [SDPLine] {
        guard self.hasNames, let best = self.ranked.first else { return [] }
        let types = best.payloadTypes.isEmpty ? [] : ["pt=\(self.payloadType)"]
        let restrictions = (types + best.restrictions).joined(separator: ";")
        var lines: [SDPLine] = []
        if let id = self.extensionID {
            lines.append(.attribute("extmap", "\(id)\(self.extensionDirection) \(Self.extensionURI)"))
        }
        lines.append(.attribute("rid", "\(best.name) recv" + (restrictions.isEmpty ? "" : " \(restrictions)")))
        lines.append(.attribute("simulcast", "recv \(best.name)"))
        return lines
    }

    /// The layer of each `a=rid`, by name.
    private static func described(_ media: MediaDescription) -> [String: Layer] {
        var known: [String: Layer] = [:]
        for value in media.attributes("rid").prefix(Self.mostLayers * 2) {
            let words = value.split(separator: " ", maxSplits: 2)
            guard words.count >= 2, words[0].isToken, words[1].lowercased() == "send" else { continue }
            var layer = Layer(name: String(words[0]))
            for item in (words.count > 2 ? words[2] : "").split(separator: ";").prefix(Self.mostLayers) {
                let pair = item.split(separator: "=", maxSplits: 1).map(\.trimmed)
                guard !pair.isEmpty, pair.allSatisfy(\.isRestriction) else { continue }
                if pair.count == 2, pair[0].lowercased() == "pt" {
                    layer.payloadTypes = pair[1].split(separator: ",").compactMap { UInt8($0) }
                } else {
                    layer.restrictions.append(pair.joined(separator: "="))
                }
            }
            if known[layer.name] == nil { known[layer.name] = layer }
        }
        return known
    }

    /// The layers of `a=simulcast` that have an `a=rid`: of each stream the first alternative that takes the payload type.
    private static func named(_ media: MediaDescription, _ payloadType: UInt8) -> [Layer] {
        let known = Self.described(media)
        let words = media.attribute("simulcast")?.split(separator: " ").map(String.init) ?? []
        guard let place = words.firstIndex(where: { $0.lowercased() == "send" }), words.indices.contains(place + 1)
        else { return [] }
        var list = words[place + 1][...]
        // As before RFC 8853.
        if list.hasPrefix("rid=") { list = list.dropFirst(4) }
        var layers: [Layer] = []
        for stream in list.split(separator: ";").prefix(Self.mostLayers) {
            let alternatives = stream.split(separator: ",").compactMap { alternative -> Layer? in
                let isPaused = alternative.hasPrefix("~")
                guard var layer = known[String(alternative.drop { $0 == "~" })] else { return nil }
                guard layer.payloadTypes.isEmpty || layer.payloadTypes.contains(payloadType) else { return nil }
                layer.isPaused = isPaused
                return layer
            }
            let chosen = alternatives.first { !$0.isPaused } ?? alternatives.first
            if let chosen, !layers.contains(where: { $0.name == chosen.name }) { layers.append(chosen) }
        }
        return layers
    }

    /// The layers of a group of sources, as libwebrtc described them before RFC 8853: the smallest first.
    private static func grouped(_ media: MediaDescription) -> [Layer] {
        for value in media.attributes("ssrc-group") {
            let words = value.split(separator: " ")
            guard words.first == "SIM" else { continue }
            let sources = words.dropFirst().prefix(Self.mostLayers).compactMap { UInt32($0) }
            guard sources.count > 1, Set(sources).count == sources.count else { continue }
            return sources.map { Layer(name: "\($0)") }
        }
        return []
    }

    /// The best first: by restrictions, of which none is the largest; then by what people call layers; then the last one,
    /// as layers are listed from the smallest on.
    private static func rank(_ layers: [Layer]) -> [Layer] {
        let names = layers.map { $0.name.lowercased() }
        let scale = Self.scales.first { scale in names.allSatisfy(scale.contains) } ?? names
        return layers.enumerated().sorted { one, other in
            guard one.element.isPaused == other.element.isPaused else { return other.element.isPaused }
            for key in Self.sizes {
                let (first, second) = (one.element.limit(key), other.element.limit(key))
                if first != second { return first > second }
            }
            let places = [one, other].map { scale.firstIndex(of: names[$0.offset]) ?? 0 }
            return places[0] == places[1] ? one.offset > other.offset : places[0] > places[1]
        }.map(\.element)
    }

    /// Restrictions that make a layer larger (RFC 8851 section 5), the most significant first.
    private static let sizes = ["max-width", "max-height", "max-fs", "max-pps", "max-br", "max-fps"]
    private static let scales = [
        ["q", "h", "f"], ["l", "m", "h"], ["lo", "mid", "hi"], ["low", "mid", "medium", "high"],
    ]
}

extension Simulcast.Layer {
    /// The value of a restriction; the largest if the layer lacks it.
    fileprivate func limit(_ key: String) -> UInt64 {
        for item in self.restrictions {
            let pair = item.split(separator: "=", maxSplits: 1)
            if pair.count == 2, pair[0].lowercased() == key { return UInt64(pair[1]) ?? .max }
        }
        return .max
    }
}

extension String {
    /// Whether this may be a name or a value of a restriction (RFC 8851 section 10), and is safe to repeat.
    fileprivate var isRestriction: Bool {
        !self.isEmpty && self.utf8.count <= 128 && self.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    }
}
