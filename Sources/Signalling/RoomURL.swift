// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// The one string that names a room anywhere: command line, configuration, API.
///
/// The scheme chooses the protocol. A new protocol is one folder and one line in `protocols`.
public struct RoomURL: Hashable, Sendable, CustomStringConvertible {
    /// The protocols of this build.
    public static let protocols: [any RoomAddress.Type] = [
        SocketIO.self,
        LAN.self,
        Janus.self,
        WHIP.self,
        WHEP.self,
        AppRTC.self,
        SkyRTC.self,
        XMPP.self,
    ]

    /// The URL's content, as its protocol reads it.
    public let address: any RoomAddress

    /// The URL of a room.
    public init(_ address: any RoomAddress) {
        self.address = address
    }

    /// Schemes that this build joins, in lower case.
    public static var supportedSchemes: [String] { self.protocols.flatMap { $0.schemes } }

    /// Reads a URL as a person or a file wrote it.
    ///
    /// - Throws: `SignallingError` with code `invalidURL`; its message names the part that is wrong and shows a right
    ///   URL. It never repeats user information, which may hold a password.
    public init(parsing text: String) throws(SignallingError) {
        let scheme = try RoomURLParts.scheme(of: text)
        guard let address = Self.protocols.first(where: { $0.schemes.contains(scheme) }) else {
            let suggestion =
                Self.supportedSchemes.first { $0.hasSuffix("+" + scheme) || $0.hasPrefix(scheme + "+") }
                ?? Spelling.suggestion(for: scheme, among: Self.supportedSchemes)
            throw RoomURLParts.error(
                "scheme: \"\(RoomURLParts.excerpt(scheme))\" is not a room scheme; "
                    + (suggestion.map { "did you mean \($0)?" }
                        ?? "use one of \(Self.supportedSchemes.joined(separator: ", "))")
            )
        }
        self.address = try address.init(RoomURLParts(text, scheme: scheme, takesUser: address.takesUser))
        guard "\(self.address)".utf8.count <= RoomURLParts.maximumLength else {
            throw RoomURLParts.error("length: more than \(RoomURLParts.maximumLength) bytes when percent-encoded")
        }
    }

    /// The URL in its shortest form; it parses back to an equal value.
    public var description: String { "\(self.address)" }

    /// Host name or address of the server or peer in lower case; IPv6 without brackets.
    public var host: String { self.address.host }

    /// The room's name at its server; where a protocol has no rooms, the equivalent.
    public var roomName: String { self.address.room }

    /// The environment variable of the protocol's password; nil if there is only that of every protocol.
    public var secretVariable: String? { type(of: self.address).secretVariable }

    /// Refuses a room from which nothing can come.
    ///
    /// - Throws: `SignallingError` with code `invalidURL`.
    public func checkRecording() throws(SignallingError) {
        guard type(of: self.address).flow == .toRoom else { return }
        throw RoomURLParts.error(
            "scheme: whip publishes, and nothing comes back that could be recorded; whep plays",
            example: "whep+https://media.example.org/whep/cam1"
        )
    }

    /// Refuses a room to which nothing can be sent.
    ///
    /// - Throws: `SignallingError` with code `invalidURL`.
    public func checkSending() throws(SignallingError) {
        guard type(of: self.address).flow == .fromRoom else { return }
        throw RoomURLParts.error(
            "scheme: whep plays, and takes nothing that we could send; whip publishes",
            example: "whip+https://media.example.org/whip/cam1"
        )
    }

    /// Whether both name the same room the same way.
    public static func == (left: RoomURL, right: RoomURL) -> Bool {
        AnyHashable(left.address) == AnyHashable(right.address)
    }

    /// Hashes the address.
    public func hash(into hasher: inout Hasher) {
        self.address.hash(into: &hasher)
    }
}

/// The room URLs of one protocol.
public protocol RoomAddress: Hashable, Sendable, CustomStringConvertible {
    /// The protocol's machine.
    associatedtype Machine: SignallingMachine

    /// The schemes that mean the protocol, in lower case.
    static var schemes: [String] { get }
    /// Whether a name before `@` has a meaning.
    static var takesUser: Bool { get }
    /// The protocol's name in logs and metrics, in lower case.
    static var protocolName: String { get }
    /// Which way media go.
    static var flow: MediaFlow { get }
    /// Whether people can write to each other, and Tapedeck to them.
    static var hasChat: Bool { get }
    /// The environment variable that one-shot commands take the protocol's password from, before the one of every
    /// protocol; nil if there is only that.
    static var secretVariable: String? { get }

    /// Reads the parts that mean something to the protocol.
    ///
    /// - Throws: `SignallingError` with code `invalidURL` that names the wrong part.
    init(_ parts: RoomURLParts) throws(SignallingError)

    /// Host name or address of the server or peer in lower case; IPv6 without brackets.
    var host: String { get }
    /// TCP port of the server or peer, 1 to 65535.
    var port: Int { get }
    /// The room's name at its server; where a protocol has no rooms, the equivalent.
    var room: String { get }
    /// Whether the server's certificate is checked; false only by `?insecure`, and to be logged.
    var verifiesCertificate: Bool { get }
    /// The URL in its shortest form; it parses back to an equal value.
    var description: String { get }

    /// A machine before its first attempt.
    func makeMachine(_ options: SignallingOptions) -> Machine
}

extension RoomAddress {
    /// Most protocols have no user in the URL.
    public static var takesUser: Bool { false }
    /// Most rooms are for conversations.
    public static var flow: MediaFlow { .both }
    /// Most peers speak to each other directly, with data channels where they open them.
    public static var hasChat: Bool { true }

    /// No variable, as for most protocols.
    public static var secretVariable: String? { nil }

    /// Host and port, as messages and logs name the server: `host:port`.
    public var serverAddress: String {
        "\(IPAddress.bracketed(self.host)):\(self.port)"
    }
}

/// Which way media go in the rooms of a protocol.
public enum MediaFlow: Sendable, Hashable {
    /// Members send to each other.
    case both
    /// We only send.
    case toRoom
    /// We only receive.
    case fromRoom
}
