// SPDX-License-Identifier: Apache-2.0

/// Bounds on what one Engine.IO peer may send or make us hold.
public enum EngineIOLimits {
    /// Largest polling body, WebSocket message or packet, in bytes.
    ///
    /// It is the default of engine.io 3.6 and 6.x, so no server in use takes more, and a session description is below
    /// 64 KiB.
    public static let maximumPayloadBytes = 1_000_000
    /// Most packets taken from one polling body.
    ///
    /// A server's buffer between two polls is far smaller.
    public static let maximumPacketsPerPayload = 4096
    /// Longest session id, in UTF-8 bytes.
    ///
    /// Servers use 20 to 32.
    public static let maximumSessionIDBytes = 256
}
