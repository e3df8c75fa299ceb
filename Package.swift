// swift-tools-version:6.2
import PackageDescription

let settings: [SwiftSetting] = [
    // `any` is spelled out, so a reader sees dynamic dispatch. https://github.com/swiftlang/swift-evolution/blob/main/proposals/0335-existential-any.md
    .enableUpcomingFeature("ExistentialAny"),
    // A member is visible only where its module is imported. https://github.com/swiftlang/swift-evolution/blob/main/proposals/0444-member-import-visibility.md
    .enableUpcomingFeature("MemberImportVisibility"),
    // Imports stay inside a module unless marked public: the C modules never leak upwards. https://github.com/swiftlang/swift-evolution/blob/main/proposals/0409-access-level-on-imports.md
    .enableUpcomingFeature("InternalImportsByDefault"),
    // Nonisolated async functions stay on the caller's executor. https://github.com/swiftlang/swift-evolution/blob/main/proposals/0461-async-function-isolation.md
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")

/// Files of the dashboard, which are part of the binary.
let dashboardFiles = [
    "api.js", "base.css", "controls.css", "dialogs.js", "dom.js", "exports.js", "feed.js", "format.js", "icon.svg",
    "index.html", "main.js", "messages.js", "overview.js", "player.js", "rates.js", "recording.js", "recordings.css",
    "recordings.js", "room-card.js", "room-form.js", "rooms.css", "rooms.js", "session.js", "sparkline.js",
    "theme.js", "thumbnails.js",
]

let package = Package(
    name: "tapedeck",
    products: [
        .executable(name: "tapedeck", targets: ["tapedeck"])
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.0"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-crypto", "3.12.0"..<"5.0.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-system", from: "1.8.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.0"),
    ],
    targets: [
        // C
        .systemLibrary(
            name: "CGStreamer",
            pkgConfig: "gstreamer-webrtc-1.0",
            providers: [.apt(["libgstreamer-plugins-bad1.0-dev"])]
        ),
        .target(
            name: "CTapedeck",
            dependencies: ["CGStreamer"],
            linkerSettings: [
                .linkedLibrary("gstapp-1.0"), .linkedLibrary("gstaudio-1.0"), .linkedLibrary("gstpbutils-1.0"),
                .linkedLibrary("gstrtp-1.0"), .linkedLibrary("gstsdp-1.0"), .linkedLibrary("gstvideo-1.0"),
                .linkedLibrary("crypto"),
            ]
        ),

        // Pure: value types, no I/O, no clocks, no C
        .target(name: "SDP", swiftSettings: settings),
        .target(name: "Matroska", swiftSettings: settings),
        .target(name: "Signalling", swiftSettings: settings),
        .target(name: "Session", dependencies: ["Signalling"], swiftSettings: settings),
        .target(name: "Timeline", swiftSettings: settings),
        .target(name: "Supervision", swiftSettings: settings),
        .target(
            name: "ConfigurationFile",
            dependencies: ["Signalling", .product(name: "Yams", package: "Yams")],
            swiftSettings: settings
        ),
        .target(
            name: "Observability",
            dependencies: ["Timeline", logging, .product(name: "CoreMetrics", package: "swift-metrics")],
            swiftSettings: settings
        ),

        // Files
        .target(name: "Storage", dependencies: ["Matroska", "Timeline"], swiftSettings: settings),
        .target(name: "Export", dependencies: ["Matroska", "Storage", "Timeline"], swiftSettings: settings),

        // Media: the only importers of C
        .target(
            name: "GStreamer",
            dependencies: ["CGStreamer", "CTapedeck", "Observability", logging],
            swiftSettings: settings
        ),
        .target(
            name: "Media",
            dependencies: [
                "GStreamer", "Matroska", "Observability", "SDP", "Session", "Signalling", "Storage", "Timeline",
                logging,
            ],
            swiftSettings: settings
        ),

        // Network
        .target(
            name: "SignallingClients",
            dependencies: [
                "Observability", "Signalling", logging,
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "NIOWebSocket", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "RoomServer",
            dependencies: [
                "Observability", "Signalling", logging,
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOWebSocket", package: "swift-nio"),
            ],
            resources: [.embedInCode("Page/index.html"), .embedInCode("Page/room.js"), .embedInCode("Page/room.css")],
            swiftSettings: settings
        ),

        // The daemon: the worker process, and the supervisor with its catalogue, webhooks and HTTP interface
        .target(
            name: "Worker",
            dependencies: [
                "Export", "GStreamer", "Matroska", "Media", "Observability", "Session", "Signalling",
                "SignallingClients", "Storage", "Supervision", "Timeline", logging,
            ],
            swiftSettings: settings
        ),
        .target(
            name: "Catalogue",
            dependencies: ["Storage", "Timeline", .product(name: "GRDB", package: "GRDB.swift")],
            swiftSettings: settings
        ),
        .target(
            name: "Webhooks",
            dependencies: [
                "Catalogue", "ConfigurationFile", "Observability", "Storage", "Supervision", "Timeline", logging,
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "Control",
            dependencies: [
                "Observability", "Signalling", "Supervision", "Timeline", logging,
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdTLS", package: "hummingbird"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            resources: [.embedInCode("OpenAPI/openapi.yaml")] + dashboardFiles.map { .embedInCode("Page/\($0)") },
            swiftSettings: settings
        ),
        .target(
            name: "Daemon",
            dependencies: [
                "Catalogue", "ConfigurationFile", "Control", "Observability", "Signalling", "Storage", "Supervision",
                "Timeline", "Webhooks", logging,
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "Subprocess", package: "swift-subprocess"),
                .product(name: "SystemPackage", package: "swift-system"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            swiftSettings: settings
        ),

        // What `tapedeck doctor` finds out about this host
        .target(
            name: "Diagnosis",
            dependencies: [
                "GStreamer", .product(name: "Subprocess", package: "swift-subprocess"),
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: settings
        ),

        // Commands and composition
        .executableTarget(
            name: "tapedeck",
            dependencies: [
                "Catalogue", "ConfigurationFile", "Control", "Daemon", "Diagnosis", "Export", "GStreamer", "Matroska",
                "Media", "Observability", "RoomServer", "Session", "Signalling", "SignallingClients", "Storage",
                "Supervision",
                "Timeline", "Webhooks", "Worker",
                .product(name: "ArgumentParser", package: "swift-argument-parser"), logging,
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: settings
        ),

        // Tests
        .testTarget(name: "SDPTests", dependencies: ["SDP"], resources: [.copy("Fixtures")], swiftSettings: settings),
        .testTarget(name: "MatroskaTests", dependencies: ["Matroska"], swiftSettings: settings),
        .testTarget(name: "SignallingTests", dependencies: ["Signalling"], swiftSettings: settings),
        .testTarget(name: "SessionTests", dependencies: ["Session", "Signalling"], swiftSettings: settings),
        .testTarget(name: "TimelineTests", dependencies: ["Timeline"], swiftSettings: settings),
        .testTarget(name: "SupervisionTests", dependencies: ["Supervision"], swiftSettings: settings),
        .testTarget(
            name: "ObservabilityTests",
            dependencies: [
                "Observability", "Timeline", logging,
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "InMemoryLogging", package: "swift-log"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "ConfigurationFileTests",
            dependencies: ["ConfigurationFile", "Signalling", .product(name: "Yams", package: "Yams")],
            resources: [.copy("Fixtures")],
            swiftSettings: settings
        ),
        .testTarget(
            name: "CatalogueTests",
            dependencies: ["Catalogue", "Storage", "Timeline", .product(name: "GRDB", package: "GRDB.swift")],
            swiftSettings: settings
        ),
        .testTarget(
            name: "WebhooksTests",
            dependencies: [
                "Catalogue", "ConfigurationFile", "Storage", "Supervision", "Timeline", "Webhooks", logging,
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "ControlTests",
            dependencies: [
                "Control", "Observability", "Signalling", "Supervision", logging,
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdTesting", package: "hummingbird"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "WorkerTests",
            dependencies: ["Matroska", "Media", "Signalling", "Storage", "Supervision", "Timeline", "Worker", logging],
            swiftSettings: settings
        ),
        .testTarget(
            name: "DaemonTests",
            dependencies: [
                "ConfigurationFile", "Control", "Daemon", "Supervision", logging,
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: settings
        ),
        .testTarget(name: "DiagnosisTests", dependencies: ["Diagnosis", "GStreamer"], swiftSettings: settings),
        .testTarget(name: "StorageTests", dependencies: ["Matroska", "Storage", "Timeline"], swiftSettings: settings),
        .testTarget(
            name: "ExportTests",
            dependencies: ["Export", "Matroska", "Storage", "Timeline"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "GStreamerTests",
            dependencies: ["CGStreamer", "CTapedeck", "GStreamer", "Timeline"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "MediaTests",
            dependencies: ["GStreamer", "Matroska", "Media", "SDP", "Session", "Signalling", "Storage", logging],
            swiftSettings: settings
        ),
        .testTarget(
            name: "SignallingClientsTests",
            dependencies: [
                "Signalling", "SignallingClients", logging,
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "NIOWebSocket", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "RoomServerTests",
            dependencies: [
                "Observability", "RoomServer", "Signalling", logging,
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)
