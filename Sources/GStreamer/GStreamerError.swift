// SPDX-License-Identifier: Apache-2.0

/// An error at the border to GStreamer.
public struct GStreamerError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of failure.
    public enum Code: String, Sendable, Hashable {
        /// The library or its registry did not load.
        case initialisation
        /// An element that we need is not installed.
        case missingElement
        /// A launch text did not parse.
        case parse
        /// An element has no such property, or the property does not take the value.
        case property
        /// Two pads did not link.
        case link
        /// An element refused a state change.
        case stateChange
        /// A call did not return within its deadline; the pipeline must not be touched any more.
        case timedOut
        /// webrtcbin refused a description.
        case negotiation
        /// webrtcbin gave a promise up.
        case interrupted
        /// The DTLS identity could not be made or read.
        case certificate
        /// The system refused a socket.
        case socket
    }

    /// The kind of failure.
    public var code: Code
    /// One sentence that names the element and what it refused.
    public var message: String

    /// An error of that kind.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The message.
    public var description: String { self.message }
}
