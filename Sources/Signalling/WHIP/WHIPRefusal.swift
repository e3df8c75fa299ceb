// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// Which way media go over a WHIP or WHEP session.
public enum WHIPDirection: Sendable, Hashable {
    /// We publish (RFC 9725).
    case publish
    /// We play (draft-ietf-wish-whep).
    case play
}

/// The meaning of an endpoint's refusal of our offer: by class of status, with a few that people can act on.
struct WHIPRefusal: Sendable, Hashable {
    /// Longest wait that an endpoint may impose, on endless attempts and on a person that waits.
    static let longestWait = Duration.seconds(300)
    static let longestCountedWait = Duration.seconds(10)

    /// Why; retriable if the same offer may be taken later.
    var error: SignallingError
    /// How long the endpoint wants to be left alone, before the wait that our policy adds; zero if it does not say.
    var wait: Duration

    /// Reads the answer to an offer, or to our answer to a counter-offer.
    init(_ answer: HTTPAnswer, direction: WHIPDirection, url: WebURL, hasToken: Bool, policy: JoinPolicy) {
        let code: SignallingError.Code
        var text: String
        switch answer.status {
        case 401:
            code = .refused
            text =
                hasToken
                ? "does not accept our token" : "wants a token: give it as the room's secret, or in TAPEDECK_WHIP_TOKEN"
        case 403:
            code = .refused
            text = hasToken ? "does not let this token in" : "does not let us in"
        case 404, 410:
            // A path without a publisher does not exist for some servers.
            code = direction == .play ? .unreachable : .refused
            text = direction == .play ? "has nothing to play there, or the path is wrong" : "takes nothing at this path"
        case 409:
            code = .unreachable
            text = direction == .play ? "has nothing to play at present" : "is taken by another client at present"
        case 408, 425, 429, 500...599:
            code = .unreachable
            text = "cannot take us at present"
        case 300...399:
            code = .refused
            text = "sends us elsewhere in a way that offers must not follow"
        case 400...499:
            code = .refused
            text = "does not take our offer"
        default:
            code = .protocolViolation
            text = "answers something else than a session"
        }
        text = "The \(Self.name(direction)) endpoint at \(url.address) \(text) (HTTP \(answer.status)"
        if let reason = Self.reason(answer) { text += ", \(reason)" }
        self.error = SignallingError(code, text + ").", blame: .peer)
        self.wait = Self.wait(answer, policy: policy)
    }

    /// As messages name the protocol.
    static func name(_ direction: WHIPDirection) -> String { direction == .publish ? "WHIP" : "WHEP" }

    /// The seconds of `Retry-After` (RFC 9110 section 10.2.3) within our limits; a date counts as nothing, for there is
    /// no clock here.
    static func wait(_ answer: HTTPAnswer, policy: JoinPolicy) -> Duration {
        let limit = policy.attempts == nil ? Self.longestWait : Self.longestCountedWait
        guard let text = answer.values(of: "Retry-After").first, text.utf8.count <= 9, let seconds = Int(text),
            seconds > 0
        else { return .zero }
        return min(.seconds(seconds), limit)
    }

    /// The reason in the body: a problem document (RFC 9457), or one line of text.
    private static func reason(_ answer: HTTPAnswer) -> String? {
        guard let text = answer.text else { return nil }
        var reason: String?
        let type = answer.mediaType
        if type.hasSuffix("json") {
            let problem = try? JSONValue(parsing: text)
            reason = ["detail", "title", "error", "message"].lazy.compactMap { problem?[$0]?.string }.first
        } else if type == "text/plain" {
            reason = text.split(whereSeparator: \.isNewline).first.map(String.init)
        }
        let words = reason?.prefix(160).unicodeScalars.filter { $0.properties.generalCategory != .control } ?? []
        var line = ""
        line.unicodeScalars.append(contentsOf: words)
        return line.isEmpty ? nil : line
    }
}

extension HTTPAnswer {
    /// The media type of the body in lower case, without parameters; empty if it is not stated.
    var mediaType: String {
        let value = self.values(of: "Content-Type").first ?? ""
        let type = value.prefix { $0 != ";" }
        return type.filter { $0 != " " && $0 != "\t" }.lowercased()
    }
}
