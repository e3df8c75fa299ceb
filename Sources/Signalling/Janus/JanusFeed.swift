// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// One publisher of the room, and our subscription to it, on a separate handle, which makes it a separate call.
///
/// ```
///   attaching ──► subscribing ──► offered ──► started
///       ▲                                        │
///       └──────── waiting ◄── hangup, refusal ───┘
/// ```
struct JanusFeed: Sendable, Hashable {
    enum Phase: Sendable, Hashable {
        /// The handle is asked for.
        case attaching
        /// The offer is asked for.
        case subscribing(handle: Int)
        /// The server offered; our answer is not there yet.
        case offered(handle: Int)
        /// Our answer is there.
        case started(handle: Int)
        /// The next try is due when the timer fires.
        case waiting
    }

    let id: JanusID
    /// The m-lines of audio and video; empty if the server does not list them.
    var mids: Set<String>
    /// The m-lines that the server offered us, where it does not list them.
    var offeredMids: Set<String> = []
    var phase = Phase.attaching
    /// Counts the tries, so that answers to earlier ones are known.
    var serial = 0
    /// Tries that failed in a row.
    var failures = 0
    /// Whether our candidates come after our answer.
    var isTrickling = false

    /// The handle, if there is one.
    var handle: Int? {
        switch self.phase {
        case .subscribing(let handle), .offered(let handle), .started(let handle): handle
        case .attaching, .waiting: nil
        }
    }

    /// The wait before the next try: 2 s, then twice as long each time, up to a minute.
    var wait: Duration { .seconds(min(60, 1 << min(self.failures, 6))) }
}

/// A publisher as the server lists it.
struct JanusPublisher: Sendable, Hashable {
    /// Most streams of one publisher that are looked at.
    static let maximumStreams = 64

    let id: JanusID
    let name: String?
    /// The m-lines of audio and video; nil if the server does not list streams.
    let mids: Set<String>?

    /// Reads an element of `publishers` or `participants`; nil for one that sends nothing and never will.
    init?(_ value: JSONValue) {
        guard let id = JanusID(value["id"]), value["dummy"]?.bool != true else { return nil }
        self.id = id
        self.name = value["display"]?.string
        self.mids = value["streams"]?.array.map { streams in
            Set(
                streams.prefix(Self.maximumStreams).compactMap { stream in
                    guard let type = stream["type"]?.string, type == "audio" || type == "video" else { return nil }
                    guard stream["disabled"]?.bool != true else { return nil }
                    return stream["mid"]?.string
                }
            )
        }
    }
}
